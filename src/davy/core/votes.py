"""Annotators' votes on posts: the columns `Q.votes`, JSON such as {"hateful": 2, "not hateful": 1}, as soft labels.

Posts in; for each question the share of annotators behind each label, or one row a vote, out. A tie, which has no
settled answer, still says something here.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from davy.core.answers import GOLD, Answer, UnknownLabel, parse_cell
from davy.core.errors import UserError
from davy.core.scheme import Question

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    Array = np.ndarray[Any, np.dtype[Any]]

VOTES = ".votes"


def votes_cell(answers: Sequence[str]) -> str | None:
    """Return answers counted as JSON, the most frequent first; None where there are none."""
    counts = Counter(answers)
    return json.dumps(dict(counts.most_common()), ensure_ascii=False) if counts else None


def parse_votes(posts: pl.DataFrame, question: Question) -> list[dict[tuple[str, ...], int]]:
    """Return how many annotators gave which answer, post by post; an empty table where nobody did."""
    column = f"{question.name}{VOTES}"
    if column not in posts.columns:
        return [{} for _ in range(len(posts))]
    parsed = []
    for row, cell in enumerate(posts[column].to_list()):
        votes: dict[tuple[str, ...], int] = {}
        for spelt, n in _counts(cell, row, column).items():
            labels = _labels(spelt, question, row, column)
            if labels is not None:
                votes[labels] = votes.get(labels, 0) + n
        parsed.append(votes)
    return parsed


def vote_shares(question: Question, posts: pl.DataFrame) -> tuple[Array, Array]:
    """Return the rows that have votes, and the share of annotators behind each label (rows × labels)."""
    import numpy as np

    votes = parse_votes(posts, question)
    rows = np.array([row for row, given in enumerate(votes) if given], dtype=np.int64)
    table = np.zeros((len(rows), len(question.labels)))
    places = {name: place for place, name in enumerate(question.label_names)}
    for i, row in enumerate(rows.tolist()):
        total = sum(votes[row].values())
        for labels, n in votes[row].items():
            table[i, [places[label] for label in labels]] += n / total
    return rows, table


def with_majority(posts: pl.DataFrame) -> pl.DataFrame:
    """Return posts with a `Q.gold` for each `Q.votes` that has none: the answer of most annotators, null at a tie."""
    import polars as pl

    for column in [name for name in posts.columns if name.endswith(VOTES)]:
        gold = column.removesuffix(VOTES) + GOLD
        if gold not in posts.columns:
            most = [_winner(_counts(cell, row, column)) for row, cell in enumerate(posts[column].to_list())]
            posts = posts.with_columns(pl.Series(gold, most, dtype=pl.String))
    return posts


def one_row_a_vote(posts: pl.DataFrame, questions: Sequence[Question]) -> pl.DataFrame:
    """Return each post as often as annotators voted, each time with one vote of each question as its `Q.gold`.

    A post without votes stays as it is. So a model that knows hard labels alone learns from soft ones.
    """
    import polars as pl

    given = {question.name: parse_votes(posts, question) for question in questions}
    places: list[int] = []
    answers: dict[str, list[str | None]] = {name: [] for name in given}
    for row, settled in enumerate(posts.select(pl.col("^.*\\.gold$")).iter_rows(named=True)):
        cast = {name: ["|".join(a) for a, n in votes[row].items() for _ in range(n)] for name, votes in given.items()}
        times = max(1, *map(len, cast.values())) if cast else 1
        places += [row] * times
        for name, each in cast.items():
            usual = [settled.get(name + GOLD)]
            answers[name] += (each or usual) + [None] * (times - len(each or usual))
    return posts[places].with_columns(pl.Series(name + GOLD, cells, dtype=pl.String) for name, cells in answers.items())


def _counts(cell: Any, row: int, column: str) -> Mapping[str, int]:
    if cell is None or cell == "":
        return {}
    try:
        counts = json.loads(cell) if isinstance(cell, str) else dict(cell)
        return {str(label): int(n) for label, n in counts.items() if n and int(n) == n and n > 0}
    except (ValueError, TypeError, AttributeError):
        raise UserError(
            f'Row {row + 1} of {column} holds no votes. Write how many gave each label: {{"hateful": 2}}'
        ) from None


def _labels(spelt: str, question: Question, row: int, column: str) -> Answer:
    try:
        return parse_cell(spelt, question)
    except UnknownLabel as error:
        raise UserError(f"Row {row + 1} of {column} has {error}") from None


def _winner(counts: Mapping[str, int]) -> str | None:
    ranked = sorted(counts.items(), key=lambda item: -item[1])
    if not ranked or (len(ranked) > 1 and ranked[0][1] == ranked[1][1]):
        return None
    return ranked[0][0]
