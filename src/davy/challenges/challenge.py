"""A challenge: teams send predictions for posts whose labels they can't see, and a board ranks them.

A challenge has tasks (a question each) and phases. A phase asks about one data set and has, for each task, a window
in which its posts are given out and predictions are taken. The one thing to know: a task that comes `after` another
opens when the other has closed, whatever its own date says, since its posts give the other's labels away.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

BOARDS: tuple[str, ...] = ("public", "teams", "organisers")
"""Who reads a phase's board: whoever sees the challenge, teams, or organisers only."""
VISIBILITIES: tuple[str, ...] = ("world", "accounts", "people")
"""Who sees a challenge: everybody, whoever has an account here, or those whom an organiser let in."""
COUNTS: tuple[str, ...] = ("last", "best")
TASK_KINDS: tuple[str, ...] = ("labels", "score")


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """From when to when something is open; the last moment is `closes` itself, exclusive."""

    opens: datetime
    closes: datetime

    def __post_init__(self) -> None:
        if self.opens.tzinfo is None or self.closes.tzinfo is None:
            raise ValueError("a window's times need a zone")

    def state(self, at: datetime) -> str:
        """One of waiting, open, closed."""
        if at >= self.closes:
            return "closed"
        return "open" if at >= self.opens else "waiting"


@dataclass(frozen=True, slots=True)
class ChallengeTask:
    """One question that predictions answer, by labels or by a score, and the metric that ranks them."""

    name: str
    title: str
    question: str
    labels: tuple[str, ...]
    metric: str = "macro_f1"
    kind: str = "labels"
    positive: str | None = None
    after: tuple[str, ...] = ()
    """Tasks that must have closed before this one's posts are given out."""

    def __post_init__(self) -> None:
        if self.kind not in TASK_KINDS:
            raise ValueError(f"kind is {self.kind!r}; choose {' or '.join(TASK_KINDS)}")
        if len(self.labels) < 2 or len(set(self.labels)) < len(self.labels):
            raise ValueError(f"task {self.name!r} needs two different labels or more")
        if self.kind == "score" and len(self.labels) != 2:
            raise ValueError(f"task {self.name!r} takes scores, so it needs exactly two labels")
        if self.positive is not None and self.positive not in self.labels:
            raise ValueError(f"task {self.name!r}: the positive label {self.positive!r} is not among its labels")


@dataclass(frozen=True, slots=True)
class ChallengePhase:
    """One phase: which data set it asks about, when for each task, how often a team may send, who sees the board."""

    id: str
    challenge: str
    name: str
    position: int
    data: str
    windows: Mapping[str, TimeWindow]
    limit: int
    per_day: int | None
    board: str
    counts: str
    survey: bool
    """Whether only entries whose survey was answered are ranked."""
    staggered: bool
    """Whether a task that comes after another waits until that has closed: where the labels are hidden."""
    embargo: datetime | None = None
    frozen_at: datetime | None = None

    def window(self, task: ChallengeTask) -> TimeWindow | None:
        """Return when a task is open here: not before what it comes after has closed. None where the phase lacks it."""
        own = self.windows.get(task.name)
        if own is None:
            return None
        before = [self.windows[name].closes for name in task.after if self.staggered and name in self.windows]
        return TimeWindow(max([own.opens, *before]), own.closes)

    def board_readers(self, at: datetime) -> str:
        """Return who reads the board now, one of BOARDS; an embargo leaves it to the organisers."""
        return "organisers" if self.embargo is not None and at < self.embargo else self.board


@dataclass(frozen=True, slots=True)
class Challenge:
    """One challenge with its tasks and phases. `settings` has its texts: description, rules, survey, contact."""

    id: str
    title: str
    visibility: str
    tasks: tuple[ChallengeTask, ...]
    phases: tuple[ChallengePhase, ...]
    settings: Mapping[str, Any]
    created_at: datetime
    created_by: str

    def task(self, name: str) -> ChallengeTask | None:
        """Return the task of this name, or None."""
        return next((task for task in self.tasks if task.name == name), None)

    def phase(self, name: str) -> ChallengePhase | None:
        """Return the phase of this name, or None."""
        return next((phase for phase in self.phases if phase.name == name), None)

    def windows(self) -> Iterator[tuple[ChallengePhase, ChallengeTask, TimeWindow]]:
        """Yield each phase and task with its window, where the phase has the task."""
        for phase in self.phases:
            for task in self.tasks:
                window = phase.window(task)
                if window is not None:
                    yield phase, task, window


@dataclass(frozen=True, slots=True)
class ChallengeEntry:
    """One post of a data set, as it was given, and its labels by task; teams never see the labels of a hidden set."""

    id: str
    text: str
    labels: Mapping[str, str] = field(default_factory=dict)
    image: str | None = None
    """The key of its picture."""


@dataclass(frozen=True, slots=True)
class ChallengePerson:
    """An account in a challenge: whether it organises, when it accepted the rules, and its team."""

    challenge: str
    user: str
    organiser: bool
    team: str | None = None
    accepted_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Team:
    """People who send predictions together through one account, or a baseline, or human performance."""

    id: str
    challenge: str
    name: str
    kind: str
    captain: str | None
    created_at: datetime
    withdrawn_at: datetime | None = None
    """From when on an organiser leaves the team out of the boards."""


@dataclass(frozen=True, slots=True)
class Submission:
    """One file of predictions that was taken. `figure` is the metric as `core.Metric.to_dict` writes it."""

    id: str
    phase: str
    task: str
    team: str
    by: str | None
    at: datetime
    file: str
    rows: int
    digest: str
    """Hash of the predictions: equal ones are equal wherever they came from."""
    state: str
    job: str | None = None
    figure: Mapping[str, Any] | None = None
    survey: Mapping[str, Any] | None = None
    note: str | None = None
    """What the team calls this system."""
