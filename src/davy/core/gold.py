"""Settled answers in a frame of posts: its columns `Q.gold` as labels, as arrays to learn from, and with implied noes.

Posts in; for each question which rows have an answer and which labels, out. numpy and polars are imported when they
are needed: `core` loads neither.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from davy.core.annotation import Answers
from davy.core.answers import GOLD, Answer, UnknownLabel, applies_mask, imply_no, parse_column, split_cell
from davy.core.errors import UserError, nearest
from davy.core.scheme import Question, Scheme

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    Array = np.ndarray[Any, np.dtype[Any]]


def has_gold(question: Question, posts: pl.DataFrame) -> bool:
    """Return whether any post has a settled answer to the question."""
    column = f"{question.name}{GOLD}"
    return column in posts.columns and bool(posts[column].is_not_null().any())


def gold_questions(questions: Sequence[Question], posts: pl.DataFrame) -> list[Question]:
    """Return the questions that the posts have settled answers to; none is an error."""
    found = [question for question in questions if has_gold(question, posts)]
    if not found:
        wanted = ", ".join(f"{question.name}{GOLD}" for question in questions)
        raise UserError(
            f"No settled answers to learn from: wanted {wanted}; the columns are {', '.join(posts.columns)}. "
            "Where they belong to another scheme, name it: --scheme edos, or @edos after a model's name."
        )
    return found


def parse_gold(posts: pl.DataFrame, questions: Collection[Question]) -> dict[str, list[Answer]]:
    """Return each question's settled answers, one a post, for the questions that have a column.

    A parent that is not among the questions comes along as it is spelt, so that it is known where its children apply.
    """
    found: dict[str, list[Answer]] = {}
    for question in questions:
        column = f"{question.name}{GOLD}"
        if column in posts.columns:
            try:
                found[question.name] = parse_column(_texts(posts[column]), question)
            except UnknownLabel as error:
                raise UserError(f"Row {error.row + 1} of {column} has {error}") from None
    for question in questions:
        parent = question.under[0] if question.under else ""
        if parent not in found and f"{parent}{GOLD}" in posts.columns:
            found[parent] = [split_cell(cell) or None for cell in _texts(posts[f"{parent}{GOLD}"])]
    return found


def _texts(column: pl.Series) -> list[str | None]:
    import polars as pl

    return column.cast(pl.String).to_list()


def targets(questions: Sequence[Question], posts: pl.DataFrame) -> Iterator[tuple[Question, Array, Array]]:
    """Yield each question with the rows that have an answer and a table of 0 and 1, one column a label."""
    import numpy as np

    for question in gold_questions(questions, posts):
        answers = parse_gold(posts, [question])[question.name]
        rows = np.array([row for row, labels in enumerate(answers) if labels is not None], dtype=np.int64)
        table = np.zeros((len(rows), len(question.labels)), dtype=np.int8)
        places = {name: place for place, name in enumerate(question.label_names)}
        for i, row in enumerate(rows.tolist()):
            table[i, [places[name] for name in answers[row] or ()]] = 1
        yield question, rows, table


def fill_implied_no(posts: pl.DataFrame, questions: Collection[Question]) -> pl.DataFrame:
    """Return the posts with the no of every yes/no question that a settled answer above leads past."""
    import polars as pl

    columns = parse_gold(posts, questions)
    for question in questions:
        own = columns.get(question.name)
        if own is None:
            continue
        columns[question.name] = filled = imply_no(question, own, applies_mask(question, questions, columns, len(own)))
        fresh = [old is None and new is not None for old, new in zip(own, filled, strict=True)]
        changed = pl.Series(fresh, dtype=pl.Boolean)
        column = f"{question.name}{GOLD}"
        posts = posts.with_columns(pl.when(changed).then(pl.lit(question.no)).otherwise(column).alias(column))
    return posts


def right_answers(posts: pl.DataFrame, scheme: Scheme) -> list[Answers | None]:
    """Return each post's settled answers, None where it has none; what does not fit the scheme is an error."""
    names = [question.name for question in scheme.questions]
    columns = {name.removesuffix(GOLD): _texts(posts[name]) for name in posts.columns if name.endswith(GOLD)}
    for name in columns:
        if name not in names:
            raise UserError(
                f"Column {name + GOLD!r} holds right answers, but scheme {scheme.name!r} asks {', '.join(names)}."
                f"{nearest(name, names)}"
            )
    ids = posts["id"].to_list()
    parsed = {name: _parse_by_id(cells, scheme.question(name), ids) for name, cells in columns.items()}
    found: list[Answers | None] = []
    for row, post in enumerate(ids):
        # An empty cell is no right answer: nobody meant "none of these" by it.
        given = {name: labels for name, column in parsed.items() if (labels := column[row])}
        faults = scheme.faults(given)
        if faults:
            raise UserError(f"Post {str(post)!r} has right answers that don't fit: {faults[0]}.")
        found.append(given or None)
    return found


def _parse_by_id(cells: Sequence[str | None], question: Question, ids: Sequence[object]) -> list[Answer]:
    try:
        return parse_column(cells, question, keep_unlisted=True)
    except UnknownLabel as error:
        raise UserError(f"Post {str(ids[error.row])!r} has {error}") from None
