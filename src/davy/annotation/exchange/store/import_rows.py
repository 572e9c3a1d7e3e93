"""What an import writes: posts, items and answers in bulk, in the caller's transaction.

Answers by people who came with a file stand under `imported:NAME`; they have no
account and can't sign in. Counts of items and tallies move with every answer,
as they do when somebody labels on a page.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, func, insert, select, update

from davy.annotation.labelling.store import tallies
from davy.annotation.labelling.store.annotations import NONE
from davy.annotation.labelling.store.items import COLUMNS, item_from
from davy.annotation.labelling.store.tables import annotations, answers, assignments, verdict_annotations, verdicts
from davy.annotation.project.project import Item, Phase
from davy.annotation.project.store import phases
from davy.annotation.project.store.posts import keys_of
from davy.annotation.project.store.tables import items, posts
from davy.core import Annotation, Scheme, Verdict
from davy.store import events
from davy.store.columns import new_id, now


@dataclass(frozen=True, slots=True)
class IncomingAnswer:
    """An answer on its way in: to which item, and the annotation."""

    item: str
    annotation: Annotation


def texts_of(db: Connection, project_id: str, ids: Sequence[str]) -> dict[str, str]:
    """Return the texts of those posts that the project has, by the ids that people see."""
    query = select(posts.c.public_id, posts.c.text)
    rows = db.execute(query.where(posts.c.project == project_id, posts.c.public_id.in_(ids)))
    return {row.public_id: row.text or "" for row in rows}


def items_of(db: Connection, phase: Phase, ids: Sequence[str]) -> dict[str, Item]:
    """Return the items that these posts of the project are in a phase, by the ids that people see."""
    query = select(posts.c.public_id, *COLUMNS).join_from(items, posts, posts.c.id == items.c.post)
    own = (posts.c.project == phase.project, posts.c.public_id.in_(ids))
    return {row[0]: item_from(row[1:]) for row in db.execute(query.where(items.c.phase == phase.id, *own))}


def last_position(db: Connection, phase_id: str) -> int:
    """Return the last place in a phase's order, -1 where it is empty."""
    found = db.scalar(select(func.max(items.c.position)).where(items.c.phase == phase_id))
    return -1 if found is None else int(found)


def add_items(db: Connection, phase: Phase, wanted: Mapping[str, Any], *, after: int) -> None:
    """Add posts to a phase, in the order of `wanted` (id → gold or None), after a place in its order."""
    keys = keys_of(db, phase.project, list(wanted))
    rows = [
        {
            "id": new_id(),
            "phase": phase.id,
            "post": keys[post],
            "position": after + 1 + number,
            "gold": gold,
            "given": 0,
            "room": phase.answers or 1,
            "state": "open",
        }
        for number, (post, gold) in enumerate(wanted.items())
    ]
    if rows:
        db.execute(insert(items), rows)
        phases.grow(db, phase.id, len(rows))


def answers_by_pair(db: Connection, item_ids: Sequence[str]) -> dict[tuple[str, str], dict[str, tuple[str, ...]]]:
    """Return what was answered to these items by whom: (item, annotator) → question → labels."""
    columns = (assignments.c.item, assignments.c.annotator, answers.c.question, answers.c.label)
    query = select(*columns).outerjoin_from(assignments, answers, answers.c.annotation == assignments.c.annotation)
    by_pair: dict[tuple[str, str], dict[str, tuple[str, ...]]] = {}
    for item, who, question, label in db.execute(
        query.where(assignments.c.item.in_(item_ids)).order_by(answers.c.question, answers.c.position)
    ):
        given = by_pair.setdefault((item, who), {})
        if question is not None:
            given[question] = given.get(question, ()) + ((label,) if label != NONE else ())
    return by_pair


def add_answers(db: Connection, phase: Phase, incoming: Sequence[IncomingAnswer]) -> None:
    """Add answers with their assignments, and count them in their items; the caller has seen that there is room."""
    if not incoming:
        return
    own = [_annotation_row(it.annotation) for it in incoming]
    db.execute(insert(annotations), own)
    labels = [row for it in incoming for row in _answer_rows(it.annotation)]
    if labels:
        db.execute(insert(answers), labels)
    db.execute(insert(assignments), [_assignment_row(it, phase) for it in incoming])
    given = Counter(it.item for it in incoming if not it.annotation.refused)
    if given:
        db.execute(_COUNT_LIMITED if phase.answers else _COUNT, [{"i": i, "n": n} for i, n in given.items()])


