"""Lines of JSON into columns, exactly: a part of a JSONL file in, Arrow pieces in a scratch folder out.

The reader keeps key order, every digit and every character. (polars' own JSONL
reader turns nested values into text that is not always JSON.) A column whose
lines disagree about what it holds becomes JSON text, so that nothing is lost.

As a program it reads one part for another process and prints what it found.
"""

from __future__ import annotations

import gc
import json
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
from pydantic_core import from_json, to_json

from davy.core.errors import UserError
from davy.files.file_table import ALWAYS_JSON, refuse_many_columns
from davy.files.input_file import LINE_CAP, check_utf8, line_blocks, line_end
from davy.files.jsonl_fast import CHECKED_KINDS, LineDecoder

TYPES: dict[str, pl.DataType | type[pl.DataType]] = {
    "nothing": pl.String,
    "text": pl.String,
    "json": pl.String,
    "boolean": pl.Boolean,
    "integer": pl.Int64,
    "long": pl.Int64,
    "number": pl.Float64,
}
"""What a column can hold, and the type that it is copied as. `nothing` has only nulls so far; `long` has integers of
2**53 and more, which would lose digits as floats."""
_KIND_OF: dict[type, str] = {str: "text", int: "integer", float: "number", bool: "boolean", dict: "json", list: "json"}
_PIECE_ROWS = 65_536
_BLOCK = 256 * 1024  # small enough for the parsed objects to stay in the processor's cache
_MOST_BLOCK_CELLS = 10_000_000
"""Far more cells than the lines of a block can fill: their keys are many, and each line has but few of them."""
_HALF = re.compile(rb"\\u[dD][89abAB]..(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB]..)\\u[dD][c-fC-F]..")
_parse = partial(from_json, cache_strings="keys")


class BadLine(Exception):
    """A line that is not a JSON object, counted from 1 within the part."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(line, reason)
        self.line = line
        self.reason = reason


@dataclass
class JsonColumns:
    """What was read: the kind of each column, the pieces with the kinds that they were written with, and counts."""

    kinds: dict[str, str] = field(default_factory=dict)
    pieces: list[tuple[Path, dict[str, str]]] = field(default_factory=list)
    rows: int = 0
    lines: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for another process."""
        return {**vars(self), "pieces": [(str(piece), kinds) for piece, kinds in self.pieces]}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> JsonColumns:
        """Return what `to_dict` turned into plain values."""
        return cls(**{**values, "pieces": [(Path(piece), kinds) for piece, kinds in values["pieces"]]})


def read_columns(path: Path, name: str, folder: Path, start: int, end: int, *, cap: int = LINE_CAP) -> JsonColumns:
    """Write the rows between two bytes of a JSONL file to pieces in `folder`."""
    columns = JsonColumns()
    waiting: list[pl.DataFrame] = []
    collecting = gc.isenabled()
    gc.disable()  # the objects of a block hold no cycles, and looking for some doubles the time
    try:
        with ThreadPoolExecutor(1) as writer:
            last: Future[None] | None = None
            before = columns.kinds
            for frame, kinds in _blocks(path, name, start, end, cap, columns):
                if waiting and (kinds != before or sum(map(len, waiting)) >= _PIECE_ROWS):
                    last = _flush(
                        waiting, before, folder / f"{start}-{len(columns.pieces)}.arrow", columns, writer, last
                    )
                    waiting = []
                waiting.append(frame)
                columns.kinds = before = kinds
                columns.rows += len(frame)
            if waiting:
                last = _flush(waiting, before, folder / f"{start}-{len(columns.pieces)}.arrow", columns, writer, last)
            if last is not None:
                last.result()
    finally:
        if collecting:
            gc.enable()
    return columns


def common_kind(one: str, other: str) -> str:
    """Return the kind of a column that held one kind in some lines and another in others."""
    if one == other or other == "nothing":
        return one
    if one == "nothing":
        return other
    pair = {one, other}
    return "number" if pair == {"integer", "number"} else "long" if pair == {"integer", "long"} else "json"


def dump_json(value: Any) -> str:
    """Return a value as JSON text."""
    return to_json(value).decode()


def _blocks(
    path: Path, name: str, start: int, end: int, cap: int, found: JsonColumns
) -> Iterator[tuple[pl.DataFrame, dict[str, str]]]:
    """Yield each block as a frame with every column known so far, and what each holds up to here."""
    newline = line_end(path)
    known = LineDecoder()
    for offset, block in line_blocks(path, name, cap=cap, size=_BLOCK, utf8=False, start=start, end=end):
        lines = block.removesuffix(newline).split(newline)
        _refuse_many_keys(found.kinds, len(lines), name)
        done = _quickly(lines, known, found.kinds)
        if done is None and (done := _carefully(lines, offset, name, found)):
            # now that its keys are known: JSON is kept as it is spelt wherever that can be
            done = _quickly([line for line in lines if line.strip()], known, done[1]) or done
        found.lines += len(lines)
        if done:
            yield done


def _quickly(
    lines: list[bytes], known: LineDecoder, kinds: dict[str, str]
) -> tuple[pl.DataFrame, dict[str, str]] | None:
    """Return the frame of lines that are as those before them, or None."""
    columns = known.columns(lines, kinds)
    if columns is None:
        return None
    kinds_now = {
        c: kinds[c] if kinds[c] in CHECKED_KINDS else _kind(c, values, kinds[c]) for c, values in columns.items()
    }
    if any(now == "json" and kinds[name] != "json" for name, now in kinds_now.items()):
        return None
    try:
        return _frame(columns, kinds_now, len(lines)), kinds_now
    except pl.exceptions.ComputeError:  # JSON that is not UTF-8
        return None


