"""The audit: every change on this server, with who and when. Also as JSON."""
# ruff: noqa: ARG001 — a route's signature says what it needs, such as a permission or a checked form

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from starlette.requests import Request
from starlette.responses import Response

from davy.people.pages.visitor import allowed, key_or_session
from davy.people.store import users
from davy.people.store.users import User
from davy.store import events
from davy.web import render
from davy.web.audit_translation import audit_rows
from davy.web.context import context_of

router = APIRouter()
_PAGE = 100

Before = Annotated[int | None, Query(ge=1, le=2**62)]


@router.get("/audit", include_in_schema=False)
def audit(request: Request, who: Annotated[User, Depends(allowed("see the audit"))], before: Before = None) -> Response:
    """Return a page of events, newest first."""
    with context_of(request).store.read() as db:
        recent = events.latest(db, before=before, limit=_PAGE)
        names = {user.id: user.name for user in users.list_users(db)}
    older = recent[-1].id if len(recent) == _PAGE else None
    rows = audit_rows(render.translator_of(request), recent, names)
    return render.page(request, "audit.html", rows=rows, older=older)


@router.get("/api/events")
def audit_json(
    request: Request,
    who: Annotated[User, Depends(key_or_session("admin", "see the audit"))],
    before: Before = None,
) -> list[dict[str, Any]]:
    """Return events as JSON, newest first, 100 at a time."""
    with context_of(request).store.read() as db:
        recent = events.latest(db, before=before, limit=_PAGE)
    return [
        {
            "id": event.id,
            "at": event.at,
            "by": event.by,
            "what": event.what,
            "about": event.about,
            "details": dict(event.details),
        }
        for event in recent
    ]
