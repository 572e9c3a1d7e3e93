"""What came of a project, in a few figures for the people who did the work: posts, answers, verdicts, agreement."""

from __future__ import annotations

from dataclasses import dataclass

from davy.annotation.care.store import work_sessions
from davy.annotation.project import monitoring
from davy.annotation.project.project import Project
from davy.core import Metric
from davy.store import Connection


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


def figures(db: Connection, project: Project) -> DebriefFigures:
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
