"""Compare two detectors on posts that nobody has labelled: how often they differ, and on which posts.

A file and two detectors in, the same file with both answers and the column `differ` out, those that differ first. A
question counts on a post where both answer it: one that a detector's own answers do not lead to has no answer.
Who is right only people can say: with settled answers, `evaluate` tells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from davy.core.answers import SEPARATOR
from davy.core.errors import UserError
from davy.core.metric import Metric
from davy.core.reporter import SILENT, Reporter
from davy.core.scheme import applicable_questions
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
    scored = [(score_posts(posts, scorer, reporter, task=name), scorer) for name, scorer in scorers.items()]
    answers = [_answers(frame, scorer.questions) for frame, scorer in scored]
    differences = tuple(_difference(question, *(own[question.name] for own in answers)) for question in shared)
    differ = pl.concat_str(
        [
            pl.when((answers[0][q.name] != answers[1][q.name]).fill_null(value=False)).then(pl.lit(q.name))
            for q in shared
        ],
        separator=SEPARATOR,
        ignore_nulls=True,
    )
    marked = posts.with_columns(
        *(
            own[question.name].alias(f"{name}: {question.name}.label")
            for name, own in zip(scorers, answers, strict=True)
            for question in shared
        ),
        differ.alias(DIFFER),
    )
    marked = marked.sort(pl.col(DIFFER) == "", maintain_order=True)
    tables.write([marked], out)
    versions = {name: scorer.version for name, scorer in scorers.items()}
    return DetectorComparison(versions, len(posts), int((marked[DIFFER] != "").sum()), differences)


def _answers(scored: pl.DataFrame, questions: Sequence[Question]) -> dict[str, pl.Series]:
    """Return by question a detector's labels; null where its own answers do not lead to the question."""
    names = [question.name for question in questions]
    labels = scored.select(pl.col(f"{name}.label").cast(pl.String).alias(name) for name in names)
    rows: list[dict[str, str | None]] = []
    for row in labels.iter_rows(named=True):
        given = {name: row[name].split(SEPARATOR) for name in names if row[name] is not None}
        reached = applicable_questions(questions, given)
        rows.append({name: row[name] if name in reached else None for name in names})
    kept = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String))
    return {name: kept[name] for name in names}


def _difference(question: Question, first: pl.Series, second: pl.Series) -> QuestionDifference:
    """Count one question over the posts that both answer."""
    pairs = [(one, other) for one, other in zip(first, second, strict=True) if one is not None and other is not None]
    yes = question.positive
    both = sum(one == yes and other == yes for one, other in pairs)
    only_first = sum(one == yes and other != yes for one, other in pairs) if yes else 0
    only_second = sum(one != yes and other == yes for one, other in pairs) if yes else 0
    differing = sum(one != other for one, other in pairs)
    share = proportion("differ", differing, len(pairs))
    return QuestionDifference(
        question.name, len(pairs), both, only_first, only_second, differing - only_first - only_second, share
    )
