"""Who is asking: a person with a session, a program with a key, or nobody yet.

Routes state what they need in their signature: `Depends(allowed("invite people"))`
for a permission, `Depends(form)` for a form that passed the CSRF check, and
`Depends(key_or_session("score"))` for the API. All database work happens in
worker threads: plain functions, which FastAPI runs off the event loop, and what
the API's checks hand to a thread where a key is not known already.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, TypeVar
from urllib.parse import parse_qsl

from anyio import to_thread
from fastapi import Depends
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request

from davy.core.errors import UserError, about_field
from davy.people.permissions import may
from davy.people.quotas import rate_of
from davy.people.store import keys, sessions
from davy.people.store.sessions import SignInSession
from davy.people.store.users import User
from davy.web import cookies, csrf
from davy.web.context import context_of
from davy.web.errors import LocalizedError, SignInRequired
from davy.web.limits import Rate

MOST_FIELDS = 100
MOST_LARGE = 4_000
"""Fields of the few forms that hold a long list, such as the labels of a question or the words of a post."""


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who sent a request; `account` is None before sign-in."""

    account: User | None = None
    session_id: str | None = None
    stale: bool = False
    """Whether it is time to note again that the session was used."""
    since: datetime | None = None
    """When the session began: its password was given then."""


def find_visitor(request: Request) -> Visitor:
    """Return who sent this request, by their session cookie. Pages read the language from it."""
    known: Visitor | None = getattr(request.state, "visitor", None)
    if known is not None:
        return known
    token = cookies.read(request, "session")
    if not token:
        return set_visitor(request, None)
    with context_of(request).store.read() as db:
        session_and_user = sessions.find(db, token)
    who = set_visitor(request, session_and_user)
    touch(request, who)
    return who


def set_visitor(request: Request, session_and_user: tuple[SignInSession, User] | None) -> Visitor:
    """Note who sent a request, for whatever else looks at it, and return them."""
    who = Visitor()
    if session_and_user is not None:
        session, account = session_and_user
        who = Visitor(account, session.id, sessions.needs_touch(session), session.created_at)
    request.state.visitor = who
    return who


def touch(request: Request, who: Visitor) -> None:
    """Note that a session was used, where that was not noted for a while."""
    if who.session_id and who.stale:
        with context_of(request).store.write() as db:
            sessions.touch(db, who.session_id)


def _visitor(request: Request) -> Visitor:
    return find_visitor(request)


Anyone = Annotated[Visitor, Depends(_visitor)]


def allowed(act: str) -> Callable[[Visitor], User]:
    """Return a dependency that gives the account if its role has the permission."""

    def check(who: Anyone) -> User:
        if who.account is None:
            raise SignInRequired
        if not may(who.account.role, act):
            raise LocalizedError("not_allowed", status=403)
        return who.account

    return check


async def read_fields(request: Request, most: int = MOST_FIELDS) -> FormData:
    """Return a form's fields as they were sent, before any check."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        return await request.form(max_files=0, max_fields=most)
    try:  # the usual kind, in a tenth of the time
        body = (await request.body()).decode("latin-1")
        fields: list[tuple[str, Any]] = list(
            parse_qsl(body, keep_blank_values=True, errors="replace", max_num_fields=most)
        )
        return FormData(fields)
    except ValueError:
        raise HTTPException(400) from None


def check_form(request: Request, fields: FormData) -> None:
    """Refuse a form that our own pages did not send."""
    token = request.headers.get("x-csrf-token") or fields.get("csrf")
    csrf.check(request, token if isinstance(token, str) else None)


async def _form(request: Request) -> FormData:
    fields = await read_fields(request)
    check_form(request, fields)
    return fields


async def _large_form(request: Request) -> FormData:
    fields = await read_fields(request, MOST_LARGE)
    check_form(request, fields)
    return fields


Form = Annotated[FormData, Depends(_form)]
LargeForm = Annotated[FormData, Depends(_large_form)]


def field(form: FormData, name: str, *, most: int = 500) -> str:
    """Return one field's text, trimmed; one that is too long is refused."""
    value = form.get(name)
    text = value.strip() if isinstance(value, str) else ""
    with about_field(name):
        if len(text) > most:
            raise LocalizedError("too_long", status=413, most=most, got=len(text))
    return text


def whole_number(form: FormData, name: str, *, most: int = 10**9) -> int | None:
    """Return a field's whole number above 0, or None where it is empty; anything else is refused."""
    text = field(form, name, most=20)
    with about_field(name):
        if text and not (text.isascii() and text.isdigit() and 0 < int(text) <= most):
            raise LocalizedError("number", status=422, given=text)
    return int(text) if text else None


