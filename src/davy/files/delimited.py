"""CSV and TSV in and out, with an encoding in which nothing is lost.

Text is always in quotes; numbers, `true` and `false` never are; nothing between
two separators is null, `""` is an empty text. A column of JSON text other than
`meta` has `:json` behind its name. Files from elsewhere are read by the same
rule as far as they follow it: see docs/data/files.md.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from davy.core.errors import UserError
from davy.files import jsonl
from davy.files.file_table import ALWAYS_JSON, FileTable, is_always_text, refuse_odd_names, translate_errors
from davy.files.formats import SEPARATORS
from davy.files.input_file import LINE_CAP

if TYPE_CHECKING:
    from davy.files.csv_scan import CellFacts, CsvShape

MARK = ":json"
_INTEGER = r"^-?(?:0|[1-9][0-9]{0,18})$"
_NUMBER = r"^-?(?:(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,25})?(?:[eE][+-]?[0-9]+)?|inf)$|^NaN$"
_BOOLEAN = r"^(?:true|false)$"


def read(
    path: Path, name: str, format: str, *, header: list[str] | None = None, quote: bool = True, cap: int = LINE_CAP
) -> FileTable:
    """Return the table of a CSV or TSV file; `header` names the columns of a file that has no header line."""
    from davy.files.csv_scan import (
        scan_cells,  # it takes numpy, which writing does without: half as long to start as polars
    )

    try:
        shape, seen = scan_cells(path, name, format, header, '"' if quote else None, cap)
    except UserError:
        if format != "tsv" or not quote:
            raise
        shape, seen = scan_cells(path, name, format, header, None, cap)  # many TSV files know no quotes
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
    return FileTable(name, frame, json_columns, seen.rows, unproven=json_columns)


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
        value = jsonl.json_text(column) if nested else pl.col(column)
        cells.append(_quoted(value).alias(column) if dtype == pl.String or nested else value)
    header = io.StringIO()
    csv.writer(header, delimiter=separator, lineterminator="\r\n").writerow(names)
    return header.getvalue().removesuffix("\r\n"), frame.select(cells)


def _quoted(value: pl.Expr) -> pl.Expr:
    return pl.concat_str(pl.lit('"'), value.str.replace_all('"', '""', literal=True), pl.lit('"'))


def _scan(path: Path, shape: CsvShape, schema: dict[str, pl.DataType]) -> pl.LazyFrame:
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


def _types(text: pl.LazyFrame, columns: list[str], seen: CellFacts, name: str) -> dict[str, pl.DataType]:
    """Return each column's type: text, unless it is never quoted and every cell is a number, or true or false."""
    types: dict[str, pl.DataType] = dict.fromkeys(columns, pl.String())
    tests: list[pl.Expr] = []
    for place, column in enumerate(columns):
        if seen.quoted[place] or not seen.filled[place] or is_always_text(column):
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
    with translate_errors(name):
        found = text.select(tests).collect(engine="streaming").row(0, named=True)
    for test, holds in reversed(found.items()):  # whole numbers are numbers too, and come first
        number, kind = test.split(" ")
        if holds:
            types[columns[int(number)]] = {"integer": pl.Int64(), "number": pl.Float64(), "boolean": pl.Boolean()}[kind]
    return types
