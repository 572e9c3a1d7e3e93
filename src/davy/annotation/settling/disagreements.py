"""Where people disagree in a small phase: the posts to talk about, most divided first.

A calibration phase in, its posts with everyone's answers under pseudonyms out.
How divided a post is: the share of pairs of people who say different things,
averaged over the questions that two or more answered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from davy.annotation.project.project import Phase, Project
from davy.annotation.settling import agreement
from davy.annotation.settling.store import phase_answers
from davy.annotation.settling.store.phase_answers import PhasePost
from davy.core import Scheme
from davy.store import Connection

MOST_ITEMS = 1_000
"""Posts that people can still talk about; a longer phase is settled by adjudication."""


@dataclass(frozen=True, slots=True)
class DividedPost:
    """A post that people answered, and how divided they are: 0 all alike, 1 no two alike."""

    post: str
    disagreement: float
    answers: Mapping[str, Mapping[str, str]]
    """Question → pseudonym → what they said."""


def divided_posts(db: Connection, project: Project, phase: Phase, scheme: Scheme) -> list[DividedPost]:
    """Return the posts on which people differ, most divided first; none for a phase that is too long to talk about."""
    if phase.size > MOST_ITEMS:
        return []
    names = agreement.pseudonyms(db, project)
    given: dict[str, dict[str, dict[str, str]]] = {}
    for one in phase_answers.iter_answers(db, phase.id):
        of_post = given.setdefault(one.post, {})
        for question, cell in agreement.answer_labels(scheme, one.answers).items():
            of_post.setdefault(question, {})[names.get(one.annotator, one.annotator)] = cell
    found = [DividedPost(post, _disagreement(answers), answers) for post, answers in given.items()]
    return sorted((it for it in found if it.disagreement > 0), key=lambda it: (-it.disagreement, it.post))


def posts_with_answers(
    db: Connection, phase: Phase, some: Sequence[DividedPost]
) -> list[tuple[DividedPost, PhasePost]]:
    """Return divided posts with their texts."""
    by_post = {it.post: it for it in some}
    return [(by_post[row.post], row) for row in phase_answers.phase_posts(db, phase.id, list(by_post))]


def _disagreement(answers: Mapping[str, Mapping[str, str]]) -> float:
    shares = []
    for cells in answers.values():
        n = len(cells)
        if n > 1:
            alike = sum(count * (count - 1) for count in Counter(cells.values()).values())
            shares.append(1 - alike / (n * (n - 1)))
    return sum(shares) / len(shares) if shares else 0.0
