"""A suspected picture of child abuse: its own path, from the person who saw it to the person in charge.

Confirmed once, it is locked at once: nobody sees, exports or learns from it any more, and the people who run the
project are told on every page of it until they note what they did. Nothing here shows a picture.
"""

from __future__ import annotations

import logging

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.care import care
from davy.annotation.care.pages.consent import member_of
from davy.annotation.labelling.store import item_selection
from davy.annotation.project import images
from davy.annotation.project.pages.project_access import Labels, Manages, ProjectAccess, project_page
from davy.annotation.project.store import members, picture_locks, posts
from davy.annotation.project.store.picture_locks import LONGEST_NOTE
from davy.annotation.settling.store import cases
from davy.people.pages.visitor import Form, field
from davy.web import render
from davy.web.context import context_of
from davy.web.errors import LocalizedError
from davy.web.refused_by import refused_by

router = APIRouter(include_in_schema=False)
log = logging.getLogger("davy.audit")


@router.get("/projects/{project_id}/report-picture/{assignment_id}")
def ask(request: Request, place: Labels, assignment_id: str) -> Response:
    """Return the page that says what will happen, with one button."""
    _post_of(request, place, assignment_id)
    return project_page(request, place, "picture_report.html", assignment=assignment_id, done=False)


@router.post("/projects/{project_id}/report-picture/{assignment_id}")
def lock(request: Request, place: Labels, assignment_id: str, form: Form) -> Response:  # noqa: ARG001 — a checked form
    """Lock the picture, and say so."""
    store = context_of(request).store
    log.warning("a picture of project %s was locked: whoever runs it has to deal with it", place.project.id)
    images.lock_picture(store, place.project.id, _post_of(request, place, assignment_id), by=place.account.id)
    with store.write() as db:
        care.after_save(db, place.project, member_of(place), hard=True)
    answer = project_page(request, place, "picture_report.html", assignment=assignment_id, done=True)
    answer.headers["Clear-Site-Data"] = '"cache"'  # this browser has the picture too
    return answer


@router.get("/projects/{project_id}/locked-pictures")
def locked(request: Request, place: Manages) -> Response:
    """Return which pictures were locked, by whom and when, and what was done about each."""
    return _list(request, place)


def _list(request: Request, place: ProjectAccess, *, wrong: str = "", status: int = 200) -> Response:
    with context_of(request).store.read() as db:
        rows = picture_locks.of_project(db, place.project.id)
        names = {it.user: it.pseudonym for it in members.of_project(db, place.project.id, left=True)}
    values = {"rows": rows, "names": names, "wrong": wrong, "most": LONGEST_NOTE}
    return project_page(request, place, "locked_pictures.html", status=status, **values)


@router.post("/projects/{project_id}/locked-pictures/{key}")
@refused_by(_list, but=(404,))
def note(request: Request, place: Manages, key: str, form: Form) -> Response:
    """Keep what the person in charge did about a locked picture."""
    with context_of(request).store.write() as db:
        picture_locks.note_report(
            db, place.project.id, key, field(form, "note", most=LONGEST_NOTE), by=place.account.id
        )
    return render.redirect(request, f"{place.address}/locked-pictures", "saved")


def _post_of(request: Request, place: ProjectAccess, assignment_id: str) -> str:
    """Return the post that a person has, or had, before them: by its assignment, or by an expert's case."""
    with context_of(request).store.read() as db:
        held = item_selection.get_held(db, assignment_id, lock=False)
        if held is not None:
            mine = held.phase.project == place.project.id and held.assignment.annotator == place.account.id
            found = held.post.id if mine else None
        else:
            case = cases.get(db, assignment_id) if place.may("settle cases") else None
            found = posts.public_ids(db, [case.post])[case.post] if case and case.project == place.project.id else None
    if found is None:
        raise LocalizedError("no_such", status=404)
    return found
