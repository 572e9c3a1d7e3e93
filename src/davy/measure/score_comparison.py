"""Two services' scores of the same posts: do they rank alike, and from where on do they flag as many.

Scores in, figures with intervals out. The threshold that keeps the share of flags is a quantile of the new scores, so
it needs no labels; how far the flags fall on the same posts is measured beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from davy.core import Metric
from davy.core.errors import UserError
from davy.measure.intervals import Bootstrap, proportion

Floats = np.ndarray[Any, np.dtype[np.float64]]

FEWEST = 20
"""Fewer posts than this say nothing about a threshold."""


@dataclass(frozen=True, slots=True)
class ScoreComparison:
    """What two scores of the same posts have in common; `threshold` is the new one that flags the same share.

    Where no threshold can be told from these posts it has no value, its note says why, and so it is for what rests
    on it.
    """

    rank_correlation: Metric
    flagged: Metric
    """The share that the old scores flag at the old threshold."""
    threshold: Metric
    flagged_now: Metric
    agreement: Metric
    kappa: Metric
    unchanged_threshold: Metric
    """The share that would be flagged if the old threshold were kept."""
    kept_flags: Metric
    """The share of the old flags that are flags at the new threshold, too."""


def compare_scores(
    old: Floats, new: Floats, threshold: float, *, bootstrap: Bootstrap | None = None
) -> ScoreComparison:
    """Return how new scores compare with old ones that were flagged from `threshold` on."""
    draws = bootstrap or Bootstrap()
    old, new = np.asarray(old, dtype=np.float64), np.asarray(new, dtype=np.float64)
    if len(old) < FEWEST:
        raise UserError(f"{len(old)} posts have both scores; a comparison needs {FEWEST} at least.")
    flags = old >= threshold
    cut = same_share_threshold(flags, new)
    now = new >= cut
    n = len(old)
    before = (spearman(old, new), proportion("flagged before", int(flags.sum()), n))
    unchanged = proportion("flagged at the old threshold", int((new >= threshold).sum()), n)
    if why := _no_threshold(flags, now, threshold):
        names = ("threshold", "flagged now", "agreement", "Cohen's kappa")
        undefined = [Metric(name, None, n, note=why) for name in names]
        kept = Metric("kept flags", None, int(flags.sum()), note=why)
        return ScoreComparison(*before, undefined[0], undefined[1], undefined[2], undefined[3], unchanged, kept)
    samples = np.array([_resampled(flags[rows], new[rows]) for rows in _rows(n, draws)]).reshape(-1, 3)
    return ScoreComparison(
        *before,
        draws.metric("threshold", cut, samples[:, 0], n),
        proportion("flagged now", int(now.sum()), n),
        draws.metric("agreement", float((flags == now).mean()), samples[:, 1], n),
        draws.metric("Cohen's kappa", _kappa(flags, now), samples[:, 2], n, "all posts have one answer"),
        unchanged,
        proportion("kept flags", int((flags & now).sum()), int(flags.sum())),
    )


def _no_threshold(flags: Any, now: Any, threshold: float) -> str:
    """Return why these posts tell no threshold; nothing where they do."""
    if not flags.any():
        return f"no old score reaches {threshold:g}"
    if flags.all():
        return f"every old score reaches {threshold:g}"
    return "so many new scores are equal that every post would be flagged" if now.all() else ""


def same_share_threshold(flags: Any, new: Floats) -> float:
    """Return the threshold from which on the new scores flag as many posts as `flags`, as near as ties allow.

    Half-way between two scores that occur; where nothing is flagged, just above the highest score.
    """
    order = np.sort(np.asarray(new, dtype=np.float64))[::-1]
    wanted = int(np.sum(flags))
    if wanted == 0:
        return float(min(1.0, order[0] + 1e-6))
    if wanted >= len(order):
        return float(order[-1])
    below = int(np.searchsorted(-order, -order[wanted - 1], side="right"))  # how many are flagged with the ties
    above = int(np.searchsorted(-order, -order[wanted - 1], side="left"))  # … and without them
    place = below if abs(below - wanted) <= abs(above - wanted) or above == 0 else above
    return float(order[-1]) if place >= len(order) else float((order[place - 1] + order[place]) / 2)


def spearman(old: Floats, new: Floats) -> Metric:
    """Return Spearman's rank correlation, ties at their mean rank; the interval is Bonett and Wright's (2000)."""
    n = len(old)
    ranks = [pl.Series(values).rank("average").to_numpy() for values in (old, new)]
    if n < 4 or any(np.ptp(rank) == 0 for rank in ranks):
        return Metric("rank correlation", None, n, note="all scores are the same, or fewer than four")
    value = float(np.corrcoef(ranks[0], ranks[1])[0, 1])
    if abs(value) >= 1 - 1e-12:
        return Metric("rank correlation", round(value), n, note="perfect, so without an interval")
    spread = 1.959963984540054 * np.sqrt((1 + value**2 / 2) / (n - 3))
    low, high = np.tanh(np.arctanh(value) - spread), np.tanh(np.arctanh(value) + spread)
    return Metric("rank correlation", value, n, float(low), float(high))


def _rows(n: int, draws: Bootstrap) -> Any:
    generator = np.random.default_rng(draws.seed)
    return (generator.integers(0, n, n) for _ in range(draws.resamples))


def _resampled(flags: Any, new: Floats) -> tuple[float, float, float]:
    cut = same_share_threshold(flags, new)
    now = new >= cut
    return cut, float((flags == now).mean()), _kappa(flags, now)


def _kappa(one: Any, other: Any) -> float:
    expected = one.mean() * other.mean() + (1 - one.mean()) * (1 - other.mean())
    return float("nan") if expected >= 1 else float(((one == other).mean() - expected) / (1 - expected))
