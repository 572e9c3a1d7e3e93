"""Messages: a project's channel. Announcements, questions (about a post or not), answers, and notes of a discussion.

`by` is the writer's user id, or their pseudonym once they had their data deleted.
Texts are kept as written and masked where they are shown; events never hold them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import CheckConstraint, Connection, func, select

from davy.annotation.project.store.tables import posts
from davy.core import UserError
from davy.store import events
from davy.store.columns import new_id, now, table_index
from davy.store.rows import Rows

LONGEST = 4_000


@dataclass(frozen=True, slots=True)
class ChannelMessage:
    """One message. A question is settled by its first answer; an answer may have gone into a guideline."""

    id: str
    project: str
    kind: str
    by: str
    at: datetime
    text: str
    post: str | None = None
    replies_to: str | None = None
    guideline_version: int | None = None
    settled_at: datetime | None = None


_ROWS = Rows(
    ChannelMessage,
    "messages",
    CheckConstraint("kind IN ('announcement', 'question', 'answer', 'note')", name="kind"),
    table_index("ix_messages_project", "project", "id"),
    table_index("ix_messages_post", "post", where="post IS NOT NULL"),
    references={"project": "projects.id", "post": "posts.id"},
)
messages = _ROWS.table


@dataclass(frozen=True, slots=True)
class ChannelThread:
    """An announcement or a question, with its answers from oldest to newest."""

    first: ChannelMessage
    answers: tuple[ChannelMessage, ...] = ()


def announce(db: Connection, project_id: str, text: str, *, by: str) -> ChannelMessage:
    """Tell everyone on a project something."""
    return _add(db, project_id, "announcement", text, by=by)


def ask(db: Connection, project_id: str, text: str, *, by: str, post: str | None = None) -> ChannelMessage:
    """Ask the team something, about a post where one is named."""
    return _add(db, project_id, "question", text, by=by, post=post)


def answer(db: Connection, project_id: str, question_id: str, text: str, *, by: str) -> ChannelMessage:
    """Answer a question or an announcement of the project."""
    asked = get(db, project_id, question_id)
    if asked.replies_to is not None or asked.kind == "note":
        raise UserError("Only a question or an announcement can be answered.", status=409)
    made = _add(db, project_id, "answer", text, by=by, post=asked.post, replies_to=asked.id)
    if asked.kind == "question" and asked.settled_at is None and by != asked.by:
        _ROWS.update(db, messages.c.id == asked.id, settled_at=made.at)
    return made


def note(db: Connection, project_id: str, text: str, *, by: str, post: str | None = None) -> ChannelMessage:
    """Keep a note of what a team said about a post, as in a discussion phase."""
    return _add(db, project_id, "note", text, by=by, post=post)


def get(db: Connection, project_id: str, message_id: str) -> ChannelMessage:
    """Return a message of a project; another project's is not found."""
    message = _ROWS.get(db, messages.c.id == message_id, messages.c.project == project_id)
    if message is None:
        raise UserError("There is no such message.", status=404)
    return message


def threads(
    db: Connection,
    project_id: str,
    *,
    before: str | None = None,
    limit: int = 30,
    post: str | None = None,
    kind: str | None = None,
    open_only: bool = False,
) -> list[ChannelThread]:
    """Return announcements and questions with their answers, newest first; page on with the last one's id."""
    kinds = ("announcement", "question") if kind is None else (kind,)
    query = _ROWS.select(messages.c.project == project_id, messages.c.kind.in_(kinds))
    if before is not None:
        query = query.where(messages.c.id < before)
    if post is not None:
        query = query.where(messages.c.post == post)
    if open_only:
        query = query.where(messages.c.settled_at.is_(None))
    first = _ROWS.list(db, query.order_by(messages.c.id.desc()).limit(limit))
    given = _answers(db, project_id, [it.id for it in first])
    return [ChannelThread(it, tuple(given.get(it.id, ()))) for it in first]


def notes_of(db: Connection, project_id: str, post: str) -> list[ChannelMessage]:
    """Return the notes about a post, oldest first."""
    query = _ROWS.select(messages.c.post == post, messages.c.project == project_id, messages.c.kind == "note")
    return _ROWS.list(db, query.order_by(messages.c.id))


def unread(db: Connection, project_id: str, user_id: str, since: datetime | None) -> int:
    """Return how many messages others wrote since a moment, or ever; notes are not counted."""
    query = select(func.count()).select_from(messages)
    query = query.where(messages.c.project == project_id, messages.c.by != user_id, messages.c.kind != "note")
    return db.execute(query if since is None else query.where(messages.c.at > since)).scalar_one()


def into_guideline(db: Connection, project_id: str, message_id: str, version: int, *, by: str) -> None:
    """Note which version of the guideline took an answer up."""
    get(db, project_id, message_id)
    _ROWS.update(db, messages.c.id == message_id, guideline_version=version)
    events.record(
        db, by=by, what="answer put into the guideline", about=f"project {project_id}", message=message_id,
        guideline=version,
    )  # fmt: skip


def _add(
    db: Connection,
    project_id: str,
    kind: str,
    text: str,
    *,
    by: str,
    post: str | None = None,
    replies_to: str | None = None,
) -> ChannelMessage:
    text = text.strip()
    if not text:
        raise UserError("The message is empty. Write something first.")
    if len(text) > LONGEST:
        raise UserError(f"A message has at most {LONGEST} characters, this one has {len(text)}.", status=413)
    own = (posts.c.id == post, posts.c.project == project_id)
    if post is not None and not db.execute(select(posts.c.id).where(*own)).first():
        raise UserError("The post that the question is about is not in this project.", status=404)
    made = ChannelMessage(new_id(), project_id, kind, by, now(), text, post, replies_to)
    _ROWS.insert(db, made)
    events.record(db, by=by, what=f"{kind} written", about=f"project {project_id}", message=made.id)
    return made


def _answers(db: Connection, project_id: str, ids: Sequence[str]) -> dict[str, list[ChannelMessage]]:
    by_question: dict[str, list[ChannelMessage]] = {}
    if not ids:
        return by_question
    query = _ROWS.select(messages.c.project == project_id, messages.c.replies_to.in_(ids))
    for message in _ROWS.list(db, query.order_by(messages.c.id)):
        by_question.setdefault(message.replies_to or "", []).append(message)
    return by_question
