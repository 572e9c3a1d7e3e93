"""Tables of text: frames go out with formulas held back, and come in with them restored.

CSV and TSV may end up in a spreadsheet, which runs cells that look like formulas; JSONL
and Parquet hold what they hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from davy.annotation.exchange.rows import ExchangeContext
from davy.annotation.exchange.spreadsheet_cells import escape_formula, map_texts, unescape_formula
from davy.files import tables

if TYPE_CHECKING:
    import polars as pl

CHUNK = 5_000


def write_frames(frames: Iterable[pl.DataFrame], path: Path, about: ExchangeContext) -> None:
    """Write frames as one table, by its ending or `about.kind`."""
    if _spreadsheet(path, about):
        frames = (map_texts(frame, escape_formula) for frame in frames)
    tables.write(frames, path, format=about.kind)


def read_frames(path: Path, about: ExchangeContext) -> Iterable[pl.DataFrame]:
    """Return a table's frames as they were before formulas were held back."""
    frames: Iterable[pl.DataFrame] = tables.batches(path, format=about.kind)
    return (map_texts(frame, unescape_formula) for frame in frames) if _spreadsheet(path, about) else frames


def in_chunks(rows: Iterable[list[tuple[Any, ...]]], schema: Mapping[str, Any]) -> Iterator[pl.DataFrame]:
    """Yield frames of a few thousand rows from lists of rows; an empty one where there are none."""
    import polars as pl

    part: list[tuple[Any, ...]] = []
    sent = False
    for some in rows:
        part += some
        if len(part) >= CHUNK:
            yield pl.DataFrame(part, schema=schema, orient="row")
            part, sent = [], True
    if part or not sent:
        yield pl.DataFrame(part, schema=schema, orient="row")


def _spreadsheet(path: Path, about: ExchangeContext) -> bool:
    """Return whether a file is of a kind that spreadsheets open."""
    name = (about.kind or path.name).lower()
    for packed in (".gz", ".bz2", ".xz"):
        name = name.removesuffix(packed)
    return not about.raw and name.rpartition(".")[2] in ("csv", "tsv", "tab")
