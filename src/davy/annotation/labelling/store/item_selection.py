"""Picking: the queries that find the item a person works on: theirs, or the next that has room for them.

Each answers with everything that a page needs (item, post, phase, tally) in one
round trip. Rows that are about to change are locked; those that someone else
has locked are passed over, never waited for. SQLite needs no lock clause: it
has one writer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, and_, bindparam, exists, or_, select, text

from davy.annotation.labelling.store import tallies
from davy.annotation.labelling.store.items import COLUMNS as ITEM
from davy.annotation.labelling.store.items import ROOM, item_from
from davy.annotation.labelling.store.tables import assignments
from davy.annotation.labelling.store.tables import tallies as counted
from davy.annotation.labelling.store.tallies import Tally
from davy.annotation.project.phase_kind import TASK_KINDS
from davy.annotation.project.project import Assignment, Item, Phase
from davy.annotation.project.store.phases import COLUMNS as PHASE
from davy.annotation.project.store.phases import phase_from
from davy.annotation.project.store.posts import COLUMNS as POST
from davy.annotation.project.store.posts import post_from
from davy.annotation.project.store.tables import items, phases, posts
from davy.core import Post
from davy.store.statements import ONE, PreparedStatement


@dataclass(frozen=True, slots=True)
class HeldAssignment:
    """An assignment with what it is about."""

    assignment: Assignment
    item: Item
    post: Post
    phase: Phase
    tally: Tally


_PARTS = (
    [assignments.c[name] for name in Assignment.__dataclass_fields__],
    ITEM,
    POST,
    PHASE,
    tallies.COLUMNS,
)
_STATE = list(Assignment.__dataclass_fields__).index("state")
_NOT_CLOSED = or_(items.c.batch.is_(None), items.c.batch.not_in(bindparam("closed", expanding=True)))

_ALL = (
    select(*(column for part in _PARTS for column in part))
    .select_from(assignments)
    .join(items, items.c.id == assignments.c.item)
    .join(posts, posts.c.id == items.c.post)
    .join(phases, phases.c.id == assignments.c.phase)
    .outerjoin(
        counted,
        and_(counted.c.phase == assignments.c.phase, counted.c.annotator == assignments.c.annotator),
    )
)
_ONE = _ALL.where(assignments.c.id == bindparam("id"))
_SEEN = PreparedStatement(_ONE)
_LOCKED = PreparedStatement(_ONE.with_for_update(of=[assignments, items], key_share=True))
_MINE_LOCKED = PreparedStatement(_ONE.with_for_update(of=assignments, key_share=True))
# States are written out in these, because neither database uses a partial index for a value that it learns later.
_IN_HAND = (
    # Mostly there is none, so only its id is asked for: drivers take their time over every column.
    select(assignments.c.id)
    .join(phases, phases.c.id == assignments.c.phase)
    .where(assignments.c.annotator == bindparam("me"), phases.c.project == bindparam("project"))
    .where(text("assignments.state IN ('held', 'again')"), text("phases.state = 'open'"))
    # Work on a page of its own is no post to label.
    .where(text(f"phases.kind NOT IN ({', '.join(repr(kind) for kind in TASK_KINDS)})"))
    # What is held first, then second looks from the oldest on; one that was put off comes last.
    .order_by(text("assignments.state DESC"), text("assignments.leased_until IS NOT NULL"), assignments.c.done_at)
    .limit(ONE)
)
_NOT_PUT_OFF = text("(assignments.state = 'held' OR assignments.leased_until IS NULL)")
_NEXT_IN_HAND, _ANY_IN_HAND = PreparedStatement(_IN_HAND.where(_NOT_PUT_OFF)), PreparedStatement(_IN_HAND)
_PHASES = PreparedStatement(
    select(
        *PHASE,
        select(assignments.c.id)
        .where(assignments.c.annotator == bindparam("me"), assignments.c.phase == phases.c.id)
        .where(text("assignments.state IN ('held', 'again')"), _NOT_PUT_OFF)
        .limit(ONE)
        .scalar_subquery(),
    )
    .where(phases.c.project == bindparam("project"))
    .order_by(phases.c.position)
)
_LEFT_OVER = (
    _ALL.where(assignments.c.annotator == bindparam("me"), assignments.c.phase == bindparam("phase"))
    .where(text("assignments.state IN ('skipped', 'lapsed')"), ROOM)
    .order_by(assignments.c.done_at, assignments.c.id)
    .limit(ONE)
    .with_for_update(of=[assignments, items], key_share=True, skip_locked=True)
)
_ALL_LEFT_OVER = PreparedStatement(_LEFT_OVER)
_LEFT_OVER_OF_BATCHES = _LEFT_OVER.where(_NOT_CLOSED)
_FRESH = (
    select(*ITEM, *POST)
    .select_from(items)
    .join(posts, posts.c.id == items.c.post)
    .where(items.c.phase == bindparam("phase"), ROOM, items.c.position > bindparam("place"))
    .where(~exists().where(assignments.c.item == items.c.id, assignments.c.annotator == bindparam("me")))
    .where(or_(posts.c.author.is_(None), posts.c.author != bindparam("me")))
    .order_by(items.c.position)
    .limit(ONE)
    .with_for_update(of=items, key_share=True, skip_locked=True)
)
_NEXT_FRESH = PreparedStatement(_FRESH)
_FRESH_OF_BATCHES = _FRESH.where(_NOT_CLOSED)


def get_held(db: Connection, assignment_id: str, *, lock: bool) -> HeldAssignment | None:
    """Return the assignment with this id, or None; `lock` holds it and its item until the transaction ends."""
    row = (_LOCKED if lock else _SEEN).one(db, {"id": assignment_id})
    return None if row is None else _held_assignment(row)


def lock_for_answer(db: Connection, assignment_id: str) -> HeldAssignment | None:
    """Return the assignment with this id, held until the transaction ends, or None.

    Where its answer is still to come, the item is not held: others answer it too, and `finish` is the
    first to change it. Where it was dealt with before, the item is held as well.
    """
    row = _MINE_LOCKED.one(db, {"id": assignment_id})
    if row is not None and row[_STATE] != "held":
        row = _LOCKED.one(db, {"id": assignment_id})
    return None if row is None else _held_assignment(row)


def find_phases(db: Connection, project_id: str, annotator: str) -> tuple[list[Phase], bool]:
    """Return a project's phases in their order, and whether `find_in_hand` has something in one that is open."""
    rows = _PHASES.rows(db, {"me": annotator, "project": project_id})
    every = [(phase_from(row[:-1]), row[-1]) for row in rows]
    return [phase for phase, _ in every], any(mine and phase.state == "open" for phase, mine in every)


