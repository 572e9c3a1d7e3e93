"""Invitations: the only way to an account, and to a project. A link holds a token; the store keeps its hash.

An invitation works once, until it expires or is taken back. Two people who use
one link at the same moment get one account between them: the second is refused.
One that names a project also puts whoever uses it on the roster; who has an
account already joins with that (`join`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import CheckConstraint, Column, Connection

from davy.core.errors import UserError
from davy.people.store import users
from davy.people.store.project_roster import project_roster
from davy.store import events
from davy.store.columns import TextColumn, new_id, new_token, now, table_index, token_hash
from davy.store.rows import Rows

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
    project: str | None = None
    project_roles: tuple[str, ...] = ()
    pool: str | None = None

    @property
    def state(self) -> str:
        """One of open, used, revoked, expired."""
        if self.used_at:
            return "used"
        if self.revoked_at:
            return "revoked"
        return "expired" if self.expires_at <= now() else "open"


_ROWS = Rows(
    Invitation,
    "invitations",
    Column("token_hash", TextColumn, nullable=False, unique=True),
    Column("project_roles", TextColumn),
    CheckConstraint("role IN ('admin', 'expert', 'annotator')", name="role"),
    table_index("ix_invitations_used_by", "used_by"),
    references={"used_by": "users.id"},
    joined={"project_roles": "|"},
)
invitations = _ROWS.table


def create(
    db: Connection,
    *,
    role: str,
    by: str,
    login: str | None = None,
    name: str | None = None,
    lasts: timedelta = LASTS,
    project: str | None = None,
    project_roles: Iterable[str] = (),
    pool: str | None = None,
) -> tuple[Invitation, str]:
    """Add an invitation; return it with its token, which can't be shown again. A login that it names may only
    have an account already where it invites to a project."""
    users.check_role(role)
    roles: tuple[str, ...] = ()
    if project is not None:
        project_roster().title(db, project)  # refuses one that there isn't
        roles = project_roster().check_roles(project_roles)
    if not timedelta(0) < lasts <= timedelta(days=365):
        raise UserError("An invitation lasts more than nothing and at most 365 days.")
    login = users.clean_login(login) if login else None
    if login and project is None and users.by_login(db, login):
        raise UserError(f"{login!r} already has an account. See: davy user list", status=409)
    token, at = new_token(), now()
    name = users.clean_name(name) if name else None
    invitation = Invitation(
        new_id(), role, login, name, by, at, at + lasts, project=project, project_roles=roles, pool=pool
    )
    _ROWS.insert(db, invitation, token_hash=token_hash(token))
    events.record(db, by=by, what="invitation created", about=f"invitation {invitation.id}", role=role)
    if project is not None:
        events.record(db, by=by, what="invited", about=f"project {project}", roles=list(roles))
    return invitation, token


def get_usable(db: Connection, token: str) -> Invitation:
    """Return the open invitation of a token; one that is unknown, used or expired is refused."""
    invitation = _ROWS.get(db, invitations.c.token_hash == token_hash(token))
    if invitation is None:
        raise UserError("This invitation is not known. Ask for a new link.", status=404)
    if invitation.state != "open":
        state_words = {"used": "was used already", "revoked": "was taken back", "expired": "has expired"}[
            invitation.state
        ]
        raise UserError(f"This invitation {state_words}. Ask for a new link.", status=410)
    return invitation


def accept(
    db: Connection, token: str, *, login: str, name: str, password_hash: str, language: str = "en"
) -> users.User:
    """Use an invitation up and return the new account. An invitation made for one login works for no other."""
    invitation = get_usable(db, token)
    _use_up(db, invitation)
    if invitation.login and users.clean_login(login) != invitation.login:
        raise _other_login(invitation.login)
    user = users.add(
        db,
        login=login,
        name=name,
        role=invitation.role,
        password_hash=password_hash,
        language=language,
        by=f"invitation {invitation.id}",
    )
    _used(db, invitation, user)
    return user


def join(db: Connection, token: str, user: users.User) -> Invitation:
    """Use a project's invitation up for an account that is there already, and return it."""
    invitation = get_usable(db, token)
    if invitation.project is None:
        raise UserError("This invitation makes an account, and you have one.", status=409)
    if invitation.login and user.login != invitation.login:
        raise _other_login(invitation.login)
    if project_roster().is_member(db, invitation.project, user.id):
        raise UserError("You are in this project already.", status=409)
    _use_up(db, invitation)
    _used(db, invitation, user)
    return invitation


def _use_up(db: Connection, invitation: Invitation) -> None:
    mine = (invitations.c.id == invitation.id, invitations.c.used_at.is_(None), invitations.c.revoked_at.is_(None))
    if _ROWS.update(db, *mine, used_at=now()) != 1:
        raise UserError("This invitation was used already. Ask for a new link.", status=410)


def _used(db: Connection, invitation: Invitation, user: users.User) -> None:
    _ROWS.update(db, invitations.c.id == invitation.id, used_by=user.id)
    events.record(db, by=user.id, what="invitation used", about=f"invitation {invitation.id}")
    if invitation.project is not None:
        by, roles = f"invitation {invitation.id}", invitation.project_roles
        project_roster().add(db, invitation.project, user.id, roles, by=by, pool=invitation.pool)


def _other_login(login: str) -> UserError:
    return UserError(f"This invitation is for {login!r}. Use that login.", status=403)


def revoke(db: Connection, invitation_id: str, *, by: str) -> None:
    """Take an open invitation back."""
    mine = (invitations.c.id == invitation_id, invitations.c.used_at.is_(None), invitations.c.revoked_at.is_(None))
    if _ROWS.update(db, *mine, revoked_at=now()) != 1:
        raise UserError(f"There is no open invitation {invitation_id!r}. List them: davy user list", status=404)
    events.record(db, by=by, what="invitation revoked", about=f"invitation {invitation_id}")


def list_unused(db: Connection, *, project: str | None = None) -> list[Invitation]:
    """Return the invitations that nobody has used or taken back, oldest first; expired ones too."""
    query = _ROWS.select(invitations.c.used_at.is_(None), invitations.c.revoked_at.is_(None))
    query = query if project is None else query.where(invitations.c.project == project)
    return _ROWS.list(db, query.order_by(invitations.c.id))


def count_open(db: Connection, project: str, role: str) -> int:
    """Return how many people are invited to a project in a role and may still come."""
    return sum(role in it.project_roles and it.state == "open" for it in list_unused(db, project=project))
