"""JSONL in and out: one JSON object a line, every value exactly as it was.

Lines are read once, by a JSON reader that keeps key order and every digit, into
a columnar copy in a scratch folder, from where polars streams them. (polars' own
JSONL reader turns nested values into text that is not always JSON.) A column
whose lines disagree about what it holds becomes JSON text, so nothing is lost.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
from pydantic_core import from_json, to_json

from davy.collect.opening import LINE_CAP, blocks, line_end
from davy.collect.table import ALWAYS_JSON, Table
from davy.core.errors import UserError

_TYPES: dict[str, pl.DataType | type[pl.DataType]] = {
    "nothing": pl.String,
    "text": pl.String,
    "json": pl.String,
    "boolean": pl.Boolean,
    "integer": pl.Int64,
    "number": pl.Float64,
}
_KIND_OF: dict[type, str] = {str: "text", int: "integer", float: "number", bool: "boolean", dict: "json", list: "json"}
_PIECE_ROWS = 65_536
_BLOCK = 256 * 1024  # small enough for the parsed objects to stay in the processor's cache


@dataclass
class _Copy:
    """The columnar copy as it grows: pieces with the kinds that their columns had."""

    folder: Path
    kinds: dict[str, str] = field(default_factory=dict)
    pieces: list[tuple[Path, dict[str, str]]] = field(default_factory=list)
    waiting: list[pl.DataFrame] = field(default_factory=list)
    waiting_kinds: dict[str, str] = field(default_factory=dict)
    rows: int = 0


def read(path: Path, name: str, scratch: Path, *, cap: int = LINE_CAP) -> Table:
    """Return the table of a JSONL file; malformed lines are errors that name the line."""
    copy = _Copy(scratch)
    collecting = gc.isenabled()
    gc.disable()  # the objects of a block hold no cycles, and looking for some doubles the time
    try:
        with ThreadPoolExecutor(1) as writer:
            last: Future[None] | None = None
            for objects in _objects(path, name, cap):
                frame, kinds = _columns(objects)
                if kinds != copy.waiting_kinds or sum(map(len, copy.waiting)) >= _PIECE_ROWS:
                    last = _flush(copy, writer, last)
                copy.waiting.append(frame)
                copy.waiting_kinds = kinds
                copy.rows += len(frame)
                for column, kind in kinds.items():
                    copy.kinds[column] = _both(copy.kinds.get(column, "nothing"), kind)
            last = _flush(copy, writer, last)
            if last is not None:
                last.result()
    finally:
        if collecting:
            gc.enable()
    if not copy.rows:
        raise UserError(f"{name} has no rows: all its lines are blank. Give a file with at least one row.")
    json_columns = frozenset(c for c, kind in copy.kinds.items() if kind == "json" or c == ALWAYS_JSON)
    return Table(name, _joined(copy), json_columns, copy.rows)


def lines(frame: pl.LazyFrame, json_columns: frozenset[str]) -> pl.LazyFrame:
    """Return the rows as JSONL lines: one text column, keys in column order, JSON text as the value it spells."""
    members: list[pl.Expr] = []
    run: list[str] = []

    def close_run() -> None:
        if run:
            encoded = pl.struct(pl.col(list(run))).struct.json_encode()
            members.append(encoded.str.strip_prefix("{").str.strip_suffix("}"))
            run.clear()

    for column in frame.collect_schema():
        if column in json_columns:
            close_run()
            value = pl.col(column).str.replace_all("[\r\n]", " ").fill_null("null")
            members.append(pl.concat_str(pl.lit(_dumped(column) + ":"), value))
        else:
            run.append(column)
    close_run()
    inside = pl.concat_str(members, separator=",")
    return frame.select(line=pl.concat_str(pl.lit("{"), inside, pl.lit("}")))


def encoded(column: str) -> pl.Expr:
    """Return the JSON text of each value of a column of any type; null stays null."""
    whole = pl.struct(pl.col(column)).struct.json_encode()
    inside = whole.str.strip_prefix("{" + _dumped(column) + ":").str.strip_suffix("}")
    return pl.when(pl.col(column).is_not_null()).then(inside).alias(column)


def faulty_row(values: pl.Series) -> int | None:
    """Return the first row of a text column that is not JSON, counted from 0, or None."""
    for row, value in enumerate(values):
        if value is not None:
            try:
                from_json(value)
            except ValueError:
                return row
    return None


def _objects(path: Path, name: str, cap: int) -> Iterator[list[dict[str, Any]]]:
    newline = line_end(path)
    line_number = 0
    for _, block in blocks(path, name, cap=cap, size=_BLOCK):
        objects = []
        for line in block.split(newline):
            line_number += 1
            try:
                value = from_json(line, cache_strings="keys")
            except ValueError as error:
                if not line.strip():
                    continue
                raise UserError(f"{name}: line {line_number} is not JSON ({_reason(error)}).") from None
            if type(value) is not dict:
                what = type(value).__name__
                raise UserError(f"{name}: line {line_number} is a JSON {what}, not an object. Each line is one post.")
            objects.append(value)
        line_number -= 1  # what follows the last line end belongs to the next block
        if objects:
            yield objects


def _reason(error: ValueError) -> str:
    return str(error).replace("at line 1 column", "at character")


def _columns(objects: list[dict[str, Any]]) -> tuple[pl.DataFrame, dict[str, str]]:
    """Return one block as a frame, and what each column holds there."""
    shapes = dict.fromkeys(map(tuple, objects))
    if len(shapes) == 1:
        columns = dict(zip(next(iter(shapes)), zip(*map(dict.values, objects), strict=True), strict=True))
    else:
        names = dict.fromkeys(name for shape in shapes for name in shape)
        columns = {name: tuple(one.get(name) for one in objects) for name in names}
    kinds = {name: _kind(name, values) for name, values in columns.items()}
    series = []
    for name, values in columns.items():
        cells = [None if v is None else _dumped(v) for v in values] if kinds[name] == "json" else values
        series.append(pl.Series(name, cells, dtype=_TYPES[kinds[name]], strict=kinds[name] != "number"))
    return pl.DataFrame(series) if series else pl.DataFrame({"": [None] * len(objects)}).select(), kinds


def _kind(name: str, values: tuple[Any, ...]) -> str:
    types = set(map(type, values)) - {type(None)}
    if not types:
        return "json" if name == ALWAYS_JSON else "nothing"
    if name == ALWAYS_JSON:
        return "json"
    kind = _KIND_OF[types.pop()] if len(types) == 1 else "number" if types == {int, float} else "json"
    if kind in ("integer", "number"):
        bound = 2**63 if kind == "integer" else 2**53
        if any(type(v) is int and not -bound < v < bound for v in values):
            return "json"  # more digits than the column type keeps
    return kind


def _both(one: str, other: str) -> str:
    if one == other or other == "nothing":
        return one
    if one == "nothing":
        return other
    return "number" if {one, other} == {"integer", "number"} else "json"


def _dumped(value: Any) -> str:
    return to_json(value).decode()


def _flush(copy: _Copy, writer: ThreadPoolExecutor, last: Future[None] | None) -> Future[None] | None:
    """Hand the waiting frames to the writer, after its last piece is done: at most two pieces are in memory."""
    if not copy.waiting:
        return last
    if last is not None:
        last.result()
    piece = copy.folder / f"piece-{len(copy.pieces):06}.parquet"
    copy.pieces.append((piece, copy.waiting_kinds))
    frames, copy.waiting = copy.waiting, []
    return writer.submit(_write_piece, frames, piece)


def _write_piece(frames: list[pl.DataFrame], piece: Path) -> None:
    pl.concat(frames).write_parquet(piece, compression="lz4", statistics=False)


def _joined(copy: _Copy) -> pl.LazyFrame:
    """Return the pieces as one frame, each column brought to the kind that holds for all of them."""
    runs: list[tuple[dict[str, str], list[Path]]] = []
    for piece, kinds in copy.pieces:
        if not runs or runs[-1][0] != kinds:
            runs.append((kinds, []))
        runs[-1][1].append(piece)
    scans = []
    for kinds, pieces in runs:
        columns = [_brought(c, kinds.get(c), kind) for c, kind in copy.kinds.items()]
        scans.append(pl.scan_parquet(pieces, glob=False).select(columns))
    return pl.concat(scans) if len(scans) > 1 else scans[0]


def _brought(column: str, have: str | None, want: str) -> pl.Expr:
    if have is None or have == "nothing":
        return pl.lit(None, dtype=_TYPES[want]).alias(column)
    if have == want:
        return pl.col(column)
    if want == "json":
        return encoded(column)
    return pl.col(column).cast(_TYPES[want])
