"""The guideline: what people go by, what changed from version to version, and for managers a new version.

A guideline is Markdown that people wrote; it is shown as text, and what looks like HTML in it stays text.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.labelling.pages.questions import question_views
from davy.annotation.project import project_scheme
from davy.annotation.project.pages.project_access import Here, ProjectAccess, in_project, project_page
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.store import messages
from davy.core import Wording
from davy.people.pages.visitor import Form, field
from davy.web import render
from davy.web.context import context_of
from davy.web.errors import LocalizedError
from davy.web.i18n import LANGUAGES, translated_title
from davy.web.markdown import render_markdown
from davy.web.refused_by import refused_by

router = APIRouter(include_in_schema=False)

Changes = Annotated[ProjectAccess, Depends(in_project("change guidelines"))]


@router.get("/projects/{project_id}/guideline")
def guideline(request: Request, place: Here, version: Annotated[int | None, Query(ge=1, le=10**6)] = None) -> Response:
    """Return the guideline in force, or an earlier version with what it changed."""
    return _page(request, place, version)


@router.get("/projects/{project_id}/guideline/new")
def new(request: Request, place: Changes, message: str = "") -> Response:
    """Return the form for a new version, begun with the words in force; those of `message` stand at their end."""
    return _form_page(request, place, message=message, typed=_begun(request, place, message) if message else None)


def _form_page(
    request: Request,
    place: ProjectAccess,
    *,
    message: str = "",
    form: FormData | None = None,
    typed: dict[str, object] | None = None,
    wrong: str = "",
    status: int = 200,
) -> Response:
    if form is not None:
        message, (text, changes) = field(form, "message"), _words_in(form)
        typed = {"text": text, "changes": changes, "again": field(form, "again")}
    with context_of(request).store.read() as db:
        scheme = scheme_of(db, place.project)
    now = scheme.guideline
    words = {lang: now.text.get(lang, "") if now else "" for lang in LANGUAGES}
    return project_page(
        request,
        place,
        "guideline_new.html",
        status=status,
        typed=typed or {"text": words, "changes": "", "again": "none"},
        message=message,
        number=1 + (now.version if now else 0),
        questions=question_views(scheme, None, render.translator_of(request).lang),
        longest=project_scheme.LONGEST_CHANGES,
        wrong=wrong,
    )


@router.post("/projects/{project_id}/guideline/new")
@refused_by(_form_page)
def publish(request: Request, place: Changes, form: Form) -> Response:
    """Add the version, announce it, and ask for second looks where the form says so."""
    text, changes = _words_in(form)
    words = render.translator_of(request)
    with context_of(request).store.write() as db:
        made = project_scheme.publish_guideline(
            db,
            place.project,
            scheme_of(db, place.project),
            text,
            changes=changes,
            by=place.account.id,
            again=_again(form),
            announcement=words("guideline.announced", version="{version}", changes="{changes}"),
            answers=field(form, "message") or None,
        )
    note = "guideline_again" if made.again else "guideline_made"
    return render.redirect(
        request, f"{place.address}/guideline", note, n=words.number(made.again), version=str(made.guideline.version)
    )


def _words_in(form: FormData) -> tuple[dict[str, str], str]:
    """Return the words of a version by language, and what changed."""
    text = {lang: field(form, f"text.{lang}", most=project_scheme.LONGEST_GUIDELINE) for lang in LANGUAGES}
    return text, field(form, "changes", most=project_scheme.LONGEST_CHANGES)


def _again(form: FormData) -> project_scheme.SecondLook | None:
    """Return which answers the form wants looked at again: none, all, or those with a label of a question."""
    chosen = field(form, "again")
    if chosen in ("", "none"):
        return None
    if chosen == "all":
        return project_scheme.SecondLook()
    if chosen != "some":
        raise LocalizedError("choice")
    picked = [str(value).partition("=") for value in form.getlist("label") if isinstance(value, str)]
    questions = {question for question, _, _ in picked}
    if len(questions) != 1:
        raise LocalizedError("one_question", status=422)
    return project_scheme.SecondLook(questions.pop(), tuple(label for _, _, label in picked if label))


def _begun(request: Request, place: ProjectAccess, message: str) -> dict[str, object]:
    """Return what the form begins with where an answer from the channel goes into the guideline."""
    with context_of(request).store.read() as db:
        answer = messages.get(db, place.project.id, message).text
        before = project_scheme.current_guideline(db, place.project)
    text = {lang: before.text.get(lang, "") if before else "" for lang in LANGUAGES}
    wanted = [lang for lang in text if text[lang]] or ["en"]
    text |= {lang: f"{text[lang]}\n\n{answer}".strip() for lang in wanted}
    return {"text": text, "changes": answer[: project_scheme.LONGEST_CHANGES], "again": "none"}


def _page(request: Request, place: ProjectAccess, version: int | None) -> Response:
    lang = render.translator_of(request).lang
    with context_of(request).store.read() as db:
        scheme = scheme_of(db, place.project)
    every = scheme.guidelines
    shown = next((each for each in every if each.version == version), every[-1] if every else None)
    if version is not None and (shown is None or shown.version != version):
        raise LocalizedError("no_such", status=404)
    before = next((each for each in reversed(every) if shown and each.version < shown.version), None)
    return project_page(
        request,
        place,
        "guideline.html",
        shown=shown,
        newest=every[-1].version if every else None,
        text=render_markdown(shown.text.said_in(lang)) if shown else "",
        difference=project_scheme.guideline_difference(before.text.said_in(lang), shown.text.said_in(lang))
        if shown and before
        else [],
        versions=[(each.version, translated_title(Wording(), each.changes, lang)) for each in reversed(every)],
        questions=question_views(scheme, None, lang),
        warning=scheme.warning.said_in(lang),
    )
