"""One's own API keys (`/keys`): make one with scopes, see it once, revoke it. Admins see and revoke everyone's.

What makes and revokes a key serves a project's page of keys, too.
"""
# ruff: noqa: ARG001 — a route's signature says what it needs, such as a permission or a checked form

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from davy.people.pages.confirm import FreshPassword
from davy.people.pages.visitor import Form, allowed, field, whole_number
from davy.people.permissions import may
from davy.people.store import keys, users
from davy.people.store.keys import ApiKey
from davy.people.store.project_roster import project_roster
from davy.people.store.users import User
from davy.web import render
from davy.web.context import context_of
from davy.web.errors import LocalizedError
from davy.web.refused_by import refused_by

router = APIRouter(include_in_schema=False)

Maker = Annotated[User, Depends(allowed("make own keys"))]


@router.get("/keys")
def own_keys(request: Request, me: Maker) -> Response:
    """Return the keys that this person may see."""
    return _own_page(request, me)


def _own_page(request: Request, me: User, **shown: Any) -> Response:
    with context_of(request).store.read() as db:
        found = keys.list_keys(db, owner=_owner(me))
        owners = {user.id: user.name for user in users.list_users(db)}
        titles = project_roster().titles(db)
    scopes = [scope for scope in keys.SCOPES if scope != "admin" or me.role == "admin"]
    values = key_values(request, found, owners if _owner(me) is None else {}, scopes, **shown)
    return render.page(request, "keys.html", used={}, project_titles=titles, **values)


@router.post("/keys")
@refused_by(_own_page)
def make(request: Request, me: Maker, fresh: FreshPassword, form: Form) -> Response:
    """Make a key and show its secret, this once."""
    return _own_page(request, me, secret=make_key(request, me, form))


@router.post("/keys/{key_id}/revoke")
def revoke(request: Request, key_id: str, me: Maker, form: Form) -> Response:
    """Stop a key for good: one's own, or with the permission anyone's."""
    return revoke_key(request, key_id, me, "/keys", owner=_owner(me))


def make_key(request: Request, me: User, form: FormData, *, project: str | None = None) -> str:
    """Make the key that a form asks for and return its secret."""
    days = field(form, "days")
    if days not in ("", "30", "90", "365"):
        raise LocalizedError("choice")
    limits = {name: whole_number(form, name, most=10**15) for name in keys.LIMIT_UNITS} if project else {}
    with context_of(request).store.write() as db:
        _, secret = keys.create(
            db,
            name=field(form, "name"),
            owner=me.id,
            scopes=[str(scope) for scope in form.getlist("scope")],
            by=me.id,
            lasts=timedelta(days=int(days)) if days else None,
            project=project,
            limits=keys.KeyLimits(**limits),
        )
    return secret


def revoke_key(request: Request, key_id: str, me: User, back: str, **whose: str | None) -> Response:
    """Stop one of the keys that `whose` lists, and return the way back to the page."""
    with context_of(request).store.write() as db:
        if key_id not in {key.id for key in keys.list_keys(db, **whose)}:
            raise LocalizedError("no_such", status=404)
        keys.revoke(db, key_id, by=me.id)
    context_of(request).key_cache.forget()
    return render.redirect(request, back, "key_revoked")


def _owner(me: User) -> str | None:
    """Return whose keys this person deals with; None is everyone's."""
    return None if may(me.role, "revoke any key") else me.id


def key_values(
    request: Request,
    found: list[ApiKey],
    owners: dict[str, str],
    scopes: Collection[str],
    *,
    secret: str = "",
    wrong: str = "",
    status: int = 200,
) -> dict[str, Any]:
    """Return what `parts/keys.html` shows; without `owners` the keys are all one's own."""
    return {
        "keys": found[::-1],
        "owners": owners,
        "scopes": scopes,
        "limits": tuple(keys.LIMIT_UNITS),
        "secret": secret,
        "wrong": wrong,
        "status": status,
        "base_url": context_of(request).link(""),
    }
