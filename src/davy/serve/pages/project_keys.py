"""A project's API keys: its managers make them with a quota, see each once, and revoke them.

Such a key opens this project's API and nothing else, and only what its maker may do here.
"""
# ruff: noqa: ARG001 — a route's signature says what it needs, such as a permission or a checked form

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from davy.core.errors import UserError
from davy.serve import render
from davy.serve.context import context_of
from davy.serve.errors import LocalizedError
from davy.serve.fresh_password import FreshPassword
from davy.serve.membership import Place, in_project, project_page
from davy.serve.visitor import Form, field
from davy.store import key_usage, keys, users
from davy.store.columns import now

router = APIRouter(include_in_schema=False)

Manages = Annotated[Place, Depends(in_project("manage"))]


@router.get("/projects/{project_id}/keys")
def project_keys(request: Request, place: Manages) -> Response:
    """Return the project's keys, with what each used today."""
    return _page(request, place)


@router.post("/projects/{project_id}/keys")
def make(request: Request, place: Manages, fresh: FreshPassword, form: Form) -> Response:
    """Make a key for this project and show its secret, this once."""
    days = field(form, "days")
    if days not in ("", "30", "90", "365"):
        raise LocalizedError("choice")
    try:
        with context_of(request).store.write() as db:
            _, secret = keys.create(
                db,
                name=field(form, "name"),
                owner=place.account.id,
                scopes=[str(scope) for scope in form.getlist("scope")],
                by=place.account.id,
                lasts=timedelta(days=int(days)) if days else None,
                per_minute=_limit(form, "per_minute"),
                per_day=_limit(form, "per_day"),
                project=place.project.id,
            )
    except UserError as error:
        return _page(request, place, wrong=render.error_text(request, error), status=error.status)
    return _page(request, place, secret=secret)


@router.post("/projects/{project_id}/keys/{key_id}/revoke")
def revoke(request: Request, place: Manages, key_id: str, form: Form) -> Response:
    """Stop a key of this project for good, whoever made it."""
    with context_of(request).store.write() as db:
        if key_id not in {key.id for key in keys.list_keys(db, project=place.project.id)}:
            raise LocalizedError("no_such", status=404)
        keys.revoke(db, key_id, by=place.account.id)
    context_of(request).known_keys.forget()
    return render.redirect(request, f"{place.address}/keys", "key_revoked")


def _limit(form: FormData, name: str) -> int | None:
    text = field(form, name, most=20)
    if not text:
        return None
    if not (text.isascii() and text.isdigit()):
        raise LocalizedError("number", status=422, given=text)
    return int(text)


def _page(request: Request, place: Place, *, secret: str = "", wrong: str = "", status: int = 200) -> Response:
    context = context_of(request)
    day = f"{now():%Y-%m-%d}"
    with context.store.read() as db:
        found = keys.list_keys(db, project=place.project.id)
        owners = {user.id: user.name for user in users.list_users(db)}
        used = {key.id: key_usage.of_day(db, key.id, day).posts for key in found}
    return project_page(
        request,
        place,
        "project_keys.html",
        status=status,
        keys=list(reversed(found)),
        owners=owners,
        used=used,
        secret=secret,
        wrong=wrong,
        scopes=keys.PROJECT_SCOPES,
        base_url=context.settings.base_url.rstrip("/"),
    )
