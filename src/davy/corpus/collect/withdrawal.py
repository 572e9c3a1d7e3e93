"""Take posts that their authors deleted out of files, and know posts by whatever name people have for them.

Ids, addresses or a list of them in; files without those posts and without what
was derived from them out, each replaced whole. docs/data/collecting.md says what
stays out of reach: backups, copies elsewhere, detectors that were trained.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from davy.core.errors import UserError
from davy.corpus.collect.platforms import bluesky, canonical_name, mastodon
from davy.files import post_columns as columns_of
from davy.files import tables
from davy.files.atomic import atomic_path, read_text, write_bytes
from davy.files.file_table import FileTable, translate_errors
from davy.files.formats import STDIO, format_of
from davy.files.output_file import sink


@dataclass(frozen=True, slots=True)
class ClearedFile:
    """What was taken out of a file: the posts asked for, and those derived from them."""

    file: str
    rows: int
    removed: int
    derived: int


def withdrawn_ids(given: Sequence[str], platform: str | None = None) -> list[str]:
    """Return the ids that arguments name: each an id, an address, a file with one a line, or `-` for stdin."""
    read_ids: list[str] = []
    for one in given:
        if one == STDIO:
            read_ids += sys.stdin.read().splitlines()
        elif Path(one).is_file():
            read_ids += read_text(one, "ids").splitlines()
        else:
            read_ids.append(one)
    ids = [
        key
        for line in read_ids
        if (word := line.strip()) and not word.startswith("#")
        for key in possible_ids(word, platform)
    ]
    if not ids:
        raise UserError("There are no ids to withdraw. Give ids, addresses, or a file with one a line.")
    return list(dict.fromkeys(ids))


def possible_ids(name: str, platform: str | None = None) -> list[str]:
    """Return the ids that a post may have here, by its id, its number on a platform, or its address."""
    ids = [name]
    if platform is not None:
        ids.append(f"{canonical_name(platform)}:{name}")
    if name.startswith("at://"):
        ids.append(bluesky.key(name))
    elif match := re.match(r"https://(?:www\.|mobile\.)?(?:twitter|x)\.com/\w+/status/(\d+)", name):
        ids.append(f"x:{match[1]}")
    elif match := re.match(r"https://(?:\w+\.)?reddit\.com/r/\w+/comments/(\w+)(?:/[^/]*/(\w+))?", name):
        ids.append(f"reddit:t1_{match[2]}" if match[2] else f"reddit:t3_{match[1]}")
    elif match := re.match(r"https://(?:www\.)?gab\.com/\w+/posts/(\d+)", name):
        ids.append(f"gab:{match[1]}")
    elif name.startswith("https://"):
        ids.append(mastodon.key(name))
    return ids


def clear(path: Path, ids: Iterable[str], *, change: bool = True) -> ClearedFile:
    """Replace a file by one without these posts; with `change` False only count. Other columns and the order stay."""
    wanted = set(ids)
    if _is_live(path):
        return _clear_live(path, wanted, change=change)
    kind = format_of(path)
    with tables.open_table(path) as table:
        named = columns_of.id_column(table)
        if named is None:
            raise UserError(f"{path} has no column with ids, so its posts can't be told apart. Name another file.")
        ours, derived = _touched(table, named, wanted)
        if change and (ours or derived):
            gone = list(ours | derived)
            rest = table.frame.filter(~pl.col(named).cast(pl.String).is_in(gone).fill_null(False))
            with atomic_path(path) as hidden, translate_errors(table.name):
                sink(rest, table.json, hidden, kind)
        return ClearedFile(str(path), table.rows, len(ours), len(derived))


def _touched(table: FileTable, named: str, wanted: set[str]) -> tuple[set[str], set[str]]:
    """Return the ids in a table that are asked for, and those of posts derived from them, however many steps away."""
    has_parent = "parent" in table.columns
    chosen = [pl.col(named).cast(pl.String).alias("id")]
    chosen.append((pl.col("parent") if has_parent else pl.lit(None)).cast(pl.String).alias("parent"))
    with translate_errors(table.name):
        rows = table.frame.select(chosen).collect()
    ours = set(rows.filter(pl.col("id").is_in(list(wanted)))["id"])
    derived: set[str] = set()
    layer = wanted
    while has_parent and layer:
        below = set(rows.filter(pl.col("parent").is_in(list(layer)))["id"].drop_nulls())
        layer = below - ours - derived
        derived |= layer
    return ours, derived


def _is_live(path: Path) -> bool:
    if not path.name.endswith((".jsonl", ".ndjson")) or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.readline(1 << 20).lstrip().startswith(b'{"davy"')


def _clear_live(path: Path, wanted: set[str], *, change: bool) -> ClearedFile:
    """Take posts out of an archive that `davy collect live` wrote."""
    lines = path.read_bytes().splitlines(keepends=True)
    left = [line for line in lines if _id(line) not in wanted]
    if change and len(left) < len(lines):
        write_bytes(path, b"".join(left))
    return ClearedFile(str(path), len(lines), len(lines) - len(left), 0)


def _id(line: bytes) -> str | None:
    try:
        return str(json.loads(line)["davy"]["id"])
    except (ValueError, KeyError, TypeError):
        return None
