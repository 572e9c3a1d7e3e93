"""Probabilities for posts of which more or fewer are a yes than among those that a detector was set on.

A detector's probabilities hold where as many posts are a yes as in its manifest's `prevalence`. By Bayes' rule, at
another share the log odds of yes move by the difference of both shares' log odds: among posts of which 2 % are hateful,
0.9 from posts of which half are hateful is 0.16. Order stays; thresholds stay too, so that fewer posts are flagged. It
holds where yes posts are alike in both places, and no posts too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from davy.core.errors import UserError
from davy.core.scorer import Scorer

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

Prevalence = float | Mapping[str, float]
"""The share of posts that are a yes: of every yes/no question, or by question."""


def read_prevalence(given: str | None) -> Prevalence | None:
    """Return the share that somebody wrote: `0.02` for every yes/no question, or `hate=0.01,offensive=0.05`."""
    if given is None or not given.strip():
        return None
    parts = [part.strip().rpartition("=") for part in given.split(",")]
    found = {name.strip(): _share(value) for name, _, value in parts}
    if len(found) < len(parts) or ("" in found and len(found) > 1):
        raise UserError(f"{given!r} names a share twice. Write one share, or one for each question: hate=0.01.")
    return found.get("", found)


def _share(given: str) -> float:
    try:
        value = float(given)
    except ValueError:
        value = math.nan
    if not 0 < value < 1:
        raise UserError(f"{given.strip()!r} is no share of posts. Write one between 0 and 1: 0.02 is two in a hundred.")
    return value


def share_of(prevalence: Prevalence, question: str) -> float | None:
    """Return the share that is wanted of a question; None where it stays as it is."""
    return prevalence.get(question) if isinstance(prevalence, Mapping) else prevalence


def shifts_to(prevalence: Prevalence, held: Mapping[str, float]) -> dict[str, float]:
    """Return what to add to each question's log odds of yes, from the shares at which they held."""
    wanted = {name: share_of(prevalence, name) for name in held}
    return {name: log_odds(share) - log_odds(held[name]) for name, share in wanted.items() if share is not None}


def check_questions(prevalence: Prevalence | None, scorer: Scorer) -> None:
    """Raise where a share is given for what is no yes/no question of a scorer."""
    known = [question.name for question in scorer.questions if question.positive is not None]
    for name in prevalence if isinstance(prevalence, Mapping) else ():
        if name not in known:
            raise UserError(f"{scorer.name} has no yes/no question {name!r}; it has {', '.join(known)}.")


def log_odds(share: float) -> float:
    """Return the log odds of a share."""
    return math.log(share) - math.log1p(-share)


def moved(block: Array, shift: float, yes: int) -> Array:
    """Return probabilities of two labels after this was added to the log odds of the one at `yes`."""
    import numpy as np

    chance = np.clip(block[:, yes].astype(np.float64), 1e-12, 1 - 1e-12)
    new = 1 / (1 + np.exp(-(np.log(chance) - np.log1p(-chance) + shift)))
    found = np.empty(block.shape)
    found[:, yes], found[:, 1 - yes] = new, 1 - new
    return found


def at_prevalence(scorer: Scorer, prevalence: Prevalence | None) -> Scorer:
    """Return a scorer for posts of which so many are a yes; the same one where nothing is given."""
    if prevalence is None:
        return scorer
    check_questions(prevalence, scorer)
    move = scorer.abilities.at_prevalence
    if move is None:
        raise UserError(
            f"{scorer.name} doesn't know at which share of yes its probabilities hold, so they can't be moved to "
            f"another. Set them on your posts: davy calibrate {scorer.name} posts.csv --prevalence 0.02 --out mine"
        )
    return move(prevalence)
