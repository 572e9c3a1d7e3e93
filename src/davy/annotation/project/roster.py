"""Putting people on a project's roster: an account at once, anybody else by a link that works once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from davy.annotation.project.project import Member
from davy.annotation.project.store import members
from davy.people.store import invitations, users
from davy.people.store.invitations import LASTS, Invitation
from davy.people.store.users import User
from davy.store import Connection


@dataclass(frozen=True, slots=True)
class Joined:
    """An account that is on the roster now."""

    user: User
    member: Member


@dataclass(frozen=True, slots=True)
class Invited:
    """An invitation for somebody without an account; its token can't be shown again."""

    invitation: Invitation
    token: str


def invite(
    db: Connection,
    project: str,
    login: str | None,
    roles: Iterable[str],
    *,
    by: str,
    lasts: timedelta = LASTS,
    pool: str | None = None,
) -> Joined | Invited:
    """Add the account of a login to a project; without one, make an invitation for that login, or for anyone."""
    user = users.by_login(db, login) if login else None
    if user is not None:
        return Joined(user, members.add(db, project, user.id, roles, by=by, pool=pool))
    made, token = invitations.create(
        db, role="annotator", login=login, by=by, lasts=lasts, project=project, project_roles=roles, pool=pool
    )
    return Invited(made, token)