def client_address(request: Request) -> str:
    """Return where the request came from: the client's address, a network of 64 bits for IPv6."""
    host = request.client.host if request.client else "unknown"
    return ":".join(host.split(":")[:4]) if ":" in host else host


def check_rate(request: Request, kind: str, name: str, cost: float = 1.0, *, rate: Rate | None = None) -> None:
    """Take from a rate limit; refuse with 429 and the seconds to wait when it is used up."""
    context = context_of(request)
    drawn = context.limiter.draw(kind, name, cost, rate=rate)
    if kind == "api key":  # told in the headers of the answer
        request.state.drawn = drawn
    if drawn.wait:
        context.metrics.count("rate_limited")
        raise LocalizedError("too_many", status=429, wait=drawn.wait, seconds=int(drawn.wait) + 1)


@dataclass(frozen=True, slots=True)
class ApiAccess:
    """What a route of the API asks for: the scope of a key, and where the key or the session may be."""

    scope: str
    places: tuple[str, ...] = ("bearer", "session")


Check = TypeVar("Check", bound=Callable[..., Any])


def with_access(check: Check, access: ApiAccess) -> Check:
    """Return a dependency that the API's description can ask for its scope."""
    check.access = access  # type: ignore[attr-defined]
    return check


def key_or_session(scope: str, act: str) -> Callable[..., Awaitable[User]]:
    """Return a dependency for the API: a key with the scope, or a session whose role has the permission.

    A request that rides on the session cookie must prove its origin like a form, with the X-CSRF-Token header.
    """

    async def check(request: Request) -> User:
        who = await authorise(request, scope, act)
        _count_under_way(request)
        return who

    return with_access(check, ApiAccess(scope))


def _count_under_way(request: Request) -> None:
    """Count a request as under way from now on, where it came through a scoring door: its sender is known."""
    count = getattr(request.state, "count_under_way", None)
    if count is not None:
        count()


async def authorise(request: Request, scope: str, act: str, *, project: str | None = None) -> User:
    """Return whose key or session a request came with, if it may do this; `project` is whose API the route is."""
    authorization = request.headers.get("authorization")
    if authorization is None:
        who = await to_thread.run_sync(find_visitor, request)
        if who.account is None:
            raise SignInRequired
        if request.method not in ("GET", "HEAD"):
            csrf.check(request, request.headers.get("x-csrf-token"))
        if not may(who.account.role, act):
            raise LocalizedError("not_allowed", status=403)
        return who.account
    kind, _, secret = authorization.partition(" ")
    if kind.lower() != "bearer" or not secret.strip():
        raise LocalizedError("bearer", status=401)
    return await _by_key(request, secret.strip(), scope, act, project)


def key_only(scope: str, act: str) -> Callable[..., Awaitable[User]]:
    """Return a dependency for the shapes of other services, whose clients send a key in one of three places.

    A session never counts, so a page of another site can't use a reader's.
    """

    async def check(request: Request) -> User:
        headers = request.headers
        kind, _, bearer = headers.get("authorization", "").partition(" ")
        secret = request.query_params.get("key") or headers.get("x-goog-api-key") or ""
        secret = secret or (bearer if kind.lower() == "bearer" else "")
        if not secret.strip():
            raise SignInRequired
        who = await _by_key(request, secret.strip(), scope, act)
        _count_under_way(request)
        return who

    return with_access(check, ApiAccess(scope, ("key", "google", "bearer")))


async def _by_key(request: Request, secret: str, scope: str, act: str, project: str | None = None) -> User:
    context = context_of(request)
    known = context.key_cache.recall(secret)
    try:
        if known is None:
            key, owner = await to_thread.run_sync(context.key_cache.look_up, secret, scope)
        else:
            key, owner = known
            keys.check_allowed(key, owner, scope)
        # The wall of a key that is bound to a project: a route that names no project, or another, is closed to it.
        if key.project is not None and key.project != project:
            raise LocalizedError("key_of_project", status=403)
    except UserError:
        # Only refusals count here, so that guessing keys is slow and using one is not.
        check_rate(request, "api refused", client_address(request))
        raise
    check_rate(request, "api key", key.id, rate=rate_of(key))
    if known is None and key.per_day is not None:
        await to_thread.run_sync(context.quotas.know, key)
    request.state.key = key
    if not may(owner.role, act):
        raise LocalizedError("not_allowed", status=403)
    return owner
