"""API keys: make one with scopes, see it once, revoke it. Admins see and revoke everyone's."""
# ruff: noqa: ARG001 — a route's signature says what it needs, such as a permission or a checked form

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from davy.core.errors import UserError
from davy.serve import render
from davy.serve.context import context_of
from davy.serve.errors import LocalizedError
from davy.serve.fresh_password import FreshPassword
from davy.serve.permissions import may
from davy.serve.visitor import Form, allowed, field
from davy.store import keys, users
from davy.store.users import User

router = APIRouter(include_in_schema=False)

Maker = Annotated[User, Depends(allowed("make own keys"))]


@router.get("/keys")
def own_keys(request: Request, me: Maker) -> Response:
    """Return the keys that this person may see."""
    return _page(request, me)


@router.post("/keys")
def make(request: Request, me: Maker, fresh: FreshPassword, form: Form) -> Response:
    """Make a key and show its secret, this once."""
    days = field(form, "days")
    if days not in ("", "30", "90", "365"):
        raise LocalizedError("choice")
    try:
        with context_of(request).store.write() as db:
            _, secret = keys.create(
                db,
                name=field(form, "name"),
                owner=me.id,
                scopes=[str(scope) for scope in form.getlist("scope")],
                by=me.id,
                lasts=timedelta(days=int(days)) if days else None,
            )
    except UserError as error:
        return _page(request, me, wrong=render.error_text(request, error), status=error.status)
    return _page(request, me, secret=secret)


@router.post("/keys/{key_id}/revoke")
def revoke(request: Request, key_id: str, me: Maker, form: Form) -> Response:
    """Stop a key for good: one's own, or with the permission anyone's."""
    with context_of(request).store.write() as db:
        if key_id not in {key.id for key in keys.list_keys(db, owner=_owner(me))}:
            raise LocalizedError("no_such", status=404)
        keys.revoke(db, key_id, by=me.id)
    context_of(request).known_keys.forget()
    return render.redirect(request, "/keys", "key_revoked")


def _owner(me: User) -> str | None:
    """Return whose keys this person deals with; None is everyone's."""
    return None if may(me.role, "revoke any key") else me.id


def _page(request: Request, me: User, *, secret: str = "", wrong: str = "", status: int = 200) -> Response:
    context = context_of(request)
    with context.store.read() as db:
        seen = keys.list_keys(db, owner=_owner(me))
        owners = {user.id: user.name for user in users.list_users(db)}
    return render.page(
        request,
        "keys.html",
        status=status,
        keys=list(reversed(seen)),
        owners=owners,
        secret=secret,
        wrong=wrong,
        scopes=[scope for scope in keys.SCOPES if scope != "admin" or me.role == "admin"],
        base_url=context.settings.base_url.rstrip("/"),
    )
