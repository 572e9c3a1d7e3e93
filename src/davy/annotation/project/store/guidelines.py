"""Guidelines of a project: versions that only grow, seen by its own people alone.

A project begins with a copy of what its scheme brought, and what it publishes is its own: another project with the
same scheme goes on with its words.
"""

from sqlalchemy import Connection, func, insert, literal, select

from davy.annotation.project.project import Project
from davy.annotation.project.store.tables import project_guidelines
from davy.core import Guideline, UserError, Wording
from davy.schemes.store.schemes import guideline_content
from davy.schemes.store.tables import guidelines
from davy.store import events
from davy.store.columns import now

_COPIED = "version content digest changes added_at added_by".split()  # noqa: SIM905


def copy_from_scheme(db: Connection, project: Project) -> None:
    """Give a new project the guidelines of its scheme."""
    theirs = select(literal(project.id), *(guidelines.c[name] for name in _COPIED)).where(
        guidelines.c.scheme == project.scheme, guidelines.c.scheme_version == project.scheme_version
    )
    db.execute(insert(project_guidelines).from_select(["project", *_COPIED], theirs))


def add(db: Connection, project: Project, guideline: Guideline, *, by: str) -> None:
    """Add the next version of a project's guideline."""
    content, digest = guideline_content(guideline)
    mine = project_guidelines.c.project == project.id
    newest = db.scalar(select(func.max(project_guidelines.c.version)).where(mine)) or 0
    if guideline.version <= newest:
        raise UserError(
            f"Project {project.id!r} has guideline {newest} already; a new one is {newest + 1}.", status=409
        )
    db.execute(
        insert(project_guidelines).values(
            project=project.id,
            version=guideline.version,
            content=content,
            digest=digest,
            changes=guideline.changes,
            added_at=now(),
            added_by=by,
        )
    )
    events.record(db, by=by, what="guideline added", about=f"project {project.id}", guideline=guideline.version)


def of_project(db: Connection, project_id: str) -> list[Guideline]:
    """Return the guidelines of a project, oldest first."""
    query = select(project_guidelines).where(project_guidelines.c.project == project_id)
    return [
        Guideline(
            row.version,
            Wording(row.content["text"]),
            {note: Wording(words) for note, words in row.content["notes"].items()},
            row.changes,
        )
        for row in db.execute(query.order_by(project_guidelines.c.version))
    ]
