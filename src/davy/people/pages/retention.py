"""Retention: after how long the server, or a project, deletes what is old. A rule's page shows first what would go."""
# ruff: noqa: ARG001 — a route's signature says what it needs, such as a permission or a checked form

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.project.pages.project_access import Manages, ProjectAccess, project_page
from davy.people.pages.confirm import FreshPassword
from davy.people.pages.visitor import Form, allowed, field, whole_number
from davy.people.retention import preview
from davy.people.store import retention
from davy.people.store.retention import RetentionRule
from davy.people.store.users import User
from davy.web import render
from davy.web.context import context_of
from davy.web.errors import LocalizedError
from davy.web.refused_by import refused_by

router = APIRouter(include_in_schema=False)

Operator = Annotated[User, Depends(allowed("set retention"))]


@router.get("/retention")
def server_rules(request: Request, me: Operator) -> Response:
    """Return the server's rules."""
    return _server_page(request)


def _server_page(
    request: Request, *, asked: RetentionRule | None = None, wrong: str = "", status: int = 200
) -> Response:
    return render.page(request, "retention.html", status=status, wrong=wrong, **_values(request, None, asked))


@router.post("/retention")
@refused_by(_server_page)
def change_server_rules(request: Request, me: Operator, fresh: FreshPassword, form: Form) -> Response:
    """Show what a rule would remove, set it, or end it."""
    asked = _change(request, None, form, by=me.id)
    return render.redirect(request, "/retention", "saved") if asked is None else _server_page(request, asked=asked)


@router.get("/projects/{project_id}/retention")
def project_rules(request: Request, place: Manages) -> Response:
    """Return a project's rules."""
    return _project_page(request, place)


def _project_page(
    request: Request, place: ProjectAccess, *, asked: RetentionRule | None = None, wrong: str = "", status: int = 200
) -> Response:
    values = _values(request, place.project.id, asked)
    return project_page(request, place, "project_retention.html", status=status, wrong=wrong, **values)


@router.post("/projects/{project_id}/retention")
@refused_by(_project_page)
def change_project_rules(request: Request, place: Manages, fresh: FreshPassword, form: Form) -> Response:
    """Show what a rule of the project would remove, set it, or end it."""
    asked = _change(request, place.project.id, form, by=place.account.id)
    if asked is None:
        return render.redirect(request, f"{place.address}/retention", "saved")
    return _project_page(request, place, asked=asked)


def _change(request: Request, project: str | None, form: FormData, *, by: str) -> RetentionRule | None:
    """Do what a form asks; return the rule that it only asks about, or None where the rules changed."""
    store, what = context_of(request).store, field(form, "what")
    if what not in retention.names_for(project):
        raise LocalizedError("choice")
    if form.get("do") == "end":
        with store.write() as db:
            retention.end_rule(db, what, by=by, project=project)
        return None
    days = whole_number(form, "days")
    if days is None:
        raise LocalizedError("number", status=422, given="")
    rule = retention.make_rule(what, days, by=by, project=project)
    if form.get("do") != "set":
        return rule
    with store.write() as db:
        retention.set_rule(db, rule)
    return None


def _values(request: Request, project: str | None, asked: RetentionRule | None) -> dict[str, Any]:
    """Return each kind of record with its rule, if it has one, and what would go by it now, or by the one asked for."""
    context = context_of(request)
    with context.store.read() as db:
        rules = {rule.what: rule for rule in retention.list_rules(db, project=project)}

    def count(rule: RetentionRule | None) -> int:
        return preview(context.store, rule, context.settings.files_folder) if rule else 0

    rows = [(what, rules.get(what), count(rules.get(what))) for what in retention.names_for(project)]
    return {"rows": rows, "asked": asked, "going": count(asked)}
