"""Corrections that programs sent: a text, and what its scores should have been. They wait for a reviewer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, Connection, update

from davy.core.errors import UserError
from davy.people.store.personal_data import PersonDeletion, plain_rows
from davy.store import events
from davy.store.columns import new_id, now, table_index
from davy.store.rows import Rows

STATES: tuple[str, ...] = ("open", "taken", "dismissed")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One correction: `scores` by attribute as they were sent, `answers` by question as the server reads them."""

    text: str
    scores: Mapping[str, float]
    answers: Mapping[str, str]
    by: str
    lang: str | None = None
    context: Mapping[str, Any] | None = None
    key: str | None = None
    community: str | None = None
    session: str | None = None
    client_token: str | None = None
    id: str = field(default_factory=new_id)
    at: datetime = field(default_factory=now)
    state: str = "open"
    post: str | None = None
    reviewed_at: datetime | None = None
    reviewed_by: str | None = None


_ROWS = Rows(
    Suggestion,
    "suggestions",
    CheckConstraint("state IN ('open', 'taken', 'dismissed')", name="state"),
    table_index("ix_suggestions_state", "state", "id"),
    table_index("ix_suggestions_by", "by"),
    table_index("ix_suggestions_post", "post", where="post IS NOT NULL"),
    references={"post": "posts.id"},
)
suggestions = _ROWS.table


def add(db: Connection, suggestion: Suggestion) -> None:
    """Keep a correction for review."""
    _ROWS.insert(db, suggestion)


def list_open(
    db: Connection, *, community: str | None = None, after: str = "", limit: int = 100
) -> Sequence[Suggestion]:
    """Return what waits for review, oldest first, of one community or of all."""
    query = _ROWS.select(suggestions.c.state == "open", suggestions.c.id > after).order_by(suggestions.c.id)
    if community is not None:
        query = query.where(suggestions.c.community == community)
    return _ROWS.list(db, query.limit(limit))


def settle(db: Connection, suggestion_id: str, state: str, *, by: str, post: str | None = None) -> None:
    """Note that a correction was taken (into `post`, where one was made of it) or dismissed; once only."""
    if state not in STATES[1:]:
        raise ValueError(f"a suggestion is settled as {STATES[1:]}, not {state!r}")
    mine = (suggestions.c.id == suggestion_id, suggestions.c.state == "open")
    if not _ROWS.update(db, *mine, state=state, post=post, reviewed_at=now(), reviewed_by=by):
        raise UserError("This correction is not there any more, or somebody reviewed it already.", status=409)
    events.record(db, by=by, what=f"suggestion {state}", about=f"suggestion {suggestion_id}")


def personal_data(db: Connection, user_id: str, project_id: str | None) -> dict[str, Any]:
    """Return a person's suggestions; nothing of a project."""
    return {} if project_id is not None else {"suggestions": plain_rows(db, suggestions, suggestions.c.by == user_id)}


def forget_person(db: Connection, deletion: PersonDeletion) -> None:
    """Take a deleted account's key and session off its suggestions."""
    mine = suggestions.c.by == deletion.user.id
    db.execute(update(suggestions).where(mine).values(key=None, session=None, client_token=None))
