"""Schemes that people write in the browser: each is its author's alone, and every save of one is kept for a while.

A project that is made from a draft gets it as a scheme of the database (`add_own`), which then never changes: its
author can go on writing without touching the project.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, delete, func, insert, select, update

from davy.core import Scheme, UserError
from davy.store import events, schemes
from davy.store.columns import new_id, now
from davy.store.tables import scheme_drafts

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

MOST_EDITS = 100
"""Saves of one draft that are kept; older ones go."""


@dataclass(frozen=True, slots=True)
class SchemeDraft:
    """A draft as it was saved for the `edit`th time."""

    id: str
    edit: int
    owner: str
    content: dict[str, Any]
    saved_at: datetime

    @property
    def name(self) -> str:
        """What its author calls it in files and addresses."""
        return str(self.content.get("name", ""))


def create(db: Connection, owner: str, content: Mapping[str, Any]) -> SchemeDraft:
    """Add a draft and return it."""
    made = SchemeDraft(new_id(), 1, owner, dict(content), now())
    _insert(db, made)
    events.record(db, by=owner, what="scheme draft made", about=f"scheme draft {made.id}")
    return made


def get(db: Connection, owner: str, draft_id: str, edit: int | None = None) -> SchemeDraft:
    """Return somebody's own draft, as it is or as it was; another's is not found."""
    query = _own(owner, draft_id).where(scheme_drafts.c.removed_at.is_(None))
    query = query if edit is None else query.where(scheme_drafts.c.edit == edit)
    row = db.execute(query.limit(1)).one_or_none()
    if row is None:
        raise UserError("There is no such scheme.", status=404)
    return _draft(row)


def save(db: Connection, draft: SchemeDraft, content: Mapping[str, Any]) -> SchemeDraft:
    """Save a draft and return it; what did not change is not saved again."""
    newest = get(db, draft.owner, draft.id)
    if newest.content == content:
        return newest
    made = replace(newest, edit=newest.edit + 1, content=dict(content), saved_at=now())
    _insert(db, made)
    old = (scheme_drafts.c.id == draft.id, scheme_drafts.c.edit <= made.edit - MOST_EDITS)
    db.execute(delete(scheme_drafts).where(*old))
    return made


def of_owner(db: Connection, owner: str) -> list[SchemeDraft]:
    """Return a person's drafts, those saved last first."""
    newest = select(scheme_drafts.c.id, func.max(scheme_drafts.c.edit).label("edit"))
    mine = (scheme_drafts.c.owner == owner, scheme_drafts.c.removed_at.is_(None))
    last = newest.where(*mine).group_by(scheme_drafts.c.id).subquery()
    query = select(scheme_drafts).join(last, (scheme_drafts.c.id == last.c.id) & (scheme_drafts.c.edit == last.c.edit))
    return [_draft(row) for row in db.execute(query.order_by(scheme_drafts.c.saved_at.desc()))]


def edits(db: Connection, owner: str, draft_id: str) -> list[SchemeDraft]:
    """Return every save of a draft that is kept, newest first."""
    return [_draft(row) for row in db.execute(_own(owner, draft_id))]


def set_removed(db: Connection, owner: str, draft_id: str, *, removed: bool) -> None:
    """Remove a draft, or bring it back; projects that were made from it are not touched."""
    mine = (scheme_drafts.c.owner == owner, scheme_drafts.c.id == draft_id)
    done = db.execute(update(scheme_drafts).where(*mine).values(removed_at=now() if removed else None))
    if not done.rowcount:
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


def _own(owner: str, draft_id: str) -> Any:
    mine = (scheme_drafts.c.owner == owner, scheme_drafts.c.id == draft_id)
    return select(scheme_drafts).where(*mine).order_by(scheme_drafts.c.edit.desc())


def _insert(db: Connection, draft: SchemeDraft) -> None:
    values = {name: getattr(draft, name) for name in SchemeDraft.__dataclass_fields__}
    db.execute(insert(scheme_drafts).values(**values))


def _draft(row: Any) -> SchemeDraft:
    return SchemeDraft(row.id, row.edit, row.owner, row.content, row.saved_at)
