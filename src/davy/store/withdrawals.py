"""Withdrawals: posts that their authors deleted leave the store, with everything that was derived from their text.

That is: posts derived from them (`parent`), and every row of any table that
points at one of these, such as annotations with their comments and verdicts with
their reasons. Only the event stays, so that it is known that something was
removed, when, by whom and how much; never what it said.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from sqlalchemy import Column, Connection, Table, delete, func, select, text

from davy.store import events
from davy.store.store import Store
from davy.store.tables import annotations, metadata, posts, verdicts

CHUNK = 500


@dataclass(slots=True)
class WithdrawalCounts:
    """What a withdrawal touched. `rows` counts what was removed, by table."""

    asked: int
    found: tuple[str, ...] = ()
    derived: tuple[str, ...] = ()
    rows: dict[str, int] = field(default_factory=dict)
    annotators: int = 0
    verdicts: dict[str, int] = field(default_factory=dict)
    """Settled answers that were removed, by scheme and question."""


def preview(db: Connection, ids: Iterable[str]) -> WithdrawalCounts:
    """Return what a withdrawal of these posts would touch; nothing changes."""
    wanted = list(dict.fromkeys(ids))
    found = [key for part in _parts(wanted) for key in db.scalars(select(posts.c.id).where(posts.c.id.in_(part)))]
    known = set(found)
    derived: list[str] = []
    layer = found
    while layer:
        query = (select(posts.c.id).where(posts.c.parent.in_(part)) for part in _parts(layer))
        layer = [key for one in query for key in db.scalars(one) if key not in known]
        known.update(layer)
        derived += layer
    result = WithdrawalCounts(len(wanted), tuple(found), tuple(derived))
    people: set[str] = set()
    for part in _parts([*found, *derived]):
        people.update(db.scalars(select(annotations.c.annotator).where(annotations.c.post.in_(part)).distinct()))
        query_ = select(verdicts.c.scheme, verdicts.c.question, func.count()).where(verdicts.c.post.in_(part))
        for scheme, question, n in db.execute(query_.group_by(verdicts.c.scheme, verdicts.c.question)):
            name = f"{scheme}: {question}"
            result.verdicts[name] = result.verdicts.get(name, 0) + n
    result.annotators = len(people)
    return result


def withdraw(db: Connection, ids: Iterable[str], *, by: str) -> WithdrawalCounts:
    """Remove these posts and all that was derived from them; ids that are not here are passed over."""
    result = preview(db, ids)
    if db.dialect.name == "sqlite":
        db.execute(text("PRAGMA secure_delete = ON"))  # freed pages are zeroed, not left readable in the file
    for part in _parts([*reversed(result.derived), *result.found]):
        _clear(db, posts, posts.c.id, part, result.rows)
    for key in (*result.found, *result.derived):
        events.record(db, by=by, what="post withdrawn", about=f"post {key}")
    if result.found:
        events.record(db, by=by, what="posts withdrawn", about="posts", asked=result.asked, removed=result.rows)
    return result


def truncate_log(store: Store) -> None:
    """Bring a SQLite file up to date with its log, so that removed texts are in neither."""
    if store.sqlite:
        with store.engine.connect() as plain:
            raw = plain.connection.driver_connection
            if raw is not None:
                raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _clear(db: Connection, table: Table, column: Column[str], keys: Sequence[str], rows: dict[str, int]) -> None:
    """Delete the rows of a table whose column has one of these keys, having deleted what points at them."""
    pointing = [
        (other, key.parent)
        for other in metadata.sorted_tables
        for key in other.foreign_keys
        if other is not table and key.column.table is table and key.column.name == "id"
    ]
    if pointing:
        ids = list(db.scalars(select(table.c.id).where(column.in_(keys))))
        for other, where in pointing:
            for part in _parts(ids):
                _clear(db, other, where, part, rows)
    done = db.execute(delete(table).where(column.in_(keys)))
    if done.rowcount:
        rows[table.name] = rows.get(table.name, 0) + done.rowcount


def _parts(keys: Iterable[str]) -> Iterator[list[str]]:
    """Yield keys in lists that fit one query."""
    rest = iter(keys)
    while part := list(islice(rest, CHUNK)):
        yield part
