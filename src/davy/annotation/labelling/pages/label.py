"""The labelling page: one post, its questions, the guideline beside it.

An answer is saved, counted for care and followed by the next post in one transaction;
the page is made after it. htmx gets the next post as a part, a browser without scripts
is sent on to its address. An answer is known by the id that its form carries, so a
form that is sent twice counts once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Depends
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from davy.annotation.care import care
from davy.annotation.care.pages.consent import member_of
from davy.annotation.care.store import work_sessions
from davy.annotation.care.store.work_sessions import WorkSitting
from davy.annotation.labelling import labelling
from davy.annotation.labelling.labelling import Sheet
from davy.annotation.labelling.pages.questions import read_answers
from davy.annotation.labelling.pages.sheets import AnsweredSheet, FormState
from davy.annotation.labelling.pages.steps import (
    LabellingStep,
    explain_no_work,
    require_consent,
    respond,
    respond_to_form,
)
from davy.annotation.labelling.screening import feedback_on
from davy.annotation.labelling.store import item_selection
from davy.annotation.project.pages.project_access import (
    ProjectAccess,
    find_access,
    in_project,
    require_permission,
    session_token,
)
from davy.core import FLAGS, Scheme
from davy.core.errors import UserError
from davy.people.pages.visitor import MOST_LARGE, Form, check_form, field, find_visitor, read_fields, touch
from davy.store import Connection
from davy.store.columns import now
from davy.web.context import context_of
from davy.web.errors import LocalizedError

router = APIRouter(include_in_schema=False)

_labels = in_project("label posts")
Labels = Annotated[ProjectAccess, Depends(_labels)]

LONGEST_COMMENT = 2_000


@router.get("/projects/{project_id}/label")
def label(request: Request, place: Labels) -> Response:
    """Return the page with this person's next post, which is theirs for a while from now on."""
    if away := require_consent(request, place):
        return away
    with context_of(request).store.write() as db:
        step = _next(db, place)
    return respond(request, place, step)


@router.get("/projects/{project_id}/label/{assignment_id}")
def one(request: Request, place: Labels, assignment_id: str) -> Response:
    """Return one post of this person's: to answer, or with what they answered."""
    if away := require_consent(request, place):
        return away
    try:
        with context_of(request).store.write() as db:
            sheet = _open(db, place, assignment_id)
            day = _day(db, place)
    except UserError as error:
        if error.status != 409:
            raise
        return RedirectResponse(f"{place.address}/label", 303)
    answered = sheet.assignment.state in ("done", "refused")
    return respond(request, place, LabellingStep(_answered(sheet) if answered else sheet, day=day))


@router.post("/projects/{project_id}/label/undo")
def undo(request: Request, place: Labels, form: Form) -> Response:
    """Open this person's last answer again, or the one named; saving it makes a new one that replaces it."""
    which = field(form, "assignment") or None
    try:
        with context_of(request).store.write() as db:
            sheet = labelling.undo(db, place.project, member_of(place), which)
    except UserError as error:
        if error.status == 403:
            raise LocalizedError("other_person", status=403) from None
        raise LocalizedError("cant_undo", status=409) if error.status == 409 else error from None
    return respond_to_form(request, place, LabellingStep(sheet, outcome="undone"))


@router.post("/projects/{project_id}/label/{assignment_id}")
async def answer(request: Request, project_id: str, assignment_id: str) -> Response:
    """Save an answer, refuse or skip a post, and go on to the next one.

    Everyone uses this route all day, so all of it happens in one visit to a worker thread instead of three.
    """
    form = await read_fields(request, MOST_LARGE)  # every marked word is a field
    return await to_thread.run_sync(
        _answer, request, project_id, assignment_id, form, limiter=context_of(request).answering
    )


def _answer(request: Request, project_id: str, assignment_id: str, form: FormData) -> Response:
    token = session_token(request)
    store, place = context_of(request).store, None
    try:
        # Who asks, whether they may, and what they ask for are one transaction.
        with store.write(pipelined=True) as db:
            place = require_permission(find_access(request, db, token, project_id), "label posts")
            check_form(request, form)
            if away := require_consent(request, place):
                return away
            step = _act(db, place, assignment_id, form)
    except UserError as error:
        if error.status != 409 or place is None:
            raise
        with store.write() as db:
            step = _next(db, place, problem=_why_not(db, assignment_id))
    touch(request, find_visitor(request))
    return respond_to_form(request, place, replace(step, guideline=field(form, "guideline")))


# ---- what a form asks for ----------------------------------------------------------------------


