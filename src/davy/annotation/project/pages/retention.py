"""Retention in a project: after how long it deletes what is old. A rule's page shows first what would go."""
# ruff: noqa: ARG001 — a route's signature says what it needs, such as a permission or a checked form

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.project.pages.project_access import Manages, ProjectAccess, project_page
from davy.people.pages.confirm import FreshPassword
from davy.people.pages.retention import change_rules, retention_values
from davy.people.pages.visitor import Form
from davy.people.store.retention import RetentionRule
from davy.web import render
from davy.web.refused_by import refused_by

router = APIRouter(include_in_schema=False)


@router.get("/projects/{project_id}/retention")
def project_rules(request: Request, place: Manages) -> Response:
    """Return a project's rules."""
    return _project_page(request, place)


def _project_page(
    request: Request, place: ProjectAccess, *, asked: RetentionRule | None = None, wrong: str = "", status: int = 200
) -> Response:
    values = retention_values(request, place.project.id, asked)
    return project_page(request, place, "project_retention.html", status=status, wrong=wrong, **values)


@router.post("/projects/{project_id}/retention")
@refused_by(_project_page)
def change_project_rules(request: Request, place: Manages, fresh: FreshPassword, form: Form) -> Response:
    """Show what a rule of the project would remove, set it, or end it."""
    asked = change_rules(request, place.project.id, form, by=place.account.id)
    if asked is None:
        return render.redirect(request, f"{place.address}/retention", "saved")
    return _project_page(request, place, asked=asked)
