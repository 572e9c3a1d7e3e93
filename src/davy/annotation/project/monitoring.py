"""What is known of a project while people work: progress, agreement over time, each person's own figures.

Counts come from tallies, a row a person and phase; figures come from the newest
snapshot of each phase, which also holds the line through earlier ones. A page
so costs the same with a hundred posts and with a million. `take` makes a
snapshot; `due` says when the next one is worth its work.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from davy.annotation.labelling.store.tallies import Tally
from davy.annotation.project.project import Phase, Project
from davy.annotation.project.store import members, phases, projects
from davy.annotation.settling import agreement
from davy.annotation.settling.adjudication import TOGETHER
from davy.annotation.settling.store import agreements, phase_answers
from davy.annotation.settling.store.agreements import AgreementSnapshot
from davy.core import Metric, Scheme
from davy.store import Connection, Store
from davy.store.columns import now

if TYPE_CHECKING:
    from davy.measure.agreement_study import AgreementStudy

SNAPSHOT_ANSWERS = 250
SNAPSHOT_MINUTES = 10
"""A snapshot is taken after so many new answers, or so many minutes after the last one if anything is new."""
SMALL = 5_000
"""Answers up to which a phase is measured while its page waits: everyone's calibration, not a production."""
LOOK_AGAIN = timedelta(seconds=20)
"""How old a small phase's figures may be when somebody looks at them."""
SOONEST = timedelta(hours=1)
"""How long a phase runs before its pace means anything."""
MOST_POINTS = 120
"""Points of the line over time; when there are more, every second one is left out."""
MOST_PAIRS = 66
"""Pairs that a snapshot holds: a table for twelve people."""


@dataclass(frozen=True, slots=True)
class PhaseProgress:
    """How far a phase is. `wanted` counts answers; None where nobody is there to give any."""

    phase: Phase
    given: int
    refused: int
    skipped: int
    filled: int
    wanted: int | None
    people: int
    settled: int | None
    a_day: float | None
    ends: datetime | None
    last_at: datetime | None


@dataclass(frozen=True, slots=True)
class QuestionAgreement:
    """One question's figures in a snapshot, read back; what `agreement.gate` needs of a study."""

    question: str
    level: int
    items: int
    answers: int
    metrics: tuple[Metric, ...]
    labels: Mapping[str, int]
    one_out: Mapping[str, tuple[Metric, ...]]
    """Agreement of the others, by the pseudonym of who is left out."""
    people: Mapping[str, tuple[float | None, int]]
    """Mean Cohen's κ with each other person, and how many answers they gave, by pseudonym."""
    pairs: Mapping[tuple[str, str], Metric]
    """Cohen's κ of each pair; empty where there are too many people for a table of pairs."""

    def metric(self, name: str) -> Metric | None:
        """Return a coefficient by its short name."""
        return next((metric for metric in self.metrics if metric.name == name), None)


@dataclass(frozen=True, slots=True)
class Dashboard:
    """Everything that the page of a project shows: a row a phase, and a row a person and phase."""

    phases: tuple[Phase, ...]
    progress: Mapping[str, PhaseProgress]
    measured: Mapping[str, Sequence[QuestionAgreement]]
    snapshots: Mapping[str, AgreementSnapshot]
    tallies: Sequence[Tally]
    names: Mapping[str, str]
    cases: int


@dataclass(frozen=True, slots=True)
class LeaveOneOut:
    """Agreement of all, and without each person in turn: a row a person, a column a phase and question."""

    columns: tuple[tuple[str, tuple[str, ...]], ...]
    rows: tuple[tuple[str | None, tuple[Metric | None, ...]], ...]
    """Who is left out (None: nobody), and a figure a column."""


