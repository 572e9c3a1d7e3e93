"""Do a detector's probabilities mean what they say, and from which one on is a yes/no question a yes?

Logits or probabilities and gold answers in; a temperature, a reliability table, calibration errors and thresholds out.
The temperature divides the logits and so changes no decision at one half. A threshold is chosen by macro-F1, by
precision or recall, or by cost; every distinct probability is tried, so the answer is exact for these posts, and on few
posts it fits them too well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from davy.core import Metric, UserError
from davy.measure.columns import to_flags
from davy.measure.intervals import Bootstrap, Floats, Ints, wilson


@dataclass(frozen=True, slots=True)
class Bin:
    """The items whose confidence lies in [low, high): how sure the detector was, and how often it was right."""

    low: float
    high: float
    n: int
    confidence: float
    right: float
    right_low: float
    right_high: float


def probabilities(logits: ArrayLike, temperature: float = 1.0) -> Floats:
    """Return probabilities: the sigmoid of a column of logits, the softmax of a table (items × labels)."""
    scaled = np.asarray(logits, dtype=np.float64) / temperature
    if scaled.ndim == 1:
        return np.exp(-np.logaddexp(0, -scaled))
    shifted = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))


def log_loss(logits: ArrayLike, gold: ArrayLike, temperature: float = 1.0) -> float:
    """Return the mean negative log-likelihood; `gold` is yes/no for a column, label codes for a table."""
    values, answers = _checked(logits, gold)
    scaled = values / temperature
    if scaled.ndim == 1:
        return float(np.logaddexp(0, np.where(answers > 0, -scaled, scaled)).mean())
    top = scaled.max(axis=1)
    total = top + np.log(np.exp(scaled - top[:, None]).sum(axis=1))
    return float((total - scaled[np.arange(len(scaled)), answers]).mean())


def fit_temperature(logits: ArrayLike, gold: ArrayLike, *, lowest: float = 0.02, highest: float = 50.0) -> float:
    """Return the temperature that makes the gold answers most likely, by golden-section search over its logarithm.

    Where every answer is right, or every one wrong, no finite temperature is best; the nearer bound comes back.
    """
    _checked(logits, gold)
    left, right = np.log(lowest), np.log(highest)
    golden = (np.sqrt(5) - 1) / 2

    def loss(position: float) -> float:
        return log_loss(logits, gold, float(np.exp(position)))

    inner, outer = right - golden * (right - left), left + golden * (right - left)
    at_inner, at_outer = loss(inner), loss(outer)
    while right - left > 1e-9:
        if at_inner <= at_outer:
            right, outer, at_outer = outer, inner, at_inner
            inner = right - golden * (right - left)
            at_inner = loss(inner)
        else:
            left, inner, at_inner = inner, outer, at_outer
            outer = left + golden * (right - left)
            at_outer = loss(outer)
    return float(np.exp((left + right) / 2))


def fit_shift(log_odds: ArrayLike, yes: ArrayLike) -> float:
    """Return what to add to the log odds of yes so that their mean probability is the share of yes."""
    odds, gold = np.asarray(log_odds, dtype=np.float64), to_flags(yes)
    if not gold.any() or gold.all():
        raise UserError("A share of yes needs posts with a yes and posts with a no. Give more posts.")
    low, high = -60.0, 60.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        too_high = probabilities(odds + middle).mean() > gold.mean()
        low, high = (low, middle) if too_high else (middle, high)
    return (low + high) / 2


def brier(probability: ArrayLike, yes: ArrayLike) -> float:
    """Return the mean squared distance between the probability of yes and the answer."""
    chance, answers = np.asarray(probability, dtype=np.float64), np.asarray(yes, dtype=np.float64)
    return float(((chance - answers) ** 2).mean())


def calibration_metrics(
    probability: ArrayLike, yes: ArrayLike, *, bins: int = 10, bootstrap: Bootstrap | None = None
) -> list[Metric]:
    """Return `brier` and `ece` with intervals, of probabilities of yes, or of every label (items × labels).

    `yes` is the gold answer for a column, and a table of 0 and 1 for a table: the Brier score then sums over labels,
    and the calibration error is that of the likeliest label.
    """
    bootstrap = bootstrap or Bootstrap()
    chance, answers = np.asarray(probability, dtype=np.float64), np.asarray(yes, dtype=np.float64)
    square = (chance - answers) ** 2
    features = np.stack([square if square.ndim == 1 else square.sum(axis=1), np.ones(len(chance))], axis=1)
    sure, right = chance, answers
    if chance.ndim == 2 and len(chance):
        top = chance.argmax(axis=1)
        sure, right = chance.max(axis=1), answers[np.arange(len(answers)), top]
    if not len(chance):
        return [Metric(name, None, 0, level=bootstrap.level, note="not defined: no items") for name in ("brier", "ece")]
    scored = bootstrap.metrics(["brier"], features, lambda sums: sums[..., :1] / sums[..., 1:])
    return [*scored, calibration_error(np.clip(sure, 0, 1), right, bins=bins, bootstrap=bootstrap)[0]]


def reliability(
    confidence: ArrayLike, right: ArrayLike, *, bins: int = 10, equal_mass: bool = False, level: float = 0.95
) -> list[Bin]:
    """Return the filled bins, of equal width over [0, 1] or of equal numbers of items, lowest first.

    For a yes/no question give the probability of yes and the gold answers; for labels, the probability of the chosen
    label and whether it was right.
    """
    sure, hits = _pair(confidence, right)
    place, edges = _places(sure, bins, equal_mass)
    filled = []
    for j in range(len(edges) - 1):
        inside = place == j
        n = int(inside.sum())
        if n:
            low, high = wilson(int(hits[inside].sum()), n, level)
            share = float(hits[inside].mean())
            filled.append(Bin(float(edges[j]), float(edges[j + 1]), n, float(sure[inside].mean()), share, low, high))
    return filled


def calibration_error(
    confidence: ArrayLike,
    right: ArrayLike,
    *,
    bins: int = 10,
    equal_mass: bool = False,
    bootstrap: Bootstrap | None = None,
) -> list[Metric]:
    """Return `ece` (mean gap between confidence and accuracy, weighted by n) and `mce` (the largest gap).

    The bins stay fixed while items are resampled. Both are biased upwards on few items, and so is their interval.
    """
    bootstrap = bootstrap or Bootstrap()
    sure, hits = _pair(confidence, right)
    if not len(sure):
        return [Metric(name, None, 0, level=bootstrap.level, note="not defined: no items") for name in ("ece", "mce")]
    place, edges = _places(sure, bins, equal_mass)
    width = len(edges) - 1
    features = np.zeros((len(sure), 2 * width))
    rows = np.arange(len(sure))
    features[rows, place] = 1
    features[rows, width + place] = hits - sure

    def gaps(sums: Floats) -> Floats:
        counts, off = sums[..., :width], np.abs(sums[..., width:])
        total = off.sum(axis=-1) / counts.sum(axis=-1)
        return np.stack([total, (off / np.where(counts > 0, counts, 1)).max(axis=-1)], axis=-1)

    return bootstrap.metrics(["ece", "mce"], features, gaps)


def risk_by_coverage(confidence: ArrayLike, right: ArrayLike) -> tuple[Floats, Floats]:
    """Return shares of items answered, and the share of wrong answers among them, the surest items first.

    Items of one confidence are answered together, so that their order plays no part.
    """
    sure, hits = _pair(confidence, right)
    if not len(sure):
        raise UserError("No items, so there is nothing to answer. Give probabilities and answers")
    order = np.argsort(-sure, kind="stable")
    last = np.flatnonzero(np.append(np.diff(sure[order]) != 0, True))
    answered = last + 1.0
    return answered / len(sure), np.cumsum(1 - hits[order])[last] / answered


def _places(sure: Floats, bins: int, equal_mass: bool) -> tuple[Ints, Floats]:
    """Return each item's bin and the bins' edges; a confidence of 1 belongs to the last bin."""
    if bins < 1:
        raise UserError(f"{bins} bins can't hold anything. Use 10, or another number from 1 up")
    edges = np.linspace(0, 1, bins + 1)
    if equal_mass and len(sure):
        edges = np.unique(np.concatenate([[0.0], np.quantile(sure, edges[1:-1]), [1.0]]))
    place = np.clip(np.searchsorted(edges, sure, side="right") - 1, 0, len(edges) - 2)
    return place.astype(np.int64), edges


def _pair(confidence: ArrayLike, right: ArrayLike) -> tuple[Floats, Floats]:
    sure, hits = np.asarray(confidence, dtype=np.float64), np.asarray(right, dtype=np.float64)
    if sure.shape != hits.shape:
        raise UserError(f"{len(sure)} probabilities and {len(hits)} answers can't be compared; give one a row")
    outside = int((~((sure >= 0) & (sure <= 1))).sum())
    if outside:
        raise UserError(f"{outside} of {len(sure)} values are not probabilities between 0 and 1. Give probabilities")
    return sure, hits


def _checked(logits: ArrayLike, gold: ArrayLike) -> tuple[Floats, Ints]:
    values, answers = np.asarray(logits, dtype=np.float64), np.asarray(gold, dtype=np.int64)
    if len(values) != len(answers) or not len(values):
        raise UserError(f"{len(values)} rows of logits and {len(answers)} answers can't be compared")
    if not np.isfinite(values).all():
        raise UserError("Some logits are not finite numbers. Score those rows again, or drop them")
    known = 2 if values.ndim == 1 else values.shape[1]
    if answers.min() < 0 or answers.max() >= known:
        raise UserError(f"Answers must be label codes from 0 to {known - 1}; got {answers.min()} to {answers.max()}")
    return values, answers


THRESHOLD_RULES = ("macro-f1", "precision=0.9", "recall=0.9", "cost=5")
"""What may be asked for; a cost is how many false alarms one miss is worth."""


def choose_threshold(
    probability: ArrayLike, yes: ArrayLike, rule: str = "macro-f1", *, prior: float | None = None
) -> float:
    """Return the threshold that is best by a rule, half-way between two probabilities that occur.

    `precision=P` gives the lowest threshold that reaches P, `recall=R` the highest. `prior`: best among posts of which
    this share is a yes; yes and no posts are weighed so that they have it.
    """
    chance, gold = np.asarray(probability, dtype=np.float64), to_flags(yes)
    if not gold.any() or gold.all():
        raise UserError("A threshold needs posts with a yes and posts with a no. Give more posts.")
    order = np.argsort(-chance, kind="stable")
    last = np.flatnonzero(np.append(np.diff(chance[order]) != 0, True))
    # After each distinct probability, from the highest down: how many said yes are right and wrong.
    true = np.cumsum(gold[order])[last].astype(np.float64)
    false = last + 1 - true
    values = np.append(chance[order][last], 0.0)
    cuts = (values[:-1] + values[1:]) / 2
    worth, other = (1.0, 1.0) if prior is None else (prior / gold.mean(), (1 - prior) / (1 - gold.mean()))
    place = _best(rule, worth * true, other * false, worth * float(gold.sum()), other * float((~gold).sum()))
    return float(np.clip(round(float(cuts[place]), 6), 1e-6, 1.0))


def cost_of_a_miss(rule: str | None) -> float | None:
    """Return how many false alarms a miss is worth where a rule goes by cost."""
    name, _, number = (rule or "").lower().partition("=")
    return float(number) if name == "cost" else None


def _best(rule: str, true: np.ndarray, false: np.ndarray, yes: float, no: float) -> int:
    name, _, number = rule.lower().partition("=")
    try:
        limit = float(number) if number else 0.0
    except ValueError:
        limit = -1.0
    missed, right_no = yes - true, no - false
    if name == "macro-f1" and not number:
        f1_yes = 2 * true / (2 * true + false + missed)
        f1_no = 2 * right_no / (2 * right_no + false + missed)
        return int(np.argmax(f1_yes + f1_no))
    if name == "precision" and 0 < limit <= 1:
        reached = np.flatnonzero(true / (true + false) >= limit)
        if not len(reached):
            raise UserError(f"No threshold reaches a precision of {limit:g} on these posts. Ask for less.")
        return int(reached[-1])
    if name == "recall" and 0 < limit <= 1:
        return int(np.flatnonzero(true / yes >= limit)[0])
    if name == "cost" and limit > 0:
        return int(np.argmin(false + limit * missed))
    raise UserError(f"{rule!r} is no rule for a threshold. Write one like these: {', '.join(THRESHOLD_RULES)}.")
