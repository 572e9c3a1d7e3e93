"""A look through a CSV or TSV file: how it is cut into rows and cells, and what its columns hold.

A path in; the shape of the file and, for each column, what the first byte of its
cells says, out. Rows are cut where the number of quotes before a line end is
even. Chunks of whole rows are looked at side by side, in threads.
"""

from __future__ import annotations

import csv
import io
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from davy.core.errors import UserError
from davy.files.cores import usable_cores
from davy.files.file_table import refuse_many_columns
from davy.files.formats import separator_of
from davy.files.input_file import line_blocks, line_end

_BLOCK = 512 * 1024  # what is worked out about it stays in the processor's cache
_MOST_THREADS = 4
_KINDS: dict[str, bytes] = {"number": b"0123456789-Ni", "boolean": b"tf"}
"""What the cells of a column that is not text start with."""
_RUNNING = np.array(
    [sum((bits & ((2 << i) - 1)).bit_count() % 2 << i for i in range(8)) for bits in range(256)], np.uint8
)
"""For eight bits: after each of them, is the number of ones so far odd?"""
_STARTS = {kind: np.isin(np.arange(256), list(starts)) for kind, starts in _KINDS.items()}


@dataclass
class CellFacts:
    """What a look through some rows found, for each column: is a cell quoted, is one filled, might all be numbers."""

    rows: int
    blanks: int
    lines: int
    quoted: np.ndarray
    filled: np.ndarray
    might_be: dict[str, np.ndarray]

    def add(self, other: CellFacts) -> None:
        """Take in what was found in the rows after these."""
        self.rows += other.rows
        self.blanks += other.blanks
        self.lines += other.lines
        self.quoted |= other.quoted
        self.filled |= other.filled
        for kind, columns in other.might_be.items():
            self.might_be[kind] &= columns


@dataclass(frozen=True)
class CsvShape:
    """How a file is cut into rows and cells."""

    columns: list[str]
    separator: str
    newline: str
    quote: str | None
    header_lines: int

    def nothing(self, lines: int = 0) -> CellFacts:
        """Return what is known of the columns before any row is seen."""
        n = len(self.columns)
        might_be = {kind: np.ones(n, dtype=bool) for kind in _KINDS}
        return CellFacts(0, 0, lines, np.zeros(n, dtype=bool), np.zeros(n, dtype=bool), might_be)


class _WrongWidth(Exception):
    """A row has more or fewer cells than there are columns; the line is counted from the start of the chunk."""

    def __init__(self, line: int, width: int) -> None:
        super().__init__(line, width)
        self.line = line
        self.width = width


def scan_cells(
    path: Path, name: str, format: str, header: list[str] | None, quote: str | None, cap: int
) -> tuple[CsvShape, CellFacts]:
    """Go once through the file: count rows and fields, and see which columns are ever quoted."""
    chunks = _chunks(path, name, format, header, quote, cap)
    shape, _ = first = next(chunks)
    seen = shape.nothing(shape.header_lines)
    threads = min(_MOST_THREADS, usable_cores())
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[CellFacts]] = deque()
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
) -> Iterator[tuple[CsvShape, bytes]]:
    """Yield the shape with whole rows, some hundred kilobytes at a time; the header is not among them."""
    newline = line_end(path)
    shape: CsvShape | None = None
    rest = b""
    lines = 0
    for _, block in line_blocks(path, name, cap=cap, size=_BLOCK):
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
    quote_byte = quote.encode()
    quotes = int(np.count_nonzero(np.frombuffer(chunk, dtype=np.uint8) == ord(quote)))
    while (place := chunk.rfind(newline, 0, end)) >= 0:
        quotes -= chunk.count(quote_byte, place, end)
        if quotes % 2 == 0:
            return place + 1
        end = place
    return 0


def _unclosed(name: str, lines: int) -> UserError:
    return UserError(f'{name}: a quote (") in the row that starts at line {lines + 1} is never closed.')


def _start(
    chunk: bytes, name: str, format: str, header: list[str] | None, quote: str | None, newline: bytes
) -> tuple[CsvShape, int]:
    """Return the empty shape, from the header line, and where the rows start."""
    first = chunk.split(newline, 1)[0].decode()
    separator = separator_of(first, format)
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
    refuse_many_columns(len(header), name)
    return CsvShape(header, separator, newline.decode(), quote, chunk[:start].count(newline)), start


def _first_row(chunk: bytes, newline: bytes, quote: str | None) -> int:
    """Return where the first row ends, line ends within quotes passed over."""
    end = 0
    while True:
        end = chunk.find(newline, end) + 1
        if not end:
            return len(chunk)
        if quote is None or chunk.count(b'"', 0, end) % 2 == 0:
            return end


def _look_at(chunk: bytes, shape: CsvShape) -> CellFacts:
    """Return what whole rows hold. Runs beside others of its kind: numpy lets go of Python's lock."""
    data = np.frombuffer(chunk, dtype=np.uint8)
    newline = ord(shape.newline)
    places = _cuts(data, shape)
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


def _cuts(data: np.ndarray, shape: CsvShape) -> np.ndarray:
    """Return where separators and line ends are that no quotes enclose. Eight bytes of the file are one of `marks`."""
    wanted = data == ord(shape.newline)
    other = data == ord(shape.separator)
    wanted |= other
    marks = np.packbits(wanted, bitorder="little")
    if shape.quote:
        np.equal(data, ord(shape.quote), out=other)
        inside = _RUNNING.take(np.packbits(other, bitorder="little"))
        odd = np.bitwise_xor.accumulate(inside >> 7)
        inside[1:] ^= odd[:-1] * np.uint8(255)  # what the eights before leave open
        marks &= ~inside
    busy = np.flatnonzero(marks != 0)
    bits = np.flatnonzero(np.unpackbits(marks[busy], bitorder="little").view(bool))
    places: np.ndarray = busy[bits >> 3] * 8 + (bits & 7)
    return places


def _blanks(
    odd: np.ndarray, row_ends: np.ndarray, widths: np.ndarray, starts: np.ndarray, places: np.ndarray, data: np.ndarray
) -> np.ndarray:
    """Return those of the odd rows that are blank lines."""
    single = odd[widths[odd] == 1]
    size = places[row_ends[single]] - starts[row_ends[single]]
    only_cr = (size == 1) & (data[starts[row_ends[single]]] == 13)
    blank: np.ndarray = single[(size == 0) | only_cr]
    return blank


def _note(first: np.ndarray, shape: CsvShape, seen: CellFacts) -> None:
    """Note from the first byte of each cell which columns are quoted, filled, and might be numbers."""
    empty = (first == ord(shape.separator)) | (first == ord(shape.newline)) | (first == 13)
    if shape.quote:
        seen.quoted |= (first == ord(shape.quote)).any(axis=0)
    seen.filled |= ~empty.all(axis=0)
    for kind, starts in _STARTS.items():
        seen.might_be[kind] &= (empty | starts[first]).all(axis=0)
