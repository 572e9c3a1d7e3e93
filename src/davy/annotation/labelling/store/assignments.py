"""Assignments: which item is in whose hands. However many ask at once, no item is given out too often.

An item's `room` says how many more people may take it. Taking lowers it and
giving back raises it, in the transaction that writes the assignment. One row
stands for a person and an item for good, so nobody gets the same item twice.
Where everyone answers every item (`phase.answers` is None) room stays 1.

Leases are times in the rows. A clock that jumps can end one early or late, never
lose an answer or give out an item too often: rows are changed only if they still
are as they must be.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, bindparam, case, func, insert, or_, select, text, update

from davy.annotation.labelling.store import item_selection, tallies
from davy.annotation.labelling.store.item_selection import HeldAssignment
from davy.annotation.labelling.store.items import COLUMNS as ITEM_COLUMNS
from davy.annotation.labelling.store.items import ROOM, item_from
from davy.annotation.labelling.store.tables import annotations, answers, assignments
from davy.annotation.labelling.store.tallies import Tally
from davy.annotation.project.project import Assignment, Item, Phase
from davy.annotation.project.store.tables import items, members, phases, posts
from davy.core import UserError
from davy.store import events
from davy.store.columns import new_id, now
from davy.store.statements import PreparedStatement

LONGEST_LEASE = timedelta(days=1)
NEVER = 2**31 - 1

_HELD = (
    select(assignments.c.id, assignments.c.item, phases.c.answers)
    .select_from(assignments)
    .join(items, items.c.id == assignments.c.item)
    .join(phases, phases.c.id == assignments.c.phase)
    .where(text("assignments.state = 'held'"))
    .with_for_update(of=[assignments, items], key_share=True, skip_locked=True)
)
# A lease that ends later than any lease can was given before a clock was put back.
_RAN_OUT = _HELD.where(
    or_(assignments.c.leased_until <= bindparam("at"), assignments.c.leased_until > bindparam("far"))
).limit(100)
_TAKE_ROOM = PreparedStatement(update(items).where(items.c.id == bindparam("i"), ROOM).values(room=items.c.room - 1))
_GIVE_ROOM = (
    update(items).where(items.c.id == bindparam("i"), text("items.state <> 'dropped'")).values(room=items.c.room + 1)
)
_GIVEN = PreparedStatement(
    update(items)
    .where(items.c.id == bindparam("i"))
    .values(
        given=items.c.given + 1,
        state=case(
            ((items.c.state == "open") & (items.c.given + 1 >= bindparam("wanted")), "full"), else_=items.c.state
        ),
    )
    .returning(items.c.given, items.c.room, items.c.state)
)
_TAKEN_BACK = (
    update(items)
    .where(items.c.id == bindparam("i"))
    .values(given=items.c.given - 1, state=case((items.c.state == "dropped", "dropped"), else_="open"))
)
_CHANGE = update(assignments).where(assignments.c.id == bindparam("i"), assignments.c.state == bindparam("was"))
_DONE = PreparedStatement(
    _CHANGE.values(
        state=bindparam("to"), done_at=bindparam("done"), annotation=bindparam("by_annotation"), leased_until=None
    )
)
_HOLD = PreparedStatement(
    _CHANGE.values(state="held", taken_at=bindparam("taken"), leased_until=bindparam("until"), done_at=None)
)
_ADD = PreparedStatement(
    insert(assignments).values({name: bindparam(name) for name in Assignment.__dataclass_fields__})
)


@dataclass(frozen=True, slots=True)
class FinishedAssignment:
    """An item after an answer, whether this answer made it full, and the person's tally."""

    item: Item
    filled: bool
    tally: Tally


