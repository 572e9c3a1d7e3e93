"""API keys: how programs sign in, and what each used by day. The store keeps a key's hash.

A key has an owner, scopes and perhaps an end. One that is bound to a project opens that project's API and nothing else.
A key reads `davy_` + eight characters that lists show + the secret part. It stops working when it is revoked, when it
expires, or when its owner is disabled. Servers add what they counted every few seconds.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta

from sqlalchemy import Column, Connection, select
from sqlalchemy.dialects import postgresql, sqlite

from davy.core.errors import UserError, nearest
from davy.people.store import users
from davy.people.store.project_roster import project_roster
from davy.people.store.tables import users as users_table
from davy.store import events
from davy.store.columns import TextColumn, new_id, new_token, now, table_index, token_hash
from davy.store.rows import Rows
from davy.text.language_code import check_language

SCOPES: tuple[str, ...] = ("score", "read", "annotate", "submit", "metrics", "admin")
"""What a key may do. `admin` includes the others, and only an admin's key can have it."""

PROJECT_SCOPES: tuple[str, ...] = ("read", "annotate")
"""What a key may do that is bound to a project."""

USED_EVERY = timedelta(minutes=1)
MOST_ALLOWED = 100_000_000
"""The largest limit that a key can have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyLimits:
    """How much a key may do."""

    per_minute: int | None = None
    """Requests a minute; None is the server's usual limit."""
    per_day: int | None = None
    """Posts a day; None is without a quota."""


LIMIT_UNITS = {"per_day": "posts a day", "per_minute": "requests a minute"}
"""What each limit counts, in the order of the form."""


@dataclass(frozen=True, slots=True)
class ApiKey(KeyLimits):
    """One key, without its secret."""

    id: str
    prefix: str
    name: str
    owner: str
    scopes: tuple[str, ...]
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    used_at: datetime | None = None
    project: str | None = None
    """The one project that it opens; None is whatever its owner may. No reference: `create` looks whether it exists."""
    lang: str | None = None
    """The language of its comments that name none, where it can't be told."""

    @property
    def state(self) -> str:
        """One of active, revoked, expired."""
        if self.revoked_at:
            return "revoked"
        return "expired" if self.expires_at and self.expires_at <= now() else "active"

    def allows(self, scope: str) -> bool:
        """Whether the key may do what `scope` names."""
        return scope in self.scopes or "admin" in self.scopes


_ROWS = Rows(
    ApiKey,
    "api_keys",
    Column("secret_hash", TextColumn, nullable=False, unique=True),
    table_index("ix_api_keys_owner", "owner"),
    table_index("ix_api_keys_project", "project", where="project IS NOT NULL"),
    references={"owner": "users.id"},
    joined={"scopes": " "},
)
api_keys = _ROWS.table


def create(
    db: Connection,
    *,
    name: str,
    owner: str,
    scopes: Sequence[str],
    by: str,
    lasts: timedelta | None = None,
    limits: KeyLimits | None = None,
    project: str | None = None,
    lang: str | None = None,
) -> tuple[ApiKey, str]:
    """Add a key for the user with id `owner`; return it with the secret, which can't be shown again.

    With `project` it opens this project alone, and its owner must be in it.
    """
    allowed = asdict(limits or KeyLimits())
    for name_of_limit, limit in allowed.items():
        if limit is not None and not 1 <= limit <= MOST_ALLOWED:
            raise UserError(f"A key may have 1 to {MOST_ALLOWED:,} {LIMIT_UNITS[name_of_limit]}, not {limit:,}.")
    user = users.get(db, owner)
    chosen = check_scopes(scopes)
    if "admin" in chosen and user.role != "admin":
        raise UserError(f"{user.login!r} is not an admin, so their key can't have the scope admin.", status=403)
    if project is not None:
        _check_project(db, project, user, chosen)
    if lasts is not None and lasts <= timedelta(0):
        raise UserError("A key lasts longer than nothing.")
    prefix = "".join(secrets.choice("abcdefghjkmnpqrstvwxyz0123456789") for _ in range(8))
    secret, at = f"davy_{prefix}_{new_token()}", now()
    expires = at + lasts if lasts else None
    key = ApiKey(
        *(new_id(), prefix, users.clean_name(name), owner, chosen, at, expires),
        **allowed,
        project=project,
        lang=check_language(lang),
    )
    _ROWS.insert(db, key, secret_hash=token_hash(secret))
    bound = {} if project is None else {"project": project}
    events.record(db, by=by, what="key created", about=f"key {key.id}", owner=owner, scopes=list(chosen), **bound)
    return key, secret


def _check_project(db: Connection, project_id: str, owner: users.User, scopes: Sequence[str]) -> None:
    """Refuse a key for a project where its owner is nobody, or with a scope that reaches beyond it."""
    project_roster().title(db, project_id)  # refuses one that there isn't
    if owner.role != "admin" and not project_roster().is_member(db, project_id, owner.id):
        raise UserError(f"{owner.login!r} is not in project {project_id!r}. A key's owner is one of its people.")
    beyond = [scope for scope in scopes if scope not in PROJECT_SCOPES]
    if beyond:
        raise UserError(
            f"A key for one project can't have the scope {beyond[0]!r}; choose from {', '.join(PROJECT_SCOPES)}."
        )


