"""The survey, its results without names, and the debrief: what came of the work, told to those who did it."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.care import survey
from davy.annotation.care.store import responses
from davy.annotation.project.pages.project_access import Manages, ProjectAccess, in_project, project_page
from davy.annotation.project.store import projects
from davy.core import Wording
from davy.people.pages.visitor import Form, check_rate, field
from davy.web import render
from davy.web.context import context_of
from davy.web.errors import LocalizedError
from davy.web.markdown import render_markdown

router = APIRouter(include_in_schema=False)

Here = Annotated[ProjectAccess, Depends(in_project("see the project", left=True))]


@router.get("/projects/{project_id}/survey")
def show(request: Request, place: Here) -> Response:
    """Return the survey with what this person answered, and for managers the results."""
    questions = survey.questions_of(place.project)
    with context_of(request).store.read() as db:
        mine = responses.get(db, place.project.id, place.account.id, "survey") if place.member else None
        answered, results = survey.survey_results(db, place.project) if place.may("manage") else (0, None)
    lang = render.translator_of(request).lang
    return project_page(
        request,
        place,
        "survey.html",
        questions=[(question, question.words.said_in(lang)) for question in questions],
        mine=dict(mine.content) if mine else {},
        linked=bool(mine and mine.content.get(survey.LINK)),
        scale=survey.SCALE,
        answered=answered,
        fewest=survey.FEWEST,
        mask=context_of(request).mask,
        results=None if results is None else [(result, result.question.words.said_in(lang)) for result in results],
        own="\n".join(_line(question) for question in questions) if questions is not survey.DEFAULT else "",
    )


@router.post("/projects/{project_id}/survey")
def answer(request: Request, place: Here, form: Form) -> Response:
    """Keep this person's answers in place of earlier ones; nothing answered takes them back."""
    if place.member is None:
        raise LocalizedError("not_in_project", status=403)
    check_rate(request, "words of a person", place.account.id)
    questions = survey.questions_of(place.project)
    given = {question.id: field(form, f"q-{question.id}", most=survey.LONGEST) for question in questions}
    kept = survey.clean(questions, given)
    if kept and field(form, "link", most=10) == "yes":
        kept[survey.LINK] = True
    with context_of(request).store.write() as db:
        responses.put(db, place.project.id, place.account.id, "survey", kept)
    return render.redirect(request, f"{place.address}/survey", "survey_saved" if kept else "survey_taken_back")


@router.post("/projects/{project_id}/survey/questions")
def change(request: Request, place: Manages, form: Form) -> Response:
    """Set the project's own questions, a line each; lines that end in … ask for text. None brings the usual ones."""
    settings = dict(place.project.settings)
    questions = _questions(form)
    if questions:
        settings["survey"] = {"questions": questions}
    else:
        settings.pop("survey", None)
    with context_of(request).store.write() as db:
        projects.change_settings(db, place.project.id, settings, by=place.account.id)
    return render.redirect(request, f"{place.address}/survey", "saved")


@router.get("/projects/{project_id}/debrief")
def results(request: Request, place: Here) -> Response:
    """Return what came of the work: for everyone once the project is closed, for managers before."""
    if place.project.state != "closed" and not place.may("manage"):
        raise LocalizedError("not_closed", status=403)
    with context_of(request).store.read() as db:
        figures = survey.debrief_figures(db, place.project)
    lang = render.translator_of(request).lang
    own = Wording(place.project.settings.get("debrief") or "").said_in(lang)
    return project_page(request, place, "debrief.html", figures=figures, own=render_markdown(own) if own else "")


def _questions(form: FormData) -> list[dict[str, Any]]:
    lines = [" ".join(line.split()) for line in field(form, "questions", most=8_000).splitlines()]
    made: list[dict[str, Any]] = []
    for line in lines:
        if not line:
            continue
        kind = "text" if line.endswith(("…", "...")) else "scale"
        words = [part.strip() for part in line.removesuffix("…").removesuffix("...").split(" | ")]
        said = {"en": words[0], **({"de": words[1]} if len(words) > 1 and words[1] else {})}
        made.append({"id": f"q{len(made) + 1}", "kind": kind, "words": said})
    if len(made) > 40:
        raise LocalizedError("too_many_questions", most=40, got=len(made))
    return made


def _line(question: survey.SurveyQuestion) -> str:
    """Return a question as a line of the form that changes them."""
    words = question.words
    said = words.said_in("en") + (f" | {words['de']}" if "de" in words and words["de"] != words.said_in("en") else "")
    return said + ("…" if question.kind == "text" else "")
