"""Your account: language, how words are shown, password, and where you are signed in."""
# ruff: noqa: ARG001 — a route's signature says what it needs, such as a permission or a checked form

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from davy.core.errors import UserError
from davy.serve import cookies, render
from davy.serve.context import context_of
from davy.serve.errors import LocalizedError
from davy.serve.i18n import LANGUAGES
from davy.serve.visitor import Anyone, Form, allowed, check_rate, field
from davy.store import sessions, users
from davy.store.passwords import SHORTEST, check_password, hash_password
from davy.store.users import User

router = APIRouter(include_in_schema=False)

Self = Annotated[User, Depends(allowed("change own account"))]


@router.get("/account")
def account(request: Request, me: Self, who: Anyone) -> Response:
    """Return the account page."""
    return _page(request, me, who.session_id)


@router.post("/account")
def save(request: Request, me: Self, form: Form) -> Response:
    """Save the language, and whether this browser masks hurtful words."""
    lang, plain = field(form, "lang"), field(form, "plain")
    if lang not in LANGUAGES or plain not in ("yes", "no"):
        raise LocalizedError("choice")
    if lang != me.language:
        with context_of(request).store.write() as db:
            users.set_language(db, me.id, lang, by=me.id)
    response = render.redirect(request, "/account", "saved")
    cookies.write(request, response, "lang", lang)
    cookies.write(request, response, "plain", plain)
    return response


@router.post("/account/password")
def change_password(request: Request, me: Self, who: Anyone, form: Form) -> Response:
    """Change the password; all other sessions end."""
    check_rate(request, "password account", me.id)
    password = str(form.get("password") or "")
    try:
        if not check_password(str(form.get("current") or ""), me.password_hash):
            raise LocalizedError("wrong_password", status=403)
        if password != str(form.get("again") or ""):
            raise LocalizedError("passwords_differ")
        hashed = hash_password(password, login=me.login)
    except UserError as error:
        return _page(request, me, who.session_id, wrong=render.error_text(request, error), status=error.status)
    with context_of(request).store.write() as db:
        users.set_password(db, me.id, hashed, by=me.id, keep_session=who.session_id)
    return render.redirect(request, "/account", "password")


@router.post("/account/sessions/{session_id}/end")
def end_session(request: Request, session_id: str, me: Self, form: Form) -> Response:
    """End one of your own sessions; somebody else's is not found."""
    with context_of(request).store.write() as db:
        if session_id not in {session.id for session in sessions.of_user(db, me.id)}:
            raise LocalizedError("no_such", status=404)
        sessions.end(db, session_id, by=me.id)
    return render.redirect(request, "/account", "session_ended")


def _page(request: Request, me: User, session_id: str | None, *, wrong: str = "", status: int = 200) -> Response:
    with context_of(request).store.read() as db:
        mine = sessions.of_user(db, me.id)
    return render.page(
        request, "account.html", status=status, sessions=mine, session_id=session_id, wrong=wrong, shortest=SHORTEST
    )
