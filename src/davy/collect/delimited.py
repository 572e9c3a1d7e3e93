"""CSV and TSV in and out, with an encoding in which nothing is lost.

Text is always in quotes; numbers, `true` and `false` never are; nothing between
two separators is null, `""` is an empty text. A column of JSON text other than
`meta` has `:json` behind its name. Files from elsewhere are read by the same
rule as far as they follow it: see docs/files.md.
"""

from __future__ import annotations

import csv
import io
import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import polars as pl

from davy.collect import jsonl
from davy.collect.opening import LINE_CAP, blocks, line_end
from davy.collect.table import ALWAYS_JSON, Table, always_text, reading, refuse_odd_names
from davy.core.errors import UserError

SEPARATORS = {"csv": ",", "tsv": "\t"}
MARK = ":json"
_BLOCK = 512 * 1024  # what is worked out about it stays in the processor's cache
_MOST_THREADS = 4
_INTEGER = r"^-?(?:0|[1-9][0-9]{0,18})$"
_NUMBER = r"^-?(?:(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,25})?(?:[eE][+-]?[0-9]+)?|inf)$|^NaN$"
_BOOLEAN = r"^(?:true|false)$"
_KINDS: dict[str, bytes] = {"number": b"0123456789-Ni", "boolean": b"tf"}
"""What the cells of a column that is not text start with."""
_STARTS = {kind: np.isin(np.arange(256), list(starts)) for kind, starts in _KINDS.items()}


@dataclass
class _Seen:
    """What a look through some rows found, for each column: is a cell quoted, is one filled, might all be numbers."""

    rows: int
    blanks: int
    lines: int
    quoted: np.ndarray
    filled: np.ndarray
    might_be: dict[str, np.ndarray]

    def add(self, other: _Seen) -> None:
        """Take in what was found in the rows after these."""
        self.rows += other.rows
        self.blanks += other.blanks
        self.lines += other.lines
        self.quoted |= other.quoted
        self.filled |= other.filled
        for kind, columns in other.might_be.items():
            self.might_be[kind] &= columns


@dataclass(frozen=True)
class _Shape:
    """How a file is cut into rows and cells."""

    columns: list[str]
    separator: str
    newline: str
    quote: str | None
    header_lines: int

    def nothing(self, lines: int = 0) -> _Seen:
        """Return what is known of the columns before any row is seen."""
        n = len(self.columns)
        might_be = {kind: np.ones(n, dtype=bool) for kind in _KINDS}
        return _Seen(0, 0, lines, np.zeros(n, dtype=bool), np.zeros(n, dtype=bool), might_be)


class _WrongWidth(Exception):
    """A row has more or fewer cells than there are columns; the line is counted from the start of the chunk."""

    def __init__(self, line: int, width: int) -> None:
        super().__init__(line, width)
        self.line = line
        self.width = width


def read(
    path: Path, name: str, format: str, *, header: list[str] | None = None, quote: bool = True, cap: int = LINE_CAP
) -> Table:
    """Return the table of a CSV or TSV file; `header` names the columns of a file that has no header line."""
    try:
        shape, seen = _look(path, name, format, header, '"' if quote else None, cap)
    except UserError:
        if format != "tsv" or not quote:
            raise
        shape, seen = _look(path, name, format, header, None, cap)  # many TSV files know no quotes
    if not seen.rows:
        raise UserError(f"{name} has a header but no rows. Give a file with at least one row.")
    json_columns = frozenset(c.removesuffix(MARK) for c in shape.columns if c.endswith(MARK) or c == ALWAYS_JSON)
    columns = [c.removesuffix(MARK) for c in shape.columns]
    refuse_odd_names(columns, name)
    text = _scan(path, shape, dict.fromkeys(columns, pl.String()))
    types = _types(text, columns, seen, name)
    frame = _scan(path, shape, types)
    if seen.blanks and len(columns) > 1:
        frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))  # blank lines between rows
    return Table(name, frame, json_columns, seen.rows, unproven=json_columns)


def lines(frame: pl.LazyFrame, json_columns: frozenset[str], format: str) -> tuple[str, pl.LazyFrame]:
    """Return the header line, and the cells of the rows as they stand between the separators."""
    separator = SEPARATORS[format]
    schema = frame.collect_schema()
    names, cells = [], []
    for column, dtype in schema.items():
        nested = dtype.is_nested()
        marked = (column in json_columns or nested) and column != ALWAYS_JSON
        if column.endswith(MARK) and not marked:
            raise UserError(f"Column {column!r} ends with {MARK!r}, which marks JSON in CSV and TSV. Rename it.")
        names.append(column + MARK if marked else column)
        value = jsonl.encoded(column) if nested else pl.col(column)
        cells.append(_quoted(value).alias(column) if dtype == pl.String or nested else value)
    header = io.StringIO()
    csv.writer(header, delimiter=separator, lineterminator="\r\n").writerow(names)
    return header.getvalue().removesuffix("\r\n"), frame.select(cells)


