"""Projects: the start page with yours and what waits in each, the list, and the project to try things in.

The language switch of every page is here, too.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.project.next_steps import NextSteps, next_steps
from davy.annotation.project.pages.project_access import ProjectAccess
from davy.annotation.project.sample_project import create_sample
from davy.annotation.project.store import members, phases, picture_locks, projects, removal
from davy.people.pages.visitor import Anyone, Form, allowed, field
from davy.people.store import users
from davy.people.store.users import User
from davy.scoring.queue.detectors import Detectors
from davy.store import Connection
from davy.web import cookies, render
from davy.web.context import context_of
from davy.web.errors import LocalizedError
from davy.web.i18n import LANGUAGES

router = APIRouter(include_in_schema=False)

Sees = Annotated[User, Depends(allowed("see projects"))]
Makes = Annotated[User, Depends(allowed("make projects"))]

MOST_PROJECTS = 30
"""Projects that the start page looks into; the others are on the page of projects."""


@router.get("/projects")
def list_projects(request: Request, who: Sees) -> Response:
    """Return the account's projects, and for admins the others on this server."""
    with context_of(request).store.read() as db:
        mine = projects.of_user(db, who.id)
        ids = {project.id for project, _ in mine}
        others = (
            [project for project in projects.list_projects(db) if project.id not in ids] if who.role == "admin" else []
        )
        rows: list[tuple[Any, Any]] = [*mine, *((project, None) for project in others)]
        about = {
            project.id: {
                "open": [phase.name for phase in phases.of_project(db, project.id) if phase.state == "open"],
                "people": len(members.of_project(db, project.id)),
            }
            for project, _ in rows
        }
        deleted = [(project, removal.restorable_until(project)) for project in removal.list_deleted(db, who)]
    return render.page(request, "projects.html", rows=rows, about=about, deleted=deleted)


@router.post("/projects/restore")
def restore(request: Request, who: Sees, form: Form) -> Response:
    """Bring back a project that was deleted less than a day ago."""
    with context_of(request).store.write() as db:
        back = removal.restore_project(db, field(form, "project"), by=who.id, person=who)
    return render.redirect(request, f"/projects/{back.id}", "project_restored", title=back.title)


@router.api_route("/", methods=["GET", "HEAD"])
def home(request: Request, who: Anyone) -> Response:
    """Return the start page, for visitors or for the account's role."""
    locked, mine, unused = {}, [], False
    with context_of(request).store.read() as db:
        if not who.account:
            unused = not users.count(db)
        else:
            locked = picture_locks.waiting_for(db, who.account.id, everywhere=who.account.role == "admin")
            mine = _open_projects(db, who.account)
    model = context_of(request).part(Detectors).default_model
    return render.page(request, "home.html", model=model, locked=locked, mine=mine, unused=unused)


@router.post("/projects/sample")
def make_sample(request: Request, who: Makes, form: Form) -> Response:  # noqa: ARG001
    """Make a project with sample posts, open for its maker."""
    words = render.translator_of(request)
    with context_of(request).store.write() as db:
        made = create_sample(db, title=words("home.sample_title"), by=who.id)
    return render.redirect(request, f"/projects/{made.id}", "sample_made")


def _open_projects(db: Connection, account: User) -> list[tuple[ProjectAccess, NextSteps]]:
    """Return the open projects that a person is in, each with what comes next there; those with work first."""
    listed = []
    for project, member in projects.of_user(db, account.id)[:MOST_PROJECTS]:
        if project.state == "open":
            place = ProjectAccess(project, member, account)
            listed.append((place, next_steps(db, project, member, place.may)))
    return sorted(listed, key=lambda one: one[1].main is None)


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
