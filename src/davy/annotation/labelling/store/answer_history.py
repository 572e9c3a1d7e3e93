"""What one person answered in a project, newest first, a screenful at a time: to find and correct it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from davy.annotation.labelling.store.annotations import get_many
from davy.annotation.labelling.store.tables import assignments
from davy.annotation.project.store.picture_locks import UNLOCKED
from davy.annotation.project.store.tables import items, phases, posts
from davy.core import Annotation


@dataclass(frozen=True, slots=True)
class AnsweredItem:
    """One post that a person answered or refused, in which phase, and when."""

    assignment: str
    phase: str
    phase_state: str
    kind: str
    text: str
    lang: str | None
    image: str | None
    at: datetime
    annotation: Annotation


def answered_items(
    db: Connection, project_id: str, user_id: str, *, search: str = "", before: datetime | None = None, limit: int = 30
) -> list[AnsweredItem]:
    """Return a person's answers in a project; `search` is found in the posts' texts, whatever the case of its letters.

    Page on with `before` set to the last one's time.
    """
    query = (
        select(
            assignments.c.id,
            assignments.c.annotation,
            assignments.c.done_at,
            phases.c.name,
            phases.c.state,
            phases.c.kind,
            posts.c.text,
            posts.c.lang,
            posts.c.image,
        )
        .join(phases, phases.c.id == assignments.c.phase)
        .join(items, items.c.id == assignments.c.item)
        .join(posts, posts.c.id == items.c.post)
        .where(phases.c.project == project_id, assignments.c.annotator == user_id, UNLOCKED)
        .where(assignments.c.annotation.is_not(None), assignments.c.state.in_(("done", "refused", "again")))
    )
    if search:
        query = query.where(posts.c.text.icontains(search, autoescape=True))
    if before is not None:
        query = query.where(assignments.c.done_at < before)
    rows = db.execute(query.order_by(assignments.c.done_at.desc()).limit(limit)).all()
    given = get_many(db, [row.annotation for row in rows])
    return [_answered(row, given[row.annotation]) for row in rows]


def _answered(row: Any, given: Annotation) -> AnsweredItem:
    about = (row.id, row.name, row.state, row.kind, row.text or "", row.lang, row.image, row.done_at)
    return AnsweredItem(*about, given)
