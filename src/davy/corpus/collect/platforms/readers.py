"""Find a platform's reader by name; write records to archives of ours, and read them back.

An archive that Davy wrote itself (`davy collect live`) holds no accounts: each
line is `{"davy": …}` with what a record knows, less its author, whose keyed
hash is there where that was asked for. Every platform's reader takes such lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from importlib import import_module
from typing import Any

from davy.core.errors import UserError, nearest
from davy.corpus.collect.records import AccountHasher, Record

NAMES: tuple[str, ...] = (
    "x", "reddit", "gab", "mastodon", "bluesky", "facebook", "youtube", "telegram", "plain",
)  # fmt: skip
_OTHER_NAMES = {"twitter": "x", "bsky": "bluesky", "fediverse": "mastodon", "file": "plain"}

Reader = Callable[[Any], Iterator[Record]]

_NEVER = frozenset({"author", "author_id", "to", "hashed"})
"""What names or leads to a person, and so is in no archive that Davy writes."""


def reader(platform: str) -> Reader:
    """Return the function that turns one JSON value of a platform into its records."""
    made: Reader = import_module(f"davy.corpus.collect.platforms.{canonical_name(platform)}").records
    return made


def canonical_name(platform: str) -> str:
    """Return the name under which a platform is known here."""
    name = _OTHER_NAMES.get(platform.lower(), platform.lower())
    if name not in NAMES:
        raise UserError(f"There is no platform {platform!r}; known: {', '.join(NAMES)}.{nearest(name, list(NAMES))}")
    return name


def records_of(read: Reader, raw: Any) -> Iterator[Record]:
    """Yield the records of a value; a value that is not a post of the platform gives none."""
    try:
        if isinstance(raw, dict) and isinstance(raw.get("davy"), dict):
            yield Record(**raw["davy"])
            return
        yield from read(raw)
    except (AttributeError, TypeError, KeyError, ValueError):
        return  # another shape than the platform's: the caller counts what gave no record


def scrub(record: Record, names: AccountHasher | None = None) -> dict[str, Any]:
    """Return the value that stands for a record in an archive of ours: no account, its keyed hash where asked for."""
    replacement = {
        f.name: value for f in fields(Record) if f.name not in _NEVER and (value := getattr(record, f.name)) is not None
    }
    if names is not None:
        replacement["hashed"] = names.hashed(record.platform, record.author_id or record.author)
    return {"davy": replacement}