def _quoted(value: pl.Expr) -> pl.Expr:
    return pl.concat_str(pl.lit('"'), value.str.replace_all('"', '""', literal=True), pl.lit('"'))


def _scan(path: Path, shape: _Shape, schema: dict[str, pl.DataType]) -> pl.LazyFrame:
    return pl.scan_csv(
        path,
        schema=schema,
        has_header=False,
        skip_lines=shape.header_lines,
        separator=shape.separator,
        eol_char=shape.newline,
        quote_char=shape.quote,
        glob=False,
    )


def _look(
    path: Path, name: str, format: str, header: list[str] | None, quote: str | None, cap: int
) -> tuple[_Shape, _Seen]:
    """Go once through the file: count rows and fields, and see which columns are ever quoted."""
    chunks = _chunks(path, name, format, header, quote, cap)
    shape, _ = first = next(chunks)
    seen = shape.nothing(shape.header_lines)
    threads = min(_MOST_THREADS, len(os.sched_getaffinity(0)))
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[_Seen]] = deque()
        try:
            for shape, rows in chain([first], chunks):
                waiting.append(pool.submit(_look_at, rows, shape))
                if len(waiting) > 2 * threads:
                    seen.add(waiting.popleft().result())
            while waiting:
                seen.add(waiting.popleft().result())
        except _WrongWidth as wrong:
            raise UserError(
                f"{name}: line {seen.lines + wrong.line} has {wrong.width} fields, but the header has"
                f" {len(shape.columns)}. Put fields that contain the separator or a line end in quotes."
            ) from None
    return shape, seen


def _chunks(
    path: Path, name: str, format: str, header: list[str] | None, quote: str | None, cap: int
) -> Iterator[tuple[_Shape, bytes]]:
    """Yield the shape with whole rows, some hundred kilobytes at a time; the header is not among them."""
    newline = line_end(path)
    shape: _Shape | None = None
    rest = b""
    lines = 0
    for _, block in blocks(path, name, cap=cap, size=_BLOCK):
        chunk = rest + block
        if shape is None:
            shape, start = _start(chunk, name, format, header, quote, newline)
            chunk = chunk[start:]
            lines = shape.header_lines
        used = _whole_rows(chunk, newline, quote)
        rest = chunk[used:]
        if len(rest) > cap:
            raise _unclosed(name, lines)
        lines += chunk.count(newline, 0, used)
        yield shape, chunk[:used]
    if shape is None:
        raise UserError(f"{name} is empty. Give a file with at least one row.")
    if rest:
        if not _whole_rows(rest + newline, newline, quote):
            raise _unclosed(name, lines)
        yield shape, rest + newline


def _whole_rows(chunk: bytes, newline: bytes, quote: str | None) -> int:
    """Return where the last whole row ends: at a line end with an even number of quotes before it."""
    end = len(chunk)
    if quote is None:
        return chunk.rfind(newline) + 1
    mark = quote.encode()
    quotes = int(np.count_nonzero(np.frombuffer(chunk, dtype=np.uint8) == ord(quote)))
    while (place := chunk.rfind(newline, 0, end)) >= 0:
        quotes -= chunk.count(mark, place, end)
        if quotes % 2 == 0:
            return place + 1
        end = place
    return 0


def _unclosed(name: str, lines: int) -> UserError:
    return UserError(f'{name}: a quote (") in the row that starts at line {lines + 1} is never closed.')


def _start(
    chunk: bytes, name: str, format: str, header: list[str] | None, quote: str | None, newline: bytes
) -> tuple[_Shape, int]:
    """Return the empty shape, from the header line, and where the rows start."""
    first = chunk.split(newline, 1)[0].decode()
    separator = SEPARATORS[format]
    if format == "csv" and separator not in first:
        separator = next((other for other in ";\t" if other in first), separator)
    start = 0
    if header is None:
        size = _first_row(chunk, newline, quote)
        row = chunk[:size].decode().rstrip("\r\n")
        source = io.StringIO(row, newline="")
        cells = next(csv.reader(source, delimiter=separator), []) if quote else row.split(separator)
        header = [cell or f"column_{place}" for place, cell in enumerate(cells, 1)]
        start = size
    if not header or header == ["column_1"]:
        raise UserError(f"{name} has no header line: its first line is blank. Name the columns in the first line.")
    return _Shape(header, separator, newline.decode(), quote, chunk[:start].count(newline)), start


