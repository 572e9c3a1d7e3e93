"""Care: how you are, your own limits, a page to rest on; and for wellbeing contacts, what people wrote.

Check-ins are read by those who were named on this page when they were written,
and never by managers or admins; that is the store's rule (`store.check_ins`).
The rest page says why and until when. A rest can be put off once, where the project allows it.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from davy.annotation.care import care
from davy.annotation.care.pages.consent import member_of
from davy.annotation.care.store import check_ins
from davy.annotation.project.pages.project_access import Labels, ProjectAccess, in_project, project_page
from davy.annotation.project.project import Member
from davy.annotation.project.store import members
from davy.core.errors import UserError
from davy.people.pages.visitor import Form, check_rate, field
from davy.people.store import users
from davy.store import Connection
from davy.store.columns import now
from davy.web import render
from davy.web.context import context_of
from davy.web.errors import LocalizedError
from davy.web.i18n import Translator
from davy.web.refused_by import refused_by
from davy.web.render import translator_of

router = APIRouter(include_in_schema=False)

Here = Annotated[ProjectAccess, Depends(in_project("check in"))]
Reads = Annotated[ProjectAccess, Depends(in_project("read check-ins"))]


@router.get("/projects/{project_id}/care")
def show(request: Request, place: Here) -> Response:
    """Return the page."""
    return _page(request, place)


def _page(request: Request, place: ProjectAccess, *, wrong: str = "", status: int = 200) -> Response:
    member = member_of(place)
    with context_of(request).store.read() as db:
        contacts = [
            _contact(db, contact) for contact in check_ins.contacts(db, place.project.id) if contact.user != member.user
        ]
        mine = check_ins.of_person(db, member.user, project_id=place.project.id)
        today = care.today(db, place.project, member)
        waiting = _for_contact(db, member) if place.may("read check-ins") else None
    return project_page(
        request,
        place,
        "care.html",
        status=status,
        moods=check_ins.MOODS,
        contacts=contacts,
        mine=mine[:10],
        today=today,
        limits=[(name, getattr(care.rules_of(place.project), name), member.choices.get(name)) for name in _LIMITS],
        waiting=waiting,
        mask=context_of(request).mask,
        wrong=wrong,
    )


@router.post("/projects/{project_id}/care")
@refused_by(_page)
def check_in(request: Request, place: Here, form: Form) -> Response:
    """Keep a check-in for the wellbeing contacts."""
    check_rate(request, "words of a person", place.account.id)
    mood, words = field(form, "mood"), field(form, "words", most=check_ins.LONGEST)
    wants = field(form, "contact") == "yes"
    if mood and mood not in map(str, check_ins.MOODS):
        raise LocalizedError("choice")
    if not (mood or words or wants):
        raise LocalizedError("check_in_empty", status=422)
    try:
        with context_of(request).store.write() as db:
            check_ins.add(
                db,
                place.project.id,
                place.account.id,
                mood=int(mood) if mood else None,
                words=words,
                wants_contact=wants,
            )
    except UserError as error:
        if error.status != 409:
            raise
        raise LocalizedError("no_wellbeing", status=409) from None
    return render.redirect(request, f"{place.address}/care", "checked_in")


@router.post("/projects/{project_id}/care/limits")
@refused_by(_page)
def limits(request: Request, place: Here, form: Form) -> Response:
    """Keep a person's own limits; they hold where they are lower than the project's."""
    wanted: dict[str, int | None] = {}
    for name in care.OWN_LIMITS:
        given = field(form, name, most=6)
        if given and not (given.isascii() and given.isdigit() and 0 < int(given) <= 100_000):
            raise LocalizedError("number", given=given)
        wanted[name] = int(given) if given else None
    with context_of(request).store.write() as db:
        members.choose(db, place.project.id, place.account.id, **wanted)
    return render.redirect(request, f"{place.address}/care", "saved")


@router.post("/projects/{project_id}/care/{check_in_id}/seen")
def mark_seen(request: Request, place: Reads, check_in_id: str, form: Form) -> Response:  # noqa: ARG001
    """Note that a contact has seen a check-in."""
    with context_of(request).store.write() as db:
        check_ins.mark_seen(db, member_of(place), check_in_id)
    return render.redirect(request, f"{place.address}/care", "seen")


_LIMITS = ("break_after_minutes", "break_after_hard", "daily_minutes")


def _contact(db: Connection, member: Member) -> dict[str, Any]:
    """Return a contact by name, and whether they run the project, too: people should know that before they write."""
    return {"name": users.get(db, member.user).name, "manages": "manager" in member.roles}


def _for_contact(db: Connection, member: Member) -> list[dict[str, Any]]:
    sent = check_ins.for_reader(db, member)
    people = {check_in.user: users.get(db, check_in.user) for check_in in sent}
    return [{"it": one, "name": people[one.user].name, "login": people[one.user].login} for one in sent]


@router.get("/projects/{project_id}/rest")
def rest(request: Request, place: Labels, own: bool = False) -> Response:
    """Return the page; it is there to rest on at any time, due or not. `own`: the person asked for this break."""
    with context_of(request).store.write() as db:
        due = care.before_next(db, place.project, member_of(place))
    values = rest_values(translator_of(request), place, due, own=own)
    return project_page(request, place, "label.html", part="parts/rest.html", guide=None, day=None, oob=False, **values)


@router.post("/projects/{project_id}/rest")
def begin_rest(request: Request, place: Labels, form: Form) -> Response:
    """Begin a break, put one off for some minutes, or end the sitting for today."""
    act = field(form, "do")
    with context_of(request).store.write() as db:
        if act == "later":
            care.postpone(db, place.project, member_of(place))
            return RedirectResponse(f"{place.address}/label", 303)
        care.stop(db, member_of(place))
    return RedirectResponse(f"{place.address}/rest?own=true" if act == "now" else place.address, 303)


def rest_values(
    words: Translator, place: ProjectAccess, due: care.RestPeriod | None, *, own: bool = False
) -> dict[str, Any]:
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