def _carefully(
    lines: list[bytes], offset: int, name: str, found: JsonColumns
) -> tuple[pl.DataFrame, dict[str, str]] | None:
    """Return the frame of any lines, None if all are blank; raise for the first that is no object."""
    objects = _objects(lines, offset, name, found.lines)
    if not objects:
        return None
    _refuse_many_keys(set(found.kinds).union(*objects), len(objects), name)
    columns = _columns(objects)
    kinds = {**found.kinds, **{c: _kind(c, values, found.kinds.get(c, "nothing")) for c, values in columns.items()}}
    for column in columns.keys() & {c for c, kind in kinds.items() if kind == "json"}:
        columns[column] = [None if value is None else to_json(value) for value in columns[column]]
    return _frame(columns, kinds, len(objects)), kinds


def _objects(lines: list[bytes], offset: int, name: str, before: int) -> list[dict[str, Any]]:
    """Return the objects of lines of which some may be blank; raise for the first that is no object."""
    objects: list[dict[str, Any]] = []
    for number, line in enumerate(lines, before + 1):
        if line.strip():
            try:
                value = _parse(line)
            except ValueError as error:
                check_utf8(line, offset, name)
                half = _HALF.search(line)
                reason = str(error).replace("at line 1 column", "at character")
                if half:
                    reason = (
                        f"half a surrogate pair, {half[0].decode(errors='replace')}, is no text; write \\ufffd for it"
                    )
                raise BadLine(number, f"is not JSON ({reason})") from None
            if type(value) is not dict:
                raise BadLine(number, f"is a JSON {type(value).__name__}, not an object: each line is one post")
            objects.append(value)
        offset += len(line) + 1
    return objects


def _refuse_many_keys(keys: Collection[str], lines: int, name: str) -> None:
    """Raise where all keys so far make more columns, or with the lines of a block more cells, than can be held."""
    refuse_many_columns(len(keys), name)
    if lines * len(keys) > _MOST_BLOCK_CELLS:
        raise UserError(
            f"{name} has {len(keys):,} different keys, but each line has only a few of them: its table would be too "
            "large. Put what differs from line to line into one key, such as meta.",
            status=413,
        )


def _columns(objects: list[dict[str, Any]]) -> dict[str, Sequence[Any]]:
    """Return the values of each column; a missing key is null."""
    shapes = set(map(tuple, objects))
    columns: dict[str, Sequence[Any]]
    if len(shapes) == 1:
        columns = dict(zip(shapes.pop(), zip(*map(dict.values, objects), strict=True), strict=True))
    else:
        names = dict.fromkeys(name for one in objects for name in one)
        columns = {name: [one.get(name) for one in objects] for name in names}
    if "" in columns:
        columns = {name or "column_1": values for name, values in columns.items()}  # polars takes no empty name
    return columns


def _frame(columns: Mapping[str, Sequence[Any]], kinds: dict[str, str], rows: int) -> pl.DataFrame:
    """Return values as a frame with every column of `kinds`; JSON comes as bytes."""
    series = []
    for name, kind in kinds.items():
        if name not in columns:
            series.append(pl.Series(name, [None], dtype=TYPES[kind]).new_from_index(0, rows))
        elif kind == "json":
            series.append(pl.Series(name, columns[name], dtype=pl.Binary).cast(pl.String))
        else:
            series.append(pl.Series(name, columns[name], dtype=TYPES[kind], strict=kind != "number"))
    return pl.DataFrame(series, height=rows) if series else pl.DataFrame(height=rows)


def _kind(name: str, values: Sequence[Any], known: str) -> str:
    if name == ALWAYS_JSON or known == "json":
        return "json"
    types = set(map(type, values)) - {type(None)}
    kind = known
    for one in types:
        kind = common_kind(kind, _KIND_OF[one])
    if kind in ("integer", "long", "number") and int in types:
        numbers = [value for value in values if type(value) is int]
        size = max(-min(numbers), max(numbers))
        if size >= 2**53:
            return "long" if kind != "number" and size < 2**63 else "json"  # more digits than the type keeps
    return kind


def _flush(
    frames: list[pl.DataFrame],
    kinds: dict[str, str],
    piece: Path,
    found: JsonColumns,
    writer: ThreadPoolExecutor,
    last: Future[None] | None,
) -> Future[None]:
    """Hand frames to the writer, after its last piece is done: at most two pieces are in memory."""
    if last is not None:
        last.result()
    found.pieces.append((piece, kinds))
    return writer.submit(_write, frames, piece)


def _write(frames: list[pl.DataFrame], piece: Path) -> None:
    try:
        pl.concat(frames).write_ipc(piece)  # not compressed: it is read once, and then gone
    except OSError as error:
        why = str(error).split(" (")[0]
        raise UserError(
            f"There is no room for a working copy in {piece.parent.parent} ({why}). Set TMPDIR to a larger disk."
        ) from error


if __name__ == "__main__":
    _path, _folder, _start, _end, _cap = sys.argv[1:]
    json.dump(
        read_columns(Path(_path), _path, Path(_folder), int(_start), int(_end), cap=int(_cap)).to_dict(), sys.stdout
    )
