"""How far people agree about memes: the mean of Cohen's κ over pairs, on the binary label and on the scale.

The binary label is what follows from a rating; "not sure" decides nothing, so it is no binary answer.
"""

from __future__ import annotations

from dataclasses import dataclass

from davy.annotation.project.project import Project
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.settling.agreement import ratings_of
from davy.core import Metric, Question
from davy.measure.agreement import pairwise, verbal_labels
from davy.measure.intervals import Bootstrap
from davy.memes.meme_families import deciding_question, meme_phases
from davy.store import Connection

PAPER_KAPPA = 0.684
"""Cohen's κ of Hateful Memes (section 3.1), "moderate" by McHugh."""
RESAMPLES = 300


@dataclass(frozen=True, slots=True)
class RatingAgreement:
    """The agreement on one question; `pairs` are the pairs of people who share a meme."""

    question: Question
    kappa: Metric
    pairs: int

    @property
    def words(self) -> dict[str, str]:
        """What Landis and Koch, and McHugh, call it; nothing where it is not defined."""
        return verbal_labels(self.kappa.value)


def rating_agreement(db: Connection, project: Project) -> list[RatingAgreement]:
    """Return the agreement in the phase where memes are rated, the binary label's first; none without answers."""
    rating, scheme = meme_phases(db, project).rating, scheme_of(db, project)
    if rating is None:
        return []
    binary = deciding_question(scheme).name
    found = []
    for question, ratings in ratings_of(db, project, rating, scheme):
        if question.name == binary or question.ordered:
            measured = pairwise(ratings, bootstrap=Bootstrap(resamples=RESAMPLES))
            found.append(RatingAgreement(question, measured.mean, len(measured.pairs)))
    return sorted(found, key=lambda it: it.question.name != binary)
