"""Is one detector better than another on the same items?

Gold labels and two columns of predictions in, a difference with its interval and a p-value out. Both tests are
paired: they look at the items on which the two detectors differ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import erfc, lgamma, log, sqrt

import numpy as np
from numpy.typing import ArrayLike

from davy.core import Metric, UserError
from davy.measure.classification import MARGIN_FIGURES, Margins, encode_labels, figure
from davy.measure.clusters import clustered_difference, sign_flip_p
from davy.measure.columns import to_flags
from davy.measure.intervals import Bootstrap, Floats, Ints, distinct_rows
from davy.measure.ranking import area, check_scores


@dataclass(frozen=True, slots=True)
class Comparison:
    """First minus second. `p` is two-sided: how often chance alone would show a difference this large."""

    metric: str
    first: float
    second: float
    difference: Metric
    p: float
    test: str


def mcnemar(
    first_right: ArrayLike,
    second_right: ArrayLike,
    *,
    exact: bool | None = None,
    clusters: Ints | None = None,
    seed: int = 0,
) -> Comparison:
    """Return McNemar's test of two detectors' accuracy: exact up to 1,000 differing items, else by χ² (corrected).

    With `clusters` of items that stand or fall together, whole clusters change sides by chance, and the interval of
    the difference knows them.
    """
    a, b = to_flags(first_right), to_flags(second_right)
    if a.shape != b.shape or not len(a):
        raise UserError(f"{len(a)} and {len(b)} items can't be compared; both detectors must score the same items")
    if clusters is not None and len(np.unique(clusters)) < len(a):
        difference = replace(clustered_difference("accuracy", (a, clusters), (b, clusters)), n=len(a))
        gains = np.bincount(clusters, weights=a.astype(np.float64) - b)
        p = sign_flip_p(gains, seed=seed)
        return Comparison("accuracy", float(a.mean()), float(b.mean()), difference, p, "sign flips of clusters")
    only_first, only_second = int((a & ~b).sum()), int((b & ~a).sum())
    differing = only_first + only_second
    exact = differing <= 1000 if exact is None else exact
    if exact:
        p = min(1.0, 2 * _binomial_tail(min(only_first, only_second), differing))
    else:
        p = erfc(max(abs(only_first - only_second) - 1, 0) / sqrt(differing) / sqrt(2)) if differing else 1.0
    difference = Metric("accuracy", (only_first - only_second) / len(a), len(a), *_paired_interval(a, b))
    test = "McNemar, exact" if exact else "McNemar, χ² with continuity correction"
    return Comparison("accuracy", float(a.mean()), float(b.mean()), difference, p, test)


def paired_bootstrap(
    gold: Sequence[str],
    first: Sequence[str],
    second: Sequence[str],
    *,
    metric: str = "macro_f1",
    labels: Sequence[str] = (),
    bootstrap: Bootstrap | None = None,
    value: Callable[[Floats], Floats] | None = None,
) -> Comparison:
    """Return the difference in a figure of the confusion matrix, resampling items with both predictions together.

    `value` is a figure of the caller's own, reported under the name `metric`.
    """
    bootstrap = bootstrap or Bootstrap()
    (g, a, b), names = encode_labels(labels, gold, first, second)
    if not len(g):
        raise UserError("There are no items to compare the two detectors on; give gold labels and both predictions")
    width = len(names)
    rows, copies = distinct_rows(np.stack([g, a, b], axis=1))
    features = np.zeros((len(rows), 2, width * width))
    places = np.arange(len(rows))
    features[places, 0, rows[:, 0] * width + rows[:, 1]] = 1
    features[places, 1, rows[:, 0] * width + rows[:, 2]] = 1
    value = value or figure(metric)

    def both(sums: Floats) -> Floats:
        return value(sums.reshape(*sums.shape[:-1], 2, width, width))

    flat = features.reshape(len(rows), -1)
    values = both(copies @ flat)
    draws = [both(block @ flat) for block in bootstrap.weights(copies)] if len(g) > 1 else []
    return _compared(metric, values, draws, len(g), bootstrap)


def paired_auroc(
    yes: ArrayLike, first: ArrayLike, second: ArrayLike, *, bootstrap: Bootstrap | None = None
) -> Comparison:
    """Return the difference in AUROC of two score columns, resampling items with both scores together."""
    bootstrap = bootstrap or Bootstrap()
    flags, a = check_scores(yes, first)
    _, b = check_scores(yes, second)
    everyone = np.ones(len(flags), dtype=np.int64)

    orders = [np.argsort(scores, kind="stable") for scores in (a, b)]
    starts = [np.flatnonzero(np.diff(s[order], prepend=-np.inf)) for s, order in zip((a, b), orders, strict=True)]

    def both(weights: Floats) -> Floats:
        areas = []
        for order, start in zip(orders, starts, strict=True):
            sides = (np.add.reduceat((weights * side)[:, order], start, axis=1) for side in (flags, ~flags))
            areas.append(area(*sides))
        return np.stack(areas, axis=-1)

    values = both(everyone[None, :].astype(np.float64))[0]
    draws = [both(block) for block in bootstrap.weights(everyone)] if len(flags) > 1 else []
    return _compared("auroc", values, draws, len(flags), bootstrap)


def approximate_randomisation(
    gold: Ints, first: Ints, second: Ints, labels: int, *, metric: str = "macro_f1", rounds: int = 10_000, seed: int = 0
) -> float:
    """Return how often chance swaps of two detectors' predictions give a difference at least as large (Noreen 1989).

    Columns hold places of labels, from 0; -1 is no prediction. In each round every item on which the detectors differ
    changes sides with a chance of one half.
    """
    if metric not in MARGIN_FIGURES:
        raise UserError(f"Metric {metric!r} is unknown. Use one of: {', '.join(MARGIN_FIGURES)}")
    differing = np.flatnonzero(first != second)
    support = np.bincount(gold, minlength=labels).astype(np.float64)
    everyone = np.arange(len(gold))
    sums = [_hits_and_predictions(gold, side, labels, everyone).sum(axis=0) for side in (first, second)]
    gain = _hits_and_predictions(gold, second, labels, differing)
    gain -= _hits_and_predictions(gold, first, labels, differing)

    def value(counts: Floats) -> Floats:
        hits, predicted = np.split(counts, 2, axis=-1)
        return MARGIN_FIGURES[metric](Margins(hits, np.broadcast_to(support, hits.shape), predicted))

    observed = abs(float(value(sums[0]) - value(sums[1])))
    generator, as_large = np.random.default_rng(seed), 0
    block = max(1, 4_000_000 // max(len(differing), 1))
    for start in range(0, rounds, block):
        swapped = (generator.random((min(block, rounds - start), len(differing))) < 0.5) @ gain
        gaps = np.abs(value(sums[0] + swapped) - value(sums[1] - swapped))
        as_large += int((gaps >= observed - 1e-12).sum())
    return (as_large + 1) / (rounds + 1)


def _hits_and_predictions(gold: Ints, side: Ints, labels: int, items: Ints) -> Floats:
    """Return items × (hits, predictions) of each label, for one detector."""
    predicted = side[items, None] == np.arange(labels)[None, :]
    return np.concatenate([predicted & (gold[items, None] == side[items, None]), predicted], axis=1).astype(np.float64)


def holm(values: Sequence[float]) -> list[float]:
    """Return p-values after Holm's step-down correction, in their order."""
    order = sorted(range(len(values)), key=lambda i: values[i])
    result, highest = [0.0] * len(values), 0.0
    for place, i in enumerate(order):
        highest = max(highest, min(1.0, (len(values) - place) * values[i]))
        result[i] = highest
    return result


