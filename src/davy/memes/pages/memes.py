"""A project's memes: the next one for a person, what waits in each phase, and all with their confounders and kinds.

The pages on which people work on memes begin with `begin_task`: a task's name in, a `MemeTask` out, or a response if
consent, a rest or an empty queue comes first. Kinds are for those who may see verdicts: raters must not.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.care import care
from davy.annotation.care.pages.consent import member_of
from davy.annotation.labelling import eligibility
from davy.annotation.labelling.pages.sheets import DisplayChoice, display_choice_of
from davy.annotation.labelling.pages.steps import redirect_page, require_consent
from davy.annotation.project.pages.project_access import Here, Labels, ProjectAccess, in_project, project_page
from davy.annotation.project.phase_kind import TASK_KINDS
from davy.annotation.project.store import phases
from davy.core.errors import UserError
from davy.core.meme import MEME_KINDS
from davy.memes import meme_families, meme_tasks
from davy.memes.meme_families import PAPER_MINUTES, meme_progress
from davy.memes.meme_tasks import MemeTask
from davy.memes.store.meme_steps import RatedMeme
from davy.people.pages.visitor import Form, field
from davy.store import Connection
from davy.web import charts, cookies, render
from davy.web.context import context_of
from davy.web.errors import LocalizedError

PATHS: dict[str, str] = {"filter": "filter", "build": "build", "confounders": "confound"}
"""What is to be done with a meme → the last part of its page's address."""

router = APIRouter(include_in_schema=False)

Sees = Annotated[ProjectAccess, Depends(in_project("see verdicts"))]

A_PAGE = 20


def unused_tabs(db: Connection, place: ProjectAccess) -> set[str]:
    """Return the tab of memes where the project has no phase that works on them."""
    return set() if phases.has_kind(db, place.project.id, TASK_KINDS) else {"memes"}


def begin_task(request: Request, place: ProjectAccess, task: str) -> MemeTask | Response:
    """Return this person's next meme; or where to go before there is one."""
    if away := require_consent(request, place):
        return away
    with context_of(request).store.write() as db:
        if care.before_next(db, place.project, member_of(place)) is not None:
            return redirect_page(request, f"{place.address}/rest")
        found = meme_tasks.next_task(db, place.project, member_of(place), task)
    # What the page before this one said, with its way to undo it, stays to be said.
    note = None if cookies.read(request, "note") else "no_meme_now"
    return found or render.redirect(request, f"{place.address}/memes", note)


def open_task(request: Request, place: ProjectAccess, task: str, assignment_id: str) -> MemeTask | Response:
    """Return the meme that a form is about; one that went elsewhere in the meantime leads to the next one."""
    try:
        with context_of(request).store.write() as db:
            return meme_tasks.open_task(db, place.project, member_of(place), assignment_id)
    except UserError as error:
        if error.status != 409:
            raise
        return render.redirect(request, task_path(place, task), "meme_gone")


def go_on(request: Request, place: ProjectAccess, task: str, note: str) -> Response:
    """Return the way to the next meme; its page says what happened, and offers to take it back."""
    undo = f"{place.address}/memes/undo/{PATHS[task]}"
    return render.redirect(request, task_path(place, task), note, undo=undo)


def skipped(request: Request, place: ProjectAccess, task: MemeTask, form: FormData) -> Response | None:
    """Put a meme off where the form says so, and return the way to the next one; else None."""
    if field(form, "do") != "skip":
        return None
    with context_of(request).store.write() as db:
        meme_tasks.skip(db, task)
    return go_on(request, place, task.task, "meme_skipped")


def task_path(place: ProjectAccess, task: str) -> str:
    """Return the address of the page where a task is done."""
    return f"{place.address}/memes/{PATHS[task]}"


def seconds_in(form: FormData) -> float | None:
    """Return the seconds that the page measured; None where it did not, or sent no number."""
    try:
        return float(field(form, "seconds", most=20)) or None
    except ValueError:
        return None


@router.get("/projects/{project_id}/memes")
def overview(request: Request, place: Here) -> Response:
    """Return the phases that memes go through, with what this person can do in each."""
    words, store = render.translator_of(request), context_of(request).store
    mine = place.member if place.may("label posts") and place.project.state == "open" else None
    with store.read() as db:
        every = phases.of_project(db, place.project.id)
        late = [it for it in every if meme_families.waiting_hateful(db, place.project, it)]
    for phase in late:
        with store.write() as db:
            meme_families.add_hateful(db, place.project, phase)
    with store.read() as db:
        progress = meme_progress(db, place.project)
        open_to = [it.phase for it in progress.phases if mine and eligibility.may_work(mine, it.phase, every)]
        ready = {phase.id for phase in open_to if mine and meme_tasks.has_task(db, mine, phase)}
    return project_page(
        request,
        place,
        "memes.html",
        progress=progress,
        open_to={phase.id for phase in open_to},
        leases={phase.id: round(eligibility.lease_of(phase).total_seconds() / 60) for phase in open_to},
        ready=ready,
        first=next((phase.id for phase in open_to if phase.id in ready), None),
        paths={**PATHS, "rating": "../label"},
        paper_minutes=PAPER_MINUTES,
        decimal=lambda value, digits=1: charts.decimal_text(words, value, digits),
    )


@router.post("/projects/{project_id}/memes/undo/{path}")
def undo(request: Request, place: Labels, path: str, form: Form) -> Response:  # noqa: ARG001 — a checked form
    """Put the meme that this person dealt with last before them again."""
    task = next((name for name, address in PATHS.items() if address == path), None)
    if task is None:
        raise LocalizedError("no_such", status=404)
    try:
        with context_of(request).store.write() as db:
            meme_tasks.undo(db, place.project, member_of(place), task)
    except UserError as error:
        if error.status != 409:
            raise
        return render.redirect(request, task_path(place, task), "meme_stays")
    return render.redirect(request, task_path(place, task), "meme_again")


@router.get("/projects/{project_id}/memes/families")
def families(
    request: Request, place: Sees, kind: str = "", page: Annotated[int, Query(ge=1, le=100_000)] = 1
) -> Response:
    """Return the memes of one kind, or of all, each with what flips it; and how many there are of each kind."""
    context = context_of(request)
    with context.store.read() as db:
        has_rating = meme_families.meme_phases(db, place.project).rating is not None
        rows = meme_families.families(db, place.project) if has_rating else []
        kinds = meme_families.kinds_of(db, place.project)
    counts = meme_families.count_kinds(kinds)
    if kind in MEME_KINDS:
        rows = [it for it in rows if kind in (it.kind, *(kinds.get(key) for key in _confounders(it)))]
    shown = rows[(page - 1) * A_PAGE : page * A_PAGE]
    return project_page(
        request,
        place,
        "meme_families.html",
        families=shown,
        masks={it.key: context.mask(it.text) for family in shown for it in _members(family)},
        kinds=kinds,
        counts=[(name, counts.get(name, 0)) for name in MEME_KINDS],
        kind=kind if kind in MEME_KINDS else "",
        page=page,
        more=len(rows) > page * A_PAGE,
        total=len(rows),
        display=display_choice_of(place.project, place.member) if place.member else DisplayChoice(),
    )


def _confounders(family: meme_families.MemeFamily) -> list[str]:
    return [side.confounder.key for side in family.sides.values() if side.confounder is not None]


def _members(family: meme_families.MemeFamily) -> list[RatedMeme]:
    return [family.meme, *(side.confounder for side in family.sides.values() if side.confounder is not None)]
