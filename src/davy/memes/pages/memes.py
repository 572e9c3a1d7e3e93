"""A project's memes: what waits for whom in each phase, and what became of the source memes."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.care.pages.consent import member_of
from davy.annotation.labelling import eligibility
from davy.annotation.project.pages.project_access import Here, Labels, project_page
from davy.annotation.project.store import phases
from davy.core.errors import UserError
from davy.memes import meme_families, meme_tasks
from davy.memes.meme_progress import PAPER_MINUTES, meme_progress
from davy.memes.pages.meme_work import PATHS, task_path
from davy.people.pages.visitor import Form
from davy.web import charts, render
from davy.web.context import context_of
from davy.web.errors import LocalizedError

router = APIRouter(include_in_schema=False)


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
