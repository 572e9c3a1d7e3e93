"""Published label values into labels of the scheme, a whole column at a time.

Each distinct value is looked up once. A value that the scheme does not know is
an error that names file, row, column and value.
"""

from __future__ import annotations

import ast
import json

import polars as pl

from davy.collect.corpora.descriptions import LabelColumn
from davy.core.errors import UserError, nearest
from davy.core.scheme import Question, Scheme


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
            row = (cells == value).arg_max()
            label = str(unknown.args[0])
            known = list(question.label_names)
            raise UserError(
                f"{file}: row {(row or 0) + 1}, column {where.column!r} has {label[:80]!r}, which is no label of"
                f" {question.name!r}; it has {', '.join(known[:12])}{', …' if len(known) > 12 else ''}."
                f"{nearest(label, known)}"
            ) from None
    values = [None if cell is None else table[cell] for cell in cells]
    return pl.Series(f"{question.name}.gold", values, dtype=pl.String)


def drop_labels_that_do_not_apply(rows: pl.DataFrame, scheme: Scheme) -> pl.DataFrame:
    """Return the rows with answers only where their question applies, and with derived answers filled in."""
    for question in scheme.questions:
        column = f"{question.name}.gold"
        if question.derived and f"{question.derived[0]}.gold" in rows.columns and column not in rows.columns:
            origin, table = question.derived
            rows = rows.with_columns(
                pl.col(f"{origin}.gold").replace_strict(dict(table), default=None, return_dtype=pl.String).alias(column)
            )
        if question.under and column in rows.columns and f"{question.under[0]}.gold" in rows.columns:
            parent, needed = question.under
            applies = pl.col(f"{parent}.gold").str.split("|").list.eval(pl.element().is_in(list(needed))).list.any()
            rows = rows.with_columns(pl.when(applies).then(pl.col(column)).alias(column))
    return rows


def _label(value: str, question: Question, where: LabelColumn) -> str | None:
    items = _items(value, where)
    if where.item is not None:
        items = items[where.item : where.item + 1]
    chosen = [_one(item, question, where) for item in items if item.strip().casefold() not in where.none]
    return "|".join(dict.fromkeys(chosen)) or None


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


def _one(item: str, question: Question, where: LabelColumn) -> str:
    spelt = where.values.get(item, item)
    number = spelt.removesuffix(".0")  # pandas writes whole numbers so when a column has gaps
    for spelling in (spelt, number):
        try:
            return question.label(spelling).name
        except KeyError:
            continue
    if question.open:
        return spelt.strip().replace("|", "/")
    raise KeyError(item)
