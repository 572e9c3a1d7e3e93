"""Intervals: how far a figure may be off, given the items it rests on.

Counts or per-item features in, `Metric`s out. The one thing to know: every figure here that is bootstrapped is a
function of sums over items, and items that look the same are kept once with their number of copies. A resample is
then one multinomial draw over the distinct items and one matrix product, so a thousand resamples of 20,000 items
cost milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from davy.core import Metric, UserError
from davy.core.options import Option

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Statistic = Callable[[Floats], Floats]
"""Sums of features, shape (…, features) → figures, shape (…, figures); nan where a figure is not defined."""

METHODS: tuple[str, ...] = ("percentile", "bca")
_CELLS_AT_ONCE = 4_000_000


def wilson(successes: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Return Wilson's score interval for a proportion; it stays inside [0, 1] and works at 0 and at n."""
    if not 0 <= successes <= n or n == 0:
        raise ValueError(f"{successes} successes of {n} is no proportion")
    return wilson_at(successes / n, n, level)


def wilson_at(share: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Return Wilson's score interval of a share at a number of items that need not be whole."""
    z = NormalDist().inv_cdf(0.5 + level / 2)
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return (0.0 if share == 0 else middle - half, 1.0 if share == 1 else middle + half)


def proportion(name: str, successes: int, n: int, *, level: float = 0.95, undefined: str = "") -> Metric:
    """Return successes / n with its Wilson interval; where n is 0 the note says so, or says `undefined`."""
    if n == 0:
        return Metric(name, None, 0, level=level, note=undefined or "not defined: no items")
    low, high = wilson(int(successes), int(n), level)
    value = float(successes / n)
    return Metric(name, value, int(n), min(low, value), max(high, value), level)


def distinct_rows(table: Ints) -> tuple[Ints, Ints]:
    """Return the distinct rows of an integer table and how often each occurs."""
    if table.size == 0:
        return table[:0], np.zeros(0, dtype=np.int64)
    lowest = table.min(axis=0)
    spans = (table.max(axis=0) - lowest + 1).astype(object)
    if int(np.prod(spans)) < 2**62:  # one integer names a row: sorting those is far faster than sorting rows
        keys = np.zeros(len(table), dtype=np.int64)
        for column, span in zip((table - lowest).T, spans, strict=True):
            keys = keys * int(span) + column
        _, first, copies = np.unique(keys, return_index=True, return_counts=True)
        return table[first], copies.astype(np.int64)
    rows, copies = np.unique(table, axis=0, return_counts=True)
    return rows, copies.astype(np.int64)


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """How intervals are made: resamples over items, from a seed, by the percentile or the BCa method.

    With `resamples=0` figures come without intervals, and say so.
    """

    resamples: Annotated[int, Option("How many resamples an interval rests on.", metavar="N")] = 1000
    seed: Annotated[int, Option("The seed of the resamples.")] = 0
    level: float = 0.95
    method: str = "percentile"

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise UserError(f"Interval method {self.method!r} is unknown. Use one of: {', '.join(METHODS)}")
        if self.resamples < 0:
            raise UserError(f"{self.resamples} resamples can't be drawn. Use 0 for no intervals, or 1000 and more")
        if not 0 < self.level < 1:
            raise UserError(f"An interval's level lies between 0 and 1, not at {self.level}. 0.95 is usual")

    def weights(self, copies: Ints) -> Iterator[Floats]:
        """Yield blocks of resamples: one row a resample, how often it drew each distinct item."""
        total, kinds = int(copies.sum()), len(copies)
        generator = np.random.default_rng(self.seed)
        block = max(1, _CELLS_AT_ONCE // max(kinds, 1))
        owner = np.repeat(np.arange(kinds), copies) if kinds * 4 > total else None
        for start in range(0, self.resamples, block):
            rows = min(block, self.resamples - start)
            if owner is None:
                yield generator.multinomial(total, copies / total, size=rows).astype(np.float64)
                continue
            drawn = np.empty((rows, kinds))  # hardly any copies: drawing items costs less than drawing kinds
            for row in range(rows):
                drawn[row] = np.bincount(owner[generator.integers(0, total, total)], minlength=kinds)
            yield drawn

    def metrics(
        self,
        names: Sequence[str],
        features: Floats,
        statistic: Statistic,
        *,
        copies: Ints | None = None,
        n: int | Sequence[int] | None = None,
        undefined: str | Sequence[str] = "not defined on these items",
    ) -> list[Metric]:
        """Return one metric a name: `statistic` of the summed features, with its bootstrap interval.

        `copies` says how many items each row of `features` stands for; `n` is what the metrics report as their n
        (default: all items); `undefined` says why a figure that comes out as nan is not defined.
        """
        copies = np.ones(len(features), dtype=np.int64) if copies is None else copies
        total = int(copies.sum())
        ns = [n if n is not None else total] * len(names) if n is None or isinstance(n, int) else list(n)
        whys = [undefined] * len(names) if isinstance(undefined, str) else list(undefined)
        with np.errstate(divide="ignore", invalid="ignore"):
            sums = copies @ features
            values = np.atleast_1d(statistic(sums))
            draws = self._draws(features, statistic, copies, len(names), total)
            jackknife = statistic(sums - features) if self.method == "bca" and len(draws) else None
        return [
            self.metric(
                name, values[i], draws[:, i], ns[i], whys[i], None if jackknife is None else jackknife[:, i], copies
            )
            for i, name in enumerate(names)
        ]

    def _draws(self, features: Floats, statistic: Statistic, copies: Ints, width: int, total: int) -> Floats:
        if self.resamples == 0 or total < 2:
            return np.empty((0, width))
        return np.concatenate([statistic(block @ features) for block in self.weights(copies)])

    def metric(
        self,
        name: str,
        value: float,
        draws: Floats,
        n: int,
        undefined: str = "not defined on these items",
        jackknife: Floats | None = None,
        copies: Ints | None = None,
    ) -> Metric:
        """Return the metric for a value and its resampled values; nan among these is left out and noted."""
        value = float(value)
        if not np.isfinite(value):
            return Metric(name, None, n, level=self.level, note=undefined)
        defined = draws[np.isfinite(draws)]
        if len(defined) < max(2, len(draws) / 2):
            return Metric(name, value, n, level=self.level, note=self._no_interval(len(draws), len(defined)))
        note = None
        if np.ptp(defined) < 1e-12:
            note = "every resample gave this value, so the interval says little"
        elif len(defined) < len(draws):
            note = f"{len(draws) - len(defined)} of {len(draws)} resamples were not defined and are left out"
        tails = np.array([(1 - self.level) / 2, (1 + self.level) / 2])
        if jackknife is not None and copies is not None and np.ptp(defined) >= 1e-12:
            tails = _bca_tails(tails, value, defined, jackknife, copies)
        low, high = np.quantile(defined, tails)
        return Metric(name, value, n, float(low), float(high), self.level, note)

    def _no_interval(self, drawn: int, defined: int) -> str:
        if self.resamples == 0:
            return "no interval was asked for"
        if drawn == 0:
            return "no interval: fewer than two items"
        return f"no interval: only {defined} of {drawn} resamples were defined"


def _bca_tails(tails: Floats, value: float, draws: Floats, jackknife: Floats, copies: Ints) -> Floats:
    """Return the quantiles that correct for bias and skew (Efron 1987); plain ones where that is not possible."""
    normal = NormalDist()
    below = float(np.mean(draws < value) + np.mean(draws <= value)) / 2
    kept = np.isfinite(jackknife)
    if not 0 < below < 1 or not kept.any():
        return tails
    gaps = np.average(jackknife[kept], weights=copies[kept]) - jackknife[kept]
    spread = float(copies[kept] @ gaps**2)
    skew = float(copies[kept] @ gaps**3) / (6 * spread**1.5) if spread > 0 else 0.0
    bias = normal.inv_cdf(below)
    shifted = [bias + normal.inv_cdf(float(tail)) for tail in tails]
    return np.array([normal.cdf(bias + z / (1 - skew * z)) for z in shifted])