def check(db: Connection, secret: str, scope: str) -> tuple[ApiKey, users.User]:
    """Return the key and its owner if it may do what `scope` names. One indexed read; nothing is written."""
    key, user = find(db, secret)
    check_allowed(key, user, scope)
    return key, user


def find(db: Connection, secret: str) -> tuple[ApiKey, users.User]:
    """Return the key with this secret and its owner, whatever it may do."""
    row = db.execute(
        select(*_ROWS.columns, *users.COLUMNS)
        .select_from(api_keys.join(users_table, api_keys.c.owner == users_table.c.id))
        .where(api_keys.c.secret_hash == token_hash(secret))
    ).one_or_none()
    if row is None:
        raise UserError("This API key is not known. Make one: davy key create", status=401)
    n = len(_ROWS.columns)
    return _ROWS.read(row[:n]), users.User(*row[n:])


def check_allowed(key: ApiKey, user: users.User, scope: str) -> None:
    """Refuse a key that has ended, whose owner is switched off, or that may not do what `scope` names."""
    if scope not in SCOPES:
        raise ValueError(f"unknown scope {scope!r}")
    if user.disabled:
        raise UserError("The owner of this API key is switched off. Ask an admin.", status=401)
    if key.state != "active":
        raise UserError(f"This API key is {key.state}. Make another: davy key create", status=401)
    # An admin who was demoted keeps no admin key.
    if not key.allows(scope) or (scope == "admin" and user.role != "admin"):
        raise UserError(f"This API key has no scope {scope!r}; it has {', '.join(key.scopes)}.", status=403)


def needs_touch(key: ApiKey) -> bool:
    """Whether `used_at` is old enough to be worth a write."""
    return key.used_at is None or now() - key.used_at > USED_EVERY


def touch(db: Connection, key_id: str) -> None:
    """Note that a key was used just now."""
    _ROWS.update(db, api_keys.c.id == key_id, used_at=now())


def revoke(db: Connection, id_or_prefix: str, *, by: str) -> ApiKey:
    """Stop a key for good; return it. It is named by its id or by the eight characters that lists show."""
    wanted = id_or_prefix.removeprefix("davy_")[:20]
    matches = _ROWS.list(db, _ROWS.select((api_keys.c.id == wanted) | (api_keys.c.prefix == wanted[:8])))
    if len(matches) != 1:
        raise UserError(f"There is no one key {wanted[:8]!r}. List them: davy key list", status=404)
    key = matches[0]
    if key.revoked_at is None:
        key = replace(key, revoked_at=now())
        _ROWS.update(db, api_keys.c.id == key.id, revoked_at=key.revoked_at)
        events.record(db, by=by, what="key revoked", about=f"key {key.id}")
    return key


def list_keys(db: Connection, *, owner: str | None = None, project: str | None = None) -> list[ApiKey]:
    """Return the keys, or one owner's, or those bound to a project, oldest first."""
    query = _ROWS.select().order_by(api_keys.c.id)
    if project is not None:
        query = query.where(api_keys.c.project == project)
    if owner is not None:
        query = query.where(api_keys.c.owner == owner)
    return _ROWS.list(db, query)


def check_scopes(scopes: Sequence[str]) -> tuple[str, ...]:
    """Return the scopes in our order without repeats; an unknown one or none at all is refused."""
    for scope in scopes:
        if scope not in SCOPES:
            hint = nearest(scope, list(SCOPES))
            raise UserError(f"There is no scope {scope!r}; choose from {', '.join(SCOPES)}.{hint}")
    if not scopes:
        raise UserError(f"A key needs a scope; choose from {', '.join(SCOPES)}.")
    return tuple(scope for scope in SCOPES if scope in scopes)


@dataclass(frozen=True, slots=True)
class KeyUsage:
    """What one key used on one day (UTC, as 2026-11-16). A deleted key's bill stays countable."""

    key: str
    day: str
    requests: int = 0
    posts: int = 0


_USAGE_ROWS = Rows(KeyUsage, "api_usage", key=("key", "day"))
api_usage = _USAGE_ROWS.table


def add_usage(db: Connection, used: Iterable[KeyUsage]) -> None:
    """Add to what was counted before; several servers may add to the same key and day."""
    insert = sqlite.insert if db.dialect.name == "sqlite" else postgresql.insert
    for usage in used:
        made = insert(api_usage).values(_USAGE_ROWS.values(usage))
        sums = {name: api_usage.c[name] + made.excluded[name] for name in ("requests", "posts")}
        db.execute(made.on_conflict_do_update(index_elements=["key", "day"], set_=sums))


def usage_of_day(db: Connection, key_id: str, day: str) -> KeyUsage:
    """Return what a key used on a day."""
    return _USAGE_ROWS.get(db, api_usage.c.key == key_id, api_usage.c.day == day) or KeyUsage(key_id, day)
