"""Which schemes a person may begin a project with: those that ship, those that the operator added, and their own."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from davy import schemes as shipped
from davy.annotation.project import project_file
from davy.core import Scheme, Wording
from davy.core.errors import UserError
from davy.scheme_editor import draft
from davy.scheme_editor import store as scheme_drafts
from davy.schemes.store import schemes
from davy.store import Connection, events
from davy.web.errors import LocalizedError

if TYPE_CHECKING:
    from davy.people.store.users import User

OPERATOR = (events.SHELL, events.SYSTEM)


@cache
def shipped_titles(lang: str) -> tuple[tuple[str, str], ...]:
    """Return the shipped schemes with their titles; they are read once, since that takes a while."""
    return tuple((name, shipped.load(name).title.said_in(lang) or name) for name in shipped.names())


def shared_schemes(db: Connection, lang: str) -> list[tuple[str, str]]:
    """Return (name, title) of the schemes that everybody here may use; what people wrote for themselves is not."""
    titles = dict(shipped_titles(lang))
    added = {row.name for row in schemes.list_schemes(db) if row.added_by in OPERATOR}
    return [(name, titles.get(name, name)) for name in sorted(added | set(titles))]


def own_drafts(db: Connection, who: User, lang: str) -> list[dict[str, Any]]:
    """Return somebody's own schemes for a list: id, name, title, how many questions, whether it can be used."""
    return [
        {
            "id": it.id,
            "name": it.name,
            "title": Wording(it.content.get("title") or "").said_in(lang) or it.name,
            "questions": len(it.content["questions"]),
            "ready": not draft.problems(it.content),
            "saved_at": it.saved_at,
        }
        for it in scheme_drafts.of_owner(db, who.id)
    ]


def scheme_for_project(db: Connection, who: User, draft_id: str) -> tuple[Scheme, str]:
    """Return somebody's own draft as a scheme of the database, with its YAML, for a project that is being made."""
    found = own_draft(db, who, draft_id)
    if draft.problems(found.content):
        raise LocalizedError("scheme_not_ready", status=422)
    scheme = draft.finished(found.content)
    kept = scheme_drafts.add_own(db, scheme, shipped.to_yaml, by=who.id, taken=shipped.names())
    return kept, shipped.to_yaml(kept)


def scheme_at(db: Connection, who: User, kind: str, name: str) -> Scheme:
    """Return the scheme that a new project begins with: a preset's, a shared one's or somebody's own."""
    if kind == "own":
        return draft.finished(own_draft(db, who, name).content)
    if kind == "preset" and name in project_file.preset_names():
        name = project_file.read_plan(name).scheme
    elif kind != "scheme" or name not in dict(shared_schemes(db, "en")):
        raise LocalizedError("no_scheme", status=404)
    return shipped.load(name) if name in shipped.names() else shipped.parse(schemes.get(db, name).yaml)


def own_draft(db: Connection, who: User, draft_id: str) -> scheme_drafts.SchemeDraft:
    """Return somebody's own draft; another's is not found."""
    try:
        return scheme_drafts.get(db, who.id, draft_id)
    except UserError:
        raise LocalizedError("no_scheme", status=404) from None
