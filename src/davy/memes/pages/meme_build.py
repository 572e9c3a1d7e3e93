"""Build a meme: the source meme's text over the pictures that were chosen for it, in the editor.

Saved, the meme is drawn once, by the server, and waits to be rated by others.
"""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.care.pages.consent import member_of
from davy.annotation.project.pages.project_access import Labels, ProjectAccess, project_page
from davy.annotation.project.store import images
from davy.core.errors import UserError
from davy.memes import meme_tasks
from davy.memes.building import keep_meme, picture_distance, start_layout
from davy.memes.meme_layout import MemeLayout
from davy.memes.meme_tasks import MemeTask
from davy.memes.pages.meme_editor import editor_of, layout_in, sent_layout
from davy.memes.pages.memes import begin_task, go_on, open_task, seconds_in, skipped
from davy.people.pages.visitor import Form
from davy.web.context import context_of
from davy.web.refused_by import refusal

router = APIRouter(include_in_schema=False)


@router.get("/projects/{project_id}/memes/build")
def show(request: Request, place: Labels) -> Response:
    """Return the editor with this person's next meme, which is theirs for a while from now on."""
    task = begin_task(request, place, "build")
    return task if isinstance(task, Response) else _page(request, place, task, _start(request, task))


@router.post("/projects/{project_id}/memes/build/{assignment_id}")
def save(request: Request, place: Labels, assignment_id: str, form: Form) -> Response:
    """Draw and keep the meme and go on, or put it off; what is wrong is said, and the work stays."""
    task = open_task(request, place, "build", assignment_id)
    if isinstance(task, Response):
        return task
    if done := skipped(request, place, task, form):
        return done
    start = _start(request, task)
    try:
        layout = layout_in(request, place, form, base=start)
        keep(request, place, task, layout, seconds=seconds_in(form))
    except UserError as error:
        return _page(request, place, task, sent_layout(form) or start, **refusal(request, error))
    return go_on(request, place, "build", "meme_built")


def keep(
    request: Request,
    place: ProjectAccess,
    task: MemeTask,
    layout: MemeLayout,
    *,
    seconds: float | None,
    side: str | None = None,
) -> None:
    """Draw a meme and keep it as what came of a task; with `side`, as a confounder of that side."""
    store = context_of(request).store
    built = keep_meme(store, place.project.id, layout, by=place.account.id)
    distance = None if side != "image" else picture_distance(store, task.post.image, built.key)
    with store.write() as db:
        still = meme_tasks.open_task(db, place.project, member_of(place), task.id)
        meme_tasks.save_meme(db, still, built.layout, image=built.key, seconds=seconds, side=side, distance=distance)


def _start(request: Request, task: MemeTask) -> MemeLayout:
    """Return what the editor begins with: the meme as it was saved before, else the text over the chosen pictures."""
    if task.layout is not None:
        return MemeLayout.from_dict(task.layout)
    store = context_of(request).store
    with store.read() as db:
        still = images.keys_of(db, task.project.id, task.images)
    keys = [key for key in task.images if key in still]
    return start_layout(store, task.project.id, keys, task.post.text, source=task.post.image)


def _page(
    request: Request, place: ProjectAccess, task: MemeTask, layout: MemeLayout, *, wrong: str = "", status: int = 200
) -> Response:
    editor = editor_of(
        request,
        place,
        save=f"{place.address}/memes/build/{task.id}",
        layout=layout,
        source=task.post.image,
        report=f"{place.address}/report-picture/{task.id}",
        source_text=context_of(request).mask(task.post.text),
        images=task.images,
    )
    return project_page(request, place, "meme_build.html", status=status, task=task, editor=editor, wrong=wrong)
