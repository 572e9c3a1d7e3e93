"""Rounds in the store: opened, closing, closed; one that is not closed a project. Entries are in `store.entries`.

A round's phase is a phase of its project; whether it may open is for `annotation` to say; here it is written down.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import CheckConstraint, Column, Connection, UniqueConstraint, func, select
from sqlalchemy.exc import IntegrityError

from davy.annotation.labelling.store.tables import annotations
from davy.annotation.project.store import phases
from davy.core import UserError
from davy.rounds.round import EntryRules, Round, RoundGoals
from davy.store import events
from davy.store.columns import TextColumn, TimeColumn, new_id, now, table_index
from davy.store.rows import Rows

_ROWS = Rows(
    Round,
    "rounds",
    Column("opened_at", TimeColumn, nullable=False),
    Column("opened_by", TextColumn, nullable=False),
    UniqueConstraint("project", "number", name="uq_rounds_number"),
    CheckConstraint("state IN ('open', 'closing', 'closed')", name="state"),
    # The next round needs the target that this one makes: one at a time.
    table_index("uq_rounds_open", "project", where="state <> 'closed'", unique=True),
    references={"project": "projects.id", "phase": "phases.id"},
)
rounds = _ROWS.table


def add(
    db: Connection,
    project_id: str,
    *,
    name: str,
    phase: str,
    question: str,
    targets: Sequence[str],
    by: str,
    rules: EntryRules | None = None,
    goals: RoundGoals | None = None,
) -> Round:
    """Add an open round after those that a project has, and return it; while one is open, no other is."""
    number = 1 + (db.scalar(select(func.max(rounds.c.number)).where(rounds.c.project == project_id)) or 0)
    made = Round(
        new_id(),
        project_id,
        number,
        name,
        phase,
        tuple(targets),
        rules or EntryRules(),
        **asdict(goals or RoundGoals()),
        opened_at=now(),
        opened_by=by,
        question=question,
    )
    if current(db, project_id) is not None:
        raise _still_open(project_id)
    try:
        _ROWS.insert(db, made)
    except IntegrityError:  # somebody else opened one between the look and the insert
        raise _still_open(project_id) from None
    about = f"project {project_id}"
    events.record(db, by=by, what="round opened", about=about, round=number, targets=list(made.targets))
    return made


def get(db: Connection, round_id: str) -> Round:
    """Return the round with this id."""
    found = _ROWS.get(db, rounds.c.id == round_id)
    if found is None:
        raise UserError("There is no such round.", status=404)
    return found


def by_number(db: Connection, project_id: str, number: int) -> Round:
    """Return a project's round by its number."""
    found = _ROWS.get(db, rounds.c.project == project_id, rounds.c.number == number)
    if found is None:
        numbers = ", ".join(str(it.number) for it in of_project(db, project_id))
        hint = f"It has {numbers}." if numbers else "It has none yet: davy round open"
        raise UserError(f"Project {project_id!r} has no round {number}. {hint}", status=404)
    return found


def by_phase(db: Connection, phase_id: str) -> Round | None:
    """Return the round whose entries a phase validates, or None."""
    return _ROWS.get(db, rounds.c.phase == phase_id)


def of_project(db: Connection, project_id: str) -> list[Round]:
    """Return a project's rounds, the first one first."""
    return _ROWS.list(db, _ROWS.select(rounds.c.project == project_id).order_by(rounds.c.number))


def current(db: Connection, project_id: str) -> Round | None:
    """Return the round of a project that is not closed, or None."""
    return _ROWS.get(db, rounds.c.project == project_id, rounds.c.state != "closed")


def set_state(db: Connection, round_id: str, state: str, *, by: str, outcome: Mapping[str, Any] | None = None) -> Round:
    """Note that a round is open, closing or closed, with what closing it gave; return it. Harmless when run again."""
    was = get(db, round_id)
    phases.lock(db, was.phase)  # entries that are on their way are in before the state changes, or see that it did
    values: dict[str, Any] = {"state": state, "closed_at": now() if state == "closed" else None}
    if outcome is not None:
        values["outcome"] = {**was.outcome, **outcome}
    if was.state == state:
        values.pop("closed_at")
    _ROWS.update(db, rounds.c.id == round_id, **values)
    if was.state != state:
        what = {"open": "round opened again", "closing": "round is closing", "closed": "round closed"}[state]
        events.record(db, by=by, what=what, about=f"project {was.project}", round=was.number)
    return get(db, round_id)


def guideline_versions(db: Connection, round_: Round) -> list[int]:
    """Return the versions of the guideline under which answers of a round were given, the first one first."""
    query = select(annotations.c.guideline_version).where(annotations.c.phase == round_.phase).distinct()
    return sorted(version for version in db.scalars(query) if version)


def _still_open(project_id: str) -> UserError:
    return UserError(
        f"Project {project_id!r} has a round that is not closed yet. Close it first: davy round close {project_id}",
        status=409,
    )
