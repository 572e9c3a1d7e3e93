"""Accepting an invitation: name, login, password, and the account is there."""
# ruff: noqa: ARG001 — a route's signature says what it needs, such as a permission or a checked form

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from davy.core.errors import UserError
from davy.serve import render
from davy.serve.context import context_of
from davy.serve.errors import Refused
from davy.serve.pages.sign_in import start_session
from davy.serve.passwords import SHORTEST, hash_password
from davy.serve.visitor import Anyone, Form, address, field, limit
from davy.store import invitations
from davy.store.invitations import Invitation

router = APIRouter(include_in_schema=False)


@router.get("/invitation/{token}")
def look(request: Request, token: str, who: Anyone) -> Response:
    """Return the form of an open invitation, or a page that says why it is over."""
    limit(request, "invitation address", address(request))
    try:
        invitation = _open(request, token)
    except UserError as error:
        return _over(request, error)
    return _page(request, invitation)


@router.post("/invitation/{token}")
def accept(request: Request, token: str, who: Anyone, form: Form) -> Response:
    """Make the account and sign it in; what is wrong is shown at the form, with what was typed still there."""
    limit(request, "invitation address", address(request))
    try:
        invitation = _open(request, token)
    except UserError as error:
        return _over(request, error)
    name, login = field(form, "name"), field(form, "login")
    password = str(form.get("password") or "")
    words = render.words_of(request)
    try:
        if password != str(form.get("again") or ""):
            raise Refused("passwords_differ")
        hashed = hash_password(password)
        with context_of(request).store.write() as db:
            account = invitations.accept(db, token, login=login, name=name, password_hash=hashed, language=words.lang)
    except UserError as error:
        if error.status == 410:
            return _over(request, error)
        return _page(
            request, invitation, name=name, login=login, wrong=render.said(request, error), status=error.status
        )
    return start_session(request, account, render.see(request, "/", "welcome"))


def _open(request: Request, token: str) -> Invitation:
    with context_of(request).store.read() as db:
        return invitations.look(db, token)


def _over(request: Request, error: UserError) -> Response:
    """Return the page of an invitation that can't be used; the state is in the store's sentence."""
    marks = {"used": "used", "expired": "expired", "taken back": "revoked"}
    state = next((state for mark, state in marks.items() if mark in error.message), "unknown")
    return render.page(request, "invitation_over.html", status=error.status, state=state)


def _page(
    request: Request, invitation: Invitation, *, name: str = "", login: str = "", wrong: str = "", status: int = 200
) -> Response:
    return render.page(
        request,
        "invitation.html",
        status=status,
        invitation=invitation,
        name=name or invitation.name or "",
        login=login,
        wrong=wrong,
        shortest=SHORTEST,
    )
