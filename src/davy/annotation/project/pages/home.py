"""The start page: what Davy is, or your projects and what waits in each. Also the language switch of every page."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.project.pages.project_access import Place
from davy.annotation.project.pages.waiting_work import work_waiting
from davy.annotation.project.store import phases, picture_locks, projects
from davy.people.pages.visitor import Anyone, Form, field
from davy.people.store import users
from davy.people.store.users import User
from davy.store import Connection
from davy.web import cookies, render
from davy.web.context import context_of
from davy.web.errors import LocalizedError
from davy.web.i18n import LANGUAGES

router = APIRouter(include_in_schema=False)

MOST_PROJECTS = 30
"""Projects that the start page looks into; the others are on the page of projects."""


@router.api_route("/", methods=["GET", "HEAD"])
def home(request: Request, who: Anyone) -> Response:
    """Return the start page, for visitors or for the account's role."""
    locked, mine = {}, []
    if who.account:
        with context_of(request).store.read() as db:
            locked = picture_locks.waiting_for(db, who.account.id, everywhere=who.account.role == "admin")
            mine = _open_projects(db, who.account)
    model = context_of(request).detectors.default_model
    return render.page(request, "home.html", model=model, locked=locked, mine=mine)


def _open_projects(db: Connection, account: User) -> list[tuple[Place, dict[str, Any]]]:
    """Return the open projects that a person is in, each with what waits for them there; work first."""
    found = []
    for project, member in projects.of_user(db, account.id)[:MOST_PROJECTS]:
        if project.state == "open":
            place = Place(project, member, account)
            found.append((place, work_waiting(db, place, phases.of_project(db, project.id))))
    return sorted(found, key=lambda one: not any(one[1][kind] for kind in ("label", "memes", "talk", "cases")))


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
