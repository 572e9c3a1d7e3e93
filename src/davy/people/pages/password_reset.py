"""A new password for who forgot theirs: an admin makes a link, its reader chooses the password.

The link is signed, holds for a day and dies with the password that it replaces, so it works once. Nothing is kept.
"""
# ruff: noqa: ARG001 — a route's signature says what it needs, such as a permission or a checked form

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends
from itsdangerous import BadSignature, URLSafeTimedSerializer
from starlette.requests import Request
from starlette.responses import Response

from davy.people.pages.sign_in import start_session
from davy.people.pages.visitor import Anyone, Form, check_rate, client_address
from davy.people.passwords import SHORTEST, hash_password
from davy.people.store import users
from davy.people.store.users import User
from davy.store.columns import token_hash
from davy.web import render
from davy.web.context import context_of
from davy.web.errors import LocalizedError
from davy.web.refused_by import refused_by

router = APIRouter(include_in_schema=False)
LASTS = 24 * 3600


def link_for(request: Request, person: User) -> str:
    """Return the address at which a person can choose a new password."""
    token = _signer(request).dumps([person.id, _stamp(person)])
    return context_of(request).link(f"/new-password/{token}")


def _owner(request: Request, token: str) -> User:
    check_rate(request, "invitation address", client_address(request))
    try:
        user_id, stamp = _signer(request).loads(token, max_age=LASTS)
    except (BadSignature, ValueError, TypeError):
        raise LocalizedError("reset_over", status=410) from None
    with context_of(request).store.read() as db:
        person = users.get(db, user_id)
    if person.disabled or _stamp(person) != stamp:
        raise LocalizedError("reset_over", status=410)
    return person


Owner = Annotated[User, Depends(_owner)]


@router.get("/new-password/{token}")
def ask(request: Request, token: str, who: Anyone, person: Owner) -> Response:
    """Return the form for a new password."""
    return _page(request, token, person)


def _page(request: Request, token: str, person: User, *, wrong: str = "", status: int = 200) -> Response:
    return render.page(
        request, "new_password.html", status=status, token=token, person=person, wrong=wrong, shortest=SHORTEST
    )


@router.post("/new-password/{token}")
@refused_by(_page)
def choose(request: Request, token: str, who: Anyone, form: Form, person: Owner) -> Response:
    """Set the new password, end the person's other sessions and sign them in."""
    password = str(form.get("password") or "")
    if password != str(form.get("again") or ""):
        raise LocalizedError("passwords_differ")
    hashed = hash_password(password, login=person.login)
    with context_of(request).store.write() as db:
        # Two readers of one link: the second finds another password, and that the link is over.
        if _stamp(users.get(db, person.id)) != _stamp(person):
            raise LocalizedError("reset_over", status=410)
        users.set_password(db, person.id, hashed, by=person.id)
    return start_session(request, person, render.redirect(request, "/", "password"))


def _stamp(person: User) -> str:
    """Return what changes with the password and tells nothing about it."""
    return token_hash(person.password_hash or "")[:16]


def _signer(request: Request) -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(context_of(request).settings.secret_key, salt="new password")
