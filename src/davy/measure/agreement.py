"""Agreement between people: percent, Fleiss' and Randolph's κ, Krippendorff's α, Gwet's AC1, and Cohen's κ by pair.

A count table (items × labels: how many people chose which) in, metrics out, all from one pass of resampling over
items. The one thing to know is what missing answers do. Observed agreement and α use the items with two or more
answers; the label shares behind Fleiss' chance agreement and AC1's use every item that has an answer, each item
weighing the same (Gwet's extension, which is the published coefficient where nothing is missing).
A pair is compared on the items that both answered. One row is kept for each two answers to one item, never a
people × people × items table, so that a crowd of hundreds with three answers an item stays cheap.
Words for figures come from two scales that disagree on purpose: McHugh's is stricter, for work where a wrong label
does harm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from davy.core import Metric
from davy.measure.intervals import Bootstrap, Floats, Ints, Statistic, distinct_rows
from davy.measure.ratings import Ratings

COEFFICIENTS: dict[str, str] = {
    "percent": "Percent agreement",
    "cohen": "Cohen's κ",
    "fleiss": "Fleiss' κ",
    "randolph": "Randolph's κ",
    "alpha": "Krippendorff's α",
    "alpha.ordinal": "Krippendorff's α, ordinal",
    "alpha.interval": "Krippendorff's α, interval",
    "ac1": "Gwet's AC1",
    "token_f1": "Token F1 of pairs",
    "iou_f1": "IoU F1 of pairs",
}
FROM_COUNTS: tuple[str, ...] = ("percent", "fleiss", "randolph", "alpha", "ac1")
MOST_ORDERED_LABELS = 40
"""Ordinal α keeps a coincidence matrix for each distinct item, so it is for scales, not for free numbers."""


def agreement(
    counts: Ints,
    *,
    copies: Ints | None = None,
    values: Sequence[float] | None = None,
    ordered: bool = False,
    clusters: Ints | None = None,
    bootstrap: Bootstrap | None = None,
) -> list[Metric]:
    """Return the coefficients that a count table gives, each over the items with two or more answers.

    `copies` says how many items each row stands for (default: one), so that a database can do the counting. `ordered`
    adds ordinal α (columns are in order); `values`, one number a column, adds interval α. `clusters` has the number of
    each row's cluster, such as a word's post: then whole clusters are resampled.
    """
    bootstrap = bootstrap or Bootstrap()
    if clusters is not None:
        copies = np.ones(len(counts), dtype=np.int64)
        clusters = clusters[counts.sum(axis=1) > 0]
    rows, copies = distinct_rows(counts) if copies is None else (counts, copies)
    answers = rows.sum(axis=1)
    rows, copies = rows[answers > 0], copies[answers > 0]
    width = counts.shape[1]
    n = int(copies[rows.sum(axis=1) > 1].sum())
    ordered = ordered and 2 < width <= MOST_ORDERED_LABELS
    names = [*FROM_COUNTS, *(["alpha.ordinal"] if ordered else []), *(["alpha.interval"] if values is not None else [])]
    if n == 0:
        why = "not defined: no item has two answers"
        return [Metric(name, None, 0, level=bootstrap.level, note=why) for name in names]
    used = int(((copies @ rows) > 0).sum())
    why = "not defined: every answer is the same label" if used == 1 else "not defined: the question has one label"
    features = _features(rows, values, ordered)
    if clusters is not None:
        features, copies = _summed(features, clusters), None
    metrics = bootstrap.metrics(
        names,
        features,
        _statistic(width, values, ordered),
        copies=copies,
        n=n,
        undefined=why,
    )
    return [_cut_at_range(metric) for metric in metrics]


def _summed(features: Floats, clusters: Ints) -> Floats:
    """Return the features of whole clusters."""
    _, place = np.unique(clusters, return_inverse=True)
    sums: Floats = np.zeros((int(place.max()) + 1, features.shape[1]))
    np.add.at(sums, place, features)
    return sums


def _cut_at_range(metric: Metric) -> Metric:
    """Return a coefficient whose interval does not leave the range from -1 to 1.

    Items with one answer count among the labels but not among the agreements, so a resample of few items can.
    """
    if metric.value is None or metric.low is None or metric.low >= -1 or metric.value < -1:
        return metric
    return replace(metric, low=-1.0)


def by_label(
    ratings: Ratings, *, clusters: Ints | None = None, bootstrap: Bootstrap | None = None
) -> dict[str, list[Metric]]:
    """Return the coefficients for each single label against the rest; for Fleiss' κ that is his κ for one category."""
    return {
        label: agreement(ratings.against_rest(label).counts(), clusters=clusters, bootstrap=bootstrap)
        for label in ratings.members()
    }


def coefficient(name: str, counts: Ints, values: Sequence[float] | None = None) -> float:
    """Return one coefficient of a count table as a plain number, nan where it is not defined."""
    found = agreement(counts, values=values, ordered=name == "alpha.ordinal", bootstrap=Bootstrap(resamples=0))
    value = next(metric.value for metric in found if metric.name == name)
    return float("nan") if value is None else value


