"""A page to rest on: why, until when, whom to talk to. A rest can be put off once, where the project allows it."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from davy.annotation.care import care
from davy.annotation.care.pages.consent import member_of
from davy.annotation.project.pages.project_access import Labels, Place, project_page
from davy.people.pages.visitor import Form, field
from davy.store.columns import now
from davy.web.context import context_of
from davy.web.i18n import Translator
from davy.web.render import translator_of

router = APIRouter(include_in_schema=False)


@router.get("/projects/{project_id}/rest")
def rest(request: Request, place: Labels, own: bool = False) -> Response:
    """Return the page; it is there to rest on at any time, due or not. `own`: the person asked for this break."""
    with context_of(request).store.write() as db:
        due = care.before_next(db, place.project, member_of(place))
    values = rest_values(translator_of(request), place, due, own=own)
    return project_page(request, place, "label.html", part="parts/rest.html", guide=None, day=None, oob=False, **values)


@router.post("/projects/{project_id}/rest")
def decide(request: Request, place: Labels, form: Form) -> Response:
    """Begin a break, put one off for some minutes, or end the sitting for today."""
    act = field(form, "do")
    with context_of(request).store.write() as db:
        if act == "later":
            care.postpone(db, place.project, member_of(place))
            return RedirectResponse(f"{place.address}/label", 303)
        care.stop(db, member_of(place))
    return RedirectResponse(f"{place.address}/rest?own=true" if act == "now" else place.address, 303)


def rest_values(words: Translator, place: Place, due: care.RestPeriod | None, *, own: bool = False) -> dict[str, Any]:
    """Return what `parts/rest.html` shows; times are where the project is, until a script knows the reader's clock."""
    rules = care.rules_of(place.project, place.member)
    reasons = {
        "break": words("rest.break"),
        "hard items": words("rest.hard_items"),
        "daily cap": words("rest.daily_cap"),
    }
    none = words("rest.own") if own else words("rest.none")
    shown = {
        "words": reasons.get(due.reason, words("rest.break")) if due else none,
        "own": own and due is None,
        "long_enough": round(min(rules.break_minutes, care.IDLE.total_seconds() / 60)),
        "until": due.until if due else None,
        "clock": words.clock(due.until.astimezone(rules.zone)) if due else "",
        "many": words("rest.minutes.other").replace("{count}", "{n}"),
        "minutes": max(1, round((due.until - now()).total_seconds() / 60)) if due else 0,
        "may_postpone": bool(due and due.may_postpone),
    }
    return {
        "rest": shown,
        "base": f"{place.address}/label",
        "rest_path": f"{place.address}/rest",
        "project_id": place.project.id,
        "outcome": "",
    }
