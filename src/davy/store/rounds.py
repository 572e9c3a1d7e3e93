"""Rounds in the store: opened, closing, closed; one that is not closed a project. Entries are in `store.entries`.

A round's phase is a phase of its project; whether it may open is `annotate`'s to say, here it is written down.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, func, insert, select, update
from sqlalchemy.engine import Row
from sqlalchemy.exc import IntegrityError

from davy.core import EntryRules, Round, UserError
from davy.store import events, phases
from davy.store.columns import new_id, now
from davy.store.round_tables import rounds
from davy.store.tables import annotations


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
    goal_each: int | None = None,
    goal_all: int | None = None,
    goal_week: int | None = None,
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
        goal_each,
        goal_all,
        goal_week,
        opened_at=now(),
        opened_by=by,
        question=question,
    )
    row = {slot: getattr(made, slot) for slot in Round.__dataclass_fields__}
    row |= {"targets": list(made.targets), "rules": asdict(made.rules), "outcome": {}}
    if current(db, project_id) is not None:
        raise _still_open(project_id)
    try:
        db.execute(insert(rounds).values(row))
    except IntegrityError:  # somebody else opened one between the look and the insert
        raise _still_open(project_id) from None
    about = f"project {project_id}"
    events.record(db, by=by, what="round opened", about=about, round=number, targets=list(made.targets))
    return made


def get(db: Connection, round_id: str) -> Round:
    """Return the round with this id."""
    row = db.execute(select(rounds).where(rounds.c.id == round_id)).one_or_none()
    if row is None:
        raise UserError("There is no such round.", status=404)
    return _round(row)


def by_number(db: Connection, project_id: str, number: int) -> Round:
    """Return a project's round by its number."""
    query = select(rounds).where(rounds.c.project == project_id, rounds.c.number == number)
    row = db.execute(query).one_or_none()
    if row is None:
        numbers = ", ".join(str(it.number) for it in of_project(db, project_id))
        hint = f"It has {numbers}." if numbers else "It has none yet: davy round open"
        raise UserError(f"Project {project_id!r} has no round {number}. {hint}", status=404)
    return _round(row)


def by_phase(db: Connection, phase_id: str) -> Round | None:
    """Return the round whose entries a phase validates, or None."""
    row = db.execute(select(rounds).where(rounds.c.phase == phase_id)).one_or_none()
    return None if row is None else _round(row)


def of_project(db: Connection, project_id: str) -> list[Round]:
    """Return a project's rounds, the first one first."""
    query = select(rounds).where(rounds.c.project == project_id).order_by(rounds.c.number)
    return [_round(row) for row in db.execute(query)]


def current(db: Connection, project_id: str) -> Round | None:
    """Return the round of a project that is not closed, or None."""
    query = select(rounds).where(rounds.c.project == project_id, rounds.c.state != "closed")
    row = db.execute(query).one_or_none()
    return None if row is None else _round(row)


def set_state(db: Connection, round_id: str, state: str, *, by: str, outcome: Mapping[str, Any] | None = None) -> Round:
    """Note that a round is open, closing or closed, with what closing it gave; return it. Harmless when run again."""
    was = get(db, round_id)
    phases.lock(db, was.phase)  # entries that are on their way are in before the state changes, or see that it did
    values: dict[str, Any] = {"state": state, "closed_at": now() if state == "closed" else None}
    if outcome is not None:
        values["outcome"] = {**was.outcome, **outcome}
    if was.state == state:
        values.pop("closed_at")
    db.execute(update(rounds).where(rounds.c.id == round_id).values(**values))
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


def _round(row: Row[Any]) -> Round:
    got = dict(row._mapping)
    rules = {**got["rules"], "languages": tuple(got["rules"].get("languages", ()))}
    return Round(**{**got, "targets": tuple(got["targets"]), "rules": EntryRules(**rules)})