def _features(rows: Ints, values: Sequence[float] | None, ordered: bool) -> Floats:
    """Return what each distinct item adds to the sums; the order is the one that `_statistic` takes apart."""
    answers = rows.sum(axis=1, keepdims=True).astype(np.float64)
    paired = answers > 1
    others = np.where(paired, answers - 1, 1.0)
    agreeing = (rows * (rows - 1)).sum(axis=1, keepdims=True) / (answers * others)
    pairable = np.where(paired, rows, 0)
    differing = (rows * (answers - rows)).sum(axis=1, keepdims=True) / others
    parts = [paired, np.where(paired, agreeing, 0), rows / answers, pairable, np.where(paired, differing, 0)]
    if ordered:
        together = rows[:, :, None] * (rows[:, None, :] - np.eye(rows.shape[1])) / others[:, :, None]
        parts.append(np.where(paired, together.reshape(len(rows), -1), 0))
    if values is not None:
        numbers = _centred(values)
        total, squares = rows @ numbers, rows @ numbers**2
        apart = 2 * (answers[:, 0] * squares - total**2) / others[:, 0]
        parts.append(np.where(paired, apart[:, None], 0))
    return np.concatenate([np.asarray(part, dtype=np.float64) for part in parts], axis=1)


def _statistic(width: int, values: Sequence[float] | None, ordered: bool) -> Statistic:
    """Return the function from sums to coefficients, in the order of `FROM_COUNTS`, then ordinal, then interval."""

    def statistic(sums: Floats) -> Floats:
        items, agreeing = sums[..., 0], sums[..., 1]
        shares = sums[..., 2 : 2 + width]
        shares = shares / shares.sum(axis=-1, keepdims=True)
        marginals = sums[..., 2 + width : 2 + 2 * width]
        differing, rest = sums[..., 2 + 2 * width], sums[..., 3 + 2 * width :]
        observed = agreeing / items
        squared = (shares**2).sum(axis=-1)
        statistics = [
            observed,
            beyond_chance(observed, squared),
            beyond_chance(observed, np.full_like(observed, 1 / width)),
            _alpha(differing, marginals.sum(axis=-1) ** 2 - (marginals**2).sum(axis=-1), marginals),
            beyond_chance(observed, (1 - squared) / (width - 1)) if width > 1 else np.full_like(observed, np.nan),
        ]
        if ordered:
            together = rest[..., : width * width].reshape(*rest.shape[:-1], width, width)
            statistics.append(_ordinal_alpha(together, marginals))
        if values is not None:
            numbers = np.broadcast_to(_centred(values), marginals.shape)
            statistics.append(_alpha(rest[..., -1], _spread(numbers, marginals), marginals))
        return np.stack(statistics, axis=-1)

    return statistic


def beyond_chance(observed: Floats, chance: Floats) -> Floats:
    """Return how much of the agreement that chance leaves open was reached; nan where chance leaves none."""
    room = 1 - chance
    return np.where(room > 1e-12, (observed - chance) / np.where(room > 1e-12, room, 1), np.nan)


def _alpha(differing: Floats, expected: Floats, marginals: Floats) -> Floats:
    """Return α from the observed disagreement and the disagreement over all pairs of pairable answers."""
    total = marginals.sum(axis=-1)
    possible = expected > 1e-12 * np.maximum(total, 1) ** 2
    return np.where(possible, 1 - (total - 1) * differing / np.where(possible, expected, 1), np.nan)


def _ordinal_alpha(together: Floats, marginals: Floats) -> Floats:
    """Return ordinal α: Krippendorff's ordinal distance is the squared difference of the labels' mid-ranks."""
    ranks = np.cumsum(marginals, axis=-1) - marginals / 2
    ranks = ranks - (ranks * marginals).sum(axis=-1, keepdims=True) / marginals.sum(axis=-1, keepdims=True)
    alike = np.einsum("...c,...ck,...k->...", ranks, together, ranks)
    differing = 2 * ((marginals * ranks**2).sum(axis=-1) - alike)
    return _alpha(differing, _spread(ranks, marginals), marginals)


def _spread(numbers: Floats, marginals: Floats) -> Floats:
    """Return the squared differences over all ordered pairs of answers."""
    total = marginals.sum(axis=-1)
    first, second = (marginals * numbers).sum(axis=-1), (marginals * numbers**2).sum(axis=-1)
    spread: Floats = 2 * (total * second - first**2)
    return spread


def _centred(values: Sequence[float]) -> Floats:
    """Return the numbers shifted and scaled, which changes no α and keeps large ones (years, say) exact."""
    numbers: Floats = np.asarray(values, dtype=np.float64)
    numbers = numbers - numbers.mean()
    widest = float(np.abs(numbers).max())
    return numbers / widest if widest > 0 else numbers


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
        kappas = np.empty((len(weights), len(self.people[0])))
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
            kappas[:, j] = beyond_chance(sums[:, 1] / sums[:, 0], chance / sums[:, 0] ** 2)
        return kappas


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


def landis_koch(value: float) -> str:
    """Return Landis and Koch's word for a κ; each band includes its upper end."""
    if value < 0:
        return "poor"
    bands = ((0.2, "slight"), (0.4, "fair"), (0.6, "moderate"), (0.8, "substantial"))
    return next((word for upper, word in bands if value <= upper), "almost perfect")


def mchugh(value: float) -> str:
    """Return McHugh's word for a κ; her bands begin at .40, .60, .80, and above .20 and .90."""
    if value > 0.9:
        return "almost perfect"
    bands = ((0.8, "strong"), (0.6, "moderate"), (0.4, "weak"))
    word = next((word for lower, word in bands if value >= lower), None)
    return word or ("minimal" if value > 0.2 else "none")


def verbal_labels(value: float | None) -> dict[str, str]:
    """Return the word on each scale for a coefficient; nothing where it is not defined."""
    if value is None:
        return {}
    return {"landis-koch": landis_koch(value), "mchugh": mchugh(value)}
