"""People with an account. The store keeps a password's hash and never sees the password.

A login is an e-mail address or a short name; upper and lower case are the same.
There is always at least one admin who can sign in: the last can't be removed.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, func, insert, select, update
from sqlalchemy.engine import Row
from sqlalchemy.exc import IntegrityError

from davy.core.errors import UserError, nearest
from davy.people.store.tables import sessions, users
from davy.store import events
from davy.store.columns import new_id, now

ROLES: tuple[str, ...] = ("admin", "expert", "annotator")


@dataclass(frozen=True, slots=True)
class User:
    """One account. A disabled one can't sign in and its keys don't work; what they did stays."""

    id: str
    login: str
    name: str
    role: str
    language: str
    created_at: datetime
    disabled_at: datetime | None = None
    password_hash: str | None = field(default=None, repr=False)
    choices: Mapping[str, Any] | None = field(default=None, hash=False)
    """How this person likes to work, in every project and browser; what each means is the pages' affair."""

    @property
    def disabled(self) -> bool:
        """Whether the account is switched off."""
        return self.disabled_at is not None


COLUMNS = [users.c[name] for name in User.__dataclass_fields__]


def add(
    db: Connection,
    *,
    login: str,
    name: str,
    role: str,
    by: str,
    password_hash: str | None = None,
    language: str = "en",
) -> User:
    """Add an account and return it; a login that is taken is refused."""
    login, name = clean_login(login), clean_name(name)
    check_role(role)
    user = User(new_id(), login, name, role, language, now(), None, password_hash)
    if by_login(db, login) is not None:
        raise UserError(f"Login {login!r} is taken. Choose another.", status=409)
    values = {
        "id": user.id,
        "login": login,
        "name": name,
        "role": role,
        "language": language,
        "password_hash": password_hash,
        "created_at": user.created_at,
    }
    try:
        db.execute(insert(users).values(values))
    except IntegrityError:  # someone took it between the look and the insert
        raise UserError(f"Login {login!r} is taken. Choose another.", status=409) from None
    events.record(db, by=by, what="user added", about=f"user {user.id}", role=role)
    return user


def get(db: Connection, user_id: str) -> User:
    """Return the user with this id."""
    row = db.execute(select(users).where(users.c.id == user_id)).one_or_none()
    if row is None:
        raise UserError(f"There is no user {user_id!r}. List them: davy user list", status=404)
    return user_of(row)


def by_login(db: Connection, login: str) -> User | None:
    """Return the user with this login, or None."""
    row = db.execute(select(users).where(users.c.login == fold_login(login))).one_or_none()
    return None if row is None else user_of(row)


def find(db: Connection, login_or_id: str) -> User:
    """Return the user with this login or id; the error suggests a login that is close."""
    row = db.execute(
        select(users).where((users.c.login == fold_login(login_or_id)) | (users.c.id == login_or_id))
    ).one_or_none()
    if row is None:
        logins = [str(it) for it in db.scalars(select(users.c.login).order_by(users.c.login).limit(1000))]
        hint = nearest(fold_login(login_or_id), logins) or " List them: davy user list"
        raise UserError(f"There is no user {login_or_id!r}.{hint}", status=404)
    return user_of(row)


def list_users(db: Connection) -> list[User]:
    """Return all users, by login."""
    return [user_of(row) for row in db.execute(select(users).order_by(users.c.login))]


def count(db: Connection) -> int:
    """Return how many accounts there are, disabled ones too."""
    return db.execute(select(func.count()).select_from(users)).scalar_one()


def set_role(db: Connection, user_id: str, role: str, *, by: str) -> None:
    """Change what a user may do."""
    check_role(role)
    user = get(db, user_id)
    if role != "admin":
        _keep_an_admin(db, user)
    db.execute(update(users).where(users.c.id == user_id).values(role=role))
    events.record(db, by=by, what="user role set", about=f"user {user_id}", was=user.role, role=role)


