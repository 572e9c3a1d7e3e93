"""Sessions: who is signed in. The browser holds a token, the store its hash.

A session ends by signing out, by its expiry, after two days without use, when the password changes, or when the
account is disabled; from then on its token is worth nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, bindparam, delete, insert, select, update
from sqlalchemy.engine import Row

from davy.core.errors import UserError
from davy.people.store import users
from davy.people.store.tables import sessions
from davy.people.store.tables import users as users_table
from davy.store import events
from davy.store.columns import new_id, new_token, now, token_hash
from davy.store.statements import PreparedStatement

LASTS = timedelta(days=14)
IDLE = timedelta(days=2)
"""How long a session outlives its last use: over a night, not over a lost laptop."""
SEEN_EVERY = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class SignInSession:
    """One sign-in on one device; `client` is what the browser calls itself."""

    id: str
    user_id: str
    client: str | None
    created_at: datetime
    seen_at: datetime
    expires_at: datetime
    ended_at: datetime | None = None


def start(
    db: Connection, user_id: str, *, client: str | None = None, lasts: timedelta = LASTS
) -> tuple[SignInSession, str]:
    """Sign a user in; return the session with its token, which can't be shown again."""
    if users.get(db, user_id).disabled:
        raise UserError("This account is switched off. Ask an admin.", status=403)
    token, at = new_token(), now()
    session = SignInSession(new_id(), user_id, client[:200] if client else None, at, at, at + lasts)
    db.execute(
        insert(sessions).values(
            id=session.id,
            token_hash=token_hash(token),
            user_id=user_id,
            client=session.client,
            created_at=at,
            seen_at=at,
            expires_at=session.expires_at,
        )
    )
    events.record(db, by=user_id, what="session started", about=f"session {session.id}")
    return session, token


COLUMNS = [sessions.c[name] for name in SignInSession.__dataclass_fields__]
LIVE = sessions.join(users_table, sessions.c.user_id == users_table.c.id)
IS_LIVE = (
    sessions.c.token_hash == bindparam("hash"),
    sessions.c.ended_at.is_(None),
    sessions.c.expires_at > bindparam("at"),
    sessions.c.seen_at > bindparam("idle_since"),
    users_table.c.disabled_at.is_(None),
)
"""What a session must be for its token to be worth something; `places` asks it with every page of a project."""
_FIND = PreparedStatement(select(*COLUMNS, *users.COLUMNS).select_from(LIVE).where(*IS_LIVE))


def live_at(token: str) -> dict[str, object]:
    """Return the values that `IS_LIVE` asks for, as of now."""
    at = now()
    return {"hash": token_hash(token), "at": at, "idle_since": at - IDLE}


def find(db: Connection, token: str) -> tuple[SignInSession, users.User] | None:
    """Return the live session of a token and its user, or None. One indexed read; nothing is written."""
    row = _FIND.one(db, live_at(token))
    return None if row is None else (SignInSession(*row[: len(COLUMNS)]), users.User(*row[len(COLUMNS) :]))


def needs_touch(session: SignInSession) -> bool:
    """Whether `seen_at` is old enough to be worth a write."""
    return now() - session.seen_at > SEEN_EVERY


def touch(db: Connection, session_id: str) -> None:
    """Note that a session was used just now."""
    db.execute(update(sessions).where(sessions.c.id == session_id).values(seen_at=now()))


def end(db: Connection, session_id: str, *, by: str) -> None:
    """Sign a session out; one that has ended already stays as it is."""
    done = db.execute(
        update(sessions).where(sessions.c.id == session_id, sessions.c.ended_at.is_(None)).values(ended_at=now())
    )
    if done.rowcount:
        events.record(db, by=by, what="session ended", about=f"session {session_id}")


def end_all(db: Connection, user_id: str, *, by: str) -> int:
    """Sign a user out everywhere; return how many sessions ended."""
    done = db.execute(
        update(sessions).where(sessions.c.user_id == user_id, sessions.c.ended_at.is_(None)).values(ended_at=now())
    )
    if done.rowcount:
        events.record(db, by=by, what="sessions ended", about=f"user {user_id}", n=done.rowcount)
    return done.rowcount


def of_user(db: Connection, user_id: str) -> list[SignInSession]:
    """Return a user's live sessions, newest first."""
    query = select(sessions).where(
        sessions.c.user_id == user_id,
        sessions.c.ended_at.is_(None),
        sessions.c.expires_at > now(),
        sessions.c.seen_at > now() - IDLE,
    )
    return [_session(row) for row in db.execute(query.order_by(sessions.c.id.desc()))]


def sweep(db: Connection, *, older_than: timedelta = timedelta(days=30)) -> int:
    """Delete sessions that expired long ago; return how many. The events about them stay."""
    return db.execute(delete(sessions).where(sessions.c.expires_at < now() - older_than)).rowcount


def _session(row: Row[tuple[object, ...]]) -> SignInSession:
    return SignInSession(row.id, row.user_id, row.client, row.created_at, row.seen_at, row.expires_at, row.ended_at)
