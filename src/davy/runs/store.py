"""Suites that a project wrote: each save is a version of its own, so that a check's record always names what was run.

A suite belongs to its project; another project's is not found.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Column, Connection, func, select

from davy.core.errors import UserError
from davy.store import events
from davy.store.columns import TimeColumn, new_id, now, table_index
from davy.store.rows import Rows


@dataclass(frozen=True, slots=True)
class ProjectSuite:
    """One version of a suite, as YAML."""

    id: str
    version: int
    project: str
    name: str
    content: str
    saved_at: datetime
    saved_by: str


_ROWS = Rows(
    ProjectSuite,
    "project_suites",
    Column("removed_at", TimeColumn),
    table_index("ix_project_suites_project", "project", "id"),
    key=("id", "version"),
    references={"project": "projects.id"},
)
project_suites = _ROWS.table


def create(db: Connection, project: str, name: str, content: str, *, by: str) -> ProjectSuite:
    """Add a suite and return its first version."""
    return _insert(db, ProjectSuite(new_id(), 1, project, name, content, now(), by))


def save(db: Connection, project: str, suite_id: str, name: str, content: str, *, by: str) -> ProjectSuite:
    """Return the next version of a suite; one that says the same is not made."""
    last = get(db, project, suite_id)
    if (last.name, last.content) == (name, content):
        return last
    return _insert(db, ProjectSuite(suite_id, last.version + 1, project, name, content, now(), by))


def get(db: Connection, project: str, suite_id: str, version: int | None = None) -> ProjectSuite:
    """Return a suite of a project, its newest version unless another is asked for."""
    query = _ROWS.select(project_suites.c.id == suite_id, project_suites.c.project == project)
    if version is None:
        query = query.where(project_suites.c.removed_at.is_(None)).order_by(project_suites.c.version.desc()).limit(1)
    else:
        query = query.where(project_suites.c.version == version)
    for suite in _ROWS.list(db, query):
        return suite
    raise UserError("There is no such suite.", status=404)


def list_suites(db: Connection, project: str) -> list[ProjectSuite]:
    """Return the newest version of each suite of a project, oldest suite first."""
    newest = (
        select(project_suites.c.id, func.max(project_suites.c.version).label("version"))
        .where(project_suites.c.project == project, project_suites.c.removed_at.is_(None))
        .group_by(project_suites.c.id)
        .subquery()
    )
    same = (project_suites.c.id == newest.c.id) & (project_suites.c.version == newest.c.version)
    query = _ROWS.select().join(newest, same).order_by(project_suites.c.id)
    return _ROWS.list(db, query)


def remove(db: Connection, project: str, suite_id: str, *, by: str) -> None:
    """Take a suite out of the lists. Its versions stay, since checks name them."""
    found = get(db, project, suite_id)
    _ROWS.update(db, project_suites.c.id == found.id, removed_at=now())
    events.record(db, by=by, what="suite removed", about=f"project {project}", suite=found.name)


def _insert(db: Connection, made: ProjectSuite) -> ProjectSuite:
    _ROWS.insert(db, made)
    about = f"project {made.project}"
    events.record(db, by=made.saved_by, what="suite saved", about=about, suite=made.name, version=made.version)
    return made
