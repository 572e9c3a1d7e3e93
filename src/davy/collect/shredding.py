"""Lines of JSON into columns, exactly: a part of a JSONL file in, Parquet pieces in a scratch folder out.

The reader keeps key order, every digit and every character. (polars' own JSONL
reader turns nested values into text that is not always JSON.) A column whose
lines disagree about what it holds becomes JSON text, so that nothing is lost.

As a program it reads one part for another process and prints what it found.
"""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
from pydantic_core import from_json, to_json

from davy.collect.opening import LINE_CAP, blocks, check_utf8, line_end
from davy.collect.table import ALWAYS_JSON

TYPES: dict[str, pl.DataType | type[pl.DataType]] = {
    "nothing": pl.String,
    "text": pl.String,
    "json": pl.String,
    "boolean": pl.Boolean,
    "integer": pl.Int64,
    "number": pl.Float64,
}
"""What a column can hold, and the type that it is copied as; `nothing` has only nulls so far."""
_KIND_OF: dict[type, str] = {str: "text", int: "integer", float: "number", bool: "boolean", dict: "json", list: "json"}
_PIECE_ROWS = 65_536
_BLOCK = 256 * 1024  # small enough for the parsed objects to stay in the processor's cache
_parse = partial(from_json, cache_strings="keys")


class BadLine(Exception):
    """A line that is not a JSON object, counted from 1 within the part."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(line, reason)
        self.line = line
        self.reason = reason


@dataclass
class Shreds:
    """What was read: the kind of each column, the pieces with the kinds that they were written with, and counts."""

    kinds: dict[str, str] = field(default_factory=dict)
    pieces: list[tuple[Path, dict[str, str]]] = field(default_factory=list)
    rows: int = 0
    lines: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for another process."""
        return {**vars(self), "pieces": [(str(piece), kinds) for piece, kinds in self.pieces]}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Shreds:
        """Return what `to_dict` turned into plain values."""
        return cls(**{**values, "pieces": [(Path(piece), kinds) for piece, kinds in values["pieces"]]})


def shred(path: Path, name: str, folder: Path, start: int, end: int, *, cap: int = LINE_CAP) -> Shreds:
    """Write the rows between two bytes of a JSONL file to pieces in `folder`."""
    found = Shreds()
    waiting: list[pl.DataFrame] = []
    collecting = gc.isenabled()
    gc.disable()  # the objects of a block hold no cycles, and looking for some doubles the time
    try:
        with ThreadPoolExecutor(1) as writer:
            last: Future[None] | None = None
            before = found.kinds
            for objects in _objects(path, name, start, end, cap, found):
                frame, kinds = _columns(objects, found.kinds)
                if waiting and (kinds != before or sum(map(len, waiting)) >= _PIECE_ROWS):
                    last = _flush(waiting, before, folder / f"{start}-{len(found.pieces)}.parquet", found, writer, last)
                    waiting = []
                waiting.append(frame)
                found.kinds = before = kinds
                found.rows += len(frame)
            if waiting:
                last = _flush(waiting, before, folder / f"{start}-{len(found.pieces)}.parquet", found, writer, last)
            if last is not None:
                last.result()
    finally:
        if collecting:
            gc.enable()
    return found


def both(one: str, other: str) -> str:
    """Return the kind of a column that held one kind in some lines and another in others."""
    if one == other or other == "nothing":
        return one
    if one == "nothing":
        return other
    return "number" if {one, other} == {"integer", "number"} else "json"


def dumped(value: Any) -> str:
    """Return a value as JSON text."""
    return to_json(value).decode()


