"""What a ladder board would have told a team that asked again and again (Blum and Hardt 2015).

A team's scores in the order of its submissions in; after each, the score that a ladder would have shown out. A
ladder moves only when a submission is clearly better than the best before, so asking often teaches a team little
about the hidden labels.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

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


def parameter_free_ladder(right: ArrayLike) -> list[float]:
    """Return the accuracy that the ladder without a step shows after each submission.

    `right` says which submission (row) got which item right. A submission counts as better when it gains more than
    the standard error of its difference to the best one before, item by item.
    """
    answers = np.asarray(right, dtype=np.float64)
    if answers.ndim != 2 or not answers.shape[1]:
        raise UserError("A ladder needs one row a submission and one column an item")
    items = answers.shape[1]
    shown: list[float] = []
    best, leader = 0.0, np.zeros(items)
    for row in answers:
        gap = row - leader
        error = float(gap.std(ddof=1)) / np.sqrt(items) if items > 1 else 0.0
        if row.mean() > best + error:
            best, leader = round(float(row.mean()) * items) / items, row
        shown.append(best)
    return shown