def load_dashboard(db: Connection, project: Project, *, at: datetime | None = None) -> Dashboard:
    """Return what is known of a project now. Reads a few rows a phase and person, never items or answers."""
    every = tuple(phases.of_project(db, project.id))
    ids = [phase.id for phase in every]
    tallies = phase_answers.tallies_of(db, ids)
    snapshots = agreements.newest_of(db, ids)
    everyone = members.of_project(db, project.id, left=True)
    roster = sum("annotator" in member.roles and member.left_at is None for member in everyone)
    return Dashboard(
        every,
        {p.id: progress_of(p, tallies, roster, snapshots.get(p.id), at=at) for p in every},
        {phase: question_agreements(snapshot) for phase, snapshot in snapshots.items()},
        snapshots,
        tallies,
        {member.user: member.pseudonym for member in everyone},
        phase_answers.count_open_cases(db, project.id),
    )


def leave_one_out_table(board: Dashboard, coefficient: str) -> LeaveOneOut:
    """Return the table of GMHP7k's Table 4: rows all and without each person, columns phase by question."""
    columns, each = [], []
    people: set[str] = set()
    for phase in board.phases:
        known = [
            figures
            for figures in board.measured.get(phase.id, ())
            if (m := figures.metric(coefficient)) and m.value is not None
        ]
        if known:
            columns.append((phase.name, tuple(figures.question for figures in known)))
            each += known
            people |= {name for figures in known for name in figures.one_out}
    rows: list[tuple[str | None, tuple[Metric | None, ...]]] = []
    for name in (None, *sorted(people)):
        cells = (figures.metrics if name is None else figures.one_out.get(name, ()) for figures in each)
        rows.append((name, tuple(next((m for m in cell if m.name == coefficient), None) for cell in cells)))
    return LeaveOneOut(tuple(columns), tuple(rows) if each else ())


def progress_of(
    phase: Phase,
    tallies: Iterable[Tally],
    roster: int,
    snapshot: AgreementSnapshot | None,
    *,
    at: datetime | None = None,
) -> PhaseProgress:
    """Return how far a phase is and when it ends at the present pace; `roster` is how many people could answer."""
    mine = [tally for tally in tallies if tally.phase == phase.id]
    given = sum(tally.given for tally in mine)
    # Who joined after a phase was closed has no part in it.
    each = phase.answers or (len(mine) if phase.state == "closed" else max(roster, len(mine)))
    if phase.behaviour.shared:
        each = 1
    wanted = phase.size * each or None
    a_day = _pace(given, phase, snapshot, at or now())
    left = None if wanted is None else max(0, wanted - given - sum(tally.refused for tally in mine))
    ends = None
    if left and a_day and phase.state == "open" and left / a_day < 3650:
        ends = (at or now()) + timedelta(days=left / a_day)
    states = snapshot.content.get("states") if snapshot else None
    return PhaseProgress(
        phase,
        given,
        sum(tally.refused for tally in mine),
        sum(tally.skipped for tally in mine),
        sum(tally.filled for tally in mine),
        wanted,
        len(by_people(mine)),
        None if states is None else int(states.get("settled", 0)),
        a_day,
        ends,
        max((tally.last_at for tally in mine if tally.last_at), default=None),
    )


def by_people(tallies: Iterable[Tally]) -> list[Tally]:
    """Return the tallies of people: a discussion's shared answers are nobody's own."""
    return [tally for tally in tallies if tally.annotator != TOGETHER]


def _pace(given: int, phase: Phase, snapshot: AgreementSnapshot | None, at: datetime) -> float | None:
    """Return answers a day, counted over the last day that snapshots know of, or since the phase was opened."""
    points = [
        (datetime.fromisoformat(p["at"]), int(p["answers"])) for p in (snapshot.content["series"] if snapshot else ())
    ]
    start = next(((when, n) for when, n in reversed(points) if at - when >= timedelta(days=1)), None)
    if start is None and phase.opened_at is not None:
        start = (phase.opened_at, 0)
    if start is None or at - start[0] < SOONEST or given <= start[1]:
        return None
    return (given - start[1]) / ((at - start[0]) / timedelta(days=1))


def is_snapshot_due(
    snapshot: AgreementSnapshot | None, tallies: Sequence[Tally], *, at: datetime | None = None
) -> bool:
    """Return whether a phase with these tallies should be measured again."""
    given = sum(tally.given for tally in tallies)
    if snapshot is None:
        return given > 0
    if not is_snapshot_stale(snapshot, tallies):
        return False
    old = (at or now()) - snapshot.at >= timedelta(minutes=SNAPSHOT_MINUTES)
    return old or abs(given - snapshot.answers) >= SNAPSHOT_ANSWERS


