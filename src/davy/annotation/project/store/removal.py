"""Delete a project that has no answers, or a sample with all of them; its events and jobs stay.

What other parts of the server rely on keeps a project: a community that reviews in it, a round, a meme that was built.
A deleted project is marked and found nowhere. For a day it can be restored, then the worker removes its rows.
"""

from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Connection, Table, delete, or_, select, text

from davy.annotation.labelling.store.tables import annotations, verdicts
from davy.annotation.project.project import Project
from davy.annotation.project.store import members
from davy.annotation.project.store.images import images
from davy.annotation.project.store.projects import get
from davy.annotation.project.store.tables import PROJECTS, items, phases, posts, projects
from davy.core import UserError
from davy.people.store.invitations import invitations
from davy.people.store.keys import api_keys
from davy.people.store.retention import retention_rules
from davy.people.store.users import User
from davy.store import events
from davy.store.columns import now
from davy.store.schema import metadata

OWN_TABLES: tuple[str, ...] = (
    *("assignments", "tallies", "items", "agreements", "coded", "codes", "messages", "sittings", "responses"),
    *("check_ins", "project_suites", "project_guidelines", "images", "members", "phases"),
    *("cases", "answers", "annotations", "verdicts", "verdict_annotations"),
)
"""Tables whose rows go with their project. A row of any other table that points at it keeps the project."""


SAMPLE = "sample"
"""A section of a project's settings: whether it was made to try things in."""

RESTORABLE = timedelta(days=1)
"""How long a deleted project can be restored."""


def can_be_deleted(db: Connection, project: Project) -> bool:
    """Return whether a project has no answers, or is a sample."""
    return bool(project.settings.get(SAMPLE)) or not has_answers(db, project.id)


def has_answers(db: Connection, project_id: str) -> bool:
    """Return whether somebody has answered in a project, or something was settled in it."""
    theirs = select(phases.c.id).where(phases.c.project == project_id)
    answered = select(annotations.c.id).where(annotations.c.phase.in_(theirs)).limit(1)
    settled = select(verdicts.c.id).where(verdicts.c.project == project_id).limit(1)
    return any(db.execute(query).first() is not None for query in (answered, settled))


def delete_project(db: Connection, project_id: str, *, by: str) -> Project:
    """Delete a project that nobody has answered in, or a sample; return it as `restore_project` will find it."""
    project = get(db, project_id)
    if not can_be_deleted(db, project):
        raise UserError(f"Project {project_id!r} has answers, so it stays. Close it instead.", status=409)
    _check_unused(db, project_id)
    PROJECTS.update(db, projects.c.id == project_id, deleted_at=now())
    events.record(db, by=by, what="project deleted", about=f"project {project_id}", title=project.title)
    return next(each for each in list_deleted(db) if each.id == project_id)


def list_deleted(db: Connection, person: User | None = None) -> list[Project]:
    """Return the deleted projects that can be restored, newest first; of a person those that they manage."""
    kept = PROJECTS.select(projects.c.deleted_at > now() - RESTORABLE).order_by(projects.c.deleted_at.desc())
    found = PROJECTS.list(db, kept)
    if person is None or person.role == "admin":
        return found
    return [each for each in found if _manages(db, each.id, person.id)]


def restorable_until(project: Project) -> datetime:
    """Return until when a deleted project can be restored."""
    assert project.deleted_at is not None
    return project.deleted_at + RESTORABLE


def _manages(db: Connection, project_id: str, user_id: str) -> bool:
    member = members.get(db, project_id, user_id)
    return member is not None and member.left_at is None and "manager" in member.roles


def restore_project(db: Connection, project_id: str, *, by: str, person: User | None = None) -> Project:
    """Bring a deleted project back as it was; a person restores those that they manage."""
    if project_id not in {each.id for each in list_deleted(db, person)}:
        raise UserError(f"There is no deleted project {project_id[:60]!r} that can be restored.", status=404)
    PROJECTS.update(db, projects.c.id == project_id, deleted_at=None)
    events.record(db, by=by, what="project restored", about=f"project {project_id}")
    return get(db, project_id)


def list_expired(db: Connection) -> list[Project]:
    """Return the deleted projects that can't be restored any more, and whose rows are still here."""
    return PROJECTS.list(db, PROJECTS.select(projects.c.deleted_at <= now() - RESTORABLE).order_by(projects.c.id))


def remove_expired(db: Connection, project_id: str) -> set[str]:
    """Remove all rows of a project that was deleted a day ago; return the keys of its pictures."""
    if project_id not in {each.id for each in list_expired(db)}:
        raise UserError(f"Project {project_id!r} was not deleted a day ago.", status=409)
    _check_unused(db, project_id)
    if db.dialect.name == "sqlite":
        db.execute(text("PRAGMA secure_delete = ON"))  # freed pages are zeroed, not left readable in the file
    pictures = set(db.scalars(select(images.c.key).where(images.c.project == project_id)))
    for table in reversed(metadata.sorted_tables):
        where = _points_at(table, project_id)
        if where is not None and table.name in OWN_TABLES:
            db.execute(delete(table).where(where))
    for table in (posts, api_keys, invitations, retention_rules):
        db.execute(delete(table).where(table.c.project == project_id))
    db.execute(delete(projects).where(projects.c.id == project_id))
    events.record(db, by=events.SYSTEM, what="project removed", about=f"project {project_id}")
    return pictures


def _check_unused(db: Connection, project_id: str) -> None:
    """Refuse where a row that is not the project's own points at it."""
    for table in reversed(metadata.sorted_tables):
        where = _points_at(table, project_id)
        if where is not None and table.name not in OWN_TABLES and db.execute(select(table).where(where)).first():
            raise UserError(f"Project {project_id!r} is in use by {table.name}. Close it instead.", status=409)


def _points_at(table: Table, project_id: str) -> ColumnElement[bool] | None:
    """Return which rows of a table point at a project, at a phase, an item or a post of it; None if it never does."""
    theirs = select(phases.c.id).where(phases.c.project == project_id)
    theirs_posts = select(posts.c.id).where(posts.c.project == project_id)
    keys = {
        "projects.id": select(projects.c.id).where(projects.c.id == project_id),
        "phases.id": theirs,
        "items.id": select(items.c.id).where(items.c.phase.in_(theirs)),
        "posts.id": theirs_posts,
        "annotations.id": select(annotations.c.id).where(annotations.c.post.in_(theirs_posts)),
        "verdicts.id": select(verdicts.c.id).where(verdicts.c.post.in_(theirs_posts)),
    }
    found = [key.parent.in_(keys[key.target_fullname]) for key in table.foreign_keys if key.target_fullname in keys]
    return or_(*found) if found else None
