"""Texts to start an entry from, as GAHD's rounds had them: translated seeds, and sentences that the target gets wrong.

A frame of posts and the target's predictions in; posts of the project that a round offers out. A sentence of a list is
right by its gold column; without one it is taken for harmless, as a newspaper's sentences are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from davy.annotation.project.store import posts
from davy.core.answers import GOLD, parse_cell
from davy.rounds.store import round_seeds

if TYPE_CHECKING:
    import polars as pl

    from davy.core import Question
    from davy.rounds.round import Round, TargetPrediction
    from davy.store import Connection

SEED_KINDS: tuple[str, ...] = ("seed", "news")


def wrong_rows(frame: pl.DataFrame, predictions: Sequence[Sequence[TargetPrediction]], question: Question) -> list[int]:
    """Return the rows that the first target gets wrong."""
    column = f"{question.name}{GOLD}"
    cells = frame[column].to_list() if column in frame.columns else [None] * len(frame)
    harmless = question.no or question.label_names[0]
    right = [(parse_cell(cell, question) or (harmless,))[0] for cell in cells]
    return [
        row for row, (label, answers) in enumerate(zip(right, predictions, strict=True)) if answers[0].label != label
    ]


def add_seeds(
    db: Connection,
    round_: Round,
    support: str,
    frame: pl.DataFrame,
    predictions: Sequence[Sequence[TargetPrediction]],
    *,
    by: str,
) -> int:
    """Add the posts of a frame to a project and offer them in a round; return how many are new in it."""
    if not len(frame):
        return 0
    posts.ensure(db, frame, project=round_.project, by=by)
    ids = [str(post) for post in frame["id"]]
    return round_seeds.add(db, round_, support, list(zip(ids, predictions, strict=True)), by=by)
