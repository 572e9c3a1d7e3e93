"""Compare two detectors on posts that nobody has labelled: how often they differ, and on which posts.

A file and two detectors in, the same file with both answers and the column `differ` out, those that differ first.
Who is right only people can say: with settled answers, `evaluate` tells.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from davy.core.errors import UserError
from davy.core.metric import Metric
from davy.core.reporter import SILENT, Reporter
from davy.corpus.gold import ROW
from davy.corpus.post_source import PostSource, as_source, load_posts
from davy.files import tables
from davy.measure.intervals import proportion
from davy.scoring.scorers import load_scorers, score_posts

if TYPE_CHECKING:
    from davy.core.scheme import Question
    from davy.core.scorer import Scorer

DIFFER = "differ"
"""The column with the questions that the two answer differently."""


@dataclass(frozen=True, slots=True)
class QuestionDifference:
    """One question: `both` said yes, one alone did, or they chose `other` labels; `share` of the n posts differ."""

    question: str
    n: int
    both: int
    only_first: int
    only_second: int
    other: int
    share: Metric

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        counts = {name: getattr(self, name) for name in ("question", "n", "both", "only_first", "only_second", "other")}
        return {**counts, "share": self.share.to_dict()}


@dataclass(frozen=True, slots=True)
class DetectorComparison:
    """Two detectors on the same posts; `models` are name → version."""

    models: dict[str, str]
    posts: int
    differing: int
    """Posts on which they differ in some question."""
    questions: tuple[QuestionDifference, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        rows = [question.to_dict() for question in self.questions]
        return {"models": self.models, "posts": self.posts, "differing": self.differing, "questions": rows}


def compare_detectors(
    file: PostSource | Path | str, models: Mapping[str, str | Scorer], out: Path, *, reporter: Reporter = SILENT
) -> DetectorComparison:
    """Score a file by two detectors, write both answers to `out` and return how often they differ."""
    if len(models) != 2:
        raise UserError(f"Name two detectors to compare; {len(models)} are named.")
    scorers = load_scorers(models)
    first, second = scorers.values()
    shared = [q for q in first.questions if q.name in {other.name for other in second.questions}]
    if not shared:
        raise UserError(f"{' and '.join(scorers)} have no question in common, so they can't be compared.")
    posts = load_posts(as_source(file)).frame.drop(ROW)
    answers = [score_posts(posts, scorer, reporter, task=name) for name, scorer in scorers.items()]
    differences = tuple(_difference(question, *answers) for question in shared)
    differ = pl.concat_str(
        [
            pl.when(_labels(answers[0], q).ne_missing(_labels(answers[1], q))).then(pl.lit(q.name)).otherwise(None)
            for q in shared
        ],
        separator="|",
        ignore_nulls=True,
    )
    marked = posts.with_columns(
        *(
            pl.Series(f"{name}: {question.name}.label", _labels(frame, question))
            for name, frame in zip(scorers, answers, strict=True)
            for question in shared
        ),
        differ.alias(DIFFER),
    )
    marked = marked.sort(pl.col(DIFFER) == "", maintain_order=True)
    tables.write([marked], out)
    versions = {name: scorer.version for name, scorer in scorers.items()}
    return DetectorComparison(versions, len(posts), int((marked[DIFFER] != "").sum()), differences)


def _labels(answers: pl.DataFrame, question: Question) -> pl.Series:
    return answers[f"{question.name}.label"].cast(pl.String)


def _difference(question: Question, first: pl.DataFrame, second: pl.DataFrame) -> QuestionDifference:
    """Count one question over the posts that both answer."""
    pairs = [
        (one, other)
        for one, other in zip(_labels(first, question), _labels(second, question), strict=True)
        if one is not None and other is not None
    ]
    yes = question.positive
    both = sum(one == yes and other == yes for one, other in pairs)
    only_first = sum(one == yes and other != yes for one, other in pairs) if yes else 0
    only_second = sum(one != yes and other == yes for one, other in pairs) if yes else 0
    differing = sum(one != other for one, other in pairs)
    share = proportion("differ", differing, len(pairs))
    return QuestionDifference(
        question.name, len(pairs), both, only_first, only_second, differing - only_first - only_second, share
    )
