"""The end of a project: the survey with its results without names, and the figures that people are told.

A question is a scale from 1 to 5 or free text. A project may bring its own
(`settings["survey"]["questions"]`); else there are some about how people were,
how clear the work was and whether the pay was fair. Results are shown from three
answers on, never one person's, and texts in an order that says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from davy.annotation.care.store import responses, work_sessions
from davy.annotation.project import monitoring
from davy.annotation.project.project import Project
from davy.annotation.project.store import members
from davy.core import Metric, Wording
from davy.store import Connection

SCALE = (1, 2, 3, 4, 5)
FEWEST = 3
"""Results are shown once this many have answered."""
LONGEST = 2_000
LINK = "may be linked"
"""The key under which a person agrees that their answers on scales are joined with their labels."""


@dataclass(frozen=True, slots=True)
class SurveyQuestion:
    """One question of a survey: `kind` is scale or text."""

    id: str
    kind: str
    words: Wording


@dataclass(frozen=True, slots=True)
class SurveyResult:
    """What people answered to one question. `counts` has how many gave each step of a scale."""

    question: SurveyQuestion
    n: int
    counts: tuple[int, ...] = ()
    texts: tuple[str, ...] = ()

    @property
    def mean(self) -> float | None:
        """The mean of a scale, or None."""
        total = sum(self.counts)
        return sum(step * n for step, n in zip(SCALE, self.counts, strict=True)) / total if total else None


DEFAULT: tuple[SurveyQuestion, ...] = (
    SurveyQuestion(
        "wellbeing",
        "scale",
        Wording({"en": "I felt well while I did this work.", "de": "Bei dieser Arbeit ging es mir gut."}),
    ),
    SurveyQuestion(
        "support",
        "scale",
        Wording(
            {
                "en": "When something weighed on me, I knew whom to turn to.",
                "de": "Wenn mich etwas belastete, wusste ich, an wen ich mich wenden kann.",
            }
        ),
    ),
    SurveyQuestion(
        "breaks",
        "scale",
        Wording(
            {
                "en": "I could rest, refuse and stop whenever I needed to.",
                "de": "Ich konnte Pausen machen, ablehnen und aufhören, wann ich es brauchte.",
            }
        ),
    ),
    SurveyQuestion(
        "clarity",
        "scale",
        Wording(
            {"en": "The guidelines were clear.", "de": "Die Richtlinien waren klar."},
        ),
    ),
    SurveyQuestion(
        "heard",
        "scale",
        Wording(
            {
                "en": "My questions were answered, and what I said changed something.",
                "de": "Meine Fragen wurden beantwortet, und was ich sagte, bewirkte etwas.",
            }
        ),
    ),
    SurveyQuestion("pay", "scale", Wording({"en": "The pay was fair.", "de": "Die Bezahlung war fair."})),
    SurveyQuestion(
        "again",
        "scale",
        Wording({"en": "I would do work like this again.", "de": "Ich würde eine solche Arbeit wieder machen."}),
    ),
    SurveyQuestion("hardest", "text", Wording({"en": "What was hardest?", "de": "Was war am schwersten?"})),
    SurveyQuestion(
        "better",
        "text",
        Wording({"en": "What should be better next time?", "de": "Was sollte beim nächsten Mal besser sein?"}),
    ),
)


def questions_of(project: Project) -> tuple[SurveyQuestion, ...]:
    """Return a project's own questions, or the default ones; what can't be read as a question is passed over."""
    own = (project.settings.get("survey") or {}).get("questions")
    if not isinstance(own, list | tuple):
        return DEFAULT
    made = []
    for number, it in enumerate(own[:40], 1):
        given = {"words": it} if isinstance(it, str) else dict(it) if isinstance(it, Mapping) else {}
        words = Wording(given.get("words") or "")
        if words:
            kind = "text" if given.get("kind") == "text" else "scale"
            made.append(SurveyQuestion(str(given.get("id") or f"q{number}"), kind, words))
    return tuple(made) or DEFAULT


def clean(questions: Sequence[SurveyQuestion], given: Mapping[str, str]) -> dict[str, Any]:
    """Return a form's answers to these questions; empty ones are left out, and so are steps that there are not."""
    kept: dict[str, Any] = {}
    for question in questions:
        answer = given.get(question.id, "").strip()
        if question.kind == "text" and answer:
            kept[question.id] = answer[:LONGEST]
        elif question.kind == "scale" and answer in map(str, SCALE):
            kept[question.id] = int(answer)
    return kept


def linked_answers(db: Connection, project: Project) -> list[tuple[str, SurveyQuestion, int]]:
    """Return (pseudonym, question, step) of those who agreed to it; texts stay out, since they may name people."""
    scales = [question for question in questions_of(project) if question.kind == "scale"]
    found = []
    for member in members.of_project(db, project.id, left=True):
        given = responses.get(db, project.id, member.user, "survey")
        if given is not None and given.content.get(LINK):
            found += [(member.pseudonym, q, int(given.content[q.id])) for q in scales if q.id in given.content]
    return sorted(found, key=lambda it: it[0])


def survey_results(db: Connection, project: Project) -> tuple[int, list[SurveyResult]]:
    """Return how many answered, and the results; no results while fewer than three have answered."""
    given = responses.of_project(db, project.id, "survey")
    if len(given) < FEWEST:
        return len(given), []
    made = []
    for question in questions_of(project):
        replies = [it[question.id] for it in given if question.id in it]
        if question.kind == "text":
            made.append(SurveyResult(question, len(replies), texts=tuple(sorted(map(str, replies), key=str.casefold))))
        else:
            made.append(SurveyResult(question, len(replies), tuple(replies.count(step) for step in SCALE)))
    return len(given), made


@dataclass(frozen=True, slots=True)
class AgreementFigure:
    """How far people agreed on one question in one phase (Fleiss' κ)."""

    phase: str
    question: str
    metric: Metric


@dataclass(frozen=True, slots=True)
class DebriefFigures:
    """What a project became. `people` are those who gave answers; `settled` is None where nobody has counted yet."""

    posts: int
    answers: int
    settled: int | None
    people: int
    hours: float
    agreed: tuple[AgreementFigure, ...] = ()


def debrief_figures(db: Connection, project: Project) -> DebriefFigures:
    """Return the figures of a project now. Reads a few rows a phase and person."""
    board = monitoring.load_dashboard(db, project)
    corpus = [phase for phase in board.phases if phase.in_corpus]
    settled = [n for phase in corpus if (n := board.progress[phase.id].settled) is not None]
    agreed = [
        AgreementFigure(phase.name, measured.question, metric)
        for phase in board.phases
        for measured in board.measured.get(phase.id, ())
        if (metric := measured.metric("fleiss")) is not None and metric.value is not None
    ]
    return DebriefFigures(
        posts=sum(phase.size for phase in corpus),
        answers=sum(progress.given for progress in board.progress.values()),
        settled=sum(settled) if settled else None,
        people=len({tally.annotator for tally in monitoring.by_people(board.tallies) if tally.given > 0}),
        hours=sum(worked.seconds for worked in work_sessions.hours(db, project.id).values()) / 3600,
        agreed=tuple(agreed),
    )
