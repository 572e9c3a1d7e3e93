"""People: invite them, change their role, end their sessions, switch accounts off and on again."""
# ruff: noqa: ARG001 — a route's signature says what it needs, such as a permission or a checked form

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from davy.people.pages import password_reset
from davy.people.pages.confirm import FreshPassword
from davy.people.pages.visitor import Form, allowed, field
from davy.people.store import invitations, personal_data, sessions, users
from davy.people.store.users import User
from davy.store import events
from davy.store.columns import now
from davy.web import render
from davy.web.context import context_of
from davy.web.errors import LocalizedError
from davy.web.refused_by import refused_by

router = APIRouter(include_in_schema=False)

Sees = Annotated[User, Depends(allowed("see people"))]
Invites = Annotated[User, Depends(allowed("invite people"))]
Disables = Annotated[User, Depends(allowed("disable people"))]


@router.get("/people")
def people(request: Request, who: Sees) -> Response:
    """Return everyone with an account, and the invitations that are not used yet."""
    return _page(request)


def _page(request: Request, *, link: dict[str, Any] | None = None, wrong: str = "", status: int = 200) -> Response:
    with context_of(request).store.read() as db:
        everyone = [user for user in users.list_users(db) if not personal_data.is_deleted(user)]
        unused = invitations.list_unused(db)
    return render.page(
        request, "people.html", status=status, people=everyone, invitations=unused, link=link, wrong=wrong
    )


@router.post("/people/invite")
@refused_by(_page)
def invite(request: Request, who: Invites, fresh: FreshPassword, form: Form) -> Response:
    """Make an invitation and show its link, this once: it is not kept, so it is not in a redirect either."""
    days = field(form, "days")
    if days not in ("1", "7", "30"):
        raise LocalizedError("choice")
    context = context_of(request)
    with context.store.write() as db:
        invitation, token = invitations.create(
            db,
            role=field(form, "role"),
            login=field(form, "login") or None,
            by=who.id,
            lasts=timedelta(days=int(days)),
        )
    url = context.link(f"/invitation/{token}")
    return _page(request, link={"url": url, "role": invitation.role, "expires_at": invitation.expires_at})


@router.post("/people/invitations/{invitation_id}/revoke")
def revoke(request: Request, invitation_id: str, who: Invites, form: Form) -> Response:
    """Take an invitation back."""
    with context_of(request).store.write() as db:
        invitations.revoke(db, invitation_id, by=who.id)
    return render.redirect(request, "/people", "revoked_invitation")


@router.post("/people/{user_id}/disable")
def disable(request: Request, user_id: str, who: Disables, fresh: FreshPassword, form: Form) -> Response:
    """Switch an account off; the next page offers to undo it."""
    with context_of(request).store.write() as db:
        person = users.get(db, user_id)
        users.disable(db, person.id, by=who.id)
    context_of(request).key_cache.forget()
    return render.redirect(request, "/people", "disabled", undo=f"/people/{person.id}/enable", name=person.name)


@router.post("/people/{user_id}/enable")
def enable(request: Request, user_id: str, who: Disables, fresh: FreshPassword, form: Form) -> Response:
    """Switch an account on again."""
    with context_of(request).store.write() as db:
        person = users.get(db, user_id)
        users.enable(db, person.id, by=who.id)
    return render.redirect(request, "/people", "enabled", name=person.name)


@router.post("/people/{user_id}/end-sessions")
def end_sessions(request: Request, user_id: str, who: Disables, fresh: FreshPassword, form: Form) -> Response:
    """Sign a person out everywhere."""
    with context_of(request).store.write() as db:
        person = users.get(db, user_id)
        sessions.end_all(db, person.id, by=who.id)
    return render.redirect(request, "/people", "sessions_ended", name=person.name)


@router.post("/people/{user_id}/role")
@refused_by(_page, but=(404,))
def set_role(request: Request, user_id: str, who: Disables, fresh: FreshPassword, form: Form) -> Response:
    """Change what a person may do on this server; nobody changes their own role, and one admin stays."""
    with context_of(request).store.write() as db:
        person = users.get(db, user_id)
        if person.id == who.id:
            raise LocalizedError("own_role", status=409)
        users.set_role(db, person.id, field(form, "role"), by=who.id)
    context_of(request).key_cache.forget()
    return render.redirect(request, "/people", "role_set", name=person.name)


@router.post("/people/{user_id}/new-password")
def make_password_link(request: Request, user_id: str, who: Disables, fresh: FreshPassword, form: Form) -> Response:
    """Show a link, this once, at which a person chooses a new password."""
    with context_of(request).store.write() as db:
        person = users.get(db, user_id)
        events.record(db, by=who.id, what="password link made", about=f"user {person.id}")
    until = now() + timedelta(seconds=password_reset.LASTS)
    return _page(
        request, link={"url": password_reset.link_for(request, person), "name": person.name, "expires_at": until}
    )
