"""Words for agreement figures, always with the name of who proposed them.

A coefficient in, an adjective out. The two scales disagree on purpose: McHugh's is the stricter one, made for
work where a wrong label does harm.
"""

from __future__ import annotations


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
