"""Cohen's κ for each pair of annotators, and their mean for more than two people.

Ratings in, metrics out. A pair is compared on the items that both answered; its κ rests on how often they agree and
on each one's own label shares, unlike Fleiss' κ, which pools the shares. One row is kept for each two answers to one
item, never a people × people × items table, so that a crowd of hundreds with three answers an item stays cheap.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from davy.core import Metric
from davy.measure.agreement import beyond_chance
from davy.measure.intervals import Bootstrap, Floats, Ints, distinct_rows
from davy.measure.ratings import Ratings

MOST_IN_A_MATRIX = 64
"""Up to this many annotators items with the same answers by the same people are merged; a crowd has hardly any."""
MOST_PAIRS = 300
"""Above this many pairs there are no intervals: in a crowd two people share a handful of items, which is too few."""


@dataclass(frozen=True, slots=True)
class Pairwise:
    """Each pair's κ, and the mean over the pairs for which it is defined."""

    mean: Metric
    pairs: dict[tuple[str, str], Metric]


def pairwise(ratings: Ratings, *, bootstrap: Bootstrap | None = None) -> Pairwise:
    """Return Cohen's κ of every pair that shares an item, and their mean; for two people that is Cohen's κ itself.

    The mean's n counts the items with two answers or more, a pair's n the items that both answered.
    """
    bootstrap = bootstrap or Bootstrap()
    rows = _Rows.of(ratings)
    if not len(rows.pair):
        none = Metric("cohen", None, 0, level=bootstrap.level, note="not defined: no item has two answers")
        return Pairwise(none, {})
    with np.errstate(divide="ignore", invalid="ignore"):
        each = rows.kappas()
        draws = np.empty((0, len(each)))
        if bootstrap.resamples and rows.n > 1 and len(each) <= MOST_PAIRS:
            draws = np.concatenate([rows.drawn_kappas(block) for block in bootstrap.weights(rows.copies)])
        centre = float(_mean(each))
        mean = bootstrap.metric("cohen", centre, _mean(draws), rows.n, "not defined: no pair has a defined κ")
    why = "not defined: both gave every shared item the same one label"
    if len(each) > MOST_PAIRS:
        bootstrap = replace(bootstrap, resamples=0)
    pairs = {
        (ratings.annotators[a], ratings.annotators[b]): bootstrap.metric("cohen", each[j], draws[:, j], int(n), why)
        for j, (a, b, n) in enumerate(zip(*rows.people, rows.shared(), strict=True))
    }
    return Pairwise(_noted(mean, len(each), int(np.isfinite(each).sum())), pairs)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Every two answers to one kind of item, sorted by pair: which pair, which kind, which labels."""

    pair: Ints
    kind: Ints
    first: Ints
    second: Ints
    people: tuple[Ints, Ints]
    copies: Ints
    width: int

    @classmethod
    def of(cls, ratings: Ratings) -> _Rows:
        kind, person, code, copies = _kinds(ratings)
        order = np.lexsort((person, kind))
        kind, person, code = kind[order], person[order], code[order]
        sizes = np.bincount(kind, minlength=len(copies))
        begins = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        left, right = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
        for size in np.unique(sizes[sizes > 1]):
            a, b = np.triu_indices(int(size), 1)
            start = begins[sizes == size][:, None]
            left.append((start + a).ravel())
            right.append((start + b).ravel())
        a, b = np.concatenate(left), np.concatenate(right)
        names, pair = np.unique(person[a] * len(ratings.annotators) + person[b], return_inverse=True)
        by_pair = np.argsort(pair, kind="stable")
        a, b = a[by_pair], b[by_pair]
        people = (names // len(ratings.annotators), names % len(ratings.annotators))
        return cls(pair[by_pair], kind[a], code[a], code[b], people, copies, len(ratings.labels))

    @property
    def n(self) -> int:
        """How many items have two answers or more."""
        return int(self.copies.sum())

    def shared(self) -> Ints:
        """Return how many items each pair shares."""
        return np.bincount(self.pair, weights=self.copies[self.kind]).astype(np.int64)

    def kappas(self) -> Floats:
        """Return each pair's κ."""
        weights = self.copies[self.kind].astype(np.float64)
        couples = len(self.people[0])
        shared = np.bincount(self.pair, weights, minlength=couples)
        agreed = np.bincount(self.pair, weights * (self.first == self.second), minlength=couples)
        sides = [
            np.bincount(self.pair * self.width + codes, weights, minlength=couples * self.width).reshape(couples, -1)
            for codes in (self.first, self.second)
        ]
        return beyond_chance(agreed / shared, (sides[0] * sides[1]).sum(axis=-1) / shared**2)

    def drawn_kappas(self, weights: Floats) -> Floats:
        """Return each pair's κ for each row of weights over the kinds: one matrix product a pair."""
        bounds = np.searchsorted(self.pair, np.arange(len(self.people[0]) + 1))
        found = np.empty((len(weights), len(self.people[0])))
        for j in range(len(self.people[0])):
            rows = slice(int(bounds[j]), int(bounds[j + 1]))
            kind, first, second = self.kind[rows], self.first[rows], self.second[rows]
            features = np.zeros((len(self.copies), 2 + 2 * self.width))
            features[kind, 0] = 1
            features[kind, 1] = first == second
            features[kind, 2 + first] = 1
            features[kind, 2 + self.width + second] = 1
            sums = weights @ features
            chance = (sums[:, 2 : 2 + self.width] * sums[:, 2 + self.width :]).sum(axis=1)
            found[:, j] = beyond_chance(sums[:, 1] / sums[:, 0], chance / sums[:, 0] ** 2)
        return found


def _kinds(ratings: Ratings) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the answers as (kind, person, code) over the kinds of items with two answers, and each kind's copies."""
    answers = np.bincount(ratings.item, minlength=len(ratings.items))
    if len(ratings.annotators) <= MOST_IN_A_MATRIX:
        rows, copies = distinct_rows(ratings.matrix()[answers > 1])
        kind, person = np.nonzero(rows >= 0)
        return kind.astype(np.int64), person.astype(np.int64), rows[kind, person], copies
    kept = answers[ratings.item] > 1
    _, kind = np.unique(ratings.item[kept], return_inverse=True)
    copies = np.ones(int(kind.max(initial=-1)) + 1, dtype=np.int64)
    return kind.astype(np.int64), ratings.annotator[kept], ratings.code[kept], copies


def _mean(each: Floats) -> Floats:
    """Return the mean over pairs whose κ is defined."""
    defined = np.isfinite(each)
    mean: Floats = np.where(defined, each, 0).sum(axis=-1) / defined.sum(axis=-1)
    return mean


def _noted(metric: Metric, couples: int, defined: int) -> Metric:
    """Return the metric with how many pairs its mean is over."""
    if metric.value is None or couples == 1:
        return metric
    left = f", {couples - defined} left out: κ not defined" if defined < couples else ""
    why = f"no interval above {MOST_PAIRS} pairs" if couples > MOST_PAIRS else metric.note
    note = "; ".join(part for part in (f"mean of {defined} pairs{left}", why) if part)
    return Metric(metric.name, metric.value, metric.n, metric.low, metric.high, metric.level, note)
