"""Agreements: how far people agreed at one moment of a phase. A snapshot is only ever added.

Each holds everything that a page shows of its phase, the line through earlier
snapshots too, so that a page reads one row a phase however long the work lasts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert, select
from sqlalchemy.engine import Row

from davy.store.columns import new_id, now
from davy.store.tables import agreements


@dataclass(frozen=True, slots=True)
class AgreementSnapshot:
    """Agreement in a phase when it had so many answers."""

    id: str
    phase: str
    at: datetime
    answers: int
    content: Mapping[str, Any]


def add(
    db: Connection, phase_id: str, *, answers: int, content: Mapping[str, Any], at: datetime | None = None
) -> AgreementSnapshot:
    """Add a snapshot and return it."""
    made = AgreementSnapshot(new_id(), phase_id, at or now(), answers, content)
    db.execute(
        insert(agreements).values(id=made.id, phase=phase_id, at=made.at, answers=answers, content=dict(content))
    )
    return made


def newest(db: Connection, phase_id: str) -> AgreementSnapshot | None:
    """Return a phase's newest snapshot, or None."""
    query = select(agreements).where(agreements.c.phase == phase_id).order_by(agreements.c.id.desc()).limit(1)
    row = db.execute(query).one_or_none()
    return None if row is None else _snapshot(row)


def newest_of(db: Connection, phase_ids: Sequence[str]) -> dict[str, AgreementSnapshot]:
    """Return the newest snapshot of each phase that has one."""
    found = ((phase, newest(db, phase)) for phase in phase_ids)
    return {phase: snapshot for phase, snapshot in found if snapshot is not None}


def count(db: Connection, phase_id: str, *, most: int = 10_000) -> int:
    """Return how many snapshots a phase has, at most `most`."""
    return len(db.execute(select(agreements.c.id).where(agreements.c.phase == phase_id).limit(most)).all())


def _snapshot(row: Row[Any]) -> AgreementSnapshot:
    return AgreementSnapshot(row.id, row.phase, row.at, row.answers, row.content)
