"""Rows into a file, whole or not at all.

Rows go to a hidden file in the same folder, which takes the output's name only
when everything was written and synced. A run that fails or is interrupted
leaves no output, and an output that was there before stays as it was.
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from davy.core.errors import UserError
from davy.files import delimited, jsonl, parquet
from davy.files.file_table import ALWAYS_JSON
from davy.files.formats import SEPARATORS, STDIO, FileFormat, format_of
from davy.files.input_file import open_compressed


def write(
    rows: pl.LazyFrame | Iterable[pl.DataFrame],
    path: Path | str,
    *,
    format: str | None = None,
    json: Iterable[str] = (ALWAYS_JSON,),
) -> None:
    """Write rows to a file by its extension; `json` names the text columns that hold JSON."""
    kind = format_of(path, format)
    frame = rows if isinstance(rows, pl.LazyFrame) else _streamed(rows)
    schema = frame.collect_schema()
    json_columns = frozenset(c for c in json if schema.get(c) == pl.String)
    with atomic_path(path) as hidden:
        sink(frame, json_columns, hidden, kind)


@contextmanager
def atomic_path(path: Path | str) -> Iterator[Path]:
    """Yield a hidden file to write to; it becomes `path` when the block ends well, else it is removed."""
    folder = Path(tempfile.gettempdir()) if str(path) == STDIO else Path(path).parent
    if Path(path).is_dir():
        raise UserError(f"{path} is a folder. Name the file to write in it.")
    if not folder.is_dir():
        raise UserError(f"The folder {folder} does not exist. Make it first: mkdir -p {folder}")
    try:
        handle, name = tempfile.mkstemp(prefix=f".{Path(path).name}.", suffix=".part", dir=folder)
    except OSError as error:
        raise UserError(f"Can't write in {folder}: {error.strerror}.") from error
    os.close(handle)
    hidden = Path(name)
    try:
        yield hidden
        _commit(hidden, path)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise UserError(f"No room left to write {path}: {error.strerror}. Nothing was written.") from error
        raise
    finally:
        hidden.unlink(missing_ok=True)


def sink(frame: pl.LazyFrame, json_columns: frozenset[str], path: Path, format: FileFormat) -> None:
    """Stream the rows into `path` in that format."""
    try:
        if format.name == "parquet":
            parquet.sink(frame, json_columns, path)
            return
        frame = _spelt(frame)
        if format.name == "jsonl":
            header, text, separator = "", jsonl.lines(frame, json_columns), ","
        else:
            header, text = delimited.lines(frame, json_columns, format.name)
            separator = SEPARATORS[format.name]
        with open_compressed(path, format.compression) if format.compression else path.open("wb") as file:
            if header:
                file.write(header.encode() + b"\n")
            text.sink_csv(
                file,
                include_header=False,
                separator=separator,
                quote_style="never",  # what needs quotes has them already
                batch_size=4096,
                engine="streaming",
            )
    except pl.exceptions.PolarsError as error:
        if "os error 28" in str(error) or "No space left" in str(error):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
        raise


def _commit(hidden: Path, path: Path | str) -> None:
    if str(path) == STDIO:
        with hidden.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer, 1024 * 1024)
        sys.stdout.buffer.flush()
        return
    path = Path(path)
    with hidden.open("rb") as file:
        os.fsync(file.fileno())
    mask = os.umask(0)
    os.umask(mask)
    os.chmod(hidden, path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~mask)
    os.replace(hidden, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # the name must survive a power cut, not only the contents
    finally:
        os.close(folder)


def _spelt(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Return the rows with every type that text formats lack spelt out as text."""
    changes: list[pl.Expr] = []
    for column, dtype in frame.collect_schema().items():
        cell = pl.col(column)
        if dtype == pl.Datetime:
            zone = "%:z" if getattr(dtype, "time_zone", None) else ""
            changes.append(cell.dt.strftime(f"%Y-%m-%dT%H:%M:%S%.f{zone}"))
        elif dtype in (pl.Date, pl.Time, pl.Duration, pl.Categorical, pl.Enum, pl.Null) or dtype.is_decimal():
            changes.append(cell.cast(pl.String))
        elif dtype in (pl.Binary, pl.Object):
            raise UserError(
                f"Column {column!r} holds bytes, which only Parquet can keep. Leave it out or write Parquet."
            )
    return frame.with_columns(changes) if changes else frame


def _streamed(frames: Iterable[pl.DataFrame]) -> pl.LazyFrame:
    """Return frames that are made one after the other as one that streams."""
    from polars.io.plugins import register_io_source

    pending = iter(frames)
    first = next(pending, None)
    if first is None:
        raise UserError("There is nothing to write: no rows came.")
    schema = first.schema

    def source(
        columns: list[str] | None, predicate: pl.Expr | None, limit: int | None, _size: int | None
    ) -> Iterator[pl.DataFrame]:
        left = limit
        for frame in _chained(first, pending):
            part = frame if left is None else frame.head(left)
            left = None if left is None else left - len(part)
            part = part.filter(predicate) if predicate is not None else part
            yield part.select(columns) if columns is not None else part
            if left == 0:
                return

    return register_io_source(source, schema=schema)


def _chained(first: pl.DataFrame, rest: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    yield first
    for frame in rest:
        yield frame.select(first.columns).cast(first.schema)
