"""Delete a project that has no answers, or a sample with all of them; its events and jobs stay.

What other parts of the server rely on keeps a project: a community that reviews in it, a round, a meme that was built.
"""

from sqlalchemy import ColumnElement, Connection, Table, delete, or_, select

from davy.annotation.labelling.store.tables import annotations, verdicts
from davy.annotation.project.project import Project
from davy.annotation.project.store.projects import get
from davy.annotation.project.store.tables import items, phases, posts, projects
from davy.core import UserError
from davy.people.store.invitations import invitations
from davy.people.store.keys import api_keys
from davy.store import events
from davy.store.schema import metadata

OWN_TABLES: tuple[str, ...] = (
    *("assignments", "tallies", "items", "agreements", "coded", "codes", "messages", "sittings", "responses"),
    *("check_ins", "project_suites", "project_guidelines", "images", "members", "phases"),
    *("cases", "answers", "annotations", "verdicts", "verdict_annotations"),
)
"""Tables whose rows go with their project. A row of any other table that points at it keeps the project."""


SAMPLE = "sample"
"""A section of a project's settings: whether it was made to try things in."""


def can_be_deleted(db: Connection, project: Project) -> bool:
    """Return whether a project has no answers, or is a sample."""
    return bool(project.settings.get(SAMPLE)) or not has_answers(db, project.id)


def has_answers(db: Connection, project_id: str) -> bool:
    """Return whether somebody has answered in a project, or something was settled in it."""
    theirs = select(phases.c.id).where(phases.c.project == project_id)
    answered = select(annotations.c.id).where(annotations.c.phase.in_(theirs)).limit(1)
    settled = select(verdicts.c.id).where(verdicts.c.project == project_id).limit(1)
    return any(db.execute(query).first() is not None for query in (answered, settled))


def delete_project(db: Connection, project_id: str, *, by: str) -> None:
    """Delete a project that nobody has answered in, or a sample; nothing else may rely on it."""
    project = get(db, project_id)
    if not can_be_deleted(db, project):
        raise UserError(f"Project {project_id!r} has answers, so it stays. Close it instead.", status=409)
    tables = list(reversed(metadata.sorted_tables))
    for table in tables:
        where = _points_at(table, project_id)
        if where is not None and table.name not in OWN_TABLES and db.execute(select(table).where(where)).first():
            raise UserError(f"Project {project_id!r} is in use by {table.name}. Close it instead.", status=409)
    for table in tables:
        where = _points_at(table, project_id)
        if where is not None and table.name in OWN_TABLES:
            db.execute(delete(table).where(where))
    db.execute(delete(posts).where(posts.c.project == project_id))
    db.execute(delete(api_keys).where(api_keys.c.project == project_id))
    db.execute(delete(invitations).where(invitations.c.project == project_id))
    db.execute(delete(projects).where(projects.c.id == project_id))
    events.record(db, by=by, what="project deleted", about=f"project {project_id}", title=project.title)


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
