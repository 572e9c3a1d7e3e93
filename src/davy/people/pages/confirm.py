"""Give your password once more, and go on to what you were about to do."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from davy.people.pages import fresh_password
from davy.people.pages.visitor import Anyone, Form, allowed, check_rate, field
from davy.people.passwords import check_password
from davy.people.store.users import User
from davy.store import events
from davy.web import render
from davy.web.context import context_of

router = APIRouter(include_in_schema=False)

Self = Annotated[User, Depends(allowed("change own account"))]


@router.get("/confirm")
def ask(request: Request, me: Self, next: str = "/") -> Response:
    """Return the page that asks for the password."""
    return _page(request, me, next)


@router.post("/confirm")
def confirm(request: Request, me: Self, who: Anyone, form: Form) -> Response:
    """Go back to where the person was, if the password is right."""
    next_path = render.own_path(field(form, "next", most=2000))
    check_rate(request, "password account", me.id)
    if not check_password(str(form.get("password") or ""), me.password_hash):
        with context_of(request).store.write() as db:
            events.record(db, by=me.id, what="password refused", about=f"user {me.id}")
        words = render.translator_of(request)
        return _page(request, me, next_path, wrong=words("error.wrong_password"), status=403)
    response = render.redirect(request, next_path, "confirmed")
    fresh_password.confirm(request, response, who)
    return response


def _page(request: Request, me: User, next_path: str, *, wrong: str = "", status: int = 200) -> Response:
    return render.page(
        request, "confirm.html", status=status, next=render.own_path(next_path), login=me.login, wrong=wrong
    )
