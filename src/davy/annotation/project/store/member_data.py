"""A member's data in a project: all of it as plain values, and its deletion.

Deleting takes away check-ins, survey answers and the person's choices, and puts their pseudonym on their messages.
Answers stay under the pseudonym, unless the project's settings say that they go.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Connection, Table, and_, delete, exists, func, select, update

from davy.annotation.care.store.check_ins import check_ins
from davy.annotation.care.store.responses import responses
from davy.annotation.care.store.work_sessions import sittings
from davy.annotation.labelling.store import annotations as annotations_store
from davy.annotation.labelling.store import assignments as assignments_store
from davy.annotation.labelling.store.tables import (
    annotations,
    answers,
    assignments,
    cases,
    tallies,
    verdict_annotations,
    verdicts,
)
from davy.annotation.project.store import members, posts
from davy.annotation.project.store.messages import messages
from davy.annotation.project.store.tables import items, phases, projects
from davy.annotation.project.store.tables import members as members_table
from davy.annotation.settling.store import cases as cases_store
from davy.annotation.settling.store.codes import coded, codes
from davy.core import UserError
from davy.people.store.personal_data import DeletionCounts, PersonDeletion, plain_rows, plain_values, without_name
from davy.store import events


def export(db: Connection, user_id: str, project_id: str | None) -> dict[str, Any]:
    """Return what is kept about a person in one project, or in all."""
    made: dict[str, Any] = {}
    for name, table, column in _TABLES:
        where = [table.c[column] == user_id]
        if project_id is not None:
            where.append(table.c.project == project_id)
        made[name] = plain_rows(db, table, *where)
    mine = select(codes.c.id) if project_id is None else select(codes.c.id).where(codes.c.project == project_id)
    made["coded"] = plain_rows(db, coded, coded.c.by == user_id, coded.c.code.in_(mine))
    made["annotations"] = list(_annotations(db, user_id, project_id))
    for name in ("messages", "cases", "coded", "annotations"):
        show_post_ids(db, made[name])
    return made


def delete_in_project(
    db: Connection, project_id: str, user_id: str, *, by: str, comments: bool = True
) -> DeletionCounts:
    """Take a person out of a project and delete their personal data in it; `comments` are those on posts."""
    member = members.get(db, project_id, user_id)
    if member is None:
        raise UserError("This person is not in the project.", status=404)
    done = _forget(db, project_id, user_id, member.pseudonym, by=by, comments=comments)
    events.record(db, by=without_name(by, user_id), what="personal data deleted", about=f"project {project_id}")
    return DeletionCounts(1, done)


def delete_everywhere(db: Connection, deletion: PersonDeletion) -> DeletionCounts:
    """Delete a person's data in all projects."""
    user_id = deletion.user.id
    mine = db.execute(select(members_table).where(members_table.c.user_id == user_id)).all()
    gone = 0
    for row in mine:
        gone += _forget(db, row.project, user_id, row.pseudonym, by=deletion.by, comments=deletion.comments)
    return DeletionCounts(len(mine), gone)


def _forget(db: Connection, project_id: str, user_id: str, pseudonym: str, *, by: str, comments: bool) -> int:
    """Delete a person's data in one project; return how many answers went with it."""
    here = members.get(db, project_id, user_id)
    if here is not None and here.left_at is None:
        assignments_store.give_back(db, project_id, user_id)
        cases_store.release(db, project_id, user_id)
        members.leave(db, project_id, user_id, by=without_name(by, user_id))
    for table in (check_ins, responses):
        db.execute(delete(table).where(table.c.project == project_id, table.c.user_id == user_id))
    db.execute(update(messages).where(messages.c.project == project_id, messages.c.by == user_id).values(by=pseudonym))
    mine = (members_table.c.project == project_id, members_table.c.user_id == user_id)
    db.execute(update(members_table).where(*mine).values(choices={}, read_until=None))
    settings = db.scalar(select(projects.c.settings).where(projects.c.id == project_id)) or {}
    if answers_go(settings):
        return _delete_answers(db, project_id, user_id)
    if comments:
        spoken = (annotations.c.project == project_id, annotations.c.annotator == user_id)
        db.execute(update(annotations).where(*spoken).values(comment=None))
        ours = coded.c.code.in_(select(codes.c.id).where(codes.c.project == project_id))
        db.execute(update(coded).where(coded.c.by == user_id, ours).values(note=None))
    return 0