def is_snapshot_stale(snapshot: AgreementSnapshot | None, tallies: Sequence[Tally]) -> bool:
    """Return whether anybody answered since the snapshot."""
    if snapshot is None:
        return any(tally.given for tally in tallies)
    if sum(tally.given for tally in tallies) != snapshot.answers:
        return True
    return any(tally.last_at is not None and tally.last_at > snapshot.at for tally in tallies)


def state_key(phase: Phase, tallies: Sequence[Tally]) -> str:
    """Return a name for how far a phase is, so that one state is measured by one job."""
    last = max((tally.last_at for tally in tallies if tally.last_at), default=None)
    when = last.isoformat() if last else "never"
    return f"agreement {phase.id} {sum(tally.given for tally in tallies)} {when}"


def due_phases(db: Connection, *, at: datetime | None = None) -> list[Phase]:
    """Return the phases of open projects that should be measured again."""
    due = []
    for project in projects.list_projects(db):
        for phase in phases.of_project(db, project.id) if project.state == "open" else ():
            snapshot, tallies = agreements.newest(db, phase.id), phase_answers.tallies_of(db, [phase.id])
            # A closed phase keeps its last figures; one that waits has answers only where they were imported.
            at_rest = phase.state != "open" and is_snapshot_stale(snapshot, tallies)
            if at_rest or (phase.state == "open" and is_snapshot_due(snapshot, tallies, at=at)):
                due.append(phase)
    return due


def save_snapshot(db: Connection, phase_id: str) -> AgreementSnapshot:
    """Measure a phase inside a transaction that writes, and keep it as its newest snapshot."""
    content, answers = figures(db, phases.get(db, phase_id))
    return agreements.add(db, phase_id, answers=answers, content=content)


def take_snapshot(store: Store, phase_id: str) -> AgreementSnapshot:
    """Measure a phase now and keep it as its newest snapshot. Reads first, then writes one row."""
    with store.read() as db:
        begun = now()
        content, answers = figures(db, phases.get(db, phase_id))
    with store.write() as db:
        return agreements.add(db, phase_id, answers=answers, content=content, at=begun)


def fresh_snapshot(store: Store, phase: Phase) -> AgreementSnapshot | None:
    """Return the newest snapshot of a phase; a small phase with new answers is measured first."""
    with store.read() as db:
        newest = agreements.newest(db, phase.id)
        tallies = phase_answers.tallies_of(db, [phase.id])
    if is_snapshot_stale(newest, tallies) and sum(tally.given for tally in tallies) <= SMALL:
        return take_snapshot(store, phase.id)
    return newest


def catch_up(store: Store, board: Dashboard, *, at: datetime | None = None) -> bool:
    """Measure a small phase that has new answers, and return whether there was one: a closed one first.

    For a page that somebody looks at: one phase, and one at work not more often than every `LOOK_AGAIN`.
    """
    for phase in [it for state in ("closed", "waiting", "open") for it in reversed(board.phases) if it.state == state]:
        snapshot = board.snapshots.get(phase.id)
        mine = [tally for tally in board.tallies if tally.phase == phase.id]
        waited = snapshot is None or phase.state != "open" or (at or now()) - snapshot.at >= LOOK_AGAIN
        small = sum(tally.given for tally in mine) <= SMALL
        if waited and small and is_snapshot_stale(snapshot, mine):
            take_snapshot(store, phase.id)
            return True
    return False


def gate_of(db: Connection, project: Project, phase: Phase) -> agreement.AgreementGateResult:
    """Return whether a phase's gate is open now: from its newest snapshot, or measured without intervals."""
    newest = agreements.newest(db, phase.id)
    if newest is not None and not is_snapshot_stale(newest, phase_answers.tallies_of(db, [phase.id])):
        return agreement.gate(question_agreements(newest), phase.settings)
    if not phase.settings.get("gate"):
        return agreement.gate((), phase.settings)
    from davy.measure.intervals import Bootstrap

    return agreement.gate(agreement.studies_of(db, project, phase, bootstrap=Bootstrap(0)), phase.settings)


