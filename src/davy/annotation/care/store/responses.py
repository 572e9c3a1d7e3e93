"""Responses: what people say in a project's survey, and what they choose to say about themselves.

One a person, project and kind; saying it again replaces it, and it can be taken
back. Managers never get one person's: `of_project` gives contents without names,
in an order that says nothing, and its callers count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, Connection, UniqueConstraint, delete, select
from sqlalchemy.exc import IntegrityError

from davy.annotation.project.store.tables import members
from davy.core import UserError
from davy.store.columns import new_id, now, table_index
from davy.store.rows import Rows

KINDS = ("survey", "about me")


@dataclass(frozen=True, slots=True)
class SurveyResponse:
    """One person's answers."""

    id: str
    project: str
    user: str
    kind: str
    at: datetime
    content: Mapping[str, Any]


_ROWS = Rows(
    SurveyResponse,
    "responses",
    CheckConstraint("kind IN ('survey', 'about me')", name="kind"),
    UniqueConstraint("project", "user_id", "kind", name="uq_responses_kind"),
    table_index("ix_responses_user_id", "user_id"),
    references={"project": "projects.id", "user": "users.id"},
    names={"user": "user_id"},
)
responses = _ROWS.table


def put(db: Connection, project_id: str, user_id: str, kind: str, content: Mapping[str, Any]) -> None:
    """Keep a person's answers in place of earlier ones; empty content takes them back."""
    if kind not in KINDS:
        raise UserError(f"{kind!r} is no kind of response; there are {', '.join(KINDS)}.")
    db.execute(delete(responses).where(*_key(project_id, user_id, kind)))
    if content:
        try:
            _ROWS.insert(db, SurveyResponse(new_id(), project_id, user_id, kind, now(), content))
        except IntegrityError:  # the same form from a second tab, at the same moment
            raise UserError("This was just saved from another tab. Load the page again.", status=409) from None


def get(db: Connection, project_id: str, user_id: str, kind: str) -> SurveyResponse | None:
    """Return a person's own answers, or None."""
    return _ROWS.get(db, *_key(project_id, user_id, kind))


def of_project(db: Connection, project_id: str, kind: str, *, roles: tuple[str, ...] = ()) -> list[Mapping[str, Any]]:
    """Return everyone's answers without names, by content; `roles` leaves out people who had none of these."""
    query = select(responses.c.content, members.c.roles).select_from(
        responses.join(members, (members.c.project == responses.c.project) & (members.c.user_id == responses.c.user_id))
    )
    rows = db.execute(query.where(responses.c.project == project_id, responses.c.kind == kind))
    kept = [row.content for row in rows if not roles or set(row.roles.split("|")) & set(roles)]
    return sorted(kept, key=repr)


def _key(project_id: str, user_id: str, kind: str) -> tuple[Any, ...]:
    return responses.c.project == project_id, responses.c.user_id == user_id, responses.c.kind == kind