def _first_row(chunk: bytes, newline: bytes, quote: str | None) -> int:
    """Return where the first row ends, line ends within quotes passed over."""
    end = 0
    while True:
        end = chunk.find(newline, end) + 1
        if not end:
            return len(chunk)
        if quote is None or chunk.count(b'"', 0, end) % 2 == 0:
            return end


def _look_at(chunk: bytes, shape: _Shape) -> _Seen:
    """Return what whole rows hold. Runs beside others of its kind: numpy lets go of Python's lock."""
    data = np.frombuffer(chunk, dtype=np.uint8)
    newline = ord(shape.newline)
    special = data == newline
    special |= data == ord(shape.separator)
    if shape.quote:
        special |= data == ord(shape.quote)
    places = np.flatnonzero(special)
    if shape.quote:
        quotes = data[places] == ord(shape.quote)
        inside = np.bitwise_xor.accumulate(quotes.view(np.uint8))
        places = places[(inside == 0) & ~quotes]
    row_ends = np.flatnonzero(data[places] == newline)
    seen = shape.nothing(chunk.count(shape.newline.encode()))
    if not len(row_ends):
        return seen
    starts = np.concatenate(([0], places[:-1] + 1))
    widths = np.diff(row_ends, prepend=-1)
    first = data[starts]
    n = len(shape.columns)
    odd = np.flatnonzero(widths != n) if n > 1 else np.zeros(0, dtype=np.int64)
    if len(odd):
        blank = _blanks(odd, row_ends, widths, starts, places, data)
        if len(blank) < len(odd):
            row = next(r for r in odd if r not in set(blank))
            start = int(starts[row_ends[row] - widths[row] + 1])
            raise _WrongWidth(1 + chunk.count(shape.newline.encode(), 0, start), int(widths[row]))
        first = np.delete(first, row_ends[blank])
        seen.blanks = len(blank)
    _note(first.reshape(-1, n), shape, seen)
    seen.rows = len(first) // n
    return seen


def _blanks(
    odd: np.ndarray, row_ends: np.ndarray, widths: np.ndarray, starts: np.ndarray, places: np.ndarray, data: np.ndarray
) -> np.ndarray:
    """Return those of the odd rows that are blank lines."""
    single = odd[widths[odd] == 1]
    size = places[row_ends[single]] - starts[row_ends[single]]
    only_cr = (size == 1) & (data[starts[row_ends[single]]] == 13)
    blank: np.ndarray = single[(size == 0) | only_cr]
    return blank


def _note(first: np.ndarray, shape: _Shape, seen: _Seen) -> None:
    """Note from the first byte of each cell which columns are quoted, filled, and might be numbers."""
    empty = (first == ord(shape.separator)) | (first == ord(shape.newline)) | (first == 13)
    if shape.quote:
        seen.quoted |= (first == ord(shape.quote)).any(axis=0)
    seen.filled |= ~empty.all(axis=0)
    for kind, starts in _STARTS.items():
        seen.might_be[kind] &= (empty | starts[first]).all(axis=0)


def _types(text: pl.LazyFrame, columns: list[str], seen: _Seen, name: str) -> dict[str, pl.DataType]:
    """Return each column's type: text, unless it is never quoted and every cell is a number, or true or false."""
    types: dict[str, pl.DataType] = dict.fromkeys(columns, pl.String())
    tests: list[pl.Expr] = []
    for place, column in enumerate(columns):
        if seen.quoted[place] or not seen.filled[place] or always_text(column):
            continue
        cell = pl.col(column)
        if seen.might_be["number"][place]:
            whole = cell.str.contains(_INTEGER) & cell.cast(pl.Int64, strict=False).is_not_null()
            tests.append((cell.is_null() | whole).all().alias(f"{place} integer"))
            tests.append(cell.str.contains(_NUMBER).all().alias(f"{place} number"))
        elif seen.might_be["boolean"][place]:
            tests.append(cell.str.contains(_BOOLEAN).all().alias(f"{place} boolean"))
    if not tests:
        return types
    with reading(name):
        found = text.select(tests).collect(engine="streaming").row(0, named=True)
    for test, holds in reversed(found.items()):  # whole numbers are numbers too, and come first
        number, kind = test.split(" ")
        if holds:
            types[columns[int(number)]] = {"integer": pl.Int64(), "number": pl.Float64(), "boolean": pl.Boolean()}[kind]
    return types