def take(
    db: Connection,
    phase: Phase,
    annotator: str,
    *,
    lease: timedelta,
    at: datetime,
    closed: Sequence[str] = (),
    quota: int | None = None,
) -> HeldAssignment | None:
    """Give a person their next item of a phase, for as long as `lease`, and return it; None where there is none.

    First one that they never had, in the phase's order from where they are, then from the top;
    then one that they skipped or let lapse.
    `closed` names the batches that are not for them; `quota` is how many answers they give at most.
    """
    tally = tallies.lock(db, phase.id, annotator)
    if quota is not None and tally.given >= quota:
        return None
    if phase.answers is None and tally.given + tally.refused >= phase.size:
        return None
    found = item_selection.find_fresh(db, tally, closed, after=tally.place)
    if found is None:
        # What others let lapse or gave back lies behind; nobody needs it before they have come to the end.
        expire_leases(db, at=at)
        found = item_selection.find_fresh(db, tally, closed, after=tallies.NOWHERE)
    if found is None:
        older = item_selection.find_left_over(db, phase.id, annotator, closed)
        return None if older is None else retake(db, older, lease=lease, at=at)
    item, post = found
    if phase.answers is not None:
        _TAKE_ROOM.send(db, {"i": item.id})
        item = replace(item, room=item.room - 1)
    made = Assignment(new_id(), item.id, phase.id, annotator, "held", at, at + min(lease, LONGEST_LEASE))
    _ADD.send(db, {name: getattr(made, name) for name in Assignment.__dataclass_fields__})
    return HeldAssignment(made, item, post, phase, tally)


def retake(db: Connection, held: HeldAssignment, *, lease: timedelta, at: datetime) -> HeldAssignment | None:
    """Give a person back an item that they skipped, let lapse or refused; None where it has no room left."""
    was = held.assignment
    if held.phase.answers is not None and _TAKE_ROOM.run(db, {"i": was.item}) != 1:
        return None
    until = at + min(lease, LONGEST_LEASE)
    _changed(_HOLD.run(db, {"i": was.id, "was": was.state, "taken": at, "until": until}))
    undone = {"refused": {"refused": -1}, "skipped": {"skipped": -1}}.get(was.state)
    if undone:
        tallies.count(db, was.phase, was.annotator, at=at, **undone)
    return replace(held, assignment=replace(was, state="held", taken_at=at, leased_until=until, done_at=None))


def renew(db: Connection, held: HeldAssignment, *, lease: timedelta, at: datetime) -> HeldAssignment | None:
    """Make a lease last `lease` from now on, where less than half of it is left (so that not every look writes).

    None where another window dealt with the post in the meantime.
    """
    was, lease = held.assignment, min(lease, LONGEST_LEASE)
    if was.state != "held" or (was.leased_until and lease / 2 < was.leased_until - at <= lease):
        return held
    until = at + lease
    if _HOLD.run(db, {"i": was.id, "was": "held", "taken": was.taken_at, "until": until}) != 1:
        return None
    return replace(held, assignment=replace(was, leased_until=until))


def finish(
    db: Connection,
    held: HeldAssignment,
    annotation: str | None,
    *,
    wanted: int | None,
    seconds: float | None,
    at: datetime,
) -> FinishedAssignment:
    """Note that a held item is answered, or looked at again; return what became of it.

    `wanted` is how many answers make it full; None where that can't be said. Work on a page of its own has no
    annotation.
    """
    was = held.assignment
    _done(db, held, "done", annotation, at=at)
    if was.state == "again":
        return FinishedAssignment(
            held.item, False, tallies.count(db, was.phase, was.annotator, at=at, seconds=seconds or 0.0)
        )
    key = (db, was.phase, was.annotator)
    taken = _GIVEN.send(db, {"i": was.item, "wanted": wanted or NEVER})
    counted = tallies.send_count(*key, at=at, given=1, seconds=seconds or 0.0, place=held.item.position)
    row = taken.one()
    assert row is not None
    given, room, state = row
    # The item was not held until now. Where others answered it meanwhile, it was full before this answer only if
    # their answers alone were enough.
    first = given == held.item.given + 1 or given <= (wanted or NEVER)
    filled = state == "full" and held.item.state == "open" and first
    tally = counted()
    if filled:
        tally = tallies.count(*key, at=at, filled=1)
        if room and held.phase.answers is not None:  # full with fewer answers than the phase asks for
            room = 0
            db.execute(update(items).where(items.c.id == was.item).values(room=room))
    return FinishedAssignment(replace(held.item, given=given, room=room, state=state), filled, tally)


def refuse(db: Connection, held: HeldAssignment, annotation: str, *, at: datetime) -> None:
    """Note that a person declines an item; its place is free for someone else."""
    was = held.assignment
    _done(db, held, "refused", annotation, at=at)
    _release(db, [(was.item, held.phase.answers)])
    if was.state == "again":  # their answer no longer counts
        db.execute(_TAKEN_BACK, {"i": was.item})
        filled = -int(held.item.state in ("full", "settled"))
        tallies.count(db, was.phase, was.annotator, at=at, given=-1, refused=1, filled=filled)
    else:
        tallies.count(db, was.phase, was.annotator, at=at, refused=1, place=held.item.position)


