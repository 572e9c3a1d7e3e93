"""JSONL in and out: one JSON object a line, every value exactly as it was.

Lines are read once into a columnar copy in a scratch folder (see jsonl_columns.py),
from where polars streams them. A large file is read by several processes, each
from another part of it, because the JSON reader holds Python's lock.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from davy.core.errors import UserError
from davy.files import jsonl_columns
from davy.files.cores import usable_cores
from davy.files.file_table import ALWAYS_JSON, FileTable, refuse_many_columns, refuse_odd_names
from davy.files.input_file import LINE_CAP, line_end
from davy.files.jsonl_columns import TYPES, BadLine, JsonColumns, common_kind, dump_json

PART = 32 * 1024 * 1024
"""A process of its own is worth starting for this many bytes."""
MOST_PROCESSES = 4


def read(path: Path, name: str, scratch: Path, *, cap: int = LINE_CAP) -> FileTable:
    """Return the table of a JSONL file; malformed lines are errors that name the line."""
    parts = _parts(path, cap)
    with _helpers(path, scratch, parts[1:], cap) as helpers:
        shreds: list[JsonColumns] = []
        try:
            shreds.append(jsonl_columns.read_columns(path, name, scratch, *parts[0], cap=cap))
            for helper, part in zip(helpers, parts[1:], strict=True):
                shreds.append(_result(helper, path, name, scratch, part, cap))
        except BadLine as bad:
            number = bad.line + sum(one.lines for one in shreds)
            raise UserError(f"{name}: line {number} {bad.reason}.") from None
    rows = sum(one.rows for one in shreds)
    if not rows:
        raise UserError(f"{name} has no rows: all its lines are blank. Give a file with at least one row.")
    kinds: dict[str, str] = {}
    for one in shreds:
        for column, kind in one.kinds.items():
            kinds[column] = common_kind(kinds.get(column, "nothing"), kind)
    if not kinds:
        raise UserError(f"{name} has {rows} lines, but none has a field. Give each post at least an id and a text.")
    refuse_many_columns(len(kinds), name)
    refuse_odd_names(list(kinds), name)
    json_columns = frozenset(c for c, kind in kinds.items() if kind == "json" or c == ALWAYS_JSON)
    return FileTable(name, _joined(shreds, kinds), json_columns, rows)


def lines(frame: pl.LazyFrame, json_columns: frozenset[str]) -> pl.LazyFrame:
    """Return the rows as JSONL lines, in pieces that a comma joins: keys in column order, JSON text as it is spelt."""
    columns = frame.collect_schema().names()
    pieces: list[pl.Expr] = []
    for is_json, group in groupby(columns, json_columns.__contains__):
        run = list(group)
        start, end = "{" if run[0] == columns[0] else "", "}" if run[-1] == columns[-1] else ""
        if is_json:
            pieces.extend(
                pl.concat_str(
                    pl.lit((start if column == run[0] else "") + dump_json(column) + ":"),
                    pl.col(column).str.replace_all("[\r\n]", " ").fill_null("null"),
                    pl.lit(end if column == run[-1] else ""),
                )
                for column in run
            )
        else:
            piece = pl.struct(pl.col(run)).struct.json_encode()
            piece = piece if start else piece.str.strip_prefix("{")
            pieces.append(piece if end else piece.str.strip_suffix("}"))
    return frame.select(piece.alias(str(place)) for place, piece in enumerate(pieces))


def json_objects(frame: pl.LazyFrame, json_columns: frozenset[str]) -> pl.LazyFrame:
    """Return the rows as JSON objects: one text column."""
    return lines(frame, json_columns).select(object=pl.concat_str(pl.all(), separator=","))


def json_text(column: str) -> pl.Expr:
    """Return the JSON text of each value of a column of any type; null stays null."""
    whole = pl.struct(pl.col(column)).struct.json_encode()
    inside = whole.str.strip_prefix("{" + dump_json(column) + ":").str.strip_suffix("}")
    return pl.when(pl.col(column).is_not_null()).then(inside).alias(column)


def is_json(values: pl.Series) -> bool:
    """Return whether every cell of a text column is null or JSON."""
    check = msgspec.json.Decoder(msgspec.Raw).decode  # the same reader as for JSONL, and as strict
    try:
        for value in values.drop_nulls().to_list():
            check(value)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def refuse_bad_json(table: FileTable, column: str) -> None:
    """Raise for the first cell of a column that is not JSON, naming its row."""
    done = 0
    for batch in table.frame.select(column).collect_batches(chunk_size=1000, maintain_order=True, engine="streaming"):
        if not is_json(batch[column]):
            row = next(i for i in range(len(batch)) if not is_json(batch[column][i : i + 1]))
            raise UserError(f"{table.name}: row {done + row + 1}, column {column!r} is not JSON.")
        done += len(batch)


def _parts(path: Path, cap: int) -> list[tuple[int, int]]:
    """Return (start, end) of the parts of a file that are read side by side, cut at line ends."""
    size = path.stat().st_size
    wanted = max(1, min(MOST_PROCESSES, usable_cores(), size // PART))
    newline = line_end(path)
    cuts = [0]
    with path.open("rb") as file:
        for place in range(1, wanted):
            start = place * size // wanted
            file.seek(start)
            found = file.read(min(cap, PART)).find(newline)
            if found >= 0 and cuts[-1] < start + found + 1 < size:
                cuts.append(start + found + 1)
    return list(zip(cuts, [*cuts[1:], size], strict=True))


@contextmanager
def _helpers(
    path: Path, scratch: Path, parts: list[tuple[int, int]], cap: int
) -> Iterator[list[subprocess.Popen[str]]]:
    """Yield processes that read the other parts; none outlives the block."""
    settings = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "POLARS_MAX_THREADS": "1"}
    helpers: list[subprocess.Popen[str]] = []
    try:
        for start, end in parts:
            numbers = [str(start), str(end), str(cap)]
            command = [sys.executable, "-m", "davy.files.jsonl_columns", str(path), str(scratch), *numbers]
            pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "encoding": "utf-8"}
            helpers.append(subprocess.Popen(command, env=settings, **pipes))
        yield helpers
    finally:
        for helper in helpers:
            helper.kill()
            helper.wait()
            if helper.stdout:
                helper.stdout.close()


def _result(
    helper: subprocess.Popen[str], path: Path, name: str, scratch: Path, part: tuple[int, int], cap: int
) -> JsonColumns:
    """Return what a helper read; where it could not run, read that part here."""
    output, _ = helper.communicate()
    if helper.returncode:
        return jsonl_columns.read_columns(path, name, scratch, *part, cap=cap)
    return JsonColumns.from_dict(json.loads(output))


def _joined(shreds: list[JsonColumns], kinds: dict[str, str]) -> pl.LazyFrame:
    """Return the pieces as one frame, each column brought to the kind that holds for all of them."""
    runs: list[tuple[dict[str, str], list[Path]]] = []
    for piece, had in (found for one in shreds for found in one.pieces):
        if not runs or runs[-1][0] != had:
            runs.append((had, []))
        runs[-1][1].append(piece)
    scans = []
    for had, pieces in runs:
        columns = [_brought(c, had.get(c), kind) for c, kind in kinds.items()]
        scans.append(pl.scan_ipc(pieces, glob=False).select(columns))
    return pl.concat(scans) if len(scans) > 1 else scans[0]


def _brought(column: str, had: str | None, want: str) -> pl.Expr:
    if had is None or had == "nothing":
        return pl.lit(None, dtype=TYPES[want]).alias(column)
    if had == want:
        return pl.col(column)
    return json_text(column) if want == "json" else pl.col(column).cast(TYPES[want])
