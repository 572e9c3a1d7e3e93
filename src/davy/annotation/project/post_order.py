"""The order in which a phase's posts come, so that hard ones don't come in a row.

Severities in, places out: `places[i]` is where row i goes. The same seed gives
the same order. `store.items.add` takes the places.
"""

import random
from array import array
from collections.abc import Sequence

LEVELS = 8


def spread_severe(severities: Sequence[float], *, seed: int) -> Sequence[int]:
    """Return places in which posts of each severity are by chance but evenly spaced, the hardest most evenly.

    Of n posts with h hard ones, no stretch of n/h posts has more than two hard ones. Finer severities than
    eight levels are put into eight of equal width.
    """
    chance = random.Random(seed)  # noqa: S311 — an order, not a secret
    n = len(severities)
    places = array("i", bytes(4 * n))
    by_severity: dict[float, list[int]] = {}
    for number, severity in enumerate(_levels(severities)):
        by_severity.setdefault(severity, []).append(number)
    free = array("i", range(n))
    for severity in sorted(by_severity, reverse=True):
        rows = by_severity[severity]
        chance.shuffle(rows)
        step = len(free) / len(rows)
        # One in each stretch of the free places, in its middle half; where stretches are short, so that no two meet.
        wide = min(0.25, 0.499 * (1 - 1 / step))
        chosen = [int((number + chance.uniform(0.5 - wide, 0.5 + wide)) * step) for number in range(len(rows))]
        for row, place in zip(rows, chosen, strict=True):
            places[row] = free[place]
        taken = set(chosen)
        free = array("i", (place for number, place in enumerate(free) if number not in taken))
    return places


def _levels(severities: Sequence[float]) -> Sequence[float]:
    """Return severities in at most `LEVELS` steps, since each step is spread out by a pass over all places."""
    if len(set(severities)) <= LEVELS:
        return severities
    low, high = min(severities), max(severities)
    return [min(LEVELS - 1, int((it - low) / (high - low) * LEVELS)) for it in severities]