def add_verdicts(db: Connection, project: str, scheme: Scheme, settled: Sequence[Verdict], *, by: str) -> int:
    """Add a file's verdicts on some posts, each as the next turn; the caller has seen that their labels fit.

    One that says what the last turn said is passed over. Returns how many were added.
    """
    columns = (verdicts.c.post, verdicts.c.question, verdicts.c.turn, verdicts.c.scheme, verdicts.c.scheme_version)
    # By post alone: told the scheme too, SQLite would read all its verdicts through.
    query = select(*columns, verdicts.c.labels).where(verdicts.c.post.in_({verdict.post for verdict in settled}))
    turns: dict[tuple[str, str], tuple[int, list[str]]] = {}
    for post, question, turn, name, version, labels in db.execute(query.order_by(verdicts.c.turn)):
        if (name, version) == (scheme.name, scheme.version):
            turns[post, question] = (turn, labels)
    at = now()
    new = [
        verdict
        for verdict in settled
        if turns.get((verdict.post, verdict.question), (0, None))[1] != list(verdict.labels)
    ]
    if not new:
        return 0
    made = [
        {
            "id": new_id(),
            "post": verdict.post,
            "scheme": scheme.name,
            "scheme_version": scheme.version,
            "question": verdict.question,
            "labels": list(verdict.labels),
            "basis": verdict.basis,
            "reason": verdict.reason,
            "at": at,
            "by": by,
            "turn": turns.get((verdict.post, verdict.question), (0, None))[0] + 1,
            "project": project,
        }
        for verdict in new
    ]
    db.execute(insert(verdicts), made)
    rests_on = [
        {"verdict": row["id"], "annotation": annotation}
        for row, verdict in zip(made, new, strict=True)
        for annotation in verdict.annotations
    ]
    if rests_on:
        db.execute(insert(verdict_annotations), rests_on)
    return len(made)


def mark_settled(db: Connection, item_ids: Sequence[str]) -> None:
    """Mark items as settled."""
    if item_ids:
        db.execute(update(items).where(items.c.id.in_(item_ids)).values(state="settled"))


def count_people(db: Connection, phase: Phase, done: Mapping[str, tuple[int, int, float, datetime]]) -> None:
    """Add to people's tallies: annotator → (answers, refusals, seconds, last time)."""
    for annotator, (given, refused, seconds, at) in sorted(done.items()):
        tallies.count(db, phase.id, annotator, at=at, given=given, refused=refused, seconds=seconds)


def record(db: Connection, project: str, *, by: str, **counts: Any) -> None:
    """Write down that something was imported."""
    events.record(db, by=by, what="answers imported", about=f"project {project}", **counts)


_COUNT = update(items).where(items.c.id == bindparam("i")).values(given=items.c.given + bindparam("n"))
_COUNT_LIMITED = _COUNT.values(room=items.c.room - bindparam("n"))


def close_full(db: Connection, phase: Phase, item_ids: Sequence[str]) -> list[Item]:
    """Mark those items that have all their answers as full, and return them."""
    if phase.answers is None:
        return []
    enough = (items.c.id.in_(item_ids), items.c.state == "open", items.c.given >= phase.answers)
    found = list(db.scalars(select(items.c.id).where(*enough)))
    if not found:
        return []
    db.execute(update(items).where(items.c.id.in_(found)).values(state="full"))
    rows = db.execute(select(*COLUMNS).where(items.c.id.in_(found)).order_by(items.c.position))
    return [item_from(row) for row in rows]


def _annotation_row(annotation: Annotation) -> dict[str, Any]:
    row = {name: getattr(annotation, name) for name in Annotation.__dataclass_fields__ if name != "answers"}
    return {**row, "flags": "|".join(annotation.flags)}


def _answer_rows(annotation: Annotation) -> list[dict[str, Any]]:
    return [
        {"annotation": annotation.id, "question": question, "label": label, "position": position}
        for question, labels in annotation.answers.items()
        for position, label in enumerate(labels or (NONE,))
    ]


def _assignment_row(incoming: IncomingAnswer, phase: Phase) -> dict[str, Any]:
    annotation = incoming.annotation
    return {
        "id": new_id(),
        "item": incoming.item,
        "phase": phase.id,
        "annotator": annotation.annotator,
        "state": "refused" if annotation.refused else "done",
        "taken_at": annotation.at,
        "done_at": annotation.at,
        "annotation": annotation.id,
    }
