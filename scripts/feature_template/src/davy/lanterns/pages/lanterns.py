"""The list of lanterns, and the form that adds one."""

from __future__ import annotations

from typing import Annotated

from davy.lanterns import store as lanterns
from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from davy.people.pages.visitor import Form, allowed, field
from davy.people.store.users import User
from davy.web import render
from davy.web.context import context_of
from davy.web.refused_by import refused_by

router = APIRouter(prefix="/lanterns", include_in_schema=False)

MayAdd = Annotated[User, Depends(allowed("make projects"))]


@router.get("")
def show(request: Request, me: MayAdd) -> Response:  # noqa: ARG001 — the route needs the permission alone
    """Return the page."""
    return _page(request)


def _page(request: Request, *, wrong: str = "", status: int = 200) -> Response:
    with context_of(request).store.read() as db:
        every = lanterns.list_lanterns(db)
    return render.page(request, "lanterns.html", status=status, wrong=wrong, lanterns=every)


@router.post("")
@refused_by(_page)
def add(request: Request, me: MayAdd, form: Form) -> Response:
    """Add a lantern and show the list again."""
    with context_of(request).store.write() as db:
        lanterns.add(db, field(form, "name"), by=me.id)
    return render.redirect(request, "/lanterns", "saved")
