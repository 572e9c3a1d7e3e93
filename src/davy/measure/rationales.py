"""Is an explanation faithful to the detector, and does it mark what people mark? The measures of ERASER.

Scores of a text and of its versions, or marked units, in; figures out (DeYoung and others, 2020). Comprehensiveness:
how much of the label's probability is lost without the strongest units; high is good. Sufficiency: how much is lost
when only they are left; low is good. Both are averaged over several shares of the text.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from davy.core import Metric, UserError
from davy.measure.intervals import Bootstrap
from davy.measure.ranking import average_precision

SHARES: tuple[float, ...] = (0.01, 0.05, 0.1, 0.2, 0.5)
"""How much of a text is taken out, or left: ERASER's bins."""
IOU = 0.5
"""From this overlap on, two marked stretches are the same."""


@dataclass(frozen=True, slots=True)
class Faithfulness:
    """A text's comprehensiveness and sufficiency, each the mean over no unit and over each share of them."""

    comprehensiveness: float
    sufficiency: float


def strongest_units(weights: ArrayLike, share: float) -> list[int]:
    """Return the places of the strongest units that make up a share of the text, at least one, in its order."""
    values = np.asarray(weights, dtype=np.float64)
    count = min(len(values), max(1, round(share * len(values))))
    return sorted(np.argsort(-values, kind="stable")[:count].tolist())


def faithfulness(
    weights: ArrayLike,
    full: float,
    score: Callable[[list[list[int]]], Sequence[float]],
    shares: Sequence[float] = SHARES,
) -> Faithfulness:
    """Return how faithful the weights of a text's units are.

    `full` is the label's probability for the whole text; `score` gives it for versions of the text, each as the places
    of the units that are left. Each version is asked for once.
    """
    n = len(np.asarray(weights))
    if not n:
        raise UserError("A text without a unit has no explanation to measure. Leave it out")
    chosen = [strongest_units(weights, share) for share in shares]
    without = [[i for i in range(n) if i not in set(taken)] for taken in chosen]
    versions = [list(kept) for kept in dict.fromkeys(tuple(kept) for kept in [*without, *chosen])]
    found = dict(zip(map(tuple, versions), score(versions), strict=True))
    lost = [sum(full - found[tuple(kept)] for kept in side) / (len(shares) + 1) for side in (without, chosen)]
    return Faithfulness(float(lost[0]), float(lost[1]))


def mean_faithfulness(found: Sequence[Faithfulness], *, bootstrap: Bootstrap | None = None) -> list[Metric]:
    """Return mean comprehensiveness and sufficiency over texts, with intervals."""
    rows = np.array([[one.comprehensiveness, one.sufficiency, 1.0] for one in found]).reshape(len(found), 3)
    names = ("comprehensiveness", "sufficiency")
    bootstrap = bootstrap or Bootstrap()
    if not found:
        return [Metric(name, None, 0, level=bootstrap.level, note="not defined: no texts") for name in names]
    return bootstrap.metrics(names, rows, lambda sums: sums[..., :2] / sums[..., 2:])


def unit_f1(marked: Collection[int], chosen: Collection[int]) -> float:
    """Return the F1 of units that an explanation chose against those that people marked: 1 where both are empty."""
    hits = len(set(marked) & set(chosen))
    total = len(set(marked)) + len(set(chosen))
    return 2 * hits / total if total else 1.0


def stretch_f1(marked: Sequence[tuple[int, int]], chosen: Sequence[tuple[int, int]], least: float = IOU) -> float:
    """Return ERASER's IoU F1: a chosen stretch (start, end) is a hit where it overlaps a marked one by `least`."""
    if not marked and not chosen:
        return 1.0

    def overlap(one: tuple[int, int], other: tuple[int, int]) -> float:
        both = max(0, min(one[1], other[1]) - max(one[0], other[0]))
        return both / ((one[1] - one[0]) + (other[1] - other[0]) - both)

    hits = sum(any(overlap(span, other) >= least for other in marked) for span in chosen)
    return 2 * hits / (len(marked) + len(chosen)) if hits else 0.0


def stretches(places: Iterable[int]) -> list[tuple[int, int]]:
    """Return runs of neighbouring units as (first, one after the last)."""
    ranges: list[tuple[int, int]] = []
    for place in sorted(places):
        if ranges and ranges[-1][1] == place:
            ranges[-1] = (ranges[-1][0], place + 1)
        else:
            ranges.append((place, place + 1))
    return ranges


@dataclass(frozen=True, slots=True)
class WeighedText:
    """A text's units: how much each weighs in an explanation, and which of them people marked."""

    weights: tuple[float, ...]
    marked: frozenset[int]


def marked_share(texts: Sequence[WeighedText]) -> float:
    """Return how much of a text people mark on average; 0 where there are no texts."""
    return float(np.mean([len(text.marked) / len(text.weights) for text in texts])) if texts else 0.0


def plausibility(
    texts: Sequence[WeighedText], *, share: float | None = None, bootstrap: Bootstrap | None = None
) -> list[Metric]:
    """Return how well explanations find what people marked: token F1, IoU F1 and AUPRC, each the mean over texts.

    For the two F1 the strongest units are taken, as large a share of each text as people mark on average (or `share`),
    at least one; AUPRC reads the weights as they are. A text that nobody marked anything in has no rationale to find.
    """
    bootstrap, names = bootstrap or Bootstrap(), ("token_f1", "iou_f1", "auprc")
    texts = [text for text in texts if text.marked]
    if not texts:
        why = "not defined: no text has a mark"
        return [Metric(name, None, 0, level=bootstrap.level, note=why) for name in names]
    share = marked_share(texts) if share is None else share
    rows = []
    for text in texts:
        chosen = strongest_units(text.weights, share)
        yes = [place in text.marked for place in range(len(text.weights))]
        tokens = unit_f1(text.marked, chosen)
        rows.append(
            [tokens, stretch_f1(stretches(text.marked), stretches(chosen)), average_precision(yes, text.weights), 1.0]
        )
    return bootstrap.metrics(names, np.array(rows), lambda sums: sums[..., :3] / sums[..., 3:])
