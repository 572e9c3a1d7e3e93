"""How strongly words go with classes and with each other: PMI and its normalised form.

Counts of posts in, figures out, by GMHP7k's equations 6 to 9: the unit is the
post, P(x) is the share of posts that hold x. NPMI is 1 where two things only
occur together, 0 where they are independent, −1 where they never meet.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def pmi(both: ArrayLike, one: ArrayLike, other: ArrayLike, posts: ArrayLike) -> Floats:
    """Return log2 of how much more often two things meet than chance would have it; −inf where they never do."""
    n_both, n_one, n_other, n = _counts(both, one, other, posts)
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = np.log2(n_both) + np.log2(n) - np.log2(n_one) - np.log2(n_other)
    return found


def npmi(both: ArrayLike, one: ArrayLike, other: ArrayLike, posts: ArrayLike) -> Floats:
    """Return PMI over −log2 P(both), between −1 and 1; NaN where one of the two never occurs at all."""
    n_both, n_one, n_other, n = _counts(both, one, other, posts)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = pmi(n_both, n_one, n_other, n) / -np.log2(n_both / n)
    found = np.where(n_both == 0, -1.0, found)
    found = np.where(n_both == n, 1.0, found)  # in every post, both: only ever together
    made: Floats = np.where((n_one == 0) | (n_other == 0), np.nan, found)
    return made


def _counts(*given: ArrayLike) -> tuple[Floats, ...]:
    both, one, other, posts = np.broadcast_arrays(*(np.asarray(count, dtype=np.float64) for count in given))
    if (both > np.minimum(one, other)).any() or (np.maximum(one, other) > posts).any():
        raise ValueError("more posts hold both than hold one of the two, or more hold one than there are")
    return both, one, other, posts
