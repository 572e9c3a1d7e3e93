"""From which probability on a yes/no question is a yes: thresholds by macro-F1, by precision or recall, or by cost.

Probabilities of yes and gold answers in, one threshold out. Every distinct probability is tried, so the answer is exact
for these posts; on few posts it fits them too well.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from davy.core import UserError
from davy.measure.columns import to_flags

RULES = ("macro-f1", "precision=0.9", "recall=0.9", "cost=5")
"""What may be asked for; a cost is how many false alarms one miss is worth."""


def choose_threshold(probability: ArrayLike, yes: ArrayLike, rule: str = "macro-f1") -> float:
    """Return the threshold that is best by a rule, half-way between two probabilities that occur.

    `precision=P` gives the lowest threshold that reaches P, `recall=R` the highest.
    """
    chance, gold = np.asarray(probability, dtype=np.float64), to_flags(yes)
    if not gold.any() or gold.all():
        raise UserError("A threshold needs posts with a yes and posts with a no. Give more posts.")
    order = np.argsort(-chance, kind="stable")
    last = np.flatnonzero(np.append(np.diff(chance[order]) != 0, True))
    # After each distinct probability, from the highest down: how many said yes are right and wrong.
    true = np.cumsum(gold[order])[last].astype(np.float64)
    false = last + 1 - true
    values = np.append(chance[order][last], 0.0)
    cuts = (values[:-1] + values[1:]) / 2
    place = _best(rule, true, false, float(gold.sum()), float((~gold).sum()))
    return float(np.clip(round(float(cuts[place]), 6), 1e-6, 1.0))


def cost_of_a_miss(rule: str | None) -> float | None:
    """Return how many false alarms a miss is worth where a rule goes by cost."""
    name, _, number = (rule or "").lower().partition("=")
    return float(number) if name == "cost" else None


def _best(rule: str, true: np.ndarray, false: np.ndarray, yes: float, no: float) -> int:
    name, _, number = rule.lower().partition("=")
    try:
        limit = float(number) if number else 0.0
    except ValueError:
        limit = -1.0
    missed, right_no = yes - true, no - false
    if name == "macro-f1" and not number:
        f1_yes = 2 * true / (2 * true + false + missed)
        f1_no = 2 * right_no / (2 * right_no + false + missed)
        return int(np.argmax(f1_yes + f1_no))
    if name == "precision" and 0 < limit <= 1:
        reached = np.flatnonzero(true / (true + false) >= limit)
        if not len(reached):
            raise UserError(f"No threshold reaches a precision of {limit:g} on these posts. Ask for less.")
        return int(reached[-1])
    if name == "recall" and 0 < limit <= 1:
        return int(np.flatnonzero(true / yes >= limit)[0])
    if name == "cost" and limit > 0:
        return int(np.argmin(false + limit * missed))
    raise UserError(f"{rule!r} is no rule for a threshold. Write one like these: {', '.join(RULES)}.")
