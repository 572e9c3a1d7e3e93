"""Lanterns in the database: add one, list all."""

from __future__ import annotations

from davy.lanterns.lantern import Lantern, clean_name
from sqlalchemy import Connection

from davy.store import events
from davy.store.columns import new_id, now
from davy.store.rows import Rows

_ROWS = Rows(Lantern, "lanterns")
lanterns = _ROWS.table


def add(db: Connection, name: str, *, by: str) -> Lantern:
    """Add a lantern and return it."""
    lantern = Lantern(new_id(), clean_name(name), now())
    _ROWS.insert(db, lantern)
    events.record(db, by=by, what="lantern added", about=f"lantern {lantern.id}", name=lantern.name)
    return lantern


def list_lanterns(db: Connection) -> list[Lantern]:
    """Return all lanterns, oldest first."""
    return _ROWS.list(db, _ROWS.select().order_by(lanterns.c.id))
