"""What a project settled, and on what basis; the audit of it; and its pools of annotators against gold.

Verdicts are filtered by question, label and basis, newest first, each with the turns before
it. Who decided or answered is never shown. A small phase is audited at once; a long one by
`davy project audit`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.labelling.pages.questions import shown_marks
from davy.annotation.project.pages.project_access import ProjectAccess, in_project, project_page
from davy.annotation.project.project import Phase
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.store import phases
from davy.annotation.settling import annotator_pools as pooling
from davy.annotation.settling import audit as auditing
from davy.annotation.settling.rules import applicable_verdicts
from davy.annotation.settling.store import cases, phase_answers, verdict_history
from davy.annotation.settling.store.verdict_history import SettledPost
from davy.core import BASES, Scheme, Verdict
from davy.people.pages.visitor import Form, field
from davy.store import Connection
from davy.web import render
from davy.web.context import Context, context_of
from davy.web.errors import LocalizedError
from davy.web.i18n import translated_label, translated_title

router = APIRouter(include_in_schema=False)

Sees = Annotated[ProjectAccess, Depends(in_project("see verdicts"))]
Short = Annotated[str, Query(max_length=300)]

PAGE = 25
MOST_AT_ONCE = 60_000
"""Answers that are modelled while somebody waits for the page: about two seconds."""


@router.get("/projects/{project_id}/verdicts")
def verdicts(
    request: Request, place: Sees, question: Short = "", label: Short = "", basis: Short = "", before: Short = ""
) -> Response:
    """Return settled posts that fit the filter, newest first."""
    context, words = context_of(request), render.translator_of(request)
    with context.store.read() as db:
        scheme = scheme_of(db, place.project)
        asked = next((each for each in scheme.questions if each.name == question), scheme.questions[0])
        chosen = {"question": asked.name, "label": label, "basis": basis if basis in BASES else ""}
        filtered = label or chosen["basis"]
        until = verdict_history.end_of_look(db, place.project, asked.name, before or None) if filtered else None
        settled = verdict_history.page(
            db,
            place.project,
            asked.name,
            label=label or None,
            basis=chosen["basis"] or None,
            before=before or None,
            until=until,
            hidden=place.may("manage"),
            limit=PAGE,
        )
        bases = verdict_history.count_bases(db, place.project, asked.name)
    last = settled[-1].key if len(settled) == PAGE else until
    older = f"{place.address}/verdicts?" + urlencode({**chosen, "before": last}) if last else None
    return project_page(
        request,
        place,
        "verdicts.html",
        posts=[_shown(context, scheme, post, words.lang) for post in settled],
        questions=[(each.name, translated_title(each.title, each.name, words.lang)) for each in scheme.questions],
        labels=[(label.name, translated_label(label, words.lang)) for label in asked.labels],
        bases=[(name, bases[name], bases[name] / sum(bases.values())) for name in BASES if bases.get(name)],
        total=sum(bases.values()),
        most=verdict_history.MOST_COUNTED,
        chosen=chosen,
        older=older,
    )


@router.get("/projects/{project_id}/verdicts/audit")
def audit(request: Request, place: Sees) -> Response:
    """Return the page of the audit: what it is, how earlier ones went, and a form to begin another."""
    with context_of(request).store.read() as db:
        every = [phase for phase in phases.of_project(db, place.project.id) if phase.behaviour.gives_verdicts]
        past = cases.audit_figures(db, place.project.id)
    command = f"davy project audit {place.project.id} --doubter embedded-en"
    return project_page(request, place, "verdicts_audit.html", phases=every, past=past, command=command)


@router.post("/projects/{project_id}/verdicts/audit")
def begin_audit(request: Request, place: Sees, form: Form) -> Response:
    """Model the annotators of a phase and send the most doubtful posts back to experts."""
    try:
        budget = int(field(form, "budget") or "0")
    except ValueError:
        raise LocalizedError("whole_number") from None
    if not 1 <= budget <= 1_000:
        raise LocalizedError("audit_budget")
    store = context_of(request).store
    with store.read() as db:
        phase = _phase(db, place, field(form, "phase"))
        if sum(tally.given for tally in phase_answers.tallies_of(db, [phase.id])) > MOST_AT_ONCE:
            raise LocalizedError("audit_long", status=409, project=place.project.id)
        scheme = scheme_of(db, place.project)
        doubts = list(auditing.doubts_of_annotators(db, place.project, phase, scheme))
    with store.write() as db:
        result = auditing.audit(db, place.project, phase, doubts, by=place.account.id, budget=budget)
    n = len(result.opened)
    return render.redirect(
        request, f"{place.address}/verdicts/audit", "audited", n=str(n), looked_at=str(result.looked_at)
    )


@router.get("/projects/{project_id}/verdicts/pools")
def pools(request: Request, place: Sees) -> Response:
    """Return how each pool's majority does against gold, question by question."""
    words = render.translator_of(request)
    with context_of(request).store.read() as db:
        scheme = scheme_of(db, place.project)
        figures = pooling.pools_of(db, place.project, scheme)
    rows = [
        (figure, _title(scheme, figure.question, words.lang), _among(scheme, figure, words.lang)) for figure in figures
    ]
    return project_page(request, place, "verdicts_pools.html", rows=rows)


def _phase(db: Connection, place: ProjectAccess, name: str) -> Phase:
    for phase in phases.of_project(db, place.project.id):
        if phase.name == name and phase.behaviour.gives_verdicts:
            return phase
    raise LocalizedError("choice")


def _shown(context: Context, scheme: Scheme, post: SettledPost, lang: str) -> dict[str, Any]:
    """Return a settled post for the template: what stands, question by question, and every turn before it."""
    newest = {
        name: Verdict(post.post, name, turns[-1].labels, turns[-1].basis, ("", ""))
        for name, turns in post.turns.items()
    }
    stands, masked = applicable_verdicts(scheme, newest), context.mask(post.text)
    lines = [
        {
            "question": _title(scheme, name, lang),
            "labels": _labels(scheme, name, stands[name].labels, lang, masked),
            "turn": post.turns[name][-1],
            "reason": post.turns[name][-1].reason,
        }
        for name in stands
    ]
    for above, line in reversed(list(pairwise(lines))):
        if above["reason"] == line["reason"]:  # said once is enough
            line["reason"] = None
    history = [
        (_title(scheme, name, lang), _labels(scheme, name, turn.labels, lang, masked), turn)
        for name, turns in post.turns.items()
        for turn in turns
    ]
    return {
        "id": post.post,
        "text": post.text,
        "masked": masked,
        "lang": post.lang,
        "image": post.image,
        "lines": lines,
        "history": history if any(len(turns) > 1 for turns in post.turns.values()) or len(stands) < len(newest) else [],
    }


def _title(scheme: Scheme, name: str, lang: str) -> str:
    return translated_title(scheme.question(name).title, name, lang)


def _labels(scheme: Scheme, name: str, labels: tuple[str, ...], lang: str, masked: str = "") -> str:
    titles = {label.name: translated_label(label, lang) for label in scheme.question(name).labels}
    if scheme.question(name).marks_text:
        return shown_marks(labels, masked, titles.__getitem__)
    return ", ".join(titles.get(label, label) for label in labels)


def _among(scheme: Scheme, figure: pooling.PoolFigure, lang: str) -> str:
    return "" if figure.among is None else _labels(scheme, figure.question, (figure.among,), lang)
