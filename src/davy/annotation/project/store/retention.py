"""What retention rules of a project can remove: check-ins, and the texts of a project that was closed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import ColumnElement, select

from davy.annotation.care.store.check_ins import check_ins
from davy.annotation.project.store import projects
from davy.annotation.project.store.tables import posts
from davy.annotation.project.store.tables import projects as project_rows
from davy.people.store.retention import RetentionKind


def _texts_of_closed(before: datetime, project: str) -> tuple[ColumnElement[bool], ...]:
    closed = select(project_rows.c.id).where(
        project_rows.c.id == project, project_rows.c.state == "closed", project_rows.c.closed_at < before
    )
    return (posts.c.project.in_(closed), posts.c.text.is_not(None))


RETENTION: Mapping[str, RetentionKind] = {
    "check-ins": RetentionKind(
        check_ins,
        lambda before, project: (check_ins.c.project == project, check_ins.c.at < before),
        project=projects.get,
    ),
    "texts": RetentionKind(posts, _texts_of_closed, project=projects.get, blanks=True),
}
