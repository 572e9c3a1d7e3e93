"""Accepting an invitation: name, login, password, and the account is there. Who has one joins a project with it."""
# ruff: noqa: ARG001 — a route's signature says what it needs, such as a permission or a checked form

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from davy.core.errors import UserError
from davy.people.pages.sign_in import start_session
from davy.people.pages.visitor import Anyone, Form, check_rate, client_address, field
from davy.people.passwords import SHORTEST, hash_password
from davy.people.store import invitations
from davy.people.store.invitations import Invitation
from davy.people.store.project_roster import project_roster
from davy.people.store.users import User
from davy.web import render
from davy.web.context import context_of
from davy.web.errors import LocalizedError, SignInRequired
from davy.web.refused_by import refusal

router = APIRouter(include_in_schema=False)


@router.get("/invitation/{token}")
def look(request: Request, token: str, who: Anyone) -> Response:
    """Return the form of an open invitation, or a page that says why it is over."""
    check_rate(request, "invitation address", client_address(request))
    try:
        invitation = _open(request, token)
    except UserError as error:
        return _over(request, error)
    if who.account is not None and not invitation.project and (to := _next(request.query_params.get("next"))):
        return render.redirect(request, to)
    return _page(
        request, invitation, token=token, account=who.account, leads_to=_next(request.query_params.get("next"))
    )


@router.post("/invitation/{token}/join")
def join(request: Request, token: str, who: Anyone, form: Form) -> Response:
    """Put the account that is signed in on the roster of the project that it is invited to."""
    check_rate(request, "invitation address", client_address(request))
    if who.account is None:
        raise SignInRequired
    try:
        with context_of(request).store.write() as db:
            invitation = invitations.join(db, token, who.account)
    except UserError as error:
        if error.status in (404, 410):
            return _over(request, error)
        return _page(request, _open(request, token), token=token, account=who.account, **refusal(request, error))
    return render.redirect(request, f"/projects/{invitation.project}/begin", "joined")


@router.post("/invitation/{token}")
def accept(request: Request, token: str, who: Anyone, form: Form) -> Response:
    """Make the account and sign it in; what is wrong is shown at the form, with what was typed still there."""
    check_rate(request, "invitation address", client_address(request))
    try:
        invitation = _open(request, token)
    except UserError as error:
        return _over(request, error)
    name, login = field(form, "name"), field(form, "login")
    password = str(form.get("password") or "")
    words = render.translator_of(request)
    try:
        if password != str(form.get("again") or ""):
            raise LocalizedError("passwords_differ")
        hashed = hash_password(password, login=login)
        with context_of(request).store.write() as db:
            account = invitations.accept(db, token, login=login, name=name, password_hash=hashed, language=words.lang)
    except UserError as error:
        if error.status == 410:
            return _over(request, error)
        to = _next(field(form, "next", most=2000))
        return _page(request, invitation, token=token, name=name, login=login, leads_to=to, **refusal(request, error))
    to = f"/projects/{invitation.project}/begin" if invitation.project else _next(field(form, "next", most=2000)) or "/"
    return start_session(request, account, render.redirect(request, to, "welcome"))


def _next(wanted: str | None) -> str:
    """Return the page of this server that an invitation leads to, "" where it names none."""
    own = render.own_path(wanted)
    return "" if own == "/" else own


def _open(request: Request, token: str) -> Invitation:
    with context_of(request).store.read() as db:
        return invitations.get_usable(db, token)


def _over(request: Request, error: UserError) -> Response:
    """Return the page of an invitation that can't be used; the state is in the store's sentence."""
    marks = {"used": "used", "expired": "expired", "taken back": "revoked"}
    state = next((state for mark, state in marks.items() if mark in error.message), "unknown")
    return render.page(request, "invitation_over.html", status=error.status, state=state)


def _page(
    request: Request,
    invitation: Invitation,
    *,
    token: str,
    account: User | None = None,
    name: str = "",
    login: str = "",
    leads_to: str = "",
    wrong: str = "",
    status: int = 200,
) -> Response:
    project = None
    if invitation.project:
        with context_of(request).store.read() as db:
            project = project_roster().title(db, invitation.project)
    return render.page(
        request,
        "invitation.html",
        status=status,
        invitation=invitation,
        project=project,
        joins=account is not None and project is not None,
        token=token,
        name=name or invitation.name or "",
        login=login,
        leads_to=leads_to,
        wrong=wrong,
        shortest=SHORTEST,
    )
