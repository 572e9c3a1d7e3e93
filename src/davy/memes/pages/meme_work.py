"""What the pages share on which people work on memes: the next meme for a person, and what a form sends.

A task's name in, a `MemeTask` out; or a response where consent, a rest or an empty queue comes first.
"""

from __future__ import annotations

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.care import care
from davy.annotation.care.pages.consent import member_of
from davy.annotation.labelling.pages.steps import redirect_page, require_consent
from davy.annotation.project.pages.project_access import ProjectAccess
from davy.core.errors import UserError
from davy.memes import meme_tasks
from davy.memes.meme_tasks import MemeTask
from davy.people.pages.visitor import field
from davy.web import cookies, render
from davy.web.context import context_of

PATHS: dict[str, str] = {"filter": "filter", "build": "build", "confounders": "confound"}
"""What is to be done with a meme → the last part of its page's address."""


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
