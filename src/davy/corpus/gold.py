"""The settled answers that detectors are measured against.

Posts with answer columns and a scheme in; for each question which posts count
and what their answer is, out. The one thing to know: a child question is
measured only on posts whose settled parent answer makes it apply, as the EDOS
challenge does for its tasks B and C.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from davy.core import answers
from davy.core.answers import SEPARATOR, Answer, UnknownLabel, applies_mask, imply_no
from davy.core.errors import UserError
from davy.core.gold import check_questions, suggest_gold
from davy.core.scheme import Question, Scheme

if TYPE_CHECKING:
    import polars as pl

ROW = "davy.row"
"""Column with each post's row in its file, so that errors name it after rows were left out."""


@dataclass(frozen=True, slots=True)
class Gold:
    """One question's settled answers: `labels[i]` belongs to the post at position `rows[i]`."""

    question: Question
    rows: tuple[int, ...]
    labels: tuple[tuple[str, ...], ...]
    note: str = ""
    """Which posts were left out, and why."""

    @property
    def cells(self) -> list[str]:
        """Each post's labels as one text, joined by `|`."""
        return [SEPARATOR.join(labels) for labels in self.labels]

    @property
    def counts(self) -> dict[str, int]:
        """How often each label occurs, in the order of the question."""
        every = [label for labels in self.labels for label in labels]
        return {name: every.count(name) for name in self.question.label_names}


def settled_answers(
    posts: pl.DataFrame,
    scheme: Scheme,
    columns: Mapping[str, str],
    *,
    file: str = "The file",
    questions: Sequence[str] = (),
    everywhere: bool = False,
) -> list[Gold]:
    """Return the settled answers to each question that has a column and at least one answer.

    With `everywhere`, a yes/no child question is measured on all posts whose parent is answered, and a post to which
    it does not apply counts as a no: so GMHP7k measures misogyny.
    """
    asked = [scheme.question(name) for name in check_questions(questions, scheme)]
    parsed = {
        question.name: parse_column(posts, question, columns[question.name], file)
        for question in scheme.questions
        if question.name in columns
    }
    wanted = [question for question in asked or scheme.questions if question.name in parsed]
    found = [_of(question, parsed, scheme, everywhere=everywhere) for question in wanted]
    absent = [question.name for question in asked if question.name not in parsed]
    if absent:
        seen = ", ".join(columns.values()) or "none"
        raise UserError(
            f"{file} has no settled answers to {absent[0]!r}; its answer columns are {seen}. "
            f"Name the column: --gold {absent[0]}=COLUMN"
        )
    for gold in found:
        if not gold.rows and gold.question in asked:
            raise UserError(f"{file} has no post with a settled answer to {gold.question.name!r}. {gold.note}".strip())
    kept = [gold for gold in found if gold.rows]
    if not kept:
        raise UserError(
            f"{file} has no settled answers to measure against: wanted columns such as "
            f"{scheme.questions[0].name}.gold, it has {', '.join(posts.drop(ROW, strict=False).columns)}. "
            + (
                suggest_gold(posts, scheme.questions)
                or "Name one with --gold COLUMN, or read a public corpus with --corpus NAME"
            )
        )
    return kept


def parse_column(posts: pl.DataFrame, question: Question, column: str, file: str) -> list[Answer]:
    """Return each post's answer in the scheme's names; a label outside the scheme is an error with row and value."""
    import polars as pl

    try:
        return answers.parse_column(posts[column].cast(pl.String).to_list(), question)
    except UnknownLabel as error:
        row = posts[ROW][error.row] if ROW in posts.columns else error.row + 1
        raise UserError(f"{file}: row {row}, column {column!r} has {error}") from None


def _of(question: Question, parsed: Mapping[str, list[Answer]], scheme: Scheme, *, everywhere: bool) -> Gold:
    own = parsed[question.name]
    applies = applies_mask(question, scheme.questions, parsed, len(own))
    counted = [labels if led else None for labels, led in zip(own, applies, strict=True)]
    if everywhere:
        counted = imply_no(question, counted, applies)
    rows = tuple(row for row, labels in enumerate(counted) if labels is not None)
    labels = tuple(labels for labels in counted if labels is not None)
    empty = sum(labels is None and led is True for labels, led in zip(counted, applies, strict=True))
    not_asked = len(own) - len(rows) - empty
    notes = []
    if not_asked and question.under:
        notes.append(f"{not_asked:,} posts left out: {question.under[0]!r} does not lead to this question")
    if empty:
        notes.append(f"{empty:,} posts left out: no settled answer")
    return Gold(question, rows, labels, "; ".join(notes))
