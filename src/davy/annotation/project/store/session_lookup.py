"""Who is asking, and where they stand: a session, its account, a project and the membership in it, in one query.

Every page of a project begins with this, so it is one round trip.
"""

from sqlalchemy import Connection, and_, bindparam, select

from davy.annotation.project.project import Member, Project
from davy.annotation.project.store import members
from davy.annotation.project.store.tables import members as member_rows
from davy.annotation.project.store.tables import projects
from davy.people.store import sessions, users
from davy.people.store.sessions import SignInSession
from davy.people.store.users import User
from davy.store.statements import PreparedStatement

_PROJECT = [projects.c[name] for name in Project.__dataclass_fields__]
_PARTS = (sessions.COLUMNS, users.COLUMNS, _PROJECT, members.COLUMNS)
_STANDING = PreparedStatement(
    select(*(column for part in _PARTS for column in part))
    .select_from(sessions.LIVE)
    .outerjoin(projects, projects.c.id == bindparam("project"))
    .outerjoin(
        member_rows,
        and_(member_rows.c.project == projects.c.id, member_rows.c.user_id == users.COLUMNS[0]),
    )
    .where(*sessions.IS_LIVE)
)


def find_requester(
    db: Connection, token: str, project_id: str
) -> tuple[SignInSession, User, Project | None, Member | None] | None:
    """Return a live session with its account, a project and the membership in it, also one that ended.

    None where the token has no live session; no project where there is none of this id.
    """
    row = _STANDING.one(db, {**sessions.live_at(token), "project": project_id})
    if row is None:
        return None
    cut, found = 0, []
    for part in _PARTS:
        found.append(row[cut : cut + len(part)])
        cut += len(part)
    session, account, project, member = found
    return (
        SignInSession(*session),
        User(*account),
        Project(*project) if project[0] is not None else None,
        members.member_from(member) if member[0] is not None else None,
    )
