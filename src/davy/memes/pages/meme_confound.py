"""Confound a hateful meme: for its picture and for its text, the smallest replacement that makes it harmless.

Each side has an answer of its own: flipped (a new meme, in the editor), nothing can flip it, or no replacement found.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.care.pages.consent import member_of
from davy.annotation.labelling.pages.sheets import display_choice_of
from davy.annotation.project.pages.project_access import Labels, ProjectAccess, project_page
from davy.core.errors import UserError
from davy.core.meme import FLIP_ANSWERS, SIDES
from davy.memes import meme_families, meme_tasks
from davy.memes.building import usable_pictures
from davy.memes.meme_layout import MemeLayout, caption, stack, with_pictures
from davy.memes.meme_tasks import MemeTask
from davy.memes.pages.library import picker_of
from davy.memes.pages.meme_build import keep
from davy.memes.pages.meme_editor import editor_of, layout_in, sent_layout
from davy.memes.pages.memes import begin_task, go_on, open_task, seconds_in, skipped, task_path
from davy.people.pages.visitor import Form, field
from davy.web import render
from davy.web.context import context_of
from davy.web.errors import LocalizedError
from davy.web.refused_by import refusal

router = APIRouter(include_in_schema=False)


MOST_PICTURES = 6


@router.get("/projects/{project_id}/memes/confound")
def show(
    request: Request, place: Labels, side: str = "", replacement: Annotated[list[str] | None, Query()] = None
) -> Response:
    """Return this person's next hateful meme: both sides, or for one side the library or the editor."""
    task = begin_task(request, place, "confounders")
    if isinstance(task, Response):
        return task
    return _page(request, place, task, side if side in SIDES else "", tuple(replacement or ())[:MOST_PICTURES])


@router.post("/projects/{project_id}/memes/confound/{assignment_id}")
def save(request: Request, place: Labels, assignment_id: str, form: Form) -> Response:
    """Keep the answer for a side, and go on where both have one."""
    task = open_task(request, place, "confounders", assignment_id)
    if isinstance(task, Response):
        return task
    if done := skipped(request, place, task, form):
        return done
    side, do = field(form, "side"), field(form, "do")
    keys = tuple(field(form, "replacements", most=1_000).split())[:MOST_PICTURES]
    try:
        _answer(request, place, task, side, do, keys, form)
    except UserError as error:
        return _page(request, place, task, side, keys, layout=sent_layout(form), **refusal(request, error))
    if do != "keep" and _open_sides(request, task):
        return render.redirect(request, task_path(place, "confounders"), "side_answered")
    return go_on(request, place, "confounders", "meme_confounded")


def _answer(
    request: Request, place: ProjectAccess, task: MemeTask, side: str, do: str, keys: Sequence[str], form: FormData
) -> None:
    store, seconds = context_of(request).store, seconds_in(form)
    if do == "keep":
        with store.write() as db:
            meme_tasks.keep_answers(db, task)
    elif do in FLIP_ANSWERS[1:]:
        with store.write() as db:
            meme_tasks.answer_side(db, task, side, do, seconds=seconds)
    elif side in SIDES:
        base = _start(request, task, side, keys)
        layout = layout_in(request, place, form, base=base, change=side)
        keep(request, place, task, layout, seconds=seconds, side=side)
    else:
        raise LocalizedError("choice")


def _open_sides(request: Request, task: MemeTask) -> list[str]:
    with context_of(request).store.read() as db:
        return meme_families.family_of(db, task.project, task.key).open_sides


def _start(request: Request, task: MemeTask, side: str, keys: Sequence[str]) -> MemeLayout:
    """Return what the editor begins with: the meme itself, or its text over the pictures that were chosen."""
    base = MemeLayout.from_dict(task.layout) if task.layout is not None else None
    if side == "text":
        if base is None:
            raise LocalizedError("meme_without_layout", status=409)
        return base
    with context_of(request).store.read() as db:
        found = [(it.key, it.width, it.height) for it in usable_pictures(db, task.project.id, keys)]
    if not found:
        raise LocalizedError("meme_without_picture", status=422)
    return with_pictures(base, found) if base is not None else caption(stack(found), task.post.text)


def _page(
    request: Request,
    place: ProjectAccess,
    task: MemeTask,
    side: str,
    keys: Sequence[str] = (),
    *,
    layout: MemeLayout | None = None,
    wrong: str = "",
    status: int = 200,
) -> Response:
    context = context_of(request)
    with context.store.read() as db:
        family = meme_families.family_of(db, place.project, task.key)
    values: dict[str, Any] = {
        "task": task,
        "family": family,
        "side": side,
        "wrong": wrong,
        "masked": context.mask(task.post.text),
        "display": display_choice_of(place.project, member_of(place)),
        "editor": None,
        "picker": None,
    }
    if side == "image" and not keys:
        own = task.images[0] if task.images else None
        values["picker"] = picker_of(request, place, like=own, form="pick", without=task.images)
    elif side:
        values["editor"] = editor_of(
            request,
            place,
            save=f"{place.address}/memes/confound/{task.id}",
            layout=layout or _start(request, task, side, keys),
            change=side,
            source=task.post.image,
            report=f"{place.address}/report-picture/{task.id}",
            source_text=values["masked"],
            images=keys,
            hidden={"side": side, "replacements": " ".join(keys)},
            title="editor.original",
        )
    return project_page(request, place, "meme_confound.html", status=status, **values)