def prefetch_phases(db: Connection, project_id: str, annotator: str) -> None:
    """Send early what `find_phases` reads."""
    _PHASES.prefetch(db, {"me": annotator, "project": project_id})


def find_in_hand(db: Connection, annotator: str, project_id: str, *, put_off: bool = False) -> HeldAssignment | None:
    """Return what a person holds or is to look at again in open phases; `put_off` counts what they put off, too."""
    found = (_ANY_IN_HAND if put_off else _NEXT_IN_HAND).one(db, {"me": annotator, "project": project_id})
    return None if found is None else get_held(db, found[0], lock=False)


def find_in_phase(db: Connection, phase_id: str, annotator: str) -> HeldAssignment | None:
    """Return what a person holds in one phase, or None."""
    mine = (assignments.c.annotator == annotator, assignments.c.phase == phase_id)
    row = db.execute(_ALL.where(*mine, text("assignments.state = 'held'")).limit(1)).one_or_none()
    return None if row is None else _held_assignment(row)


def find_left_over(db: Connection, phase_id: str, annotator: str, closed: Sequence[str]) -> HeldAssignment | None:
    """Return what a person skipped or let lapse and may have again, longest ago first."""
    values: dict[str, Any] = {"me": annotator, "phase": phase_id}
    row: Sequence[Any] | None
    if closed:
        row = db.execute(_LEFT_OVER_OF_BATCHES, {**values, "closed": list(closed)}).one_or_none()
    else:
        row = _ALL_LEFT_OVER.one(db, values)
    return None if row is None else _held_assignment(row)


def find_fresh(db: Connection, tally: Tally, closed: Sequence[str], *, after: int) -> tuple[Item, Post] | None:
    """Return the next item after a place that has room and that a person never had and did not write.

    `closed` names batches that are not theirs.
    """
    values: dict[str, Any] = {"phase": tally.phase, "me": tally.annotator, "place": after}
    row: Sequence[Any] | None
    if closed:
        row = db.execute(_FRESH_OF_BATCHES, {**values, "closed": list(closed)}).one_or_none()
    else:
        row = _NEXT_FRESH.one(db, values)
    return None if row is None else (item_from(row[: len(ITEM)]), post_from(row[len(ITEM) :]))


def _held_assignment(row: Sequence[Any]) -> HeldAssignment:
    cut, parts = 0, []
    for part in _PARTS:
        parts.append(row[cut : cut + len(part)])
        cut += len(part)
    assignment = Assignment(*parts[0])
    tally = Tally(*parts[4]) if parts[4][0] is not None else Tally(assignment.phase, assignment.annotator)
    return HeldAssignment(assignment, item_from(parts[1]), post_from(parts[2]), phase_from(parts[3]), tally)
