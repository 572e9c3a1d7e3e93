"""A discussion: the team reads one post together and records one shared answer, with notes on what decided it."""
# ruff: noqa: ARG001 — a route's signature says what it needs, such as a permission or a checked form

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.care.pages.consent import member_of
from davy.annotation.labelling.labelling import scheme_of
from davy.annotation.labelling.pages.label import read_form
from davy.annotation.labelling.pages.questions import QuestionView, question_views
from davy.annotation.labelling.pages.sheets import FormState, answer_titles, guideline_view, sheet_view
from davy.annotation.labelling.pages.steps import redirect_page, require_consent
from davy.annotation.labelling.store import items
from davy.annotation.project.pages.project_access import Labels, ProjectAccess, project_page
from davy.annotation.project.store import posts
from davy.annotation.settling import discussion
from davy.core import Annotation, Post
from davy.core.errors import UserError
from davy.people.pages.visitor import LargeForm
from davy.web import render
from davy.web.context import context_of
from davy.web.errors import LocalizedError

router = APIRouter(include_in_schema=False)


@router.get("/projects/{project_id}/discussion")
def discuss(request: Request, place: Labels) -> Response:
    """Return the post that is being discussed, and what was recorded so far."""
    return require_consent(request, place) or _page(request, place)


@router.get("/projects/{project_id}/discussion/{item_id}")
def one(request: Request, place: Labels, item_id: str) -> Response:
    """Return the discussion; an address of a post that is recorded leads to the one that is open."""
    return require_consent(request, place) or _page(request, place)


@router.post("/projects/{project_id}/discussion/{item_id}")
def record(request: Request, place: Labels, item_id: str, form: LargeForm) -> Response:
    """Record the shared answer; where something is missing, the form comes back."""
    if first := require_consent(request, place):
        return first
    store = context_of(request).store
    with store.read() as db:
        text = posts.get(db, items.get(db, item_id).post).text
        filled = read_form(scheme_of(db, place.project), form, text)
    if filled.missing or filled.wrong:
        return _page(request, place, filled)
    try:
        with store.write() as db:
            discussion.record(
                db,
                place.project,
                item_id,
                filled.answers,
                filled.comment,
                annotation_id=filled.annotation_id,
                by=member_of(place).user,
            )
    except UserError as error:
        raise LocalizedError("recorded_already", status=409) if error.status == 409 else error from None
    return redirect_page(request, f"{place.address}/discussion", "saved")


def _page(request: Request, place: ProjectAccess, filled: FormState | None = None) -> Response:
    with context_of(request).store.read() as db:
        phase = discussion.open_phase(db, place.project)
        sheet = discussion.shared_sheet(db, place.project, member_of(place), phase) if phase else None
        done = discussion.recorded_answers(db, place.project, phase) if phase else []
        scheme = scheme_of(db, place.project)
    context, words = context_of(request), render.translator_of(request)
    asked = question_views(scheme, scheme.guideline, words.lang)
    values: dict[str, Any] = {
        "it": None,
        "guide": None,
        "address_of": f"{place.address}/discussion",
        "recorded": [_recorded(context.mask, asked, *it) for it in done],
        "phase": phase,
    }
    if sheet:
        values["it"] = sheet_view(context, words, sheet, filled)
        values["guide"] = guideline_view(scheme, scheme.guideline, words)
        values["address_of"] += f"/{sheet.item.id}"
    return project_page(
        request,
        place,
        "discussion.html",
        status=422 if filled else 200,
        base=f"{place.address}/discussion",
        project_id=place.project.id,
        outcome="",
        problem="",
        oob=False,
        undo=False,
        guide_changed=False,
        **values,
    )


def _recorded(
    mask: Callable[[str], str], asked: tuple[QuestionView, ...], post: Post, given: Annotation
) -> dict[str, Any]:
    """Return one post with its shared answer, for the list."""
    masked = mask(post.text)
    answers = [
        (question.title, answer_titles(question, given.answers[question.name], masked))
        for question in asked
        if question.name in given.answers
    ]
    return {
        "text": post.text,
        "image": post.image,
        "masked": masked,
        "lang": post.lang,
        "answers": answers,
        "notes": given.comment,
    }
