"""What ties projects and answers to a scheme: the stamp of a project's scheme, and the queries for what uses one."""

from typing import Any

from sqlalchemy import Connection, Select, bindparam, func, select

from davy.annotation.labelling.store.tables import annotations, verdicts
from davy.annotation.project.project import Project
from davy.annotation.project.store.tables import project_guidelines, projects
from davy.core import UserError
from davy.schemes.store.schemes import schemes
from davy.store.statements import ONE, PreparedStatement
from davy.store.store import is_writing

_NEWEST = (
    select(project_guidelines.c.version)
    .where(project_guidelines.c.project == bindparam("project"))
    .order_by(project_guidelines.c.version.desc())
    .limit(ONE)
)
_STAMPS = select(
    schemes.c.digest,
    func.length(schemes.c.yaml),
    _NEWEST.scalar_subquery(),
    _NEWEST.with_only_columns(project_guidelines.c.digest).scalar_subquery(),
).where(schemes.c.name == bindparam("name"), schemes.c.version == bindparam("version"))
_STAMP, _STAMP_LOCKED = (
    PreparedStatement(_STAMPS),
    PreparedStatement(_STAMPS.with_for_update(of=schemes, read=True, key_share=True)),
)


def stamp_of(db: Connection, project: Project) -> tuple[Any, ...]:
    """Return what differs whenever a project's scheme or its guidelines do.

    What was read under one stamp need not be read again. In a write transaction the scheme's questions can't change
    until that ends.
    """
    row = _stamp(db).one(db, _stamp_values(project))
    if row is None:
        which = f"{project.scheme!r} version {project.scheme_version}"
        raise UserError(f"This database has no scheme {which}.", status=404)
    return project.id, project.scheme, project.scheme_version, *row


def prefetch_stamp(db: Connection, project: Project) -> None:
    """Send early what `stamp_of` reads."""
    _stamp(db).prefetch(db, _stamp_values(project))


def _stamp(db: Connection) -> PreparedStatement:
    return _STAMP_LOCKED if is_writing(db) else _STAMP


def _stamp_values(project: Project) -> dict[str, Any]:
    return {"name": project.scheme, "version": project.scheme_version, "project": project.id}


def answers_by(name: str, version: int) -> list[Select[Any]]:
    """Return the queries for one answer and one verdict that were given under a version of a scheme."""
    return [
        select(table.c.id).where(table.c.scheme == name, table.c.scheme_version == version).limit(1)
        for table in (annotations, verdicts)
    ]


def projects_by(name: str, version: int) -> list[Select[Any]]:
    """Return the query for one project that asks by a version of a scheme."""
    return [select(projects.c.id).where(projects.c.scheme == name, projects.c.scheme_version == version).limit(1)]
