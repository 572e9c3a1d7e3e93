"""Items: the posts of a phase, in the order in which people get them.

Rows come in as they are read, in chunks, so that a million posts need little
memory. An item's place is given when it is added, by chance unless the caller
says otherwise; no two items of a phase have the same place.
"""

import random
from array import array
from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import islice
from typing import Any

from sqlalchemy import Connection, bindparam, delete, func, insert, select, text, update

from davy.annotation.labelling.store.tables import assignments
from davy.annotation.project.project import Item, Phase
from davy.annotation.project.store import phases, posts
from davy.annotation.project.store.tables import items
from davy.core import UserError
from davy.core.annotation import Answers
from davy.store import events
from davy.store.columns import new_id
from davy.store.statements import PreparedStatement

CHUNK = 5_000
_MARK = PreparedStatement(update(items).where(items.c.id == bindparam("i")).values(state=bindparam("to")))
_DROP = PreparedStatement(update(items).where(items.c.id == bindparam("i")).values(state=bindparam("to"), room=0))

COLUMNS = [items.c[name] for name in Item.__dataclass_fields__]

ROOM = text("items.room > 0")
"""Written out, because neither database uses a partial index for a value that it learns only when it runs."""

ItemRow = tuple[str, Answers | None, str | None]
"""(id of a post of the project, gold answers or None, batch or None)"""


def add(
    db: Connection,
    phase: Phase,
    rows: Iterable[ItemRow],
    *,
    by: str,
    places: Sequence[int] | None = None,
    n: int | None = None,
    seed: int = 0,
    shuffled: bool = True,
) -> int:
    """Add posts to a phase and return how many; they come after those that are there.

    Their order is by chance from `seed`, or with `shuffled=False` that of the rows, or
    `places` says for each row which one it is (see `project.post_allocation.spread_severe`). To shuffle a stream
    without holding it in memory, say in `n` how many rows it has.
    """
    wanted = phase.answers or 1
    if places is None and shuffled:
        if n is None and not isinstance(rows, Sized):
            rows = list(rows)
        places = random_order(len(rows) if isinstance(rows, Sized) else n or 0, seed)
    first = 1 + _last(db, phase.id)
    added = 0
    for part in _parts(rows):
        keys = _keys(db, phase, [post for post, _, _ in part])
        if places is not None and added + len(part) > len(places):
            raise UserError(f"{len(places):,} posts were announced for phase {phase.name!r}, but more came.")
        db.execute(
            insert(items),
            [
                {
                    "id": new_id(),
                    "phase": phase.id,
                    "post": keys[post],
                    "position": first + (added + number if places is None else places[added + number]),
                    "batch": batch or None,
                    "gold": _plain(gold),
                    "given": 0,
                    "room": wanted,
                    "state": "open",
                }
                for number, (post, gold, batch) in enumerate(part)
            ],
        )
        added += len(part)
    phases.grow(db, phase.id, added)
    about = f"project {phase.project}"
    events.record(db, by=by, what="items added", about=about, phase=phase.name, n=added)
    return added


def random_order(n: int, seed: int) -> Sequence[int]:
    """Return the numbers below `n` in an order by chance; 4 bytes each."""
    places = array("i", range(n))
    random.Random(seed).shuffle(places)  # noqa: S311 — an order, not a secret
    return places


def get(db: Connection, item_id: str) -> Item:
    """Return the item with this id."""
    row = db.execute(select(*COLUMNS).where(items.c.id == item_id)).one_or_none()
    if row is None:
        raise UserError(f"There is no item {item_id[:60]!r}.", status=404)
    return item_from(row)


def of_post(db: Connection, phase: Phase, post_id: str) -> Item | None:
    """Return the item in a phase of the post with this id, or None."""
    key = posts.keys_of(db, phase.project, [post_id]).get(post_id)
    row = db.execute(select(*COLUMNS).where(items.c.phase == phase.id, items.c.post == key)).one_or_none()
    return None if row is None else item_from(row)


def ids_in(db: Connection, phase: Phase, ids: Sequence[str]) -> set[str]:
    """Return those ids of posts that a phase has already."""
    found: set[str] = set()
    for start in range(0, len(ids), CHUNK):
        keys = posts.keys_of(db, phase.project, ids[start : start + CHUNK])
        query = select(items.c.post).where(items.c.phase == phase.id, items.c.post.in_(list(keys.values())))
        present = set(db.scalars(query))
        found |= {post for post, key in keys.items() if key in present}
    return found


def of_phase(
    db: Connection, phase_id: str, *, after: int = -1, limit: int = 1_000, state: str | None = None
) -> list[Item]:
    """Return a phase's items in their order; page on with `after` set to the last one's position."""
    query = select(*COLUMNS).where(items.c.phase == phase_id, items.c.position > after)
    query = query if state is None else query.where(items.c.state == state)
    return [item_from(row) for row in db.execute(query.order_by(items.c.position).limit(limit))]


