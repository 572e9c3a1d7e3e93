"""Published label values into labels of the scheme, a whole column at a time.

Each distinct value is looked up once. A value that the scheme does not know is
an error that names file, row, column and value.
"""

from __future__ import annotations

import ast
import json

import polars as pl

from davy.core.answers import GOLD, SEPARATOR, UnknownLabel, split_cell
from davy.core.errors import UserError
from davy.core.scheme import Question, Scheme
from davy.corpus.collect.corpora.descriptions import LabelColumn


def settled_labels(rows: pl.DataFrame, question: Question, where: LabelColumn, file: str) -> pl.Series:
    """Return the column `Q.gold`: labels joined by `|`, null where there is no answer."""
    cells = rows[where.column].cast(pl.String)
    table: dict[str, str | None] = {}
    for value in cells.unique(maintain_order=True):
        if value is None:
            continue
        try:
            table[value] = _label(value, question, where)
        except KeyError as unknown:
            row = (cells == value).arg_max() or 0
            error = UnknownLabel(str(unknown.args[0]), question, row)
            raise UserError(f"{file}: row {row + 1}, column {where.column!r} has {error}") from None
    values = [None if cell is None else table[cell] for cell in cells]
    return pl.Series(f"{question.name}{GOLD}", values, dtype=pl.String)


def drop_labels_that_do_not_apply(rows: pl.DataFrame, scheme: Scheme) -> pl.DataFrame:
    """Return the rows with answers only where their question applies, and with derived answers filled in."""
    for question in scheme.questions:
        column = f"{question.name}{GOLD}"
        if question.derived and f"{question.derived[0]}{GOLD}" in rows.columns and column not in rows.columns:
            origin, table = question.derived
            follows = pl.col(f"{origin}{GOLD}").replace_strict(dict(table), default=None, return_dtype=pl.String)
            rows = rows.with_columns(follows.alias(column))
        if question.under and column in rows.columns and f"{question.under[0]}{GOLD}" in rows.columns:
            above = rows[f"{question.under[0]}{GOLD}"]
            applying = [cell for cell in above.unique().drop_nulls() if question.applies_under(split_cell(cell))]
            rows = rows.with_columns(pl.when(above.is_in(applying)).then(pl.col(column)).alias(column))
    return rows


def _label(value: str, question: Question, where: LabelColumn) -> str | None:
    items = _items(value, where)
    if where.item is not None:
        items = items[where.item : where.item + 1]
    chosen = [_label_name(item, question, where) for item in items if item.strip().casefold() not in where.none]
    return SEPARATOR.join(dict.fromkeys(chosen)) or None


def _items(value: str, where: LabelColumn) -> list[str]:
    if where.written == "comma":
        return [item.strip() for item in value.split(",") if item.strip()]
    if where.written in ("python", "json") and value.strip().startswith("["):
        try:
            items = json.loads(value) if where.written == "json" else ast.literal_eval(value)
        except (ValueError, SyntaxError):
            raise KeyError(value) from None
        return [str(item) for item in items]
    return [value]


def _label_name(item: str, question: Question, where: LabelColumn) -> str:
    spelt = where.values.get(item, item)
    number = spelt.removesuffix(".0")  # pandas writes whole numbers so when a column has gaps
    for spelling in (spelt, number):
        try:
            return question.label(spelling).name
        except KeyError:
            continue
    if question.open:
        return spelt.strip().replace(SEPARATOR, "/")
    raise KeyError(item)