def answers_go(settings: Mapping[str, Any]) -> bool:
    """Return whether a project deletes a person's answers with their data: `deletion: {answers: delete}`."""
    return (settings.get("deletion") or {}).get("answers") == "delete"


def _delete_answers(db: Connection, project_id: str, user_id: str) -> int:
    """Delete a person's answers and the verdicts that rested on them; their posts open again for others."""
    own = (annotations.c.project == project_id, annotations.c.annotator == user_id)
    given = select(annotations.c.id).where(*own)
    rested = list(
        db.scalars(select(verdict_annotations.c.verdict).where(verdict_annotations.c.annotation.in_(given)).distinct())
    )
    _reopen(db, project_id, user_id)
    ours = assignments.c.phase.in_(select(phases.c.id).where(phases.c.project == project_id))
    db.execute(delete(assignments).where(assignments.c.annotator == user_id, ours))
    for part in _parts(rested):
        db.execute(delete(verdict_annotations).where(verdict_annotations.c.verdict.in_(part)))
        db.execute(delete(verdicts).where(verdicts.c.id.in_(part)))
    n = db.execute(select(func.count()).select_from(annotations).where(*own)).scalar_one()
    db.execute(delete(answers).where(answers.c.annotation.in_(given)))
    db.execute(delete(annotations).where(*own))
    return n


def _reopen(db: Connection, project_id: str, user_id: str) -> None:
    """Make room again in the items that a person answered, and take their answers out of the tallies."""
    columns = (items.c.id, items.c.phase, phases.c.answers, items.c.state)
    here = select(*columns).join(phases, phases.c.id == items.c.phase).where(phases.c.project == project_id)
    mine = and_(assignments.c.item == items.c.id, assignments.c.annotator == user_id)
    taken = here.join(assignments, mine).where(assignments.c.state.in_(("done", "again")))
    for row in db.execute(taken).all():
        _reopen_item(db, row.id, row.state, row.answers)
        filled = tallies.c.filled - int(row.state in ("full", "settled"))
        own = (tallies.c.phase == row.phase, tallies.c.annotator == user_id)
        db.execute(update(tallies).where(*own).values(given=tallies.c.given - 1, filled=filled))
    # The author of an entry answered it without being given it, so no tally has that answer.
    wrote = and_(annotations.c.phase == items.c.phase, annotations.c.post == items.c.post)
    wrote = and_(wrote, annotations.c.annotator == user_id)
    for row in db.execute(here.join(annotations, wrote).where(~exists().where(mine)).distinct()).all():
        _reopen_item(db, row.id, row.state, row.answers)


def _reopen_item(db: Connection, item_id: str, state: str, answers_wanted: int | None) -> None:
    """Take one answer from an item; one that was full waits for another, and a dropped one stays so."""
    values: dict[str, Any] = {"given": items.c.given - 1}
    if state != "dropped":
        values["state"] = "open"
        if answers_wanted is not None:
            values["room"] = items.c.room + 1
    db.execute(update(items).where(items.c.id == item_id, items.c.given > 0).values(**values))


_TABLES: tuple[tuple[str, Table, str], ...] = (
    ("memberships", members_table, "user_id"),
    ("sittings", sittings, "user_id"),
    ("check_ins", check_ins, "user_id"),
    ("responses", responses, "user_id"),
    ("messages", messages, "by"),
    ("codes", codes, "made_by"),
    ("cases", cases, "settled_by"),
)


def _annotations(db: Connection, user_id: str, project_id: str | None) -> Iterable[dict[str, Any]]:
    before: str | None = None
    while page := annotations_store.of_annotator(db, user_id, before=before, limit=500):
        for it in page:
            if project_id is None or it.project == project_id:
                shown = {name: getattr(it, name) for name in it.__dataclass_fields__ if name != "annotator"}
                yield plain_values(shown)
        before = page[-1].id


def show_post_ids(db: Connection, rows: list[dict[str, Any]]) -> None:
    """Put the ids that people see in the place of posts' keys."""
    for start in range(0, len(rows), 500):
        part = rows[start : start + 500]
        ids = posts.public_ids(db, [row["post"] for row in part if row["post"] is not None])
        for row in part:
            row["post"] = ids.get(row["post"])


def _parts(keys: list[str], size: int = 500) -> Iterable[list[str]]:
    return (keys[start : start + size] for start in range(0, len(keys), size))
