"""What a ladder board would have told a team that asked again and again (Blum and Hardt 2015).

A team's scores in the order of its submissions in; after each, the score that a ladder would have shown out. A
ladder moves only when a submission is clearly better than the best before, so asking often teaches a team little
about the hidden labels.
"""

from __future__ import annotations

from collections.abc import Sequence

from davy.core.errors import UserError


def ladder(scores: Sequence[float], step: float = 0.01) -> list[float]:
    """Return the shown score after each submission: the best, rounded to steps, once it is better by a step or more.

    Higher scores are better, and the ladder stands at 0 before the first.
    """
    if not step > 0:
        raise UserError(f"A ladder's step is above 0, not {step}. 0.01 is usual")
    shown: list[float] = []
    best = 0.0
    for score in scores:
        if score > best + step:
            best = round(round(score / step) * step, 12)
        shown.append(best)
    return shown