def skip(db: Connection, held: HeldAssignment, *, at: datetime) -> None:
    """Put an item off: others may have it, and this person gets it again later, if it still has room.

    A second look is only put off: the answer that was given stays.
    """
    was = held.assignment
    if was.state == "again":
        later = update(assignments).where(assignments.c.id == was.id, text("assignments.state = 'again'"))
        _changed(db.execute(later.values(leased_until=at, done_at=at)).rowcount)
        return
    _done(db, held, "skipped", was.annotation, at=at)
    _release(db, [(was.item, held.phase.answers)])
    tallies.count(db, was.phase, was.annotator, at=at, skipped=1, place=held.item.position)


def reopen(db: Connection, held: HeldAssignment) -> HeldAssignment:
    """Put an answered item before the person who answered it for another look; its answer counts until replaced."""
    was = held.assignment
    change = _CHANGE.values(state="again", leased_until=None)
    _changed(db.execute(change, {"i": was.id, "was": "done"}).rowcount)
    return replace(held, assignment=replace(was, state="again", leased_until=None))


def take_back(db: Connection, held: HeldAssignment, *, lease: timedelta, at: datetime) -> HeldAssignment:
    """Put finished work without an annotation before its person again, as if it were not done; its seconds stay."""
    was = held.assignment
    until = at + min(lease, LONGEST_LEASE)
    _changed(_HOLD.run(db, {"i": was.id, "was": "done", "taken": at, "until": until}))
    db.execute(update(items).where(items.c.id == was.item).values(given=items.c.given - 1, state="open", room=0))
    tally = tallies.count(db, was.phase, was.annotator, at=at, given=-1, filled=-1)
    again = replace(was, state="held", taken_at=at, leased_until=until, done_at=None)
    return replace(held, assignment=again, tally=tally)


def last_assignment(db: Connection, annotator: str, open_phases: Sequence[str]) -> str | None:
    """Return the assignment that a person dealt with last in these phases, or None."""
    mine = select(assignments.c.id, assignments.c.done_at).where(
        assignments.c.annotator == annotator,
        assignments.c.done_at.is_not(None),
        assignments.c.state.in_(["done", "refused", "skipped"]),
    )
    newest = mine.order_by(assignments.c.done_at.desc()).limit(1)
    found = [row for phase in open_phases for row in db.execute(newest.where(assignments.c.phase == phase))]
    return max(found, key=lambda row: row.done_at).id if found else None


def count_batches(db: Connection, phase_id: str, annotator: str) -> dict[str, int]:
    """Return how many items of each batch a person has or answered."""
    query = (
        select(items.c.batch, func.count())
        .join(assignments, assignments.c.item == items.c.id)
        .where(assignments.c.annotator == annotator, assignments.c.phase == phase_id, items.c.batch.is_not(None))
        .where(assignments.c.state.in_(["held", "done", "again"]))
        .group_by(items.c.batch)
    )
    return {batch: int(n) for batch, n in db.execute(query)}


def count_missing(db: Connection, item_id: str, people: Sequence[str]) -> tuple[int, int]:
    """Return how many answers an item has, and how many of these people are still to deal with it."""
    query = select(items.c.given, _dealt_with(people)).join(posts, posts.c.id == items.c.post)
    given, dealt = db.execute(query.where(items.c.id == item_id)).one()
    return int(given), len(people) - int(dealt)


def find_complete(db: Connection, phase_id: str, people: Sequence[str]) -> list[Item]:
    """Return the open items of a phase that somebody answered and that wait for none of these people."""
    query = select(*ITEM_COLUMNS).join(posts, posts.c.id == items.c.post)
    query = query.where(items.c.phase == phase_id, items.c.state == "open", items.c.given > 0)
    rows = db.execute(query.where(_dealt_with(people) >= len(people)).order_by(items.c.position))
    return [item_from(row) for row in rows]


