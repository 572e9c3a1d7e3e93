"""What each API key used, by day: requests and posts. Servers add what they counted every few seconds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection
from sqlalchemy.dialects import postgresql, sqlite

from davy.store.rows import Rows


@dataclass(frozen=True, slots=True)
class KeyUsage:
    """What one key used on one day (UTC, as 2026-11-16). A deleted key's bill stays countable."""

    key: str
    day: str
    requests: int = 0
    posts: int = 0


_ROWS = Rows(KeyUsage, "api_usage", key=("key", "day"))
api_usage = _ROWS.table


def add(db: Connection, used: Iterable[KeyUsage]) -> None:
    """Add to what was counted before; several servers may add to the same key and day."""
    insert = sqlite.insert if db.dialect.name == "sqlite" else postgresql.insert
    for usage in used:
        made = insert(api_usage).values(_ROWS.values(usage))
        sums = {name: api_usage.c[name] + made.excluded[name] for name in ("requests", "posts")}
        db.execute(made.on_conflict_do_update(index_elements=["key", "day"], set_=sums))


def of_day(db: Connection, key_id: str, day: str) -> KeyUsage:
    """Return what a key used on a day."""
    return _ROWS.get(db, api_usage.c.key == key_id, api_usage.c.day == day) or KeyUsage(key_id, day)
