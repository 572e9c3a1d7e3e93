"""Your data in a project: what it keeps about you, as a file; what you say about yourself; leaving; and deleting it.

Nobody else's data can be reached here: every query is for the account that asks.
"""
# ruff: noqa: ARG001 — a route's signature says what it needs, such as a permission or a checked form

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.care import care, demographics
from davy.annotation.care.pages.consent import member_of
from davy.annotation.care.store import responses
from davy.annotation.labelling import labelling
from davy.annotation.project import roster
from davy.annotation.project.pages.project_access import ProjectAccess, in_project, project_page
from davy.annotation.project.store import member_data
from davy.people.pages.account import json_file
from davy.people.pages.visitor import Form, field
from davy.people.store import personal_data
from davy.web import render
from davy.web.context import context_of
from davy.web.errors import LocalizedError

router = APIRouter(include_in_schema=False)

Mine = Annotated[ProjectAccess, Depends(in_project("check in", left=True))]


@router.get("/projects/{project_id}/my-data")
def show(request: Request, place: Mine) -> Response:
    """Return the page; who left may still open it."""
    with context_of(request).store.read() as db:
        said = responses.get(db, place.project.id, place.account.id, "about me")
    return project_page(
        request,
        place,
        "my_data.html",
        member=member_of(place),
        questions=demographics.QUESTIONS,
        said=dict(said.content) if said else {},
        answers_go=member_data.answers_go(place.project.settings),
    )


@router.get("/projects/{project_id}/my-data.json")
def export_here(request: Request, place: Mine) -> Response:
    """Return everything that the project keeps about you."""
    with context_of(request).store.read() as db:
        made = personal_data.export(db, place.account.id, project_id=place.project.id)
    return json_file(made, f"my-data-{place.project.id}.json")


@router.post("/projects/{project_id}/my-data/about-me")
def about_me(request: Request, place: Mine, form: Form) -> Response:
    """Keep what you say about yourself in place of what you said before; empty fields say nothing."""
    given = {name: field(form, name.replace(" ", "_"), most=demographics.LONGEST) for name in demographics.QUESTIONS}
    with context_of(request).store.write() as db:
        responses.put(db, place.project.id, place.account.id, "about me", demographics.clean(given))
    return render.redirect(request, f"{place.address}/my-data", "saved")


@router.post("/projects/{project_id}/my-data/leave")
def leave(request: Request, place: Mine, form: Form) -> Response:
    """Leave the project at once; what you hold goes to others, what you did stays."""
    with context_of(request).store.write() as db:
        care.stop(db, member_of(place))
        labelling.leave(db, place.project, place.account.id, by=place.account.id)
    return render.redirect(request, "/projects", "left", project=place.project.title)


@router.post("/projects/{project_id}/my-data/delete")
def delete_here(request: Request, place: Mine, form: Form) -> Response:
    """Leave, and delete your personal data in this project."""
    if field(form, "sure") != "yes":
        raise LocalizedError("not_sure")
    store = context_of(request).store
    with store.write() as db:
        comments = field(form, "keep_comments") != "yes"
        roster.delete_in_project(db, place.project, place.account.id, by=place.account.id, comments=comments)
    store.truncate_log()
    return render.redirect(request, "/projects", "deleted_here", project=place.project.title)
