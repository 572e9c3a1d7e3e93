"""The record of who did what, when, and about what. Events are only ever added.

`by` is a user's id, or `shell` for the command line, or `system`. `about` is a noun and its id, such as `user 01k…`.
Every change of state writes its event in its own transaction, so that neither is there without the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    Table,
    bindparam,
    insert,
    select,
)

from davy.store.columns import JsonColumn, Serial, TextColumn, TimeColumn, metadata, now, table_index
from davy.store.statements import PreparedStatement

events = Table(
    "events",
    metadata,
    Column("id", Serial, primary_key=True, autoincrement=True),
    Column("at", TimeColumn, nullable=False),
    Column("by", TextColumn, nullable=False),
    Column("what", TextColumn, nullable=False),
    Column("about", TextColumn, nullable=False),
    Column("details", JsonColumn),
    table_index("ix_events_about", "about", "id"),
    table_index("ix_events_by", "by", "id"),
    sqlite_autoincrement=True,
)

SHELL = "shell"
SYSTEM = "system"


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """One thing that happened."""

    id: int
    at: datetime
    by: str
    what: str
    about: str
    details: Mapping[str, Any]


_ADD = PreparedStatement(
    insert(events)
    .inline()
    .values({name: bindparam(f"its_{name}") for name in ("at", "by", "what", "about", "details")})
)


def record(db: Connection, *, by: str, what: str, about: str, **details: Any) -> None:
    """Add an event. Details are short facts, never a post's text and never a secret."""
    values = {"its_by": by, "its_what": what, "its_about": about, "its_details": details or None}
    _ADD.send(db, {"its_at": now(), **values})


def latest(
    db: Connection, *, about: str | None = None, by: str | None = None, before: int | None = None, limit: int = 100
) -> list[AuditEvent]:
    """Return events from newest to oldest; page on with `before` set to the last one's id."""
    query = select(events).order_by(events.c.id.desc()).limit(limit)
    if about is not None:
        query = query.where(events.c.about == about)
    if by is not None:
        query = query.where(events.c.by == by)
    if before is not None:
        query = query.where(events.c.id < before)
    return [AuditEvent(r.id, r.at, r.by, r.what, r.about, r.details or {}) for r in db.execute(query)]
