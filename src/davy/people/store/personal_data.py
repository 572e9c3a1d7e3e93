"""A person's data: all of it as plain values, and its deletion. Answers stay under the pseudonym, or go too.

Deleting takes away what says who somebody is (name, login, password, sessions, keys), and asks every feature to forget
the person. The account's row stays as an empty shell, since answers point at its id. One event remains; it says that
it was done.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pkgutil import resolve_name
from typing import Any

from sqlalchemy import Connection, Table, delete, or_, select, text, update

from davy.core.feature import features
from davy.people.store import users
from davy.people.store.invitations import invitations
from davy.people.store.keys import api_keys, api_usage
from davy.people.store.tables import sessions
from davy.people.store.tables import users as users_table
from davy.store import events
from davy.store.columns import now
from davy.store.events import events as events_table

GONE = "–"
"""What stands in the name of an account whose data was deleted."""
_HIDDEN = {"token_hash", "secret_hash", "password_hash", "readers", "figure", "predictions"}
"""What a person's own copy leaves out: secrets, who else read something, figures of boards that may be private."""


@dataclass(frozen=True, slots=True)
class PersonDeletion:
    """Whose account is deleted, by whom, and whether their comments on posts go too."""

    user: users.User
    by: str
    comments: bool = True


@dataclass(frozen=True, slots=True)
class DeletionCounts:
    """What a deletion took away: how many projects it touched, and how many answers went too."""

    projects: int
    answers: int = 0


def export(db: Connection, user_id: str, *, project_id: str | None = None) -> dict[str, Any]:
    """Return everything that is kept about a person as plain values, of one project or of all and the account."""
    made: dict[str, Any] = {"made_at": plain_value(now())}
    if project_id is None:
        made |= _account(db, user_id)
    for feature in features():
        if feature.personal_data is not None:
            made |= resolve_name(feature.personal_data)(db, user_id, project_id)
    return made


def _account(db: Connection, user_id: str) -> dict[str, Any]:
    user = users.get(db, user_id)
    names = ("id", "login", "name", "role", "language", "created_at", "choices")
    quiet = events_table.c.what != "post annotated"  # each stands with what was answered
    return {
        "account": plain_values({name: getattr(user, name) for name in names}),
        "sessions": plain_rows(db, sessions, sessions.c.user_id == user_id),
        "keys": plain_rows(db, api_keys, api_keys.c.owner == user_id),
        "invitations": plain_rows(db, invitations, invitations.c.used_by == user_id),
        "events": plain_rows(db, events_table, events_table.c.by == user_id, quiet),
    }


def delete_account(db: Connection, user_id: str, *, by: str, comments: bool = True) -> DeletionCounts:
    """Delete a person's data in all features, and their account; the last admin's is refused."""
    user = users.get(db, user_id)
    by = without_name(by, user_id)
    users.disable(db, user_id, by=by)
    if db.dialect.name == "sqlite":
        db.execute(text("PRAGMA secure_delete = ON"))  # freed pages are zeroed, not left readable in the file
    done = DeletionCounts(0)
    for feature in features():
        if feature.forget_person is not None:
            counts = resolve_name(feature.forget_person)(db, PersonDeletion(user, by, comments))
            done = done if counts is None else counts
    db.execute(delete(sessions).where(sessions.c.user_id == user_id))
    own_keys = list(db.scalars(select(api_keys.c.id).where(api_keys.c.owner == user_id)))
    db.execute(delete(api_usage).where(api_usage.c.key.in_(own_keys)))
    db.execute(delete(api_keys).where(api_keys.c.owner == user_id))
    invited = or_(invitations.c.used_by == user_id, invitations.c.login == user.login)
    db.execute(update(invitations).where(invited).values(login=None, name=None))
    values = {"login": f"deleted-{user_id}", "name": GONE, "password_hash": None, "role": "annotator"}
    db.execute(update(users_table).where(users_table.c.id == user_id).values(**values, language="en", choices=None))
    events.record(db, by=by, what="personal data deleted", about=f"user {user_id}")
    return done


def is_deleted(user: users.User) -> bool:
    """Return whether an account is the empty shell that a deletion leaves."""
    return user.name == GONE and user.login.startswith("deleted-")


def plain_rows(db: Connection, table: Table, *where: Any) -> list[dict[str, Any]]:
    """Return rows of a table as a person's own copy has them, without secrets."""
    query = select(table).where(*where).order_by(*table.primary_key.columns)
    return [plain_values(dict(row._mapping)) for row in db.execute(query)]


def plain_values(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return values as JSON has them, without secrets."""
    return {str(name): plain_value(value) for name, value in given.items() if str(name) not in _HIDDEN}


def plain_value(value: Any) -> Any:
    """Return one value as JSON has it."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(name): plain_value(part) for name, part in value.items()}
    return [plain_value(part) for part in value] if isinstance(value, tuple | list) else value


def without_name(by: str, user_id: str) -> str:
    """Return who did it, but not where that is the person whose data goes."""
    return events.SYSTEM if by == user_id else by
