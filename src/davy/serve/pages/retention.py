"""Retention: after how long the server, or a project, deletes what is old. A rule's page shows first what would go."""
# ruff: noqa: ARG001 — a route's signature says what it needs, such as a permission or a checked form

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from davy.core.errors import UserError
from davy.jobs.retention import preview
from davy.serve import render
from davy.serve.context import context_of
from davy.serve.errors import LocalizedError
from davy.serve.fresh_password import FreshPassword
from davy.serve.membership import Manages, project_page
from davy.serve.visitor import Form, allowed, field
from davy.store import retention
from davy.store.retention import RetentionRule
from davy.store.users import User

router = APIRouter(include_in_schema=False)

Operator = Annotated[User, Depends(allowed("set retention"))]


@router.get("/retention")
def server_rules(request: Request, me: Operator) -> Response:
    """Return the server's rules."""
    return render.page(request, "retention.html", **_values(request, None))


@router.post("/retention")
def change_server_rules(request: Request, me: Operator, fresh: FreshPassword, form: Form) -> Response:
    """Show what a rule would remove, set it, or end it."""
    shown = _change(request, None, form, by=me.id)
    if shown is None:
        return render.redirect(request, "/retention", "saved")
    return render.page(request, "retention.html", **shown)


@router.get("/projects/{project_id}/retention")
def project_rules(request: Request, place: Manages) -> Response:
    """Return a project's rules."""
    return project_page(request, place, "project_retention.html", **_values(request, place.project.id))


@router.post("/projects/{project_id}/retention")
def change_project_rules(request: Request, place: Manages, fresh: FreshPassword, form: Form) -> Response:
    """Show what a rule of the project would remove, set it, or end it."""
    shown = _change(request, place.project.id, form, by=place.account.id)
    if shown is None:
        return render.redirect(request, f"{place.address}/retention", "saved")
    return project_page(request, place, "project_retention.html", **shown)


def _change(request: Request, project: str | None, form: FormData, *, by: str) -> dict[str, Any] | None:
    """Do what a form asks; return what its page shows, or None where the rules changed."""
    context, what = context_of(request), field(form, "what")
    if what not in retention.names_for(project):
        raise LocalizedError("choice")
    if form.get("do") == "end":
        with context.store.write() as db:
            retention.end_rule(db, what, by=by, project=project)
        return None
    text = field(form, "days", most=10)
    if not (text.isascii() and text.isdigit()):
        return {**_values(request, project), "wrong": render.translator_of(request)("error.number", given=text)}
    try:
        rule = retention.make_rule(what, int(text), by=by, project=project)
        if form.get("do") != "set":
            going = preview(context.store, rule, context.settings.files_folder)
            return {**_values(request, project), "asked": rule, "going": going}
        with context.store.write() as db:
            retention.set_rule(db, rule)
    except UserError as error:
        return {**_values(request, project), "wrong": render.error_text(request, error)}
    return None


def _values(request: Request, project: str | None) -> dict[str, Any]:
    """Return each kind of record with its rule, if it has one, and what would go by it now."""
    context = context_of(request)
    with context.store.read() as db:
        rules = {rule.what: rule for rule in retention.list_rules(db, project=project)}

    def row(what: str) -> tuple[str, RetentionRule | None, int]:
        rule = rules.get(what)
        return what, rule, preview(context.store, rule, context.settings.files_folder) if rule else 0

    return {"rows": [row(what) for what in retention.names_for(project)], "wrong": "", "asked": None, "going": 0}
