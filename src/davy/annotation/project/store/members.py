"""Members: who is in a project, as what, and under which pseudonym.

A pseudonym is chosen by chance and stays with a person for the life of the
project, also after they leave, so that exports made years apart agree and
nobody can tell from it who joined first. Every page of a project begins with
`find_requester`: session, account, project and membership in one round trip.
"""

import secrets
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, and_, bindparam, select

from davy.annotation.project.project import PROJECT_ROLES, Member, Project
from davy.annotation.project.store.projects import get as get_project
from davy.annotation.project.store.projects import list_projects
from davy.annotation.project.store.tables import IS_THERE, MEMBERS, members, projects
from davy.core import UserError
from davy.people.store import sessions, users
from davy.people.store.sessions import SignInSession
from davy.people.store.tables import users as user_rows
from davy.people.store.users import User
from davy.store import events
from davy.store.columns import now
from davy.store.statements import PreparedStatement


def add(
    db: Connection, project_id: str, user_id: str, roles: Iterable[str], *, by: str, pool: str | None = None
) -> Member:
    """Put a person on a project's roster and return their membership; one who left comes back with these roles."""
    wanted = check_roles(roles)
    get_project(db, project_id)
    if not db.execute(select(user_rows.c.id).where(user_rows.c.id == user_id)).first():
        raise UserError(f"There is no account {user_id!r}.", status=404)
    known = get(db, project_id, user_id)
    if known is not None and known.left_at is None:
        raise UserError("This person is in the project already. Change their roles instead.", status=409)
    if known is not None:
        pool = pool if pool is not None else known.pool
        MEMBERS.update(db, *_key(project_id, user_id), roles=wanted, left_at=None, pool=pool)
    else:
        made = Member(project_id, user_id, wanted, _pseudonym(db, project_id), pool, added_at=now())
        MEMBERS.insert(db, made, added_by=by)
    _record(db, by, "member added", project_id, user_id, roles=list(wanted))
    return _require_member(db, project_id, user_id)


_ONE = MEMBERS.select(members.c.project == bindparam("project"), members.c.user_id == bindparam("user"))


def get(db: Connection, project_id: str, user_id: str) -> Member | None:
    """Return a person's membership, also one that ended, or None."""
    row = db.execute(_ONE, {"project": project_id, "user": user_id}).one_or_none()
    return None if row is None else MEMBERS.read(row)


def of_project(
    db: Connection, project_id: str, *, role: str | None = None, left: bool = False, lock: bool = False
) -> list[Member]:
    """Return a project's members by pseudonym; `left` adds those who left, `lock` lets nobody change them meanwhile."""
    query = MEMBERS.select(members.c.project == project_id)
    query = query.with_for_update() if lock else query
    query = query if left else query.where(members.c.left_at.is_(None))
    found = MEMBERS.list(db, query.order_by(members.c.pseudonym))
    return found if role is None else [member for member in found if role in member.roles]


def title(db: Connection, project_id: str) -> str:
    """Return what a project is called."""
    return get_project(db, project_id).title


def titles(db: Connection) -> dict[str, str]:
    """Return what each project is called, by id."""
    return {project.id: project.title for project in list_projects(db)}


def is_member(db: Connection, project_id: str, user_id: str) -> bool:
    """Return whether a person is in a project and has not left it."""
    known = get(db, project_id, user_id)
    return known is not None and known.left_at is None


def managed_by(db: Connection, user_id: str) -> list[str]:
    """Return the ids of the projects that a person manages."""
    own = select(members.c.project, members.c.roles).where(members.c.user_id == user_id, members.c.left_at.is_(None))
    own = own.join(projects, projects.c.id == members.c.project).where(IS_THERE)
    return [row.project for row in db.execute(own) if "manager" in row.roles.split("|")]


def set_roles(db: Connection, project_id: str, user_id: str, roles: Iterable[str], *, by: str) -> Member:
    """Change what a person may do in a project."""
    wanted = check_roles(roles)
    was = _require_member(db, project_id, user_id)
    if was.roles != wanted:
        MEMBERS.update(db, *_key(project_id, user_id), roles=wanted)
        _record(db, by, "member roles changed", project_id, user_id, was=list(was.roles), roles=list(wanted))
    return _require_member(db, project_id, user_id)


def set_pool(db: Connection, project_id: str, user_id: str, pool: str | None, *, by: str) -> Member:
    """Say which pool a person is of, such as `trained`."""
    _require_member(db, project_id, user_id)
    MEMBERS.update(db, *_key(project_id, user_id), pool=pool or None)
    _record(db, by, "member pool changed", project_id, user_id, pool=pool)
    return _require_member(db, project_id, user_id)