def _compared(metric: str, values: Floats, draws: list[Floats], n: int, bootstrap: Bootstrap) -> Comparison:
    drawn = np.concatenate(draws) if draws else np.empty((0, 2))
    gaps = drawn[:, 0] - drawn[:, 1]
    if not np.isfinite(values).all():
        raise UserError(f"{metric} is not defined for both detectors on these {n} items; one side has one label only")
    difference = bootstrap.metric(metric, float(values[0] - values[1]), gaps, n)
    return Comparison(
        metric, float(values[0]), float(values[1]), difference, float(resampled_p(gaps)), "paired bootstrap"
    )


def resampled_p(gaps: Floats) -> Floats:
    """Return the two-sided p of differences on resamples (first axis); nan among them is left out."""
    defined = np.isfinite(gaps).sum(axis=0)
    fewer = np.minimum((gaps <= 0).sum(axis=0), (gaps >= 0).sum(axis=0))
    # One is added above and below so that p is never 0: with 1,000 resamples it can't be told from 0.002.
    return np.asarray(np.minimum(1.0, 2 * (fewer + 1) / (defined + 1)))


def _paired_interval(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """Return the 95% interval of a difference of paired shares, half an item added to each cell (Agresti, Min 2005)."""
    n = len(a) + 2
    up, down = float((a & ~b).sum()) + 0.5, float((b & ~a).sum()) + 0.5
    middle = (up - down) / n
    half = 1.959963984540054 * sqrt(up + down - (up - down) ** 2 / n) / n
    exact = (up - down) / len(a)
    return max(-1.0, min(middle - half, exact)), min(1.0, max(middle + half, exact))


def _binomial_tail(most: int, n: int) -> float:
    """Return the chance of at most that many heads among n fair throws."""
    if n == 0:
        return 1.0
    k = range(most + 1)
    logs = np.array([lgamma(n + 1) - lgamma(i + 1) - lgamma(n - i + 1) - n * log(2) for i in k])
    return float(np.exp(logs).sum())
