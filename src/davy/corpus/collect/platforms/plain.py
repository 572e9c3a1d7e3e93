"""Plain files of posts: a row with `text` and whatever else it has, by the names that files usually give.

Rows come as dicts, from JSONL or from tables that `davy.files.tables` reads. Names of columns are known in any case
(`Text`, `ID`), as everywhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from davy.core.errors import UserError, nearest
from davy.corpus.collect.records import Record, parse_time
from davy.files.file_table import list_columns, require_column
from davy.files.post_columns import ID_NAMES, TEXT_NAMES

_TIMES = ("time", "created_at", "created_utc", "timestamp", "date", "published")
_AUTHORS = ("author", "user", "username", "screen_name", "user_name")
_COMMUNITIES = ("community", "subreddit", "group", "channel", "board", "forum")
_LANGUAGES = ("lang", "language")
_PARENTS = ("parent", "parent_id")
_OF_OURS = ("meta", "source", "licence", "collected_at")
"""What is kept of a file that Davy collected, which has `found`."""


def records(raw: Any, text_column: str | None = None) -> Iterator[Record]:
    """Yield the post of a row; a row without a text gives none. `text_column` is the text's, where no usual name is."""
    if isinstance(raw, list):
        for one in raw:
            yield from records(one, text_column)
        return
    text = raw.get(text_column) if text_column else None
    raw = {name.casefold(): value for name, value in reversed(raw.items())}
    text, key = text if text_column else _first(raw, TEXT_NAMES), _first(raw, ID_NAMES)
    if not isinstance(text, str):
        return
    author, community = _first(raw, _AUTHORS), _first(raw, _COMMUNITIES)
    collected = isinstance(raw.get("found"), str)  # a file of ours: it says where its posts came from
    before = _meta(raw) if collected else {}
    lang = _first(raw, _LANGUAGES)
    parent = _first(raw, _PARENTS)
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


_FIELDS = {
    "id": ID_NAMES, "time": _TIMES, "author": _AUTHORS, "community": _COMMUNITIES, "lang": _LANGUAGES,
    "parent": _PARENTS, "image": ("image",),
}  # fmt: skip
"""What a column can be said to be, and the names by which it is known else."""


def parse_columns(given: Sequence[str]) -> dict[str, str]:
    """Return field by column of `FIELD=COLUMN` as people give it."""
    columns: dict[str, str] = {}
    for one in given:
        field, sign, column = (part.strip() for part in one.partition("="))
        if not sign or not column:
            raise UserError(f"--column {one!r}: write FIELD=COLUMN, such as time=Datum.")
        if field not in _FIELDS:
            known = ", ".join(_FIELDS)
            raise UserError(f"--column {one!r}: known fields are {known}.{nearest(field, list(_FIELDS))}")
        if column in columns or field in columns.values():
            raise UserError(f"--column {one!r}: {field!r} or {column!r} is given twice. Give each once.")
        columns[column] = field
    return columns


def check_columns(raw: Any, columns: Mapping[str, str], path: Path) -> None:
    """Raise where a file's first row, or the first of a list, lacks a column that was named."""
    row = raw[0] if isinstance(raw, list) and raw else raw
    for column, field in columns.items():
        require_column(column, list(row) if isinstance(row, dict) else [], str(path), f"--column {field}=C")


def rename(raw: Any, columns: Mapping[str, str]) -> Any:
    """Return a row, or a list of rows, whose columns have the names of what they are; usual names give way to them."""
    if isinstance(raw, list):
        return [rename(one, columns) for one in raw]
    if not isinstance(raw, dict):
        return raw
    given_way = {name for field in columns.values() for name in _FIELDS[field]}
    kept = {name: cell for name, cell in raw.items() if name not in columns and name.casefold() not in given_way}
    return kept | {_FIELDS[field][0]: raw.get(column) for column, field in columns.items()}


class ColumnWatch:
    """Sees the rows of one plain file: whether any has a text, and which columns no post keeps."""

    def __init__(self, text_column: str | None = None) -> None:
        self._text_column = text_column
        self._shapes: set[tuple[str, ...]] = set()
        self._columns: dict[str, None] = {}
        self._has_text = False
        self.left_out: dict[str, None] = {}
        """Columns that no post keeps, in their order; accounts, which are left out for a reason, are not told."""

    def see(self, raw: Any) -> None:
        """Take in one row, or a list of rows."""
        for row in raw if isinstance(raw, list) else [raw]:
            shape = tuple(row) if isinstance(row, dict) else ()
            if shape and shape not in self._shapes:
                self._shapes.add(shape)
                self._see_columns(shape)

    def _see_columns(self, columns: tuple[str, ...]) -> None:
        self._columns.update(dict.fromkeys(columns))
        asked, by_fold = self._text_column, {name.casefold(): name for name in reversed(columns)}
        texts = (asked,) if asked in columns else () if asked else tuple(n for n in TEXT_NAMES if n in by_fold)[:1]
        self._has_text = self._has_text or bool(texts) or "davy" in columns  # an archive that Davy wrote itself
        groups = (ID_NAMES, _TIMES, _COMMUNITIES, _LANGUAGES, _PARENTS)
        read = {next((name for name in names if name in by_fold), "") for names in groups}
        read |= {*_AUTHORS, "platform", "image", "davy", *(("found", *_OF_OURS) if "found" in by_fold else ())}
        kept = {by_fold.get(name, name) for name in (*texts, *read)}
        self.left_out.update(dict.fromkeys(name for name in columns if name not in kept))

    def refuse_textless(self, path: Path) -> None:
        """Raise where rows were seen and none has a column with the text."""
        if self._has_text or not self._columns:
            return
        columns = list(self._columns)
        if self._text_column:
            require_column(self._text_column, columns, str(path), "--text-column")
        raise UserError(
            f"{path} has no column that looks like the text; it has {list_columns(columns)}."
            " Name it with --text-column."
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
