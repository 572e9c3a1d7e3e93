"""The roster: who is in a project, as what; inviting people, changing their roles and pools, letting them go."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from fastapi import APIRouter
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.labelling import labelling
from davy.annotation.project.pages.project_access import Manages, ProjectAccess, project_page
from davy.annotation.project.project import PROJECT_ROLES
from davy.annotation.project.roster import Joined, settle_complete
from davy.annotation.project.roster import invite as invite_to
from davy.annotation.project.store import members
from davy.people.pages.confirm import FreshPassword
from davy.people.pages.visitor import Form, field
from davy.people.store import invitations, personal_data, users
from davy.store import Connection
from davy.web import render
from davy.web.context import context_of
from davy.web.errors import LocalizedError
from davy.web.refused_by import refused_by

router = APIRouter(include_in_schema=False)


LONGEST_POOL = 40


@router.get("/projects/{project_id}/roster")
def roster(request: Request, place: Manages) -> Response:
    """Return everyone in the project, and the invitations that are not used yet."""
    return _page(request, place)


def _page(
    request: Request, place: ProjectAccess, *, link: dict[str, Any] | None = None, wrong: str = "", status: int = 200
) -> Response:
    with context_of(request).store.read() as db:
        people = [
            (member, users.get(db, member.user)) for member in members.of_project(db, place.project.id, left=True)
        ]
        unused = invitations.list_unused(db, project=place.project.id)
    people = [(member, user) for member, user in people if not personal_data.is_deleted(user)]
    people.sort(key=lambda pair: (pair[0].left_at is not None, pair[1].name.casefold()))
    return project_page(
        request,
        place,
        "roster.html",
        status=status,
        people=people,
        invitations=unused,
        link=link,
        wrong=wrong,
        roles=PROJECT_ROLES,
    )


@router.post("/projects/{project_id}/roster/invite")
@refused_by(_page)
def invite(request: Request, place: Manages, fresh: FreshPassword, form: Form) -> Response:  # noqa: ARG001
    """Put an account on the roster at once; for anyone else make a link and show it, this once."""
    login, days, roles = field(form, "login"), field(form, "days"), _roles(form)
    if days not in ("1", "7", "30"):
        raise LocalizedError("choice")
    context = context_of(request)
    with context.store.write() as db:
        lasts, by = timedelta(days=int(days)), place.account.id
        came = invite_to(db, place.project.id, login or None, roles, by=by, lasts=lasts, pool=_pool(form))
    if isinstance(came, Joined):
        return render.redirect(request, f"{place.address}/roster", "member_added", name=came.user.name)
    made, url = came.invitation, context.link(f"/invitation/{came.token}")
    return _page(request, place, link={"url": url, "roles": made.project_roles, "expires_at": made.expires_at})


@router.post("/projects/{project_id}/roster/invitations/{invitation_id}/revoke")
def revoke(request: Request, place: Manages, invitation_id: str, form: Form) -> Response:  # noqa: ARG001
    """Take back an invitation to this project; another project's is not found."""
    with context_of(request).store.write() as db:
        if invitation_id not in {invitation.id for invitation in invitations.list_unused(db, project=place.project.id)}:
            raise LocalizedError("no_such", status=404)
        invitations.revoke(db, invitation_id, by=place.account.id)
    return render.redirect(request, f"{place.address}/roster", "revoked_invitation")


@router.post("/projects/{project_id}/roster/invitations/{invitation_id}/renew")
def renew(request: Request, place: Manages, invitation_id: str, form: Form) -> Response:  # noqa: ARG001
    """Make a new link for an invitation that nobody has used; the link before it works no longer."""
    context, by = context_of(request), place.account.id
    with context.store.write() as db:
        unused = {it.id: it for it in invitations.list_unused(db, project=place.project.id)}
        if invitation_id not in unused:
            raise LocalizedError("no_such", status=404)
        was = unused[invitation_id]
        invitations.revoke(db, was.id, by=by)
        came = invite_to(db, place.project.id, was.login, was.project_roles, by=by, pool=was.pool)
    if isinstance(came, Joined):
        return render.redirect(request, f"{place.address}/roster", "member_added", name=came.user.name)
    made, url = came.invitation, context.link(f"/invitation/{came.token}")
    return _page(request, place, link={"url": url, "roles": made.project_roles, "expires_at": made.expires_at})


@router.post("/projects/{project_id}/roster/{user_id}")
@refused_by(_page, but=(404,))
def change(request: Request, place: Manages, user_id: str, fresh: FreshPassword, form: Form) -> Response:  # noqa: ARG001
    """Change a member's roles and pool, or end or renew their membership."""
    by, act = place.account.id, field(form, "do")
    with context_of(request).store.write() as db:
        was = members.get(db, place.project.id, user_id)
        if was is None:
            raise LocalizedError("no_such", status=404)
        name = users.get(db, user_id).name
        if act == "save":
            roles = _roles(form)
            _keep_a_manager(db, place, user_id, roles)
            members.set_roles(db, place.project.id, user_id, roles, by=by)
            if was.pool != _pool(form):
                members.set_pool(db, place.project.id, user_id, _pool(form), by=by)
            settle_complete(db, place.project)  # who is no annotator any more is not waited for
        elif act == "leave":
            _keep_a_manager(db, place, user_id, ())
            labelling.leave(db, place.project, user_id, by=by)
        elif act == "rejoin":
            members.rejoin(db, place.project.id, user_id, by=by)
        else:
            raise LocalizedError("choice")
    note = {"save": "member_saved", "leave": "member_left", "rejoin": "member_added"}[act]
    return render.redirect(request, f"{place.address}/roster", note, name=name)


def _keep_a_manager(db: Connection, place: ProjectAccess, user_id: str, roles: tuple[str, ...]) -> None:
    """Refuse a change that would leave nobody to run the project."""
    managers = {member.user for member in members.of_project(db, place.project.id, role="manager", lock=True)}
    if managers == {user_id} and "manager" not in roles:
        raise LocalizedError("last_manager", status=409)


def _roles(form: FormData) -> tuple[str, ...]:
    given = tuple(str(role) for role in form.getlist("roles") if role in PROJECT_ROLES)
    if not given:
        raise LocalizedError("no_role", status=422)
    return given


def _pool(form: FormData) -> str | None:
    return field(form, "pool", most=LONGEST_POOL) or None