def figures(db: Connection, phase: Phase) -> tuple[dict[str, Any], int]:
    """Return what a snapshot of the phase holds, and how many answers the phase has."""
    project = projects.get(db, phase.project)
    tallies = phase_answers.tallies_of(db, [phase.id])
    given = sum(tally.given for tally in tallies)
    scheme = agreement.scheme_of(db, project)
    every = agreement.stride(db, phase)
    studies = agreement.studies_of(db, project, phase, every=every)
    before = agreements.newest(db, phase.id)
    content = {
        "every": every,
        "questions": [_question(study, scheme) for study in studies],
        "states": phase_answers.count_states(db, phase.id),
        "series": _series(before, studies, given),
    }
    return content, given


def question_agreements(snapshot: AgreementSnapshot | None) -> list[QuestionAgreement]:
    """Return a snapshot's questions; none where there is no snapshot."""
    return [
        QuestionAgreement(
            kept_question["question"],
            kept_question["level"],
            kept_question["items"],
            kept_question["answers"],
            tuple(Metric.from_dict(m) for m in kept_question["coefficients"]),
            kept_question["labels"],
            {name: tuple(Metric.from_dict(m) for m in metrics) for name, metrics in kept_question["one_out"].items()},
            {name: (value, n) for name, (value, n) in kept_question["people"].items()},
            {(one, other): Metric.from_dict(kept) for one, other, kept in kept_question["pairs"]},
        )
        for kept_question in (snapshot.content["questions"] if snapshot else ())
    ]


def level_of(scheme: Scheme, question: str) -> int:
    """Return how deep a question lies in its hierarchy: 1 at the top."""
    under = scheme.question(question).under
    return 1 if under is None else 1 + level_of(scheme, under[0])


def _question(study: AgreementStudy, scheme: Scheme) -> dict[str, Any]:
    return {
        "question": study.question,
        "level": level_of(scheme, study.question),
        "items": study.items,
        "answers": len(study.ratings),
        "coefficients": [metric.to_dict() for metric in study.metrics],
        "labels": study.ratings.label_counts(),
        "one_out": {panel.without[0]: [metric.to_dict() for metric in panel.metrics] for panel in study.one_out},
        "people": _people(study),
        "pairs": _pairs(study),
    }


def _pairs(study: AgreementStudy) -> list[tuple[str, str, dict[str, Any]]]:
    pairs = study.pairs.pairs
    return [(*pair, metric.to_dict()) for pair, metric in pairs.items()] if len(pairs) <= MOST_PAIRS else []


def _people(study: AgreementStudy) -> dict[str, tuple[float | None, int]]:
    """Return each person's mean κ with the others, pairs weighing by the posts they share, and their answers."""
    import numpy as np

    answers = np.bincount(study.ratings.annotator, minlength=len(study.ratings.annotators))
    sums: dict[str, tuple[float, int]] = {}
    for pair, metric in study.pairs.pairs.items():
        for name in pair if metric.value is not None else ():
            total, n = sums.get(name, (0.0, 0))
            sums[name] = (total + float(metric.value or 0) * metric.n, n + metric.n)
    return {
        name: (sums[name][0] / sums[name][1] if sums.get(name, (0, 0))[1] else None, int(count))
        for name, count in zip(study.ratings.annotators, answers, strict=True)
    }


def _series(before: AgreementSnapshot | None, found: Sequence[AgreementStudy], given: int) -> list[dict[str, Any]]:
    """Return the line over time: the earlier snapshot's points, thinned where they are many, and this moment's."""
    points = list(before.content["series"]) if before else []
    while len(points) >= MOST_POINTS:
        points = [point for place, point in enumerate(points) if place % 2 == 0 or place == len(points) - 1]
    each = {
        study.question: {
            metric.name: [metric.value, metric.low, metric.high, metric.n]
            for metric in study.metrics
            if metric.value is not None
        }
        for study in found
    }
    return [*points, {"at": now().isoformat(timespec="seconds"), "answers": given, "questions": each}]
