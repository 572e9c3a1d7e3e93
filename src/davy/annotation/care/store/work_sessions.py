"""Sittings: when a person worked, for how long, and what they did since they last rested. Kept for rests and pay.

A sitting is a stretch of work in one project on one day. Its seconds are added
up answer by answer and never computed from its two ends, so that a clock that
jumps takes nobody's hours away. When to rest is decided in `care.care`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, bindparam, func, select, update

from davy.store.columns import new_id, table_index
from davy.store.rows import Rows
from davy.store.statements import PreparedStatement

LONGEST_DAY = timedelta(hours=50)
"""How far back `recent` looks: a person's day in any time zone, and the night before."""


@dataclass(frozen=True, slots=True)
class WorkSitting:
    """One stretch of work. `unrested_…` count from the last rest, which may lie before this sitting."""

    id: str
    project: str
    user: str
    started_at: datetime
    last_at: datetime
    seconds: float = 0.0
    items: int = 0
    hard: int = 0
    ended_at: datetime | None = None
    unrested_seconds: float = 0.0
    unrested_hard: int = 0
    postponed: bool = False
    rest_until: datetime | None = None
    rest_reason: str | None = None


@dataclass(frozen=True, slots=True)
class Hours:
    """What one person did in a project, over all their sittings."""

    user: str
    seconds: float
    items: int
    hard: int
    sittings: int
    first_at: datetime
    last_at: datetime


_ROWS = Rows(
    WorkSitting,
    "sittings",
    table_index("ix_sittings_user_id", "user_id", "started_at"),
    table_index("ix_sittings_project", "project", "user_id"),
    references={"project": "projects.id", "user": "users.id"},
    names={"user": "user_id"},
)
sittings = _ROWS.table

# Built once: they run with every answer.
_RECENT = _ROWS.select(sittings.c.user_id == bindparam("user"), sittings.c.started_at > bindparam("after")).order_by(
    sittings.c.started_at.desc(), sittings.c.id.desc()
)
_LOOK, _LOOK_LOCKED = PreparedStatement(_RECENT), PreparedStatement(_RECENT.with_for_update())
_ADD_WORK = PreparedStatement(
    update(sittings)
    .where(sittings.c.id == bindparam("sitting"))
    .values(
        last_at=bindparam("to"),
        seconds=sittings.c.seconds + bindparam("more_seconds"),
        items=sittings.c["items"] + bindparam("more_items"),
        hard=sittings.c.hard + bindparam("more_hard"),
        unrested_seconds=sittings.c.unrested_seconds + bindparam("more_seconds"),
        unrested_hard=sittings.c.unrested_hard + bindparam("more_hard"),
    )
)


def recent(db: Connection, user_id: str, at: datetime, *, lock: bool = False) -> list[WorkSitting]:
    """Return a person's sittings of the last two days in all projects, the one that was used last first."""
    rows = (_LOOK_LOCKED if lock else _LOOK).rows(db, {"user": user_id, "after": at - LONGEST_DAY})
    return sort_sittings(map(_ROWS.read, rows))


def sort_sittings(found: Iterable[WorkSitting]) -> list[WorkSitting]:
    """Return sittings, the one that was used last first."""
    # An open one comes first: after a clock jumped back, one that ended may seem to be later.
    return sorted(found, key=lambda it: (it.ended_at is None, it.last_at, it.id), reverse=True)


def begin(db: Connection, sitting: WorkSitting) -> None:
    """Add a sitting."""
    _ROWS.insert(db, sitting)


def new_sitting(project: str, user: str, *, started_at: datetime, at: datetime, **values: Any) -> WorkSitting:
    """Return a sitting that is not in the store yet."""
    return WorkSitting(new_id(), project, user, started_at, at, **values)


def add_work(
    db: Connection, sitting: WorkSitting, *, seconds: float, items: int, hard: int, at: datetime
) -> WorkSitting:
    """Add work to a sitting, on top of what another tab may have added meanwhile, and return it with that."""
    added = {"more_seconds": seconds, "more_items": items, "more_hard": hard}
    _ADD_WORK.send(db, {"sitting": sitting.id, "to": at, **added})
    return replace(
        sitting,
        last_at=at,
        seconds=sitting.seconds + seconds,
        items=sitting.items + items,
        hard=sitting.hard + hard,
        unrested_seconds=sitting.unrested_seconds + seconds,
        unrested_hard=sitting.unrested_hard + hard,
    )


def change(db: Connection, sitting_id: str, **values: Any) -> None:
    """Change a sitting's rest: `ended_at`, `rest_until`, `rest_reason`, `postponed`, `unrested_…`."""
    _ROWS.update(db, sittings.c.id == sitting_id, **values)


def of_person(db: Connection, project_id: str, user_id: str) -> list[WorkSitting]:
    """Return a person's sittings in a project, newest first."""
    query = _ROWS.select(sittings.c.project == project_id, sittings.c.user_id == user_id)
    return _ROWS.list(db, query.order_by(sittings.c.started_at.desc(), sittings.c.id.desc()))


def hours(db: Connection, project_id: str) -> dict[str, Hours]:
    """Return what each person did in a project, by user id."""
    query = (
        select(
            sittings.c.user_id,
            func.sum(sittings.c.seconds),
            func.sum(sittings.c["items"]),
            func.sum(sittings.c.hard),
            func.count(),
            func.min(sittings.c.started_at),
            func.max(sittings.c.last_at),
        )
        .where(sittings.c.project == project_id)
        .group_by(sittings.c.user_id)
    )
    return {
        user: Hours(user, float(seconds), int(items), int(hard), int(n), first, last)
        for user, seconds, items, hard, n, first, last in db.execute(query)
    }
