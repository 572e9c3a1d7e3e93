"""What people say about themselves, as counts that give nobody away: for a project's data statement.

Answers are free words. Each question's answers are counted; what fewer than three
people said is put together with other rare answers, and where even those are
fewer than three, with the next rarest one, so that no small count is shown and
none can be worked out from the total. An answer that stands for so few people is
not quoted either: the words alone may name somebody.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from davy.annotation.care.store import responses
from davy.annotation.project.project import Project
from davy.annotation.project.store import members
from davy.core.scheme import fold_spelling
from davy.store import Connection

QUESTIONS: tuple[str, ...] = (
    "age",
    "gender",
    "first language",
    "country",
    "education",
    "background",
    "field of work",
    "affected",
    "emoji and social media",
    "abuse online",
)
"""What a person may say of themselves. `affected`: whether they are part of a group that such posts attack."""

SMALLEST = 3
"""No count below this is shown."""
FEWER = "fewer than 3"
COUNTED_ROLES = ("annotator", "expert")
LONGEST = 100


@dataclass(frozen=True, slots=True)
class DemographicCount:
    """How many gave an answer. `answer` None stands for all others together; `n` is "fewer than 3" where it must be."""

    answer: str | None
    n: int | str


@dataclass(frozen=True, slots=True)
class DemographicCounts:
    """The answers to one question about themselves, of `people` who could have answered."""

    question: str
    people: int
    counts: tuple[DemographicCount, ...]


def clean(given: Mapping[str, str]) -> dict[str, str]:
    """Return what a person said, on one line each; questions that were left empty are not kept."""
    kept = {name: " ".join(str(given.get(name, "")).split())[:LONGEST] for name in QUESTIONS}
    return {name: words for name, words in kept.items() if words}


def statement_counts(db: Connection, project: Project) -> list[DemographicCounts]:
    """Return what may be published about those who labelled, a question each; all empty where too few are there."""
    people = len([it for it in members.of_project(db, project.id, left=True) if set(it.roles) & set(COUNTED_ROLES)])
    given = responses.of_project(db, project.id, "about me", roles=COUNTED_ROLES)
    made = []
    for question in QUESTIONS:
        answers = [str(it[question]) for it in given if it.get(question)]
        if answers:
            made.append(DemographicCounts(question, people, suppress_small_counts(answers, people)))
    return made


def suppress_small_counts(answers: Sequence[str], people: int) -> tuple[DemographicCount, ...]:
    """Return counts of answers, with those who gave none among the rest, none of them small or to be worked out."""
    spelt: dict[str, Counter[str]] = {}
    for answer in map(_banded, answers):
        spelt.setdefault(fold_spelling(answer), Counter())[answer] += 1
    ranked = sorted(spelt.items(), key=lambda it: (-it[1].total(), it[0]))
    shown = [
        DemographicCount(min(it, key=lambda w: (-it[w], w)), it.total()) for _, it in ranked if it.total() >= SMALLEST
    ]
    rest = people - sum(int(it.n) for it in shown)
    while 0 < rest < SMALLEST and shown:
        # One small group left over could be subtracted from the total, so the next rarest goes with it.
        rest += int(shown.pop().n)
    if not rest:
        return tuple(shown)
    return (*shown, DemographicCount(None, rest if rest >= SMALLEST else FEWER))


def _banded(answer: str) -> str:
    """Return an age as its ten years, since an exact one is nearly always rare; anything else as it is."""
    if re.fullmatch(r"\d{2}", answer) and int(answer) >= 18:
        low = int(answer) // 10 * 10
        return f"{max(low, 18)}–{low + 9}"
    return answer
