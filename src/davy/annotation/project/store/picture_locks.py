"""Locked pictures: suspected pictures of child abuse. Nobody sees, exports, copies or learns from them any more.

A post in; its picture's key is locked wherever it is, and so are the renderings of memes that were built from it. Posts
with a locked picture leave every queue; `UNLOCKED` keeps them out of pages and exports. The file stays where
`ImageFolder.lock` moves it, since the law may ask to preserve it. There is no way back from here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, func, or_, select, update

from davy.annotation.labelling.store.tables import assignments, cases
from davy.annotation.project.store.tables import IS_THERE, items, members, posts, projects
from davy.core import UserError
from davy.store import events
from davy.store.columns import now, table_index
from davy.store.rows import Rows

LONGEST_NOTE = 1_000


@dataclass(frozen=True, slots=True)
class PictureLock:
    """One locked picture. `reported_at` is when somebody in charge noted what was done about it, in their words."""

    key: str
    """The same pixels are locked in every project and on the shelf."""
    project: str
    post: str
    """The id that people see, no reference: the record stays when the post goes."""
    locked_at: datetime
    locked_by: str
    reported_at: datetime | None = None
    reported_by: str | None = None
    note: str | None = None


_ROWS = Rows(PictureLock, "picture_locks", table_index("ix_picture_locks_project", "project", "locked_at"), key="key")
picture_locks = _ROWS.table
UNLOCKED = or_(posts.c.image.is_(None), posts.c.image.not_in(select(picture_locks.c.key)))
"""The condition that a post has no locked picture."""


def lock(db: Connection, project: str, post_key: str, *, by: str) -> list[str]:
    """Lock a post's picture and what was built from it, and return the keys; what is locked already stays so."""
    row = db.execute(select(posts.c.public_id, posts.c.image).where(posts.c.id == post_key)).one()
    if row.image is None:
        raise UserError("This post has no picture, so there is none to lock.", status=409)
    built = select(posts.c.image).where(posts.c.image.is_not(None), posts.c.meta.contains(row.image, autoescape=True))
    keys = list(dict.fromkeys([row.image, *db.scalars(built)]))
    known = set(db.scalars(select(picture_locks.c.key).where(picture_locks.c.key.in_(keys))))
    fresh = [key for key in keys if key not in known]
    if fresh:
        _ROWS.insert_all(db, [PictureLock(key, project, row.public_id, now(), by) for key in fresh])
        _take_out(db, fresh)
        events.record(db, by=by, what="picture locked", about=f"project {project}", post=row.public_id, n=len(fresh))
    return keys


def _take_out(db: Connection, keys: Sequence[str]) -> None:
    """Drop the posts with these pictures from all queues: of labelling, of memes' phases and of experts."""
    named = select(posts.c.id).where(posts.c.image.in_(keys))
    mine = select(items.c.id).where(items.c.post.in_(named))
    held = update(assignments).where(assignments.c.item.in_(mine), assignments.c.state.in_(("held", "again")))
    db.execute(held.values(state="lapsed", leased_until=None))
    waiting = update(cases).where(cases.c.item.in_(mine), cases.c.state == "open")
    db.execute(waiting.values(state="dropped", settled_by=events.SYSTEM, settled_at=now(), held_by=None))
    db.execute(update(items).where(items.c.post.in_(named)).values(state="dropped", room=0))


def of_project(db: Connection, project: str) -> list[PictureLock]:
    """Return the pictures that were locked from a project, newest first."""
    query = _ROWS.select(picture_locks.c.project == project)
    return _ROWS.list(db, query.order_by(picture_locks.c.locked_at.desc()))


def waiting(db: Connection, project: str) -> int:
    """Return how many locked pictures nobody in charge has dealt with yet."""
    query = select(func.count()).select_from(picture_locks).where(picture_locks.c.project == project)
    return db.execute(query.where(picture_locks.c.reported_at.is_(None))).scalar_one()


def waiting_for(db: Connection, user_id: str, *, everywhere: bool = False) -> dict[str, int]:
    """Return how many locked pictures wait in each project that a person manages, or with `everywhere` in every one."""
    query = select(picture_locks.c.project, func.count()).where(picture_locks.c.reported_at.is_(None))
    query = query.join(projects, projects.c.id == picture_locks.c.project).where(IS_THERE)
    counts = {project: int(n) for project, n in db.execute(query.group_by(picture_locks.c.project))}
    if everywhere or not counts:
        return counts
    mine = select(members.c.project, members.c.roles).where(members.c.user_id == user_id, members.c.left_at.is_(None))
    managed = {project for project, roles in db.execute(mine) if "manager" in roles.split("|")}
    return {project: n for project, n in counts.items() if project in managed}


def is_locked(db: Connection, key: str) -> bool:
    """Return whether a picture is locked."""
    return db.scalar(select(picture_locks.c.key).where(picture_locks.c.key == key)) is not None


def note_report(db: Connection, project: str, key: str, note: str, *, by: str) -> None:
    """Keep what the person in charge did about a locked picture: to whom they reported it, and its number there."""
    note = note.strip()
    if not note or len(note) > LONGEST_NOTE:
        raise UserError(f"Write in 1 to {LONGEST_NOTE} characters to whom you reported it, and when.", status=422)
    mine = (picture_locks.c.key == key, picture_locks.c.project == project)
    if not _ROWS.update(db, *mine, reported_at=now(), reported_by=by, note=note):
        raise UserError("There is no such locked picture in this project.", status=404)
    events.record(db, by=by, what="locked picture reported", about=f"project {project}")
