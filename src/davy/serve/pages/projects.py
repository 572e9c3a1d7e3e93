"""Projects: the ones you are in, with what waits for you in each."""


from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from davy.serve import render
from davy.serve.context import context_of
from davy.serve.visitor import allowed
from davy.store import members, phases, projects
from davy.store.users import User

router = APIRouter(include_in_schema=False)

Sees = Annotated[User, Depends(allowed("see projects"))]


@router.get("/projects")
def listed(request: Request, who: Sees) -> Response:
    """Return the account's projects, and for admins the others on this server."""
    with context_of(request).store.read() as db:
        mine = projects.of_user(db, who.id)
        ids = {project.id for project, _ in mine}
        others = [it for it in projects.everything(db) if it.id not in ids] if who.role == "admin" else []
        rows = [(project, member) for project, member in mine] + [(project, None) for project in others]
        about = {
            project.id: {
                "open": [phase.name for phase in phases.of_project(db, project.id) if phase.state == "open"],
                "people": len(members.of_project(db, project.id)),
            }
            for project, _ in rows
        }
    return render.page(request, "projects.html", rows=rows, about=about)
