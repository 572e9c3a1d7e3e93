"""Cells that look empty, such as `none`: a label in some files, no answer in others.

A question and a column of answers in; the question that reads these cells, and what they were read as, out. The rule:
beside one other value they are a label, beside two or more they are no answer, unless the caller says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import polars as pl

from davy.core.answers import NONE
from davy.core.errors import UserError
from davy.core.options import Option
from davy.core.scheme import Question, fold_spelling

LOOKS_EMPTY = ("none", "null", "na", "n/a", "nan", "-")
LabelNone = Annotated[
    bool,
    Option("Cells such as 'none' or 'null' are a label, not a missing answer.", "--label-none"),
]


@dataclass(frozen=True, slots=True)
class CellValues:
    """The distinct values of a column of answers, with those that look empty apart."""

    labels: tuple[str, ...]
    empty: tuple[str, ...]

    @classmethod
    def of(cls, column: pl.Series) -> CellValues:
        """Return the values of a column; a number that is NaN is no value."""
        column = column.fill_nan(None) if column.dtype.is_float() else column
        values = [value for value in column.cast(pl.String).unique().drop_nulls().sort() if value.strip()]
        return cls(tuple(value for value in values if not looks_empty(value)), tuple(filter(looks_empty, values)))

    def empty_is_a_label(self, label_none: bool) -> bool:
        """Return whether the values that look empty are a label here."""
        return bool(self.empty) and (label_none or len(self.labels) == 1)

    def unknown_to(self, question: Question) -> tuple[str, ...]:
        """Return the values that look empty and are neither a label of the question nor its word for "not asked"."""
        none_of_these = (NONE,) if question.takes_several else ()
        return tuple(
            value
            for value in self.empty
            if value not in none_of_these and not question.is_absent(value) and not _spells_label(question, value)
        )


def looks_empty(cell: str) -> bool:
    """Return whether a cell holds one of the words that tables write for nothing."""
    return fold_spelling(cell) in LOOKS_EMPTY


def read_empty_cells(question: Question, column: pl.Series, label_none: bool = False) -> tuple[Question, str]:
    """Return the question as it reads the column's cells that look empty, and the label that they were read as.

    The label is "" where they are no answer. A cell that spells a label of the question is that label in any case.
    """
    if not question.of_labels:
        return question, ""
    values = CellValues.of(column)
    unknown = values.unknown_to(question)
    if unknown and question.open and label_none:
        return question, ""
    if unknown and values.empty_is_a_label(label_none):
        if _is_no(question, values.labels):
            labels = tuple(
                replace(label, aliases=(*label.aliases, *unknown)) if label.name == question.no else label
                for label in question.labels
            )
            return replace(question, labels=labels), str(question.no)
        if label_none:
            raise UserError(
                f"--label-none: {unknown[0]!r} is no label of {question.name!r}, which has "
                f"{', '.join(question.label_names[:12])}. Add it to the scheme, or leave the option out."
            )
    nan = ("NaN",) if column.dtype.is_float() else ()  # what a missing number is as text
    return replace(question, absent=(*question.absent, *unknown, *nan)) if unknown or nan else question, ""


def fits_empty_cells(question: Question, column: pl.Series, label_none: bool = False) -> bool:
    """Return whether the question can read a column's cells that look empty, if they are a label there."""
    if not question.of_labels or question.open:
        return True
    values = CellValues.of(column)
    is_label = label_none if question.takes_several else values.empty_is_a_label(label_none)
    return not (is_label and values.unknown_to(question)) or _is_no(question, values.labels)


def _is_no(question: Question, labels: tuple[str, ...]) -> bool:
    """Return whether a cell that looks empty can only be the no of a yes/no question."""
    return question.no is not None and any(_spells_label(question, label, question.positive) for label in labels)


def _spells_label(question: Question, cell: str, label: str | None = None) -> bool:
    try:
        name = question.read(cell)
    except (KeyError, ValueError):
        return False
    return label is None or name == label
