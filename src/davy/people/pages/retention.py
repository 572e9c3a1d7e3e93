"""Retention: after how long the server deletes what is old. A rule's page shows first what would go."""
# ruff: noqa: ARG001 — a route's signature says what it needs, such as a permission or a checked form

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

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
    return render.page(request, "retention.html", status=status, wrong=wrong, **retention_values(request, None, asked))


@router.post("/retention")
@refused_by(_server_page)
def change_server_rules(request: Request, me: Operator, fresh: FreshPassword, form: Form) -> Response:
    """Show what a rule would remove, set it, or end it."""
    asked = change_rules(request, None, form, by=me.id)
    return render.redirect(request, "/retention", "saved") if asked is None else _server_page(request, asked=asked)


def change_rules(request: Request, project: str | None, form: FormData, *, by: str) -> RetentionRule | None:
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


def retention_values(request: Request, project: str | None, asked: RetentionRule | None) -> dict[str, Any]:
    """Return each kind of record with its rule, if it has one, and what would go by it now, or by the one asked for."""
    context = context_of(request)
    with context.store.read() as db:
        rules = {rule.what: rule for rule in retention.list_rules(db, project=project)}

    def count(rule: RetentionRule | None) -> int:
        return preview(context.store, rule, context.settings.files_folder) if rule else 0

    rows = [(what, rules.get(what), count(rules.get(what))) for what in retention.names_for(project)]
    return {"rows": rows, "asked": asked, "going": count(asked)}
