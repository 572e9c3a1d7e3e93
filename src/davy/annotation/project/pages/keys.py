"""A project's API keys: make one with scopes, see it once, see what each used today, revoke it.

A project's key opens that project's API and nothing else, and only what its maker may do there; its managers give it
a quota and revoke it, whoever made it.
"""
# ruff: noqa: ARG001 — a route's signature says what it needs, such as a permission or a checked form

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.project.pages.project_access import Manages, ProjectAccess, project_page
from davy.people.pages.confirm import FreshPassword
from davy.people.pages.keys import key_values, make_key, revoke_key
from davy.people.pages.visitor import Form
from davy.people.store import keys, users
from davy.store.columns import now
from davy.web.context import context_of
from davy.web.refused_by import refused_by

router = APIRouter(include_in_schema=False)


@router.get("/projects/{project_id}/keys")
def project_keys(request: Request, place: Manages) -> Response:
    """Return the project's keys, with what each used today."""
    return _project_page(request, place)


def _project_page(request: Request, place: ProjectAccess, **shown: Any) -> Response:
    day = f"{now():%Y-%m-%d}"
    with context_of(request).store.read() as db:
        found = keys.list_keys(db, project=place.project.id)
        owners = {user.id: user.name for user in users.list_users(db)}
        used = {key.id: keys.usage_of_day(db, key.id, day).posts for key in found}
    values = key_values(request, found, owners, keys.PROJECT_SCOPES, **shown)
    return project_page(request, place, "project_keys.html", used=used, project_titles={}, **values)


@router.post("/projects/{project_id}/keys")
@refused_by(_project_page)
def make_in_project(request: Request, place: Manages, fresh: FreshPassword, form: Form) -> Response:
    """Make a key for this project and show its secret, this once."""
    return _project_page(request, place, secret=make_key(request, place.account, form, project=place.project.id))


@router.post("/projects/{project_id}/keys/{key_id}/revoke")
def revoke_in_project(request: Request, place: Manages, key_id: str, form: Form) -> Response:
    """Stop a key of this project for good, whoever made it."""
    return revoke_key(request, key_id, place.account, f"{place.address}/keys", project=place.project.id)
