"""A project's overview: what is next for you, and its phases with what keeps each from going on."""


from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from davy.serve.context import context_of
from davy.serve.membership import Place, in_project, project_page
from davy.store import phases

router = APIRouter(include_in_schema=False)

Here = Annotated[Place, Depends(in_project("see the project"))]


@router.get("/projects/{project_id}")
def overview(request: Request, place: Here) -> Response:
    """Return the overview."""
    with context_of(request).store.read() as db:
        found = phases.of_project(db, place.project.id)
    return project_page(request, place, "project.html", phases=found)