def set_password(db: Connection, user_id: str, password_hash: str, *, by: str, keep_session: str | None = None) -> None:
    """Change a user's password and end their sessions, but for the one named in `keep_session`."""
    get(db, user_id)
    db.execute(update(users).where(users.c.id == user_id).values(password_hash=password_hash))
    _end_sessions(db, user_id, keep=keep_session)
    events.record(db, by=by, what="user password set", about=f"user {user_id}")


def rehash_password(db: Connection, user_id: str, password_hash: str) -> None:
    """Keep the same password under newer hash settings; sessions go on."""
    db.execute(update(users).where(users.c.id == user_id).values(password_hash=password_hash))


def set_language(db: Connection, user_id: str, language: str, *, by: str) -> None:
    """Change the language of a user's pages."""
    get(db, user_id)
    db.execute(update(users).where(users.c.id == user_id).values(language=language))
    events.record(db, by=by, what="user language set", about=f"user {user_id}", language=language)


def choose(db: Connection, user_id: str, **choices: Any) -> User:
    """Keep how a person likes to work; None takes a choice back. No event: it is nobody else's business."""
    kept = {**(get(db, user_id).choices or {}), **choices}
    kept = {name: value for name, value in kept.items() if value is not None}
    db.execute(update(users).where(users.c.id == user_id).values(choices=kept))
    return get(db, user_id)


def disable(db: Connection, user_id: str, *, by: str) -> None:
    """Switch an account off at once: its sessions end and its keys stop working."""
    user = get(db, user_id)
    if user.disabled:
        return
    _keep_an_admin(db, user)
    db.execute(update(users).where(users.c.id == user_id).values(disabled_at=now()))
    _end_sessions(db, user_id)
    events.record(db, by=by, what="user disabled", about=f"user {user_id}")


def enable(db: Connection, user_id: str, *, by: str) -> None:
    """Switch an account on again; its keys work again, its old sessions stay ended."""
    if not get(db, user_id).disabled:
        return
    db.execute(update(users).where(users.c.id == user_id).values(disabled_at=None))
    events.record(db, by=by, what="user enabled", about=f"user {user_id}")


def check_role(role: str) -> None:
    """Refuse a role that there is not."""
    if role not in ROLES:
        raise UserError(f"There is no role {role!r}; choose {', '.join(ROLES)}.{nearest(role, list(ROLES))}")


def clean_login(login: str) -> str:
    """Return the login as it is stored; one that is empty, too long or has spaces is refused."""
    folded = fold_login(login)
    if not folded or len(folded) > 254 or any(c.isspace() or not c.isprintable() for c in folded):
        raise UserError("A login is an e-mail address or a short name: 1 to 254 characters, no spaces.")
    return folded


def clean_name(name: str) -> str:
    """Return the name as it is stored; one that is empty, too long or has control characters is refused."""
    name = name.strip()
    if not name or len(name) > 200 or not name.isprintable():
        raise UserError("A name has 1 to 200 characters on one line.")
    return name


def user_of(row: Row[tuple[object, ...]]) -> User:
    """Return the user of a row of the users table."""
    return User(*[getattr(row, name) for name in User.__dataclass_fields__])


def fold_login(login: str) -> str:
    """Return the one spelling under which a login is kept and found: full-width letters and case make no difference."""
    return unicodedata.normalize("NFKC", login).strip().casefold()


def _keep_an_admin(db: Connection, user: User) -> None:
    if user.role != "admin" or user.disabled:
        return
    # Locked, so that two admins who remove each other at once can't both succeed.
    admins = db.scalars(
        select(users.c.id)
        .where(users.c.role == "admin", users.c.disabled_at.is_(None))
        .order_by(users.c.id)
        .with_for_update()
    ).all()
    if set(admins) <= {user.id}:
        raise UserError(f"{user.login!r} is the last admin. Make someone else admin first.", status=409)


def _end_sessions(db: Connection, user_id: str, *, keep: str | None = None) -> None:
    query = update(sessions).where(sessions.c.user_id == user_id, sessions.c.ended_at.is_(None))
    if keep is not None:
        query = query.where(sessions.c.id != keep)
    db.execute(query.values(ended_at=now()))
