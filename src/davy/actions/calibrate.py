"""Calibrate: temperatures and thresholds from posts with settled answers, with the figures before and after.

A detector and posts in; the same detector with its numbers, and a `Calibration`, out. Use posts that the detector did
not learn from: on those it did, it is surer than it should be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from davy.actions.reporter import SILENT, Reporter
from davy.actions.settled import answer_columns, spell_gold, with_gold
from davy.core.errors import UserError
from davy.core.gold import targets
from davy.core.scorer import Scorer
from davy.measure.calibration import calibration_error, fit_temperature, log_loss
from davy.measure.intervals import Bootstrap
from davy.measure.thresholds import choose_threshold
from davy.models.calibrated import CalibratedScorer, temper

if TYPE_CHECKING:
    from davy.core.scheme import Question

    Array = np.ndarray[Any, np.dtype[Any]]

SHARPEST = 4.0
"""Logits are multiplied or divided by so much at most: few posts that are all right would ask for certainty."""
FIGURES = ("log loss", "calibration error", "macro-F1")


@dataclass(frozen=True, slots=True)
class Calibration:
    """What was set, and each question's figures before and after: `before["hate"]["macro-F1"]`."""

    temperatures: Mapping[str, float]
    thresholds: Mapping[str, float]
    before: Mapping[str, Mapping[str, float]]
    after: Mapping[str, Mapping[str, float]]
    posts: Mapping[str, int]
    """How many posts have a settled answer to each question."""

    @property
    def frame(self) -> pl.DataFrame:
        """One row a question and figure."""
        rows = [
            {"question": name, "figure": figure, "before": figures[figure], "after": self.after[name][figure]}
            for name, figures in self.before.items()
            for figure in figures
        ]
        return pl.DataFrame(rows)

    def __str__(self) -> str:
        lines = []
        for name, figures in self.before.items():
            numbers = [f"temperature {self.temperatures.get(name, 1.0):.3g}"]
            if name in self.thresholds:
                numbers.append(f"threshold {self.thresholds[name]:.3g}")
            moves = ", ".join(f"{f} {value:.3f} → {self.after[name][f]:.3f}" for f, value in figures.items())
            lines.append(f"{name}: {', '.join(numbers)}; {moves} ({self.posts[name]:,} posts)")
        return "\n".join(lines)


def calibrate(
    scorer: Scorer,
    posts: pl.DataFrame,
    *,
    gold: Sequence[str] = (),
    threshold: str | None = "macro-f1",
    temperature: bool = True,
    reporter: Reporter = SILENT,
) -> tuple[CalibratedScorer, Calibration]:
    """Return the scorer with temperatures and, for yes/no questions, thresholds that fit the settled answers.

    `gold` names the columns of settled answers (`Q=COLUMN`) where they are not `Q.gold`; `threshold` is a rule of
    `measure.thresholds`, or None to leave thresholds alone.
    """
    rules, columns = answer_columns(posts, gold, among=scorer.questions, reporter=reporter)
    posts = spell_gold(with_gold(posts, columns), rules.questions)
    scores = scorer.score(posts)
    temperatures, thresholds = {}, {}
    counts: dict[str, int] = {}
    before: dict[str, dict[str, float]] = {}
    after: dict[str, dict[str, float]] = {}
    for question, rows, table in targets(tuple(scorer.questions), posts):
        if question.kind == "many":
            continue
        counts[question.name] = len(rows)
        answers, block = table.argmax(axis=1), scores.probabilities[question.name][rows]
        usual = np.broadcast_to(scores.thresholds.get(question.name, 0.5), len(posts))[rows]
        before[question.name] = _figures(question, block, answers, usual)
        if temperature:
            logits = np.log(np.clip(block, 1e-12, 1))
            temperatures[question.name] = fit_temperature(logits, answers, lowest=1 / SHARPEST, highest=SHARPEST)
        tempered = temper(block, temperatures.get(question.name, 1.0), question)
        cut: Any = usual
        if threshold is not None and question.positive is not None and len(question.labels) == 2:
            yes = question.label_names.index(question.positive)
            cut = thresholds[question.name] = choose_threshold(tempered[:, yes], answers == yes, threshold)
        after[question.name] = _figures(question, tempered, answers, cut)
    if not before:
        raise UserError(
            f"{scorer.name} has no question of one answer to calibrate, or the posts have no answers to it."
        )
    return (
        CalibratedScorer(scorer, temperatures, thresholds),
        Calibration(temperatures, thresholds, before, after, counts),
    )


def _figures(question: Question, block: Array, gold: Array, threshold: Any) -> dict[str, float]:
    chosen = block.argmax(axis=1)
    if question.positive is not None and len(question.labels) == 2:
        yes = question.label_names.index(question.positive)
        chosen = np.where(block[:, yes] >= threshold, yes, 1 - yes)
    sure = block.max(axis=1)
    error = calibration_error(np.clip(sure, 0, 1), block.argmax(axis=1) == gold, bootstrap=Bootstrap(0))[0].value
    loss = log_loss(np.log(np.clip(block, 1e-12, 1)), gold)
    values = (loss, float(error or 0.0), _macro_f1(gold, chosen))
    return dict(zip(FIGURES, (round(value, 6) for value in values), strict=True))


def _macro_f1(gold: Array, chosen: Array) -> float:
    """Return the mean of F1 over the labels that occur in gold."""
    labels = np.unique(gold)
    both = [((gold == label) & (chosen == label)).sum() for label in labels]
    sizes = [(gold == label).sum() + (chosen == label).sum() for label in labels]
    return float(np.mean([2 * b / s for b, s in zip(both, sizes, strict=True)]))
