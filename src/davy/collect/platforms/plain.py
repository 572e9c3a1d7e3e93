"""Plain files of posts: a row with `text` and whatever else it has, by the names that files usually give.

Rows come as dicts, from JSONL or from tables that `davy.files.tables` reads.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from davy.collect.records import Record, parse_time
from davy.files.post_columns import ID_NAMES, TEXT_NAMES

_TIMES = ("time", "created_at", "created_utc", "timestamp", "date", "published")
_AUTHORS = ("author", "user", "username", "screen_name", "user_name")
_COMMUNITIES = ("community", "subreddit", "group", "channel", "board", "forum")


def records(raw: Any) -> Iterator[Record]:
    """Yield the post of a row; a row without a text gives none."""
    if isinstance(raw, list):
        for one in raw:
            yield from records(one)
        return
    text, key = _first(raw, TEXT_NAMES), _first(raw, ID_NAMES)
    if not isinstance(text, str):
        return
    author, community = _first(raw, _AUTHORS), _first(raw, _COMMUNITIES)
    collected = isinstance(raw.get("found"), str)  # a file of ours: it says where its posts came from
    before = _meta(raw) if collected else {}
    lang = _first(raw, ("lang", "language"))
    parent = _first(raw, ("parent", "parent_id"))
    yield Record(
        id="" if key is None else str(key),
        text=text,
        platform=str(raw.get("platform") or "plain").lower(),
        lang=str(lang) if lang else None,
        community=str(community).lower() if community else None,
        time=parse_time(_first(raw, _TIMES)),
        author=str(author).lower() if isinstance(author, str | int) and not collected else None,
        hashed=author if collected and isinstance(author, str) else None,
        parent=str(parent) if parent else None,
        retweet=text.startswith("RT @"),
        image=raw.get("image") if isinstance(raw.get("image"), str) else None,
        media=bool(raw.get("image")) or None,
        reply_to=before.get("reply_to"),
        conversation=before.get("conversation"),
        reply=before.get("reply"),
        quote=before.get("quote"),
        found=raw["found"] if collected else None,
        **{name: raw.get(name) if collected else None for name in ("source", "licence", "collected_at")},
    )


def _meta(raw: dict[str, Any]) -> dict[str, Any]:
    """Return what a post keeps in `meta`, as text or as an object."""
    meta = raw.get("meta")
    try:
        read = json.loads(meta) if isinstance(meta, str) else meta
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}


def _first(raw: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((raw[name] for name in names if raw.get(name) is not None), None)