def iter_items(db: Connection, phase_id: str) -> Iterator[Item]:
    """Yield all of a phase's items in their order, some thousand at a time."""
    after = -1
    while page := of_phase(db, phase_id, after=after, limit=CHUNK):
        yield from page
        after = page[-1].position


def lock(db: Connection, item_id: str) -> Item:
    """Return an item, held until the transaction ends, so that of two who change it at once one waits."""
    db.execute(select(items.c.id).where(items.c.id == item_id).with_for_update(key_share=True))
    return get(db, item_id)


def settle_shared(db: Connection, item_id: str, *, settled: bool) -> None:
    """Note that an item has the one answer that a discussion gives it."""
    values = {"given": 1, "room": 0, "state": "settled" if settled else "full"}
    db.execute(update(items).where(items.c.id == item_id).values(**values))


def set_state(db: Connection, item_id: str, state: str) -> None:
    """Note what became of an item: `full`, `settled` or `dropped` (then nobody gets it any more), or `open`."""
    (_DROP if state == "dropped" else _MARK).send(db, {"i": item_id, "to": state})


def offer_again(db: Connection, phase_id: str, post_key: str) -> None:
    """Open a post of a phase again for one more person."""
    mine = (items.c.phase == phase_id, items.c.post == post_key, items.c.state != "dropped")
    db.execute(update(items).where(*mine).values(state="open", room=1))


def remove_untouched(db: Connection, phase_id: str, post_key: str) -> bool:
    """Take a post out of a phase where nobody has had it yet; return whether it stands there no more."""
    item_id = db.scalar(select(items.c.id).where(items.c.phase == phase_id, items.c.post == post_key))
    if item_id is None:
        return True
    had = select(assignments.c.id).where(assignments.c.item == items.c.id)
    gone = db.execute(delete(items).where(items.c.id == item_id, items.c.given == 0, ~had.exists())).rowcount
    if gone:
        phases.grow(db, phase_id, -1)
    return bool(gone)


def count_batches(db: Connection, phase_id: str) -> dict[str, int]:
    """Return how many posts of a phase are in each batch; those of none are left out."""
    query = select(items.c.batch, func.count()).where(items.c.phase == phase_id, items.c.batch.is_not(None))
    return {str(name): int(n) for name, n in db.execute(query.group_by(items.c.batch))}


def deal_batches(db: Connection, phase: Phase, names: Sequence[str], *, by: str) -> int:
    """Deal the posts that nobody has had yet out to batches, in turns, and return how many; without names, to none."""
    had = select(assignments.c.id).where(assignments.c.item == items.c.id)
    free = select(items.c.id).where(items.c.phase == phase.id, items.c.given == 0, ~had.exists())
    ids = list(db.scalars(free.order_by(items.c.position)))
    change = update(items).where(items.c.id == bindparam("i")).values(batch=bindparam("to"))
    dealt = [{"i": item, "to": names[place % len(names)] if names else None} for place, item in enumerate(ids)]
    for start in range(0, len(dealt), CHUNK):
        db.execute(change, dealt[start : start + CHUNK])
    about = f"project {phase.project}"
    events.record(db, by=by, what="batches dealt", about=about, phase=phase.name, n=len(ids), batches=list(names))
    return len(ids)


def item_from(values: Sequence[Any]) -> Item:
    """Return the item of a row that has the columns of `COLUMNS`."""
    gold = values[-1]
    right = None if gold is None else {name: tuple(labels) for name, labels in gold.items()}
    return Item(*[*values[:-1], right])


def _last(db: Connection, phase_id: str) -> int:
    found = db.scalar(select(func.max(items.c.position)).where(items.c.phase == phase_id))
    return -1 if found is None else int(found)


def _keys(db: Connection, phase: Phase, ids: list[str]) -> dict[str, str]:
    """Return the keys of posts; refuse what is not the project's, in the phase already, or twice in the rows."""
    keys = posts.keys_of(db, phase.project, ids)
    wanted = items.c.post.in_(list(keys.values()))
    present = set(db.scalars(select(items.c.post).where(items.c.phase == phase.id, wanted)))
    for post in ids:
        if post not in keys:
            raise UserError(f"Project {phase.project!r} has no post {post!r}; nothing was added.", status=404)
        if keys[post] in present:
            raise UserError(f"Post {post!r} is in phase {phase.name!r} twice; nothing was added.", status=409)
        present.add(keys[post])
    return keys


def _plain(gold: Answers | None) -> dict[str, list[str]] | None:
    return None if gold is None else {name: list(labels) for name, labels in gold.items()}


def _parts(rows: Iterable[ItemRow]) -> Iterator[list[ItemRow]]:
    """Yield the rows in lists of `CHUNK`."""
    rest = iter(rows)
    while part := list(islice(rest, CHUNK)):
        yield part
