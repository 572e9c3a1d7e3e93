"""CSV and TSV in and out, with an encoding in which nothing is lost.

Text is always in quotes; numbers, `true` and `false` never are; nothing between
two separators is null, `""` is an empty text. A column of JSON text other than
`meta` has `:json` behind its name. Files from elsewhere are read by the same
rule as far as they follow it: see docs/files.md.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field
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
_INTEGER = r"^-?(?:0|[1-9][0-9]{0,18})$"
_NUMBER = r"^-?(?:(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,25})?(?:[eE][+-]?[0-9]+)?|inf)$|^NaN$"
_BOOLEAN = r"^(?:true|false)$"
_KINDS: dict[str, bytes] = {"number": b"0123456789-Ni", "boolean": b"tf"}
"""What the cells of a column that is not text start with."""
_STARTS = {kind: np.isin(np.arange(256), list(starts)) for kind, starts in _KINDS.items()}


@dataclass
class _Shape:
    """What a look through the file found."""

    columns: list[str]
    separator: str
    newline: str
    quote: str | None
    header_lines: int = 0
    rows: int = 0
    blanks: int = 0
    lines: int = 0
    quoted: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=bool))
    filled: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=bool))
    might_be: dict[str, np.ndarray] = field(default_factory=dict)


def read(
    path: Path, name: str, format: str, *, header: list[str] | None = None, quote: bool = True, cap: int = LINE_CAP
) -> Table:
    """Return the table of a CSV or TSV file; `header` names the columns of a file that has no header line."""
    try:
        shape = _look(path, name, format, header, '"' if quote else None, cap)
    except UserError:
        if format != "tsv" or not quote:
            raise
        shape = _look(path, name, format, header, None, cap)  # many TSV files know no quotes
    if not shape.rows:
        raise UserError(f"{name} has a header but no rows. Give a file with at least one row.")
    json_columns = frozenset(c.removesuffix(MARK) for c in shape.columns if c.endswith(MARK) or c == ALWAYS_JSON)
    columns = [c.removesuffix(MARK) for c in shape.columns]
    refuse_odd_names(columns, name)
    text = _scan(path, shape, dict.fromkeys(columns, pl.String()))
    types = _types(text, columns, shape, name)
    frame = _scan(path, shape, types)
    if shape.blanks and len(columns) > 1:
        frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))  # blank lines between rows
    return Table(name, frame, json_columns, shape.rows, unproven=json_columns)


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


def _look(path: Path, name: str, format: str, header: list[str] | None, quote: str | None, cap: int) -> _Shape:
    """Go once through the file: count rows and fields, and see which columns are ever quoted."""
    newline = line_end(path)
    shape: _Shape | None = None
    rest = b""
    for _, block in blocks(path, name, cap=cap, size=_BLOCK):
        chunk = rest + block
        if shape is None:
            shape, start = _start(chunk, name, format, header, quote, newline)
            chunk = chunk[start:]
        used = _look_at(chunk, shape, name)
        rest = chunk[used:]
        if len(rest) > cap:
            raise _unclosed(name, shape)
    if shape is None:
        raise UserError(f"{name} is empty. Give a file with at least one row.")
    if rest and _look_at(rest + newline, shape, name) == 0:
        raise _unclosed(name, shape)
    return shape


def _unclosed(name: str, shape: _Shape) -> UserError:
    return UserError(f'{name}: a quote (") in the row that starts at line {shape.lines + 1} is never closed.')


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
    shape = _Shape(header, separator, newline.decode(), quote, header_lines=chunk[:start].count(newline))
    shape.lines = shape.header_lines
    n = len(header)
    shape.quoted, shape.filled = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    shape.might_be = {kind: np.ones(n, dtype=bool) for kind in _KINDS}
    return shape, start


def _first_row(chunk: bytes, newline: bytes, quote: str | None) -> int:
    """Return where the first row ends, line ends within quotes passed over."""
    end = 0
    while True:
        end = chunk.find(newline, end) + 1
        if not end:
            return len(chunk)
        if quote is None or chunk.count(b'"', 0, end) % 2 == 0:
            return end


def _look_at(chunk: bytes, shape: _Shape, name: str) -> int:
    """Add the whole rows of a chunk to the shape; return how many bytes they took."""
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
    if not len(row_ends):
        return 0
    places = places[: row_ends[-1] + 1]
    starts = np.concatenate(([0], places[:-1] + 1))
    widths = np.diff(row_ends, prepend=-1)
    first = data[starts]
    n = len(shape.columns)
    odd = np.flatnonzero(widths != n) if n > 1 else np.zeros(0, dtype=np.int64)
    if len(odd):
        blank = _blanks(odd, row_ends, widths, starts, places, data)
        if len(blank) < len(odd):
            row = next(r for r in odd if r not in set(blank))
            line = shape.lines + 1 + chunk.count(bytes([newline]), 0, int(starts[row_ends[row] - widths[row] + 1]))
            raise UserError(
                f"{name}: line {line} has {widths[row]} fields, but the header has {n}."
                " Put fields that contain the separator or a line end in quotes."
            )
        first = np.delete(first, row_ends[blank])
        shape.blanks += len(blank)
    _note(first.reshape(-1, n), shape)
    shape.rows += len(first) // n
    used = int(places[-1]) + 1
    shape.lines += chunk.count(bytes([newline]), 0, used)
    return used


def _blanks(
    odd: np.ndarray, row_ends: np.ndarray, widths: np.ndarray, starts: np.ndarray, places: np.ndarray, data: np.ndarray
) -> np.ndarray:
    """Return those of the odd rows that are blank lines."""
    single = odd[widths[odd] == 1]
    size = places[row_ends[single]] - starts[row_ends[single]]
    only_cr = (size == 1) & (data[starts[row_ends[single]]] == 13)
    blank: np.ndarray = single[(size == 0) | only_cr]
    return blank


def _note(first: np.ndarray, shape: _Shape) -> None:
    """Note from the first byte of each cell which columns are quoted, filled, and might be numbers."""
    empty = (first == ord(shape.separator)) | (first == ord(shape.newline)) | (first == 13)
    if shape.quote:
        shape.quoted |= (first == ord(shape.quote)).any(axis=0)
    shape.filled |= ~empty.all(axis=0)
    for kind, starts in _STARTS.items():
        shape.might_be[kind] &= (empty | starts[first]).all(axis=0)


def _types(text: pl.LazyFrame, columns: list[str], shape: _Shape, name: str) -> dict[str, pl.DataType]:
    """Return each column's type: text, unless it is never quoted and every cell is a number, or true or false."""
    types: dict[str, pl.DataType] = dict.fromkeys(columns, pl.String())
    tests: list[pl.Expr] = []
    for place, column in enumerate(columns):
        if shape.quoted[place] or not shape.filled[place] or always_text(column):
            continue
        cell = pl.col(column)
        if shape.might_be["number"][place]:
            whole = cell.str.contains(_INTEGER) & cell.cast(pl.Int64, strict=False).is_not_null()
            tests.append((cell.is_null() | whole).all().alias(f"{place} integer"))
            tests.append(cell.str.contains(_NUMBER).all().alias(f"{place} number"))
        elif shape.might_be["boolean"][place]:
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
