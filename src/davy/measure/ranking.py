"""How well scores put the positives above the negatives: AUROC, average precision and their curves.

A yes/no column and a score column in, figures out. Ties count half in AUROC and share one threshold in average
precision, so the order of the rows never matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from davy.core import Metric, UserError
from davy.measure.columns import to_flags
from davy.measure.intervals import Bootstrap, Floats, Ints

Flags = NDArray[np.bool_]


def auroc(yes: ArrayLike, scores: ArrayLike) -> float:
    """Return the chance that a positive scores above a negative; nan where there is only one kind."""
    ranked = Ranked.of(yes, scores)
    return float(ranked.auroc(ranked.copies[None, :].astype(np.float64))[0])


def average_precision(yes: ArrayLike, scores: ArrayLike) -> float:
    """Return the mean precision over the positives, from the highest score down; nan where there are none."""
    ranked = Ranked.of(yes, scores)
    return float(ranked.average_precision(ranked.copies[None, :].astype(np.float64))[0])


def ranking(yes: ArrayLike, scores: ArrayLike, *, bootstrap: Bootstrap | None = None) -> list[Metric]:
    """Return `auroc` and `average_precision` with bootstrap intervals."""
    bootstrap = bootstrap or Bootstrap()
    ranked = Ranked.of(yes, scores)
    weights = ranked.copies[None, :].astype(np.float64)
    blocks = list(bootstrap.weights(ranked.copies)) if ranked.n > 1 else []
    metrics = []
    for name, figure in (("auroc", ranked.auroc), ("average_precision", ranked.average_precision)):
        draws = np.concatenate([figure(block) for block in blocks]) if blocks else np.empty(0)
        why = "not defined: all items are positives, or none is"
        metrics.append(bootstrap.metric(name, float(figure(weights)[0]), draws, ranked.n, why))
    return metrics


def macro_auroc(gold: Sequence[str], probabilities: Floats, labels: Sequence[str]) -> float:
    """Return the mean AUROC of each label against the rest, over the labels for which it is defined."""
    answers = np.asarray(gold, dtype=object)
    each = [auroc(answers == label, probabilities[:, j]) for j, label in enumerate(labels)]
    defined = [value for value in each if np.isfinite(value)]
    return float(np.mean(defined)) if defined else float("nan")


def roc_curve(yes: ArrayLike, scores: ArrayLike) -> tuple[Floats, Floats, Floats]:
    """Return false positive rates, true positive rates and the thresholds (score ≥ t), from strict to lenient."""
    hits, alarms, thresholds = _falling(yes, scores)
    if hits[-1] == 0 or alarms[-1] == 0:
        raise UserError("A ROC curve needs positives and negatives; the gold labels have one kind only")
    return alarms / alarms[-1], hits / hits[-1], thresholds


def precision_recall_curve(yes: ArrayLike, scores: ArrayLike) -> tuple[Floats, Floats, Floats]:
    """Return precisions, recalls and the thresholds (score ≥ t), from strict to lenient."""
    hits, alarms, thresholds = _falling(yes, scores)
    if hits[-1] == 0:
        raise UserError("A precision-recall curve needs positives; the gold labels have none")
    return hits[1:] / (hits[1:] + alarms[1:]), hits[1:] / hits[-1], thresholds[1:]


@dataclass(frozen=True, slots=True)
class Ranked:
    """Items sorted by score; the same score and answer is one kind, `copies` says how many items it stands for."""

    yes: Flags
    starts: Ints
    """Where each distinct score begins."""
    copies: Ints

    @classmethod
    def of(cls, yes: ArrayLike, scores: ArrayLike) -> Ranked:
        """Return the items of a yes/no column and a score column, lowest score first."""
        flags, values = check_scores(yes, scores)
        distinct, place = np.unique(values, return_inverse=True)
        kinds, copies = np.unique(place * 2 + flags, return_counts=True)
        starts = np.searchsorted(kinds, np.arange(len(distinct)) * 2)
        return cls(kinds % 2 == 1, starts.astype(np.int64), copies.astype(np.int64))

    def kind_of(self, yes: ArrayLike, scores: ArrayLike) -> Ints:
        """Return the kind of each item, for the columns that this was made of."""
        _, place = np.unique(np.asarray(scores, dtype=np.float64), return_inverse=True)
        _, kinds = np.unique(place * 2 + to_flags(yes), return_inverse=True)
        return kinds

    @property
    def n(self) -> int:
        """How many items there are."""
        return int(self.copies.sum())

    def _counts(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return positives and negatives at each distinct score."""
        at = np.add.reduceat(np.where(self.yes, weights, 0), self.starts, axis=1)
        not_at = np.add.reduceat(np.where(self.yes, 0, weights), self.starts, axis=1)
        return at, not_at

    def auroc(self, weights: Floats) -> Floats:
        """Return the AUROC of each row of weights over the kinds."""
        if not len(self.copies):
            return np.full(len(weights), np.nan)
        return area(*self._counts(weights))

    def average_precision(self, weights: Floats) -> Floats:
        """Return the average precision of each row of weights over the kinds."""
        if not len(self.copies):
            return np.full(len(weights), np.nan)
        positives, negatives = self._counts(weights)
        hits = np.cumsum(positives[:, ::-1], axis=1)
        chosen = hits + np.cumsum(negatives[:, ::-1], axis=1)
        total = hits[:, -1]
        gained = (positives[:, ::-1] * hits / np.where(chosen > 0, chosen, 1)).sum(axis=1)
        return np.where(total > 0, gained / np.where(total > 0, total, 1), np.nan)


def area(positives: Floats, negatives: Floats) -> Floats:
    """Return the AUROC of each row of counts at rising scores; a tie counts half."""
    below = np.cumsum(negatives, axis=1) - negatives / 2
    pairs = positives.sum(axis=1) * negatives.sum(axis=1)
    return np.where(pairs > 0, (positives * below).sum(axis=1) / np.where(pairs > 0, pairs, 1), np.nan)


def check_scores(yes: ArrayLike, scores: ArrayLike) -> tuple[Flags, Floats]:
    """Return the two columns as arrays; different lengths and scores that are not numbers are errors."""
    flags, values = to_flags(yes), np.asarray(scores, dtype=np.float64)
    if flags.shape != values.shape:
        raise UserError(f"{len(flags)} gold labels and {len(values)} scores can't be compared; give one score a row")
    broken = int((~np.isfinite(values)).sum())
    if broken:
        raise UserError(
            f"{broken} of {len(values)} scores are not finite numbers. Score those rows again, or drop them"
        )
    return flags, values


def _falling(yes: ArrayLike, scores: ArrayLike) -> tuple[Floats, Floats, Floats]:
    """Return hits and false alarms at each threshold from above, beginning with none chosen at infinity."""
    flags, values = check_scores(yes, scores)
    thresholds, place = np.unique(values, return_inverse=True)
    hits = np.bincount(place, weights=flags, minlength=len(thresholds))[::-1].cumsum()
    alarms = np.bincount(place, weights=~flags, minlength=len(thresholds))[::-1].cumsum()
    zero = np.zeros(1)
    return (
        np.concatenate([zero, hits]),
        np.concatenate([zero, alarms]),
        np.concatenate([[np.inf], thresholds[::-1]]),
    )