def _dealt_with(people: Sequence[str]) -> ColumnElement[int]:
    """Return how many of these people answered or refused an item, or wrote its post and so never get it."""
    theirs = select(func.count()).where(assignments.c.item == items.c.id, assignments.c.annotator.in_(people))
    dealt = theirs.where(assignments.c.state.in_(("done", "again", "refused"))).scalar_subquery()
    return dealt + case((posts.c.author.in_(people), 1), else_=0)


def request_second_look(
    db: Connection,
    project_id: str,
    *,
    by: str,
    annotation_ids: Sequence[str] | None = None,
    question: str | None = None,
    labels: Sequence[str] | None = None,
    before_guideline: int | None = None,
) -> int:
    """Put answers before the people who gave them for a second look, and return how many.

    Those with these ids, or that answered `question` (with one of `labels`), or were given
    before this version of the guideline. People who left are spared.
    """
    chosen = select(annotations.c.id).where(annotations.c.project == project_id, annotations.c.phase.is_not(None))
    if annotation_ids is not None:
        chosen = chosen.where(annotations.c.id.in_(list(annotation_ids)))
    if before_guideline is not None:
        chosen = chosen.where(annotations.c.guideline_version < before_guideline)
    if question is not None:
        with_answer = select(answers.c.annotation).where(answers.c.question == question)
        chosen = chosen.where(
            annotations.c.id.in_(
                with_answer if labels is None else with_answer.where(answers.c.label.in_(list(labels)))
            )
        )
    here = select(members.c.user_id).where(members.c.project == project_id, members.c.left_at.is_(None))
    query = update(assignments).where(
        assignments.c.state == "done",
        assignments.c.phase.in_(select(phases.c.id).where(phases.c.project == project_id, phases.c.state == "open")),
        assignments.c.annotator.in_(here),
        assignments.c.annotation.in_(chosen),
    )
    n = db.execute(query.values(state="again", leased_until=None)).rowcount
    events.record(db, by=by, what="second look asked", about=f"project {project_id}", n=n)
    return n


def expire_leases(db: Connection, *, at: datetime) -> int:
    """End leases that ran out, so that others can have the items; return how many ended."""
    return _end(db, _RAN_OUT, {"at": at, "far": at + LONGEST_LEASE})


def give_back(db: Connection, project_id: str, annotator: str) -> int:
    """Give back what a person holds who leaves a project, and return how many; their answers stay as they are."""
    theirs = phases.c.project == project_id
    n = _end(db, _HELD.where(theirs, assignments.c.annotator == annotator), {})
    looks = update(assignments).where(assignments.c.annotator == annotator, text("assignments.state = 'again'"))
    looks = looks.where(assignments.c.phase.in_(select(phases.c.id).where(theirs)))
    db.execute(looks.values(state="done", leased_until=None))
    return n


def bar(db: Connection, post: str, people: Sequence[str]) -> None:
    """Keep people from ever getting a post's items, as annotators and as experts: they decided about it before."""
    at = now()
    for item, phase in db.execute(select(items.c.id, items.c.phase).where(items.c.post == post)).all():
        for person in people:
            values = {"id": new_id(), "item": item, "phase": phase, "annotator": person, "state": "barred"}
            db.execute(insert(assignments).values(**values, taken_at=at, done_at=at))


def _end(db: Connection, query: Select[Any], values: dict[str, Any]) -> int:
    rows = db.execute(query, values).all()
    if rows:
        ids = [row.id for row in rows]
        over = update(assignments).where(assignments.c.id.in_(ids)).values(state="lapsed", leased_until=None)
        db.execute(over)
        _release(db, [(row.item, row.answers) for row in rows])
    return len(rows)


def _release(db: Connection, taken: Sequence[tuple[str, int | None]]) -> None:
    """Make room again in items, once for each time they are named, where room is counted."""
    freed = [{"i": item} for item, answers_wanted in taken if answers_wanted is not None]
    if freed:
        db.execute(_GIVE_ROOM, freed)


def _done(db: Connection, held: HeldAssignment, state: str, annotation: str | None, *, at: datetime) -> None:
    was = held.assignment
    values = {"i": was.id, "was": was.state, "to": state, "done": at, "by_annotation": annotation}
    _DONE.send(db, values, changed=_changed)


def _changed(rows: int) -> None:
    if rows != 1:
        raise UserError("This post was dealt with in another window in the meantime. Load the page again.", status=409)
