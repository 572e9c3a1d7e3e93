"""Rows into a file by its format, complete or not at all (see atomic.py)."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import polars as pl

from davy.core.errors import UserError
from davy.files import delimited, jsonl, parquet
from davy.files.atomic import atomic_path
from davy.files.compression import open_compressed
from davy.files.file_table import ALWAYS_JSON
from davy.files.formats import SEPARATORS, FileFormat, output_format


def write(
    rows: pl.LazyFrame | Iterable[pl.DataFrame],
    path: Path | str,
    *,
    format: str | None = None,
    json: Iterable[str] = (ALWAYS_JSON,),
) -> None:
    """Write rows to a file by its extension; `json` names the text columns that hold JSON."""
    kind = output_format(path, format)
    frame = rows if isinstance(rows, pl.LazyFrame) else _streamed(rows)
    schema = frame.collect_schema()
    json_columns = frozenset(c for c in json if schema.get(c) == pl.String)
    with atomic_path(path) as hidden:
        sink(frame, json_columns, hidden, kind)


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
