"""Tallies: how much each person did in a phase, counted in the transaction of the action.

One row a person and phase, so that counting never makes two people wait for
each other. `place` is the position of the item that they had last: the search
for their next one goes on from there.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, case, func, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from davy.annotation.labelling.store.tables import tallies
from davy.store.columns import TimeColumn
from davy.store.statements import PreparedStatement

NOWHERE = -1
"""The place of someone who has had no item yet."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What a person did in a phase; `filled` counts the items that their answer made full."""

    phase: str
    annotator: str
    given: int = 0
    refused: int = 0
    skipped: int = 0
    filled: int = 0
    seconds: float = 0.0
    place: int = NOWHERE
    last_at: datetime | None = None


COLUMNS = [tallies.c[name] for name in Tally.__dataclass_fields__]

_MINE = select(*COLUMNS).where(tallies.c.phase == bindparam("p"), tallies.c.annotator == bindparam("a"))
_LOCKED = PreparedStatement(_MINE.with_for_update(key_share=True))
_AT = bindparam("at", type_=TimeColumn)
_COUNT = PreparedStatement(
    update(tallies)
    .where(tallies.c.phase == bindparam("p"), tallies.c.annotator == bindparam("a"))
    .values(
        given=tallies.c.given + bindparam("d_given"),
        refused=tallies.c.refused + bindparam("d_refused"),
        skipped=tallies.c.skipped + bindparam("d_skipped"),
        filled=tallies.c.filled + bindparam("d_filled"),
        seconds=tallies.c.seconds + bindparam("d_seconds"),
        place=func.coalesce(bindparam("to_place", type_=tallies.c.place.type), tallies.c.place),
        # A clock that was put back must not make the last action look older than the one before it.
        last_at=case((or_(tallies.c.last_at.is_(None), tallies.c.last_at < _AT), _AT), else_=tallies.c.last_at),
    )
    .returning(*COLUMNS)
)


def lock(db: Connection, phase_id: str, annotator: str) -> Tally:
    """Return a person's tally, held until the transaction ends; it is made where there is none."""
    key = {"p": phase_id, "a": annotator}
    row = _LOCKED.one(db, key)
    if row is None:
        make = sqlite.insert if db.dialect.name == "sqlite" else postgresql.insert
        fresh = Tally(phase_id, annotator)
        values = {name: getattr(fresh, name) for name in Tally.__dataclass_fields__}
        db.execute(make(tallies).values(values).on_conflict_do_nothing())
        row = _LOCKED.one(db, key)
        assert row is not None
    return Tally(*row)


def prefetch(db: Connection, phase_id: str, annotator: str) -> None:
    """Send early what `lock` reads."""
    _LOCKED.prefetch(db, {"p": phase_id, "a": annotator})


def count(db: Connection, phase_id: str, annotator: str, **counts: Any) -> Tally:
    """Add to a person's tally and return it, held until the transaction ends; see `send_count`."""
    return send_count(db, phase_id, annotator, **counts)()


def send_count(
    db: Connection,
    phase_id: str,
    annotator: str,
    *,
    at: datetime,
    given: int = 0,
    refused: int = 0,
    skipped: int = 0,
    filled: int = 0,
    seconds: float = 0.0,
    place: int | None = None,
) -> Callable[[], Tally]:
    """Add to a person's tally and return what gives it, held until the transaction ends; `place` is where they are."""
    values: dict[str, Any] = {
        "p": phase_id,
        "a": annotator,
        "at": at,
        "d_given": given,
        "d_refused": refused,
        "d_skipped": skipped,
        "d_filled": filled,
        "d_seconds": seconds,
        "to_place": place,
    }
    sent = _COUNT.send(db, values)

    def counted() -> Tally:
        row = sent.one()
        if row is None:
            lock(db, phase_id, annotator)
            row = _COUNT.one(db, values)
            assert row is not None
        return Tally(*row)

    return counted


def get(db: Connection, phase_id: str, annotator: str) -> Tally:
    """Return a person's tally in a phase: nothing yet where they did nothing."""
    row = db.execute(_MINE, {"p": phase_id, "a": annotator}).one_or_none()
    return Tally(phase_id, annotator) if row is None else Tally(*row)


def of_phase(db: Connection, phase_id: str) -> list[Tally]:
    """Return everyone's tallies in a phase, by annotator."""
    query = select(*COLUMNS).where(tallies.c.phase == phase_id).order_by(tallies.c.annotator)
    return [Tally(*row) for row in db.execute(query)]
