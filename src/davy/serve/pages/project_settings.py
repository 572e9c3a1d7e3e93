"""A project's settings as its file has them: how answers are settled, care, contacts, texts. Errors name their line."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from davy.annotate import project_creation, project_file
from davy.annotate import settings as project_settings
from davy.annotate.project_scheme import scheme_of
from davy.core.errors import UserError
from davy.serve import render
from davy.serve.context import context_of
from davy.serve.membership import Place, in_project, project_page
from davy.serve.visitor import Form, field
from davy.store import projects

router = APIRouter(include_in_schema=False)

Manages = Annotated[Place, Depends(in_project("manage"))]

LONGEST = 200_000


@router.get("/projects/{project_id}/settings")
def settings(request: Request, place: Manages) -> Response:
    """Return the settings as YAML to change."""
    return _page(request, place)


@router.post("/projects/{project_id}/settings")
def save(request: Request, place: Manages, form: Form) -> Response:
    """Keep the changed settings; what is wrong is shown with its line, and nothing is changed."""
    text, words = field(form, "yaml", most=LONGEST).replace("\r\n", "\n"), render.translator_of(request)
    try:
        wanted = project_file.parse_settings(text.encode(), words("settings.line"))
        with context_of(request).store.write() as db:
            now = projects.get(db, place.project.id)
            project_creation.check_settings(wanted, scheme_of(db, now))
            ours = {slot.name for slot in fields(project_settings.ProjectSettings)}
            rest = {name: value for name, value in now.settings.items() if name not in ours}
            kept = {**rest, **project_settings.to_dict(wanted)}
            projects.change_settings(db, now.id, kept, by=place.account.id)
    except UserError as error:
        return _page(request, place, typed=text, wrong=render.error_text(request, error), status=error.status)
    return render.redirect(request, f"{place.address}/settings", "saved")


def _page(request: Request, place: Place, *, typed: str = "", wrong: str = "", status: int = 200) -> Response:
    text = typed or project_settings.to_yaml(project_settings.from_dict(place.project.settings))
    return project_page(request, place, "project_settings.html", status=status, text=text, wrong=wrong)
