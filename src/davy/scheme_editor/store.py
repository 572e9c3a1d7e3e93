"""Schemes that people write in the browser: each is its author's alone, and every save of one is kept for a while.

A project that is made from a draft gets it as a scheme of the database (`add_own`), which then never changes: its
author can go on writing without touching the project.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import Column, Connection, Select, delete, func, select

from davy.core import Scheme, UserError
from davy.people.store.personal_data import PersonDeletion, plain_rows
from davy.schemes.store import schemes
from davy.store import events
from davy.store.columns import TimeColumn, new_id, now, table_index
from davy.store.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

MOST_EDITS = 100
"""Saves of one draft that are kept; older ones go."""


@dataclass(frozen=True, slots=True)
class SchemeDraft:
    """A draft as it was saved for the `edit`th time. Every save is a row, so that an earlier state can come back."""

    id: str
    edit: int
    owner: str
    content: dict[str, Any]
    saved_at: datetime

    @property
    def name(self) -> str:
        """What its author calls it in files and addresses."""
        return str(self.content.get("name", ""))


_ROWS = Rows(
    SchemeDraft,
    "scheme_drafts",
    Column("removed_at", TimeColumn),
    table_index("ix_scheme_drafts_owner", "owner", "id"),
    key=("id", "edit"),
    references={"owner": "users.id"},
)
scheme_drafts = _ROWS.table


def create(db: Connection, owner: str, content: Mapping[str, Any]) -> SchemeDraft:
    """Add a draft and return it."""
    made = SchemeDraft(new_id(), 1, owner, dict(content), now())
    _ROWS.insert(db, made)
    events.record(db, by=owner, what="scheme draft made", about=f"scheme draft {made.id}")
    return made


def get(db: Connection, owner: str, draft_id: str, edit: int | None = None) -> SchemeDraft:
    """Return somebody's own draft, as it is or as it was; another's is not found."""
    query = _own(owner, draft_id).where(scheme_drafts.c.removed_at.is_(None))
    query = query if edit is None else query.where(scheme_drafts.c.edit == edit)
    for draft in _ROWS.list(db, query.limit(1)):
        return draft
    raise UserError("There is no such scheme.", status=404)


def save(db: Connection, draft: SchemeDraft, content: Mapping[str, Any]) -> SchemeDraft:
    """Save a draft and return it; what did not change is not saved again."""
    newest = get(db, draft.owner, draft.id)
    if newest.content == content:
        return newest
    made = replace(newest, edit=newest.edit + 1, content=dict(content), saved_at=now())
    _ROWS.insert(db, made)
    old = (scheme_drafts.c.id == draft.id, scheme_drafts.c.edit <= made.edit - MOST_EDITS)
    db.execute(delete(scheme_drafts).where(*old))
    return made


def of_owner(db: Connection, owner: str) -> list[SchemeDraft]:
    """Return a person's drafts, those saved last first."""
    newest = select(scheme_drafts.c.id, func.max(scheme_drafts.c.edit).label("edit"))
    mine = (scheme_drafts.c.owner == owner, scheme_drafts.c.removed_at.is_(None))
    last = newest.where(*mine).group_by(scheme_drafts.c.id).subquery()
    query = _ROWS.select().join(last, (scheme_drafts.c.id == last.c.id) & (scheme_drafts.c.edit == last.c.edit))
    return _ROWS.list(db, query.order_by(scheme_drafts.c.saved_at.desc()))


def edits(db: Connection, owner: str, draft_id: str) -> list[SchemeDraft]:
    """Return every save of a draft that is kept, newest first."""
    return _ROWS.list(db, _own(owner, draft_id))


def set_removed(db: Connection, owner: str, draft_id: str, *, removed: bool) -> None:
    """Remove a draft, or bring it back; projects that were made from it are not touched."""
    mine = (scheme_drafts.c.owner == owner, scheme_drafts.c.id == draft_id)
    if not _ROWS.update(db, *mine, removed_at=now() if removed else None):
        raise UserError("There is no such scheme.", status=404)
    what = "scheme draft removed" if removed else "scheme draft brought back"
    events.record(db, by=owner, what=what, about=f"scheme draft {draft_id}")


def add_own(
    db: Connection, scheme: Scheme, written: Callable[[Scheme], str], *, by: str, taken: Collection[str]
) -> Scheme:
    """Return an author's scheme as the database has it now, `written` as YAML: a version of its own, never another's.

    `taken` are the names that ship. A name that somebody else has here gets a number, so that nobody learns of it by
    more than that; the same words under the author's own name are the same scheme.
    """
    rows = schemes.list_schemes(db)
    name, n = scheme.name, 2
    while name in taken or any(row.name == name and row.added_by != by for row in rows):
        name, n = f"{scheme.name}-{n}", n + 1
    mine = [row for row in rows if row.name == name]
    for row in mine:
        same = replace(scheme, name=name, version=row.version)
        if row.yaml == written(same):
            return same
    made = replace(scheme, name=name, version=1 + max((row.version for row in mine), default=0))
    schemes.save(db, made, written(made), by=by)
    return made


def _own(owner: str, draft_id: str) -> Select[Any]:
    mine = (scheme_drafts.c.owner == owner, scheme_drafts.c.id == draft_id)
    return _ROWS.select(*mine).order_by(scheme_drafts.c.edit.desc())


def personal_data(db: Connection, user_id: str, project_id: str | None) -> dict[str, Any]:
    """Return a person's drafts; nothing of a project."""
    if project_id is not None:
        return {}
    return {"schemes": plain_rows(db, scheme_drafts, scheme_drafts.c.owner == user_id)}


def forget_person(db: Connection, deletion: PersonDeletion) -> None:
    """Delete the drafts of a deleted account."""
    db.execute(delete(scheme_drafts).where(scheme_drafts.c.owner == deletion.user.id))
