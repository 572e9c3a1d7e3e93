"""Invitations: the only way to an account. A link holds a token; the store keeps its hash.

An invitation works once, until it expires or is taken back. Two people who use
one link at the same moment get one account between them: the second is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, insert, select, update
from sqlalchemy.engine import Row

from davy.core.errors import UserError
from davy.store import events, users
from davy.store.columns import new_id, new_token, now, token_hash
from davy.store.tables import invitations

LASTS = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Invitation:
    """Who may join, as what, until when."""

    id: str
    role: str
    login: str | None
    name: str | None
    invited_by: str | None
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None = None
    used_at: datetime | None = None
    used_by: str | None = None

    @property
    def state(self) -> str:
        """One of open, used, revoked, expired."""
        if self.used_at:
            return "used"
        if self.revoked_at:
            return "revoked"
        return "expired" if self.expires_at <= now() else "open"


def create(
    db: Connection,
    *,
    role: str,
    by: str,
    login: str | None = None,
    name: str | None = None,
    lasts: timedelta = LASTS,
) -> tuple[Invitation, str]:
    """Add an invitation; return it with its token, which can't be shown again."""
    users.check_role(role)
    if not timedelta(0) < lasts <= timedelta(days=365):
        raise UserError("An invitation lasts more than nothing and at most 365 days.")
    login = users.clean_login(login) if login else None
    if login and users.by_login(db, login):
        raise UserError(f"{login!r} already has an account. See: davy user list", status=409)
    token, at = new_token(), now()
    invitation = Invitation(new_id(), role, login, users.clean_name(name) if name else None, by, at, at + lasts)
    db.execute(
        insert(invitations).values(
            id=invitation.id,
            token_hash=token_hash(token),
            login=login,
            name=invitation.name,
            role=role,
            invited_by=by,
            created_at=at,
            expires_at=invitation.expires_at,
        )
    )
    events.record(db, by=by, what="invitation created", about=f"invitation {invitation.id}", role=role)
    return invitation, token


def look(db: Connection, token: str) -> Invitation:
    """Return the open invitation of a token; one that is unknown, used or expired is refused."""
    row = db.execute(select(invitations).where(invitations.c.token_hash == token_hash(token))).one_or_none()
    if row is None:
        raise UserError("This invitation is not known. Ask for a new link.", status=404)
    invitation = _invitation(row)
    if invitation.state != "open":
        said = {"used": "was used already", "revoked": "was taken back", "expired": "has expired"}[invitation.state]
        raise UserError(f"This invitation {said}. Ask for a new link.", status=410)
    return invitation


def accept(
    db: Connection, token: str, *, login: str, name: str, password_hash: str, language: str = "en"
) -> users.User:
    """Use an invitation up and return the new account. An invitation made for one login works for no other."""
    invitation = look(db, token)
    at = now()
    taken = db.execute(
        update(invitations)
        .where(invitations.c.id == invitation.id, invitations.c.used_at.is_(None), invitations.c.revoked_at.is_(None))
        .values(used_at=at)
    )
    if taken.rowcount != 1:
        raise UserError("This invitation was used already. Ask for a new link.", status=410)
    if invitation.login and users.clean_login(login) != invitation.login:
        raise UserError(f"This invitation is for {invitation.login!r}. Use that login.", status=403)
    user = users.add(
        db,
        login=login,
        name=name,
        role=invitation.role,
        password_hash=password_hash,
        language=language,
        by=f"invitation {invitation.id}",
    )
    db.execute(update(invitations).where(invitations.c.id == invitation.id).values(used_by=user.id))
    events.record(db, by=user.id, what="invitation used", about=f"invitation {invitation.id}")
    return user


def revoke(db: Connection, invitation_id: str, *, by: str) -> None:
    """Take an open invitation back."""
    done = db.execute(
        update(invitations)
        .where(invitations.c.id == invitation_id, invitations.c.used_at.is_(None), invitations.c.revoked_at.is_(None))
        .values(revoked_at=now())
    )
    if done.rowcount != 1:
        raise UserError(f"There is no open invitation {invitation_id!r}. List them: davy user list", status=404)
    events.record(db, by=by, what="invitation revoked", about=f"invitation {invitation_id}")


def unused(db: Connection) -> list[Invitation]:
    """Return the invitations that nobody has used or taken back, oldest first; expired ones too."""
    query = select(invitations).where(invitations.c.used_at.is_(None), invitations.c.revoked_at.is_(None))
    return [_invitation(row) for row in db.execute(query.order_by(invitations.c.id))]


def _invitation(row: Row[tuple[object, ...]]) -> Invitation:
    return Invitation(
        row.id,
        row.role,
        row.login,
        row.name,
        row.invited_by,
        row.created_at,
        row.expires_at,
        row.revoked_at,
        row.used_at,
        row.used_by,
    )
