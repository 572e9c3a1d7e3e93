"""Cohen's κ for each pair of annotators, and their mean for more than two people.

Ratings in, metrics out. A pair is compared on the items that both answered. Its κ rests on how often they agree and
on each one's own label shares, unlike Fleiss' κ, which pools the shares.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from davy.core import Metric
from davy.measure.agreement import beyond_chance
from davy.measure.intervals import Bootstrap, Floats, Ints, distinct_rows
from davy.measure.ratings import Ratings

MOST_PAIRS = 300
"""Above this many pairs the mean comes without an interval: the cost grows with pairs × distinct items."""


def cohen(first: Ints, second: Ints, width: int, *, bootstrap: Bootstrap | None = None, name: str = "cohen") -> Metric:
    """Return Cohen's κ of two people's label codes over the items where neither is -1."""
    bootstrap = bootstrap or Bootstrap()
    both = (first >= 0) & (second >= 0)
    rows, copies = distinct_rows(np.stack([first[both], second[both]], axis=1))
    n = int(both.sum())
    if n == 0:
        return Metric(name, None, 0, level=bootstrap.level, note="not defined: they share no item")
    why = "not defined: both gave every shared item the same one label"
    features = _pair_features(rows[:, 0], rows[:, 1], width)
    return bootstrap.metrics([name], features, lambda s: _kappa(s, width)[..., None], copies=copies, undefined=why)[0]


def pairs(ratings: Ratings, *, bootstrap: Bootstrap | None = None) -> dict[tuple[str, str], Metric]:
    """Return Cohen's κ for every pair of annotators, in the annotators' order."""
    matrix = ratings.matrix()
    width = len(ratings.labels)
    return {
        (ratings.annotators[a], ratings.annotators[b]): cohen(matrix[:, a], matrix[:, b], width, bootstrap=bootstrap)
        for a, b in combinations(range(len(ratings.annotators)), 2)
    }


def mean_cohen(ratings: Ratings, *, bootstrap: Bootstrap | None = None) -> Metric:
    """Return the mean of the pairs' Cohen's κ; for two people that is Cohen's κ itself.

    Pairs that share no item, or whose κ is not defined, are left out and noted. n counts the items with two answers.
    """
    bootstrap = bootstrap or Bootstrap()
    matrix = ratings.matrix()
    rows, copies = distinct_rows(matrix[(matrix >= 0).sum(axis=1) > 1])
    n, width = int(copies.sum()), len(ratings.labels)
    couples = list(combinations(range(matrix.shape[1]), 2))
    if n == 0:
        return Metric("cohen", None, 0, level=bootstrap.level, note="not defined: no item has two answers")

    def kappas(weights: Floats) -> Floats:
        found = [_kappa(weights @ _pair_features(rows[:, a], rows[:, b], width), width) for a, b in couples]
        return np.stack(found, axis=-1)

    with np.errstate(divide="ignore", invalid="ignore"):
        each = kappas(copies.astype(np.float64))
        draws = np.empty(0)
        if bootstrap.resamples and n > 1 and len(couples) <= MOST_PAIRS:
            draws = np.concatenate([_mean(kappas(block)) for block in bootstrap.weights(copies)])
    metric = bootstrap.metric("cohen", float(_mean(each)), draws, n, "not defined: no pair of people has a defined κ")
    return _noted(metric, len(couples), int(np.isfinite(each).sum()))


def _noted(metric: Metric, couples: int, defined: int) -> Metric:
    """Return the metric with what its mean leaves out."""
    notes = [metric.note] if metric.note else []
    if couples > MOST_PAIRS and metric.value is not None:
        notes = [f"no interval: {couples} pairs, and intervals are made for up to {MOST_PAIRS}"]
    if metric.value is not None and defined < couples:
        notes.append(f"mean of {defined} pairs; {couples - defined} share no item or have no defined κ")
    elif metric.value is not None and couples > 1:
        notes.append(f"mean of {couples} pairs")
    note = "; ".join(notes) or None
    return Metric(metric.name, metric.value, metric.n, metric.low, metric.high, metric.level, note)


def _mean(each: Floats) -> Floats:
    """Return the mean over pairs whose κ is defined."""
    defined = np.isfinite(each)
    mean: Floats = np.where(defined, each, 0).sum(axis=-1) / defined.sum(axis=-1)
    return mean


def _pair_features(first: Ints, second: Ints, width: int) -> Floats:
    """Return for each distinct item: do both answer, do they agree, each one's label; zeros where one is missing."""
    both = (first >= 0) & (second >= 0)
    features = np.zeros((len(first), 2 + 2 * width))
    places = np.flatnonzero(both)
    features[places, 0] = 1
    features[places, 1] = first[places] == second[places]
    features[places, 2 + first[places]] = 1
    features[places, 2 + width + second[places]] = 1
    return features


def _kappa(sums: Floats, width: int) -> Floats:
    shared = sums[..., 0]
    own = sums[..., 2 : 2 + width] * sums[..., 2 + width :]
    return beyond_chance(sums[..., 1] / shared, own.sum(axis=-1) / shared**2)
