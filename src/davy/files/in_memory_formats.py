"""Files that are read whole: one post a line (.txt), JSON lists, spreadsheets (.xlsx) and Arrow (.feather, .arrow).

A path in, a `FileTable` out. What streams is CSV, TSV, JSONL and Parquet: `files.tables`.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import polars as pl

from davy.core.errors import MissingFile, UserError, nearest
from davy.files.compression import FAULTS, damaged, open_packed
from davy.files.file_table import FileTable, refuse_many_columns, refuse_odd_names
from davy.files.formats import FileFormat
from davy.files.unpacked_size import ARROW, measure_table

LARGEST = 512 << 20
"""The most bytes, unpacked, of a file that is read whole."""
MOST_CELLS = 500_000_000


def read(path: Path, name: str, format: FileFormat, encoding: str | None = None) -> FileTable:
    """Return the table of a file of one of these formats."""
    if not path.exists():
        hint = nearest(path.name, [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else [])
        raise MissingFile(f"{name} does not exist.{hint}")
    readers = {"xlsx": _spreadsheet, "json": _json, "txt": _lines, "arrow": _arrow}
    frame = readers[format.name](path, encoding)
    refuse_odd_names(frame.columns, name)
    if not len(frame):
        raise UserError(f"{name} has no rows. Give a file with at least one.")
    return FileTable(name, frame.lazy(), frozenset(), len(frame))


def _spreadsheet(path: Path, _: str | None) -> pl.DataFrame:
    """Return the first sheet."""
    try:
        with zipfile.ZipFile(path) as parts:
            size = sum(part.file_size for part in parts.infolist())
        if size > LARGEST:
            raise UserError(f"{path} unpacks to {size >> 20} MiB, which is too much at once. Save it as .csv.")
        return pl.read_excel(path, engine="calamine", infer_schema_length=None)
    except UserError:
        raise
    except Exception as error:  # calamine raises kinds of its own
        raise UserError(f"{path} is no spreadsheet that can be read: {str(error).splitlines()[0][:120]}.") from error


def _json(path: Path, encoding: str | None) -> pl.DataFrame:
    """Return the records of a JSON list; an object with one list in it is taken for that list."""
    try:
        value: Any = json.loads(_text(path, encoding))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not JSON ({error}). One object a line is .jsonl.") from None
    if isinstance(value, dict):
        lists = [part for part in value.values() if isinstance(part, list)]
        value = lists[0] if len(lists) == 1 else None
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value) or not value:
        raise UserError(f'{path} must hold a list of objects, such as [{{"text": "…"}}].')
    refuse_many_columns(len(set().union(*value)), str(path))
    try:
        return pl.DataFrame(value, strict=False, infer_schema_length=None)
    except (UnicodeEncodeError, OverflowError, TypeError, pl.exceptions.PolarsError) as error:
        raise UserError(f"{path} holds a value that no table can ({type(error).__name__}). Write it again.") from None


def _lines(path: Path, encoding: str | None) -> pl.DataFrame:
    """Return one post a line. A blank line is a post without text, so that rows are lines; at the end it is none."""
    # Not `splitlines`, which also cuts at form feeds and Unicode's separators, as posts may have them.
    whole = _text(path, encoding).replace("\r\n", "\n").replace("\r", "\n")
    texts = [line if line.strip() else None for line in whole.split("\n")]
    while texts and texts[-1] is None:
        texts.pop()
    return pl.DataFrame({"text": texts}, schema={"text": pl.String})


def _arrow(path: Path, _: str | None) -> pl.DataFrame:
    """Return an Arrow file, or the stream that Hugging Face's datasets keep."""
    if path.stat().st_size > 8 * LARGEST:
        raise UserError(f"{path} holds more than {8 * LARGEST >> 20} MiB, which is too much at once. Make it .parquet.")
    with path.open("rb") as file:
        is_file = file.read(len(ARROW)) == ARROW
    try:
        measure_table(path, most_cells=MOST_CELLS, kind="Arrow")
        return pl.read_ipc(path) if is_file else pl.read_ipc_stream(path)
    except (UserError, pl.exceptions.PolarsError, OSError) as error:
        why = f" {error}" if isinstance(error, UserError) else ""
        raise UserError(f"{path} is no Arrow file that can be read. Is it complete?{why}") from error


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
