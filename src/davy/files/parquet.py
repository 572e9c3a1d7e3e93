"""Parquet in and out. Which text columns hold JSON is noted in the file's own metadata."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

from davy.core.errors import UserError
from davy.files.file_table import ALWAYS_JSON, FileTable, refuse_odd_names, translate_errors

NOTE = "davy.json"
"""Metadata key: a JSON list of the text columns whose cells are JSON."""


def read(path: Path, name: str) -> FileTable:
    """Return the table of a Parquet file, after a look at its end, where its contents are listed."""
    with path.open("rb") as file:
        start = file.read(4)
        file.seek(-min(4, path.stat().st_size), 2)
        end = file.read()
    if start != b"PAR1":
        raise UserError(f"{name} is not a Parquet file: it starts with other bytes. Is the extension right?")
    if end not in (b"PAR1", b"PARE"):
        raise UserError(f"{name} is a truncated Parquet file: its end is missing. Copy or make it again.")
    with translate_errors(name):
        frame = pl.scan_parquet(path, glob=False)
        schema = frame.collect_schema()
        rows = int(frame.select(pl.len()).collect().item())
        noted = json.loads(pl.read_parquet_metadata(path).get(NOTE, "[]"))
    refuse_odd_names(schema.names(), name)
    if rows == 0:
        raise UserError(f"{name} has {len(schema)} columns but no rows. Give a file with at least one row.")
    known = frozenset(c for c in (ALWAYS_JSON, *noted) if schema.get(c) == pl.String)
    return FileTable(name, frame, known, rows, unproven=known - set(noted))


def sink(frame: pl.LazyFrame, json_columns: frozenset[str], path: Path) -> None:
    """Write the rows to `path`."""
    frame.sink_parquet(
        path,
        compression="snappy",  # a third quicker than zstd on posts, a third larger, and read everywhere
        row_group_size=65_536,
        statistics=False,
        metadata={NOTE: json.dumps(sorted(json_columns))},
        sync_on_close="all",
        engine="streaming",
    )
