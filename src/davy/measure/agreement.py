"""Agreement between people: percent, Fleiss' and Randolph's κ, Krippendorff's α and Gwet's AC1.

A count table (items × labels: how many people chose which) in, metrics out, all from one pass of resampling over
items. The one thing to know is what missing answers do. Observed agreement and α use the items with two or more
answers; the label shares behind Fleiss' chance agreement and AC1's use every item that has an answer, each item
weighing the same (Gwet's extension, which is the published coefficient where nothing is missing).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

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
    found = bootstrap.metrics(
        names,
        features,
        _statistic(width, values, ordered),
        copies=copies,
        n=n,
        undefined=why,
    )
    return [_cut_at_range(metric) for metric in found]


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
        found = [
            observed,
            beyond_chance(observed, squared),
            beyond_chance(observed, np.full_like(observed, 1 / width)),
            _alpha(differing, marginals.sum(axis=-1) ** 2 - (marginals**2).sum(axis=-1), marginals),
            beyond_chance(observed, (1 - squared) / (width - 1)) if width > 1 else np.full_like(observed, np.nan),
        ]
        if ordered:
            together = rest[..., : width * width].reshape(*rest.shape[:-1], width, width)
            found.append(_ordinal_alpha(together, marginals))
        if values is not None:
            numbers = np.broadcast_to(_centred(values), marginals.shape)
            found.append(_alpha(rest[..., -1], _spread(numbers, marginals), marginals))
        return np.stack(found, axis=-1)

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
