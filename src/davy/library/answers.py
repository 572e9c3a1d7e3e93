"""Settled answers in a caller's frame: which column answers which question, and under which scheme.

A frame and a table of question → column in; the same frame with columns `Q.gold`, and their scheme, out. Where no
scheme that ships knows the labels, the questions are made from the labels themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from davy import schemes
from davy.core.answers import GOLD, split_cell
from davy.core.errors import UserError, nearest
from davy.core.gold import parse_gold
from davy.core.scheme import Label, Question, Scheme
from davy.library.frames import require_columns

YES = ("yes", "true", "1")


def with_gold(posts: pl.DataFrame, gold: Mapping[str, str] | None) -> pl.DataFrame:
    """Return the posts with a column `Q.gold` for each question that `gold` names a column for."""
    named = gold or {}
    require_columns(posts.columns, list(named.values()))
    return posts.with_columns(pl.col(column).cast(pl.String).alias(name + GOLD) for name, column in named.items())


def settled_posts(
    posts: pl.DataFrame,
    gold: Mapping[str, str] | None,
    scheme: str | Scheme | None,
    among: Sequence[Question] = (),
) -> tuple[pl.DataFrame, Scheme]:
    """Return posts with `Q.gold` columns, and the scheme of their answers.

    Without `scheme`, the questions are looked for `among` those of detectors, then in the schemes that ship, and at
    last made from the labels that occur.
    """
    posts = with_gold(posts, gold)
    names = list(gold or {}) or [name.removesuffix(GOLD) for name in posts.columns if name.endswith(GOLD)]
    if not names:
        raise UserError(
            f"No column holds settled answers; the columns are {', '.join(posts.columns)}. "
            "Name one by its question: gold={'hate': 'COLUMN'}"
        )
    answers = posts.select(name + GOLD for name in names)
    chosen = schemes.load(scheme) if isinstance(scheme, str) else scheme or _scheme(answers, names, among)
    known = {question.name: question for question in chosen.questions}
    for name in names:
        if name not in known:
            raise UserError(f"Scheme {chosen.name!r} has no question {name!r}.{nearest(name, list(known))}")
    parse_gold(answers, [known[name] for name in names])
    return posts, chosen


def _scheme(answers: pl.DataFrame, names: Sequence[str], among: Sequence[Question]) -> Scheme:
    """Return the scheme of some answers: of detectors' questions, one that ships, or a new one."""
    if _fits(answers, names, among):
        asked = {question.name for question in among}
        # A child whose parent nobody answers is asked of every post.
        free = (replace(q, under=None) if q.under and q.under[0] not in asked else q for q in among)
        return Scheme("detectors", 1, tuple(free))
    fitting = [scheme for scheme in map(schemes.load, schemes.names()) if _fits(answers, names, scheme.questions)]
    if fitting:
        return min(fitting, key=lambda scheme: len(scheme.questions))
    return Scheme("yours", 1, tuple(_question(name, answers[name + GOLD]) for name in names))


def _fits(answers: pl.DataFrame, names: Sequence[str], questions: Sequence[Question]) -> bool:
    asked = [question for question in questions if question.name in names]
    try:
        parse_gold(answers, asked)
    except UserError:
        return False
    return len(asked) == len(names)


def _question(name: str, column: pl.Series) -> Question:
    """Return a question with the labels that occur; of two labels, one that plainly says so is the yes."""
    cells = column.cast(pl.String).drop_nulls().unique().to_list()
    labels = sorted({label for cell in cells for label in split_cell(cell)})
    if len(labels) < 2:
        raise UserError(f"All answers to {name!r} are {labels[0] if labels else 'empty'!r}. Give posts of both kinds.")
    many = any(len(split_cell(cell)) > 1 for cell in cells)
    plain = [label for label in labels if label.lower() in (*YES, name.lower())]
    positive = plain[0] if len(labels) == 2 and len(plain) == 1 else None
    return Question(name, tuple(map(Label, labels)), kind="many" if many else "one", positive=positive)