def _objects(path: Path, name: str, start: int, end: int, cap: int, found: Shreds) -> Iterator[list[dict[str, Any]]]:
    """Yield the objects of each block; the JSON reader itself sees to it that they are UTF-8."""
    newline = line_end(path)
    for offset, block in blocks(path, name, cap=cap, size=_BLOCK, utf8=False, start=start, end=end):
        lines = block.removesuffix(newline).split(newline)
        try:
            objects = list(map(_parse, lines))
        except ValueError:
            objects = _carefully(lines, offset, name, found.lines)
        if set(map(type, objects)) - {dict}:
            objects = _carefully(lines, offset, name, found.lines)
        found.lines += len(lines)
        if objects:
            yield objects


def _carefully(lines: list[bytes], offset: int, name: str, before: int) -> list[Any]:
    """Return the objects of lines of which some are blank; raise for the first that is no object."""
    objects = []
    for number, line in enumerate(lines, before + 1):
        if line.strip():
            try:
                value = _parse(line)
            except ValueError as error:
                check_utf8(line, offset, name)
                reason = str(error).replace("at line 1 column", "at character")
                raise BadLine(number, f"is not JSON ({reason})") from None
            if type(value) is not dict:
                raise BadLine(number, f"is a JSON {type(value).__name__}, not an object: each line is one post")
            objects.append(value)
        offset += len(line) + 1
    return objects


def _columns(objects: list[dict[str, Any]], known: dict[str, str]) -> tuple[pl.DataFrame, dict[str, str]]:
    """Return one block as a frame with every column known so far, and what each holds up to here."""
    shapes = set(map(tuple, objects))
    if len(shapes) == 1:
        columns = dict(zip(shapes.pop(), zip(*map(dict.values, objects), strict=True), strict=True))
    else:
        names = dict.fromkeys(name for one in objects for name in one)
        columns = {name: tuple(one.get(name) for one in objects) for name in names}
    if "" in columns:
        columns = {name or "column_1": values for name, values in columns.items()}  # polars takes no empty name
    kinds = dict(known)
    for name, values in columns.items():
        kinds[name] = _kind(name, values, known.get(name, "nothing"))
    series = []
    for name, kind in kinds.items():
        if name not in columns:
            series.append(pl.Series(name, [None], dtype=TYPES[kind]).new_from_index(0, len(objects)))
        elif kind == "json":
            cells = [None if value is None else to_json(value) for value in columns[name]]
            series.append(pl.Series(name, cells, dtype=pl.Binary).cast(pl.String))
        else:
            series.append(pl.Series(name, columns[name], dtype=TYPES[kind], strict=kind != "number"))
    return pl.DataFrame(series, height=len(objects)) if series else pl.DataFrame(height=len(objects)), kinds


def _kind(name: str, values: tuple[Any, ...], known: str) -> str:
    if name == ALWAYS_JSON or known == "json":
        return "json"
    types = set(map(type, values)) - {type(None)}
    kind = known
    for one in types:
        kind = both(kind, _KIND_OF[one])
    bound = {"integer": 2**63, "number": 2**53}.get(kind)
    if bound and int in types and not _within([value for value in values if type(value) is int], bound):
        return "json"  # more digits than the column's type keeps
    return kind


def _within(numbers: Sequence[int], bound: int) -> bool:
    return -bound < min(numbers) and max(numbers) < bound


def _flush(
    frames: list[pl.DataFrame],
    kinds: dict[str, str],
    piece: Path,
    found: Shreds,
    writer: ThreadPoolExecutor,
    last: Future[None] | None,
) -> Future[None]:
    """Hand frames to the writer, after its last piece is done: at most two pieces are in memory."""
    if last is not None:
        last.result()
    found.pieces.append((piece, kinds))
    return writer.submit(_write, frames, piece)


def _write(frames: list[pl.DataFrame], piece: Path) -> None:
    pl.concat(frames).write_parquet(piece, compression="snappy", statistics=False)


if __name__ == "__main__":
    _path, _folder, _start, _end, _cap = sys.argv[1:]
    json.dump(shred(Path(_path), _path, Path(_folder), int(_start), int(_end), cap=int(_cap)).to_dict(), sys.stdout)
