"""A project's overview: what is next for you, and its phases with what keeps each from going on.

Phases are opened and closed here and on their own pages (`phase.py`); posts are added here.
"""

from __future__ import annotations

import re
from typing import Annotated, Any
from urllib.parse import quote

from anyio import to_thread
from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.project import next_steps, phase_gates, project_creation
from davy.annotation.project.pages.project_access import Here, Manages, ProjectAccess, project_page
from davy.annotation.project.pages.upload_form import UploadForm, read_posts
from davy.annotation.project.phase_kind import MAIN_KIND, MEME_KINDS, PHASE_KINDS
from davy.annotation.project.project_file import PhasePlan, phase_plan
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.store import images, members, phases, projects, removal
from davy.people.pages.visitor import Form, field
from davy.people.store import users
from davy.store import Connection, events
from davy.web import render
from davy.web.audit_translation import audit_rows
from davy.web.context import context_of
from davy.web.errors import LocalizedError
from davy.web.refused_by import refused_by

router = APIRouter(include_in_schema=False)


_EVENTS = 100


@router.get("/projects/{project_id}")
def overview(request: Request, place: Here) -> Response:
    """Return the overview."""
    return _page(request, place)


def _page(request: Request, place: ProjectAccess, *, wrong: str = "", status: int = 200) -> Response:
    with context_of(request).store.read() as db:
        place = ProjectAccess(projects.get(db, place.project.id), place.member, place.account)
        rows = phase_gates.phase_statuses(db, place.project)
        people = members.of_project(db, place.project.id)
        memes = bool(images.count(db, place.project.id)) or phases.has_kind(db, place.project.id, MEME_KINDS)
        deletable = removal.can_be_deleted(db, place.project)
        coming = next_steps.next_steps(db, place.project, place.member, place.may, rows)
    totals = (sum(row.phase.size for row in rows), sum(row.answers for row in rows))
    return project_page(
        request,
        place,
        "project.html",
        status=status,
        wrong=wrong,
        rows=rows,
        quoted={row.phase.id: quote(row.phase.name, safe="") for row in rows},
        totals=totals,
        people=len(people),
        next=coming,
        deletable=deletable,
        kinds=[it for it, kind in PHASE_KINDS.items() if not kind.from_round and (memes or not kind.of_memes)],
        main_kind=MAIN_KIND,
    )


@router.post("/projects/{project_id}/state")
@refused_by(_page)
def state(request: Request, place: Manages, form: Form) -> Response:
    """Open or close a phase, or the project; where a rule says not yet, show why beside a box for a reason."""
    act, name, anyway = field(form, "do"), field(form, "phase"), field(form, "anyway", most=500) or None
    with context_of(request).store.write() as db:
        note = _change(db, place, act, name, anyway)
    return render.redirect(request, place.address, note, phase=name)


@router.post("/projects/{project_id}/phases/upload")
@refused_by(_page)
async def add_phase(request: Request, place: Manages, form: UploadForm) -> Response:
    """Add a phase after the others, with the posts of a file where one was chosen."""
    name, kind, answers = field(form, "name", most=40), field(form, "kind"), field(form, "answers", most=20)
    if kind not in PHASE_KINDS:
        raise LocalizedError("choice")
    if answers and not re.fullmatch(r"[1-9][0-9]?", answers):
        raise LocalizedError("whole_number", status=422)
    frame = await read_posts(request, form)
    plan = phase_plan(name, kind, answers=answers or None)
    await to_thread.run_sync(_new_phase, request, place, plan, frame)
    return render.redirect(request, place.address, "phase_added", phase=name)


@router.post("/projects/{project_id}/delete")
@refused_by(_page)
def delete(request: Request, place: Manages, form: Form) -> Response:  # noqa: ARG001
    """Delete a project that nobody has answered in, or a sample."""
    with context_of(request).store.write() as db:
        removal.delete_project(db, place.project.id, by=place.account.id)
    return render.redirect(request, "/projects", "project_deleted", title=place.project.title)


@router.get("/projects/{project_id}/begin")
def begin(request: Request, place: Here) -> Response:
    """Lead a person to what they can work on now, else to the overview: where an invitation ends."""
    with context_of(request).store.read() as db:
        main = next_steps.next_steps(db, place.project, place.member, place.may).main
    path = main.path if main is not None and main.permission in ("label posts", "enter texts", "settle cases") else ""
    return render.redirect(request, f"{place.address}{path}")


@router.get("/projects/{project_id}/audit")
def audit(request: Request, place: Manages, before: Annotated[int | None, Query(ge=1, le=2**62)] = None) -> Response:
    """Return who changed what in this project, newest first."""
    with context_of(request).store.read() as db:
        recent = events.latest(db, about=f"project {place.project.id}", before=before, limit=_EVENTS)
        names = {user.id: user.name for user in users.list_users(db)}
    older = recent[-1].id if len(recent) == _EVENTS else None
    rows = audit_rows(render.translator_of(request), recent, names)
    return project_page(request, place, "project_audit.html", rows=rows, older=older)


def _new_phase(request: Request, place: ProjectAccess, plan: PhasePlan, frame: Any) -> None:
    with context_of(request).store.write() as db:
        scheme = scheme_of(db, place.project)
        project_creation.add_phase(db, place.project, plan, scheme, by=place.account.id, frame=frame)


def _change(db: Connection, place: ProjectAccess, act: str, name: str, anyway: str | None) -> str:
    """Do what the form asks, and return the key of the note that says so."""
    by = place.account.id
    if act == "close project":
        projects.close(db, place.project.id, by=by)
        return "project_closed"
    if act == "reopen project":
        projects.reopen(db, place.project.id, by=by)
        return "project_reopened"
    phase = phases.by_name(db, place.project.id, name)
    if act == "open":
        phase_gates.open_phase(db, place.project, phase, by=by, anyway=anyway)
        return "phase_opened"
    if act == "close":
        phase_gates.close_phase(db, place.project, phase, by=by, anyway=anyway)
        return "phase_closed"
    raise LocalizedError("choice")
