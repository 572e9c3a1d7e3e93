"""Judges for `davy sample`: a detector's answer to a yes/no question, or a column of scores that is in the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import polars as pl

from davy.core.errors import UserError, nearest
from davy.core.reporter import SILENT, Reporter
from davy.core.scorer import label_advice
from davy.detectors.cascade_screen import as_cascade
from davy.scoring.scorers import load_scorer, score_posts

if TYPE_CHECKING:
    from davy.core.scorer import Scorer
    from davy.corpus.sample.run import Judge

COLUMN = "column:"


def parse_judges(given: Sequence[str], usual: Mapping[str, str], wanted: Sequence[str]) -> dict[str, str]:
    """Return who each judge is: what the plan says, or what `NAME=WHO` says instead; `wanted` are those it asks."""
    found = dict(usual)
    for one in given:
        name, sign, who = (part.strip() for part in one.partition("="))
        if not sign or not name or not who:
            raise UserError(f"--judge {one!r}: write NAME=MODEL#QUESTION or NAME=column:C.")
        if name not in wanted:
            asked = f"it asks {', '.join(wanted)}" if wanted else "it asks none"
            raise UserError(f"--judge {one!r}: the plan has no judge {name!r}; {asked}.{nearest(name, list(wanted))}")
        found[name] = who
    return found


def judge_columns(who: Mapping[str, str], wanted: Sequence[str]) -> list[str]:
    """Return the columns of the file that the wanted judges read."""
    return [who[name].removeprefix(COLUMN) for name in wanted if who.get(name, "").startswith(COLUMN)]


def load_judges(who: Mapping[str, str], wanted: Sequence[str], reporter: Reporter = SILENT) -> dict[str, Judge]:
    """Return the wanted judges; those of one model share it, and it reads a post once."""
    models: dict[str, _Model] = {}
    made: dict[str, Judge] = {}
    for name in wanted:
        if name not in who:
            continue  # sampling names the judge that is missing
        if who[name].startswith(COLUMN):
            made[name] = _column(who[name].removeprefix(COLUMN))
            continue
        model, _, question = who[name].partition("#")
        if model not in models:
            models[model] = _Model(model, reporter)
        made[name] = models[model].judge(question)
    return made


def _column(name: str) -> Judge:
    def judge(posts: pl.DataFrame) -> pl.Series:
        scores = posts[name]
        if not scores.dtype.is_numeric():
            raise UserError(f"Column {name!r} holds no numbers, so it can't be a judge. Name a column of scores.")
        return scores

    return judge


class _Model:
    """A detector that remembers its score of each post."""

    def __init__(self, name: str, reporter: Reporter) -> None:
        self._name = name
        self._reporter = reporter
        self._scorer: Scorer = as_cascade(load_scorer(name))  # as davy score: a quick screen clears what is harmless
        self._scores: dict[str, dict[str, float | None]] = {}

    def judge(self, question: str) -> Judge:
        """Return the judge that answers one yes/no question, the first where none is named."""
        known = [q.name for q in self._scorer.questions if q.positive is not None]
        if not known:
            advice = label_advice(self._scorer, question or "hate") or "."
            raise UserError(f"{self._name} answers no yes/no question, so it can't be a judge{advice}")
        chosen = question or known[0]
        if chosen not in known:
            raise UserError(
                f"{self._name} has no yes/no question {chosen!r}; it has {', '.join(known)}.{nearest(chosen, known)}"
            )

        def judge(posts: pl.DataFrame) -> pl.Series:
            self._read(posts, known)
            return pl.Series([self._scores[id][chosen] for id in posts["id"]], dtype=pl.Float64)

        return judge

    def _read(self, posts: pl.DataFrame, questions: Sequence[str]) -> None:
        new = posts.filter([id not in self._scores for id in posts["id"]])
        if not len(new):
            return
        scores = score_posts(new, self._scorer, self._reporter, task=f"{self._name} reads")
        for id, *values in scores.select(*questions).insert_column(0, new["id"]).iter_rows():
            self._scores[id] = dict(zip(questions, values, strict=True))
