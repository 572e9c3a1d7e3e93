"""The start page: what Davy is, and what to do next. Also the language switch that every page has."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from davy.serve import cookies, render
from davy.serve.context import context_of
from davy.serve.errors import LocalizedError
from davy.serve.i18n import LANGUAGES
from davy.serve.visitor import Anyone, Form, field
from davy.store import picture_locks, users

router = APIRouter(include_in_schema=False)


@router.api_route("/", methods=["GET", "HEAD"])
def home(request: Request, who: Anyone) -> Response:
    """Return the start page, for visitors or for the account's role."""
    locked = {}
    if who.account:
        with context_of(request).store.read() as db:
            locked = picture_locks.waiting_for(db, who.account.id, everywhere=who.account.role == "admin")
    return render.page(request, "home.html", model=context_of(request).detectors.default_model, locked=locked)


@router.post("/language")
def language(request: Request, who: Anyone, form: Form) -> Response:
    """Change the language of the pages: for the account where there is one, and for this browser."""
    lang = field(form, "lang")
    if lang not in LANGUAGES:
        raise LocalizedError("choice")
    if who.account:
        with context_of(request).store.write() as db:
            users.set_language(db, who.account.id, lang, by=who.account.id)
    response = render.redirect(request, render.own_path(field(form, "next", most=2000)))
    cookies.write(request, response, "lang", lang)
    return response