def leave(db: Connection, project_id: str, user_id: str, *, by: str) -> Member:
    """End a membership. What they hold goes back to the others: see `assignments`."""
    was = _require_member(db, project_id, user_id)
    if was.left_at is None:
        MEMBERS.update(db, *_key(project_id, user_id), left_at=now())
        _record(db, by, "member left", project_id, user_id)
    return _require_member(db, project_id, user_id)


def rejoin(db: Connection, project_id: str, user_id: str, *, by: str) -> Member:
    """Bring back a person who left, with the roles they had."""
    was = _require_member(db, project_id, user_id)
    if was.left_at is not None:
        MEMBERS.update(db, *_key(project_id, user_id), left_at=None)
        _record(db, by, "member added", project_id, user_id, roles=list(was.roles))
    return _require_member(db, project_id, user_id)


def consent(db: Connection, project_id: str, user_id: str) -> Member:
    """Note that a person read what the work is like and agreed to it."""
    if _require_member(db, project_id, user_id).consented_at is None:
        MEMBERS.update(db, *_key(project_id, user_id), consented_at=now())
        _record(db, user_id, "member consented", project_id, user_id)
    return _require_member(db, project_id, user_id)


def choose(db: Connection, project_id: str, user_id: str, **choices: Any) -> Member:
    """Keep how a person wants to work; None takes a choice back."""
    kept = {**_require_member(db, project_id, user_id).choices, **choices}
    kept = {name: value for name, value in kept.items() if value is not None}
    MEMBERS.update(db, *_key(project_id, user_id), choices=kept)
    return _require_member(db, project_id, user_id)


def read_until(db: Connection, project_id: str, user_id: str, at: datetime) -> None:
    """Note up to when a person has read the project's messages."""
    MEMBERS.update(db, *_key(project_id, user_id), read_until=at)


COLUMNS = MEMBERS.columns
member_from = MEMBERS.read
"""Returns the membership of a row that has the columns of `COLUMNS`."""


def check_roles(roles: Iterable[str]) -> tuple[str, ...]:
    """Return roles in their usual order, each once."""
    given = set(roles)
    unknown = sorted(given - set(PROJECT_ROLES))
    if unknown:
        raise UserError(f"{unknown[0]!r} is not a role in a project. Use {', '.join(PROJECT_ROLES)}.")
    if not given:
        raise UserError(f"Give at least one role: {', '.join(PROJECT_ROLES)}.")
    return tuple(role for role in PROJECT_ROLES if role in given)


def _pseudonym(db: Connection, project_id: str) -> str:
    taken = set(db.scalars(select(members.c.pseudonym).where(members.c.project == project_id)))
    digits = 2 if len(taken) < 60 else 4
    free = [name for n in range(1, 10**digits) if (name := f"A{n:0{digits}}") not in taken]
    return secrets.choice(free)


def _require_member(db: Connection, project_id: str, user_id: str) -> Member:
    found = get(db, project_id, user_id)
    if found is None:
        raise UserError("This person is not in the project. Invite them first.", status=404)
    return found


def _key(project_id: str, user_id: str) -> tuple[Any, Any]:
    return members.c.project == project_id, members.c.user_id == user_id


def _record(db: Connection, by: str, what: str, project_id: str, user_id: str, **details: Any) -> None:
    events.record(db, by=by, what=what, about=f"project {project_id}", user=user_id, **details)


_PROJECT_COLUMNS = [projects.c[name] for name in Project.__dataclass_fields__]
_REQUESTER_PARTS = (sessions.COLUMNS, users.COLUMNS, _PROJECT_COLUMNS, COLUMNS)
_REQUESTER = PreparedStatement(
    select(*(column for part in _REQUESTER_PARTS for column in part))
    .select_from(sessions.LIVE)
    .outerjoin(projects, and_(projects.c.id == bindparam("project"), IS_THERE))
    .outerjoin(
        members,
        and_(members.c.project == projects.c.id, members.c.user_id == users.COLUMNS[0]),
    )
    .where(*sessions.IS_LIVE)
)


def find_requester(
    db: Connection, token: str, project_id: str
) -> tuple[SignInSession, User, Project | None, Member | None] | None:
    """Return a live session with its account, a project and the membership in it, also one that ended.

    None where the token has no live session; no project where there is none of this id.
    """
    row = _REQUESTER.one(db, {**sessions.live_at(token), "project": project_id})
    if row is None:
        return None
    start, parts = 0, []
    for part in _REQUESTER_PARTS:
        parts.append(row[start : start + len(part)])
        start += len(part)
    session, account, project, member = parts
    return (
        SignInSession(*session),
        User(*account),
        Project(*project) if project[0] is not None else None,
        member_from(member) if member[0] is not None else None,
    )
