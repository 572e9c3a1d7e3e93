"""Shares of items that come in clusters, such as cases that are made from one template.

Right or wrong for each item and the number of its cluster in, `Metric`s out. The one thing to know: items of a cluster
tend to stand or fall together, so n of them say less than n independent ones. Wilson's interval is therefore taken at
the effective number of items, n divided by the design effect (Korn and Graubard 1998; Dean and Pagano 2015). Where no
cluster has a second item, every figure is the one for independent items.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import pi, sqrt, tan
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from davy.core import Metric
from davy.measure.intervals import Floats, Ints, proportion, wilson_at

PRIOR_CLUSTERS = 2
"""The design effect is drawn to that of full correlation as if so many clusters more had shown it. Without this, a
detector that is right everywhere would seem to have independent cases, because nothing varies within its clusters."""
FLIPS = 9999
_ALL_FLIPS_UP_TO = 13


def cluster_numbers(names: Sequence[Hashable]) -> Ints:
    """Return for each item the number of its cluster, from 0 in order of first occurrence."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int64)


def clustered_share(
    name: str, right: ArrayLike, clusters: ArrayLike, *, level: float = 0.95, undefined: str = ""
) -> Metric:
    """Return the share of right items with an interval that knows the clusters; `Metric.clusters` counts them."""
    share = _Share.of(right, clusters)
    if share.independent:
        return proportion(name, share.hits, share.n, level=level, undefined=undefined)
    low, high = share.bounds(level)
    return Metric(name, share.value, share.n, low, high, level, clusters=share.clusters)


def clustered_difference(
    name: str,
    first: tuple[ArrayLike, ArrayLike],
    second: tuple[ArrayLike, ArrayLike],
    *,
    level: float = 0.95,
) -> Metric:
    """Return the first share less the second; each is (right or wrong, cluster numbers), numbered alike in both.

    Newcombe's interval (1998, method 10) from the bounds of both shares, with the correlation that the clusters they
    have in common give them (Zou and Donner 2008).
    """
    one, two = _Share.of(*first), _Share.of(*second)
    value = one.value - two.value
    (low1, high1), (low2, high2) = one.bounds(level), two.bounds(level)
    together = _correlation(one, two)

    def distance(left: float, right: float) -> float:
        return sqrt(max(0.0, left**2 - 2 * together * left * right + right**2))

    low = max(-1.0, value - distance(one.value - low1, high2 - two.value))
    high = min(1.0, value + distance(high1 - one.value, two.value - low2))
    count = len(np.unique(np.concatenate([one.numbers, two.numbers])))
    clusters = None if one.independent and two.independent and count == one.n + two.n else count
    return Metric(name, value, one.n + two.n, low, high, level, clusters=clusters)


def sign_flip_p(gains: ArrayLike, *, seed: int = 0) -> float:
    """Return how often chance alone gives a sum this far from 0, when each cluster's gain may have either sign.

    All signs are tried for up to 13 clusters that moved; beyond that 9,999 draws from the seed.
    """
    moved = np.asarray(gains, dtype=np.float64)
    moved = moved[moved != 0]
    if not len(moved):
        return 1.0
    seen = abs(moved.sum()) - 1e-9
    if len(moved) <= _ALL_FLIPS_UP_TO:
        bits = (np.arange(2 ** len(moved))[:, None] >> np.arange(len(moved))) & 1
        return float(np.mean(np.abs((2 * bits - 1) @ moved) >= seen))
    chance = np.random.default_rng(seed)
    signs = 2 * chance.integers(0, 2, size=(FLIPS, len(moved)), dtype=np.int8) - 1
    return float(1 + (np.abs(signs @ moved) >= seen).sum()) / (FLIPS + 1)


@dataclass(frozen=True, slots=True)
class _Share:
    """A share with what its clusters contribute. `numbers` are the clusters that occur, in order."""

    hits: int
    n: int
    numbers: Ints
    right: Floats
    total: Floats

    @classmethod
    def of(cls, right: ArrayLike, clusters: ArrayLike) -> _Share:
        flags: NDArray[np.bool_] = np.asarray(right, dtype=bool)
        numbers, place = np.unique(np.asarray(clusters, dtype=np.int64), return_inverse=True)
        hits = np.bincount(place, weights=flags.astype(np.float64), minlength=len(numbers)).astype(np.float64)
        total = np.bincount(place, minlength=len(numbers)).astype(np.float64)
        return cls(int(flags.sum()), len(flags), numbers, hits, total)

    @property
    def value(self) -> float:
        return self.hits / self.n

    @property
    def clusters(self) -> int:
        return len(self.numbers)

    @property
    def independent(self) -> bool:
        return self.clusters == self.n

    @property
    def residuals(self) -> Floats:
        """How far each cluster moves the share away from its value; they add up to 0."""
        return (self.right - self.value * self.total) / self.n

    def bounds(self, level: float) -> tuple[float, float]:
        items = float(self.n) if self.independent else self.effective_items(level)
        low, high = wilson_at(self.value, items, level)
        return min(low, self.value), max(high, self.value)

    def effective_items(self, level: float) -> float:
        """Return the number of independent items that would say as much, from 1 to n."""
        full = float((self.total**2).sum()) / self.n  # the design effect if clusters are right or wrong as a whole
        mixed = min(int((self.right > 0).sum()), int((self.right < self.total).sum()))
        if self.clusters == 1 or mixed == 0:
            effect = full
        else:
            spread = float((self.residuals**2).sum()) * self.clusters / (self.clusters - 1)
            seen = spread * self.n / (self.value * (1 - self.value))
            effect = (mixed * seen + PRIOR_CLUSTERS * full) / (mixed + PRIOR_CLUSTERS)
        normal = NormalDist().inv_cdf(0.5 + level / 2)
        few = 1.0 if self.clusters == 1 else (normal / t_quantile(0.5 + level / 2, self.clusters - 1)) ** 2
        return min(float(self.n), max(1.0, self.n / effect * few))


def _correlation(one: _Share, two: _Share) -> float:
    """Return how the two shares move together over the clusters they have in common."""
    a, b = one.residuals, two.residuals
    scale = sqrt(float((a**2).sum() * (b**2).sum()))
    if scale == 0:
        return 0.0
    _, mine, theirs = np.intersect1d(one.numbers, two.numbers, assume_unique=True, return_indices=True)
    return float(a[mine] @ b[theirs]) / scale


def t_quantile(share: float, freedom: int) -> float:
    """Return Student's t below which this share lies: exact for 1 and 2 degrees, to 0.5 % above (Fisher 1926)."""
    if freedom == 1:
        return tan(pi * (share - 0.5))
    if freedom == 2:
        return (2 * share - 1) / sqrt(2 * share * (1 - share))
    z = NormalDist().inv_cdf(share)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / float(freedom) ** power for power, term in enumerate(terms, 1))