def _act(db: Connection, place: ProjectAccess, assignment_id: str, form: FormData) -> LabellingStep:
    """Do what the form asks with a post that is in this person's hands."""
    sheet = _open(db, place, assignment_id)
    filled = read_form(sheet.scheme, form, sheet.post.text)
    match field(form, "do") or "save":
        case "save":
            return _save(db, place, sheet, filled)
        case "skip":
            labelling.skip(db, sheet)
            return _next(db, place, outcome="skipped")
        case "refuse" if field(form, "sure") != "yes":
            return LabellingStep(sheet, form=replace(filled, missing=(), armed=True))
        case "refuse":
            fresh = sheet.assignment.state != "refused"
            refused = labelling.refuse(db, sheet, annotation_id=filled.annotation_id)
            if fresh:
                seconds = filled.seconds or None
                care.after_save(db, place.project, member_of(place), refused.annotation, seconds, hard=True)
            return _next(db, place, outcome="refused")
    raise LocalizedError("choice")


def _save(db: Connection, place: ProjectAccess, sheet: Sheet, filled: FormState) -> LabellingStep:
    if filled.missing or filled.wrong:
        return LabellingStep(sheet, form=filled, status=422)
    # A form that was sent before finds its post answered; it must not count as work twice.
    fresh, sat = sheet.assignment.state != "done", None
    seconds = filled.seconds or None
    saved = labelling.save(
        db,
        sheet,
        filled.answers,
        annotation_id=filled.annotation_id,
        flags=tuple(filled.flags),
        comment=filled.comment or None,
        seconds=seconds,
    )
    if fresh:
        hard = care.is_hard(place.project, sheet.scheme, filled.answers, post=sheet.post)
        sat = care.after_save(db, place.project, member_of(place), saved.annotation, seconds, hard=hard)
    if saved.feedback is not None:
        return LabellingStep(AnsweredSheet(sheet, saved.annotation, saved.feedback), outcome="saved")
    return _next(db, place, outcome="saved", sat=sat, scheme=sheet.scheme)


def read_form(scheme: Scheme, form: FormData, text: str = "") -> FormState:
    """Return what a form holds about a post with this text; one that our page can't have sent is refused."""
    given = read_answers(scheme, form, text)
    annotation_id = field(form, "annotation_id", most=40)
    given_flags = set(form.getlist("flag"))
    flags = tuple(flag for flag in FLAGS if flag != "refused" and flag in given_flags)
    if not annotation_id.isalnum() or len(flags) < len(given_flags):
        raise LocalizedError("bad_form")
    return FormState(
        answers=given.answers,
        flags=flags,
        comment=field(form, "comment", most=LONGEST_COMMENT),
        seconds=_seconds(field(form, "seconds")),
        annotation_id=annotation_id,
        missing=given.missing,
        wrong=given.wrong,
    )


def _seconds(written: str) -> float:
    """Return the seconds that a browser measured, within what one post can take; nonsense counts as none."""
    try:
        seconds = float(written)
    except ValueError:
        return 0.0
    return round(min(seconds, care.LONGEST_ITEM), 1) if seconds > 0 else 0.0


# ---- what comes next ---------------------------------------------------------------------------


def _next(
    db: Connection,
    place: ProjectAccess,
    *,
    outcome: str = "",
    problem: str = "",
    sat: list[WorkSitting] | None = None,
    scheme: Scheme | None = None,
) -> LabellingStep:
    member = member_of(place)
    sat = work_sessions.recent(db, member.user, now()) if sat is None else sat
    rest = care.before_next(db, place.project, member, known=sat)
    if rest is not None:
        return LabellingStep(rest, outcome, problem)
    sheet = labelling.next_sheet(db, place.project, member, scheme=scheme)
    shown = sheet or explain_no_work(db, place, member)
    return LabellingStep(shown, outcome, problem, day=care.work_day(place.project, member, sat))


def _day(db: Connection, place: ProjectAccess) -> care.WorkDay:
    member = member_of(place)
    return care.work_day(place.project, member, work_sessions.recent(db, member.user, now()))


def _open(db: Connection, place: ProjectAccess, assignment_id: str) -> Sheet:
    try:
        return labelling.open_sheet(db, place.project, member_of(place), assignment_id)
    except UserError as error:
        match error.status:
            case 403:
                raise LocalizedError("other_person", status=403) from None
            case 404:
                raise LocalizedError("no_such", status=404) from None
        raise


def _answered(sheet: Sheet) -> AnsweredSheet:
    answers = sheet.before.answers if sheet.before else {}
    return AnsweredSheet(sheet, sheet.before, feedback_on(sheet.phase, sheet.item, sheet.scheme, answers))


def _why_not(db: Connection, assignment_id: str) -> str:
    """Return why an answer was not taken: it was given in another tab, the phase closed, or the post went to others."""
    held = item_selection.get_held(db, assignment_id, lock=False)
    if held is None or held.phase.state != "open":
        return "closed"
    return "already" if held.assignment.state in ("done", "refused") else "gone"
