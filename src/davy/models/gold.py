"""Settled answers as numbers that a model can learn from.

Posts with `Q.gold` columns in; for each question, which rows have an answer and
which label it is, out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from davy.core.errors import UserError, nearest
from davy.core.scheme import Question

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    Array = np.ndarray[Any, np.dtype[Any]]


def gold_questions(questions: tuple[Question, ...], posts: pl.DataFrame) -> list[Question]:
    """Return the questions that the posts have settled answers to; none is an error."""
    found = [
        question
        for question in questions
        if f"{question.name}.gold" in posts.columns and posts[f"{question.name}.gold"].is_not_null().any()
    ]
    if not found:
        wanted = ", ".join(f"{question.name}.gold" for question in questions)
        raise UserError(
            f"No settled answers to learn from: wanted {wanted}; the columns are {', '.join(posts.columns)}. "
            "Where they belong to another scheme, name it: --scheme edos, or @edos after a model's name."
        )
    return found


def targets(questions: tuple[Question, ...], posts: pl.DataFrame) -> Iterator[tuple[Question, Array, Array]]:
    """Yield each question with the rows that have an answer and a table of 0 and 1, one column a label."""
    import numpy as np

    for question in gold_questions(questions, posts):
        gold = posts[f"{question.name}.gold"]
        rows = np.flatnonzero(gold.is_not_null().to_numpy())
        table = np.zeros((len(rows), len(question.labels)), dtype=np.int8)
        for i, answer in enumerate(gold.drop_nulls().to_list()):
            for name in answer.split("|"):
                if name in question.label_names:
                    table[i, question.label_names.index(name)] = 1
                elif name and not question.open:
                    known = list(question.label_names)
                    raise UserError(
                        f"{name!r} in row {rows[i] + 1} of {question.name}.gold is not a label; "
                        f"{question.name!r} has {', '.join(known)}.{nearest(name, known)}"
                    )
        if question.kind != "many":
            kept = table.sum(axis=1) == 1
            rows, table = rows[kept], table[kept]
        yield question, rows, table
