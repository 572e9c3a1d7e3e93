"""What people's ratings of memes are worth: their agreement, their accuracy, and the rule for severe disagreement."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.project import project_creation
from davy.annotation.project import settings as project_settings
from davy.annotation.project.pages.project_access import Manages, ProjectAccess, in_project, project_page
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.settings import MIDDLES, AdjudicationRule
from davy.annotation.project.store import projects
from davy.core import Scheme
from davy.core.errors import UserError
from davy.memes import rating_quality
from davy.memes.meme_families import meme_phases
from davy.memes.rating_quality import PAPER_KAPPA, rating_agreement
from davy.people.pages.visitor import Form, field
from davy.web import charts, render
from davy.web.context import context_of
from davy.web.errors import LocalizedError
from davy.web.i18n import translated_title
from davy.web.refused_by import refused_by

router = APIRouter(include_in_schema=False)

Watches = Annotated[ProjectAccess, Depends(in_project("watch"))]

PAPER_ACCURACY = (0.847, 0.83, 0.87)
"""Human accuracy of Hateful Memes, and the range of its ten batches (section 3.1)."""
BATCHES = 10


@router.get("/projects/{project_id}/memes/figures")
def figures(request: Request, place: Watches) -> Response:
    """Return the figures, with the forms to change the rule and to have settled memes labelled anew."""
    return _page(request, place)


def _page(request: Request, place: ProjectAccess, *, wrong: str = "", status: int = 200) -> Response:
    words = render.translator_of(request)
    with context_of(request).store.read() as db:
        place = ProjectAccess(projects.get(db, place.project.id), place.member, place.account)
        scheme, rating = scheme_of(db, place.project), meme_phases(db, place.project).rating
        measured = rating_agreement(db, place.project) if rating else []
        human = rating_quality.human_accuracy(db, place.project) if rating else None
        fresh = rating_quality.fresh_people(db, place.project) if place.may("manage") else []
    scale = next((it.name for it in scheme.questions if it.ordered), None)
    rules = project_settings.from_dict(place.project.settings).adjudication
    values = {
        "agreement": [(it, translated_title(it.question.title, it.question.name, words.lang)) for it in measured],
        "human": human,
        "fresh": fresh,
        "rule": asdict(rules.get(scale, AdjudicationRule(rule="severe"))) if scale else None,
        "middles": MIDDLES,
        "paper_kappa": PAPER_KAPPA,
        "paper_accuracy": PAPER_ACCURACY,
        "batches": BATCHES,
        "wrong": wrong,
        "figure": lambda metric: charts.metric_text(words, metric),
        "decimal": partial(charts.decimal_text, words),
    }
    return project_page(request, place, "meme_figures.html", status=status, **values)


@router.post("/projects/{project_id}/memes/rule")
@refused_by(_page)
def rule(request: Request, place: Manages, form: Form) -> Response:
    """Change when a disagreement is severe, how "not sure" counts, and how many experts decide."""
    with context_of(request).store.write() as db:
        now = projects.get(db, place.project.id)
        scheme = scheme_of(db, now)
        kept = project_settings.from_dict(now.settings)
        before = kept.adjudication.get(_scale(scheme), AdjudicationRule(rule="severe"))
        least, experts, middle = _number(form, "least"), _number(form, "experts"), field(form, "middle")
        try:
            changed = replace(before, rule="severe", least=least, experts=experts, middle=middle)
        except ValueError as error:
            raise UserError(str(error), status=422) from None
        wanted = replace(kept, adjudication={**kept.adjudication, _scale(scheme): changed})
        project_creation.change_settings(db, now.id, wanted, by=place.account.id)
    return render.redirect(request, f"{place.address}/memes/figures", "saved")


@router.post("/projects/{project_id}/memes/batches")
@refused_by(_page)
def batches(request: Request, place: Manages, form: Form) -> Response:
    """Draw batches of settled memes, to be labelled anew by people who never worked on any."""
    people = {str(it) for it in form.getlist("person")}
    with context_of(request).store.write() as db:
        fresh = [it for it in rating_quality.fresh_people(db, place.project) if it.user in people]
        phase = rating_quality.draw_batches(
            db,
            place.project,
            fresh,
            batches=_number(form, "batches"),
            each=_number(form, "each"),
            by=place.account.id,
        )
    return render.redirect(request, place.address, "phase_added", phase=phase.name)


def _number(form: Any, name: str) -> int:
    text = field(form, name, most=6)
    if not text.isdecimal():
        raise LocalizedError("whole_number", status=422)
    return int(text)


def _scale(scheme: Scheme) -> str:
    """Return the question that people rate on."""
    question = next((it for it in scheme.questions if it.ordered), None)
    if question is None:
        raise UserError(f"Scheme {scheme.name!r} has no scale, so no disagreement on it is severe.", status=409)
    return question.name
