"""Posts of many files at once: a file, a folder, a pattern, or a list of them, whole, in one frame.

Paths in, one frame of posts out. Beside what `files.tables` opens it reads spreadsheets (.xlsx), JSON files that hold a
list, and texts with one post a line.
"""

from __future__ import annotations

import glob
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from davy.core.errors import UserError, nearest
from davy.files import post_columns, tables
from davy.files.file_table import FileTable, refuse_odd_names, translate_errors
from davy.files.formats import COMPRESSIONS, EXTENSIONS, STDIO
from davy.files.packed import FAULTS, damaged, open_packed

LARGEST = 512 << 20
"""The most bytes, unpacked, of a file that is read whole here."""
PLAIN = ("txt", "json", "xlsx")
"""What is read here, beside the formats of `files.formats`."""


def read_all(
    sources: Sequence[Path | str], *, text: str | None = None, id: str | None = None, encoding: str | None = None
) -> pl.DataFrame:
    """Return the posts of all sources; a column that one lacks is null there, and no id may be there twice."""
    paths = [path for source in sources for path in files_of(source)]
    frames = []
    for path in paths:
        with _open(path, encoding) as table, translate_errors(table.name):
            frames.append(post_columns.check_ids(post_columns.as_posts(table, text=text, id=id)).frame.collect())
    posts = pl.concat(frames, how="diagonal_relaxed")
    again = posts.filter(~pl.col("id").is_first_distinct())
    if len(again):
        raise UserError(f"Id {again['id'][0][:60]!r} is in two of the files. Ids must differ: name another column, id=")
    return posts


def files_of(source: Path | str) -> list[Path | str]:
    """Return the files that a path, a folder or a pattern means, in order of their names."""
    path = Path(source).expanduser()
    if str(source) == STDIO or path.is_file():
        return [source if str(source) == STDIO else path]
    if path.is_dir():
        within = [file for file in sorted(path.rglob("*")) if file.is_file() and _ending(file) is not None]
        if not within:
            raise UserError(f"The folder {path} holds no file of posts: {', '.join('.' + e for e in _known())}.")
        return list(within)
    if any(sign in str(source) for sign in "*?["):
        matches = [Path(name) for name in sorted(glob.glob(str(path), recursive=True)) if Path(name).is_file()]
        if not matches:
            raise UserError(f"No file matches {source}.")
        return list(matches)
    return [path]


def _known() -> tuple[str, ...]:
    return (*EXTENSIONS, *PLAIN)


def _ending(path: Path) -> str | None:
    """Return what a file's name says it holds, packed or not; None where Davy does not read it."""
    parts = path.name.lower().split(".")[1:]
    if parts and parts[-1] in COMPRESSIONS:
        parts.pop()
    return parts[-1] if parts and parts[-1] in _known() and not path.name.startswith(".") else None


@contextmanager
def _open(path: Path | str, encoding: str | None) -> Iterator[FileTable]:
    ending = None if str(path) == STDIO else _ending(Path(path))
    if ending not in PLAIN:
        with tables.open_table(path, encoding=encoding) as table:
            yield table
        return
    file = Path(path)
    if not file.exists():
        hint = nearest(file.name, [other.name for other in file.parent.iterdir()] if file.parent.is_dir() else [])
        raise UserError(f"{file} does not exist.{hint}")
    read = {"xlsx": _spreadsheet, "json": _json, "txt": _lines}[ending]
    frame = read(file, encoding)
    refuse_odd_names(frame.columns, str(path))
    yield FileTable(str(path), frame.lazy(), frozenset(), len(frame))


def _spreadsheet(path: Path, _: str | None) -> pl.DataFrame:
    """Return the first sheet."""
    try:
        return pl.read_excel(path, engine="calamine", infer_schema_length=None)
    except Exception as error:  # calamine raises kinds of its own
        raise UserError(f"{path} is no spreadsheet that can be read: {str(error).splitlines()[0][:120]}.") from error


def _json(path: Path, encoding: str | None) -> pl.DataFrame:
    """Return the records of a JSON list; an object with one list in it is taken for that list."""
    try:
        value: Any = json.loads(_text(path, encoding))
    except ValueError as error:
        raise UserError(f"{path} is not JSON ({error}). One object a line is .jsonl.") from None
    if isinstance(value, dict):
        lists = [part for part in value.values() if isinstance(part, list)]
        value = lists[0] if len(lists) == 1 else None
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value) or not value:
        raise UserError(f'{path} must hold a list of objects, such as [{{"text": "…"}}].')
    return pl.DataFrame(value, strict=False, infer_schema_length=None)


def _lines(path: Path, encoding: str | None) -> pl.DataFrame:
    """Return one post a line; empty lines are left out."""
    texts = [line for line in _text(path, encoding).splitlines() if line.strip()]
    return pl.DataFrame({"text": texts}, schema={"text": pl.String})


def _text(path: Path, encoding: str | None) -> str:
    try:
        with open_packed(path) as file:
            raw = file.read(LARGEST + 1)
    except FAULTS as error:
        why = getattr(error, "strerror", None)
        raise UserError(f"{path} can't be read: {why}." if why else damaged(str(path), path.suffix[1:])) from None
    if len(raw) > LARGEST:
        raise UserError(f"{path} holds more than {LARGEST >> 20} MiB, which is too much at once. Make it .jsonl.")
    try:
        return raw.decode(encoding or "utf-8-sig")
    except (UnicodeDecodeError, LookupError) as error:
        raise UserError(f"{path} is not {encoding or 'UTF-8'} ({error}). Name its encoding, such as cp1252.") from None
