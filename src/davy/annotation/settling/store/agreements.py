"""Agreements: how far people agreed at one moment of a phase. A snapshot is only ever added.

Each holds everything that a page shows of its phase, the line through earlier
snapshots too, so that a page reads one row a phase however long the work lasts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from davy.store.columns import new_id, now, table_index
from davy.store.rows import Rows


@dataclass(frozen=True, slots=True)
class AgreementSnapshot:
    """Agreement in a phase when it had so many answers."""

    id: str
    phase: str
    at: datetime
    answers: int
    content: Mapping[str, Any]


_ROWS = Rows(
    AgreementSnapshot,
    "agreements",
    table_index("ix_agreements_phase", "phase", "id"),
    references={"phase": "phases.id"},
)
agreements = _ROWS.table


def add(
    db: Connection, phase_id: str, *, answers: int, content: Mapping[str, Any], at: datetime | None = None
) -> AgreementSnapshot:
    """Add a snapshot and return it."""
    return _ROWS.insert(db, AgreementSnapshot(new_id(), phase_id, at or now(), answers, content))


def newest(db: Connection, phase_id: str) -> AgreementSnapshot | None:
    """Return a phase's newest snapshot, or None."""
    query = _ROWS.select(agreements.c.phase == phase_id).order_by(agreements.c.id.desc()).limit(1)
    return next(iter(_ROWS.list(db, query)), None)


def newest_of(db: Connection, phase_ids: Sequence[str]) -> dict[str, AgreementSnapshot]:
    """Return the newest snapshot of each phase that has one."""
    found = ((phase, newest(db, phase)) for phase in phase_ids)
    return {phase: snapshot for phase, snapshot in found if snapshot is not None}


def count(db: Connection, phase_id: str, *, most: int = 10_000) -> int:
    """Return how many snapshots a phase has, at most `most`."""
    return len(db.execute(select(agreements.c.id).where(agreements.c.phase == phase_id).limit(most)).all())
