"""The panel: what agreement becomes without one annotator, and in every subset of them.

Ratings in, one row of metrics for each subset out, as in GMHP7k's Table 4. A person without whom agreement rises
reads the guideline differently from the rest: a reason to talk, not a score.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from davy.core import Metric, UserError
from davy.measure.agreement import agreement
from davy.measure.intervals import Bootstrap
from davy.measure.ratings import Ratings

MOST_FOR_SUBSETS = 10
"""2^10 subsets are a table that somebody can still sort; more is a mistake."""


@dataclass(frozen=True, slots=True)
class SubsetAgreement:
    """Some of the annotators, and how far they agree."""

    annotators: tuple[str, ...]
    without: tuple[str, ...]
    metrics: tuple[Metric, ...]

    def __getitem__(self, name: str) -> Metric:
        return next(metric for metric in self.metrics if metric.name == name)


def leave_one_out(ratings: Ratings, *, bootstrap: Bootstrap | None = None) -> list[SubsetAgreement]:
    """Return the agreement of all but one annotator, for each of three or more in turn."""
    people = ratings.annotators
    if len(people) < 3:
        return []
    return [_panel(ratings, tuple(p for p in people if p != one), bootstrap) for one in people]


def subsets(ratings: Ratings, *, bootstrap: Bootstrap | None = None) -> Iterator[SubsetAgreement]:
    """Yield the agreement of every subset of two or more annotators, largest first."""
    people = ratings.annotators
    if len(people) > MOST_FOR_SUBSETS:
        raise UserError(
            f"{len(people)} annotators have {2 ** len(people) - len(people) - 1:,} subsets; --subsets takes up to "
            f"{MOST_FOR_SUBSETS} people. Leave it out: one-out figures are printed without it"
        )
    for size in range(len(people), 1, -1):
        for some in combinations(people, size):
            yield _panel(ratings, some, bootstrap)


def _panel(ratings: Ratings, some: tuple[str, ...], bootstrap: Bootstrap | None) -> SubsetAgreement:
    left = tuple(person for person in ratings.annotators if person not in some)
    return SubsetAgreement(some, left, tuple(agreement(ratings.by(some).counts(), bootstrap=bootstrap)))
