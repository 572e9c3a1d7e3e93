"""Check-ins: how people are, for their wellbeing contacts alone. Kept apart from labels and left out of exports.

A check-in can be read by those who were named as contacts when it was written
and who still are, and by the person who wrote it. Nobody else, admins and
managers among them; a role that is given later opens nothing that was written
before. No event is recorded: the audit would tell who checked in, and when.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, func, select

from davy.annotation.project.project import Member
from davy.annotation.project.store import members
from davy.core import UserError
from davy.store.columns import new_id, now, table_index
from davy.store.rows import Rows

MOODS = (1, 2, 3, 4, 5)
LONGEST = 4_000


@dataclass(frozen=True, slots=True)
class CheckIn:
    """How somebody said they are: 1 (bad) to 5 (well), in their words, and whether they want to be contacted."""

    id: str
    project: str
    user: str
    at: datetime
    mood: int | None
    words: str | None
    wants_contact: bool
    readers: tuple[str, ...]
    """The ids of those who were wellbeing contacts when it was written: nobody else reads it, ever."""
    seen_at: datetime | None = None
    seen_by: str | None = None


_ROWS = Rows(
    CheckIn,
    "check_ins",
    table_index("ix_check_ins_project", "project", "id"),
    table_index("ix_check_ins_user_id", "user_id"),
    references={"project": "projects.id", "user": "users.id"},
    joined={"readers": "|"},
    names={"user": "user_id"},
)
check_ins = _ROWS.table


def contacts(db: Connection, project_id: str) -> list[Member]:
    """Return a project's wellbeing contacts."""
    return members.of_project(db, project_id, role="wellbeing")


def add(
    db: Connection,
    project_id: str,
    user_id: str,
    *,
    mood: int | None = None,
    words: str | None = None,
    wants_contact: bool = False,
) -> CheckIn:
    """Add a check-in for those who are contacts now; an empty one, or one that nobody would read, is refused."""
    words = (words or "").strip() or None
    if mood is not None and mood not in MOODS:
        raise UserError(f"A mood is a number from 1 to 5, not {mood}.")
    if words is not None and len(words) > LONGEST:
        raise UserError(f"A check-in has at most {LONGEST} characters, this one has {len(words)}.", status=413)
    if mood is None and words is None and not wants_contact:
        raise UserError("The check-in is empty. Choose how you are, write something, or ask to be contacted.")
    readers = tuple(it.user for it in contacts(db, project_id) if it.user != user_id)
    if not readers:
        raise UserError("This project has no wellbeing contact yet, so nobody would read it.", status=409)
    return _ROWS.insert(db, CheckIn(new_id(), project_id, user_id, now(), mood, words, wants_contact, readers))


def for_reader(db: Connection, reader: Member, *, limit: int = 200) -> list[CheckIn]:
    """Return the check-ins that this contact may read: unseen ones first, of those who want to be contacted first."""
    if "wellbeing" not in reader.roles or reader.left_at is not None:
        raise UserError("Only a project's wellbeing contacts read check-ins.", status=403)
    query = _ROWS.select(check_ins.c.project == reader.project, check_ins.c.readers.contains(reader.user))
    urgent = (check_ins.c.seen_at.is_(None).desc(), check_ins.c.wants_contact.desc(), check_ins.c.id.desc())
    query = query.order_by(*urgent).limit(limit)
    return [it for it in _ROWS.list(db, query) if reader.user in it.readers]


def waiting(db: Connection, reader: Member) -> int:
    """Return how many check-ins wait for this contact; 0 for somebody who is none."""
    if "wellbeing" not in reader.roles or reader.left_at is not None:
        return 0
    query = select(func.count()).select_from(check_ins)
    condition = (check_ins.c.project == reader.project, check_ins.c.readers.contains(reader.user))
    return db.execute(query.where(*condition, check_ins.c.seen_at.is_(None))).scalar_one()


def mark_seen(db: Connection, reader: Member, check_in_id: str) -> CheckIn:
    """Note that a contact has seen a check-in; one that they may not read is not found."""
    check_in = next((it for it in for_reader(db, reader, limit=10_000) if it.id == check_in_id), None)
    if check_in is None:
        raise UserError("There is no such check-in.", status=404)
    if check_in.seen_at is None:
        unseen = (check_ins.c.id == check_in_id, check_ins.c.seen_at.is_(None))
        _ROWS.update(db, *unseen, seen_at=now(), seen_by=reader.user)
    return check_in


def of_person(db: Connection, user_id: str, *, project_id: str | None = None) -> list[CheckIn]:
    """Return what a person wrote themselves, newest first. For their own pages only."""
    query = _ROWS.select(check_ins.c.user_id == user_id)
    query = query if project_id is None else query.where(check_ins.c.project == project_id)
    return _ROWS.list(db, query.order_by(check_ins.c.id.desc()))
