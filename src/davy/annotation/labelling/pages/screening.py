"""Screening: who reached the pass mark on posts with gold, and on which classes they stumble.

Managers see everyone and may decide otherwise with a reason; experts see; an annotator sees their own result alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.labelling import screening
from davy.annotation.project.pages.project_access import Manages, Place
from davy.annotation.project.project import Phase
from davy.annotation.project.store import members, phases
from davy.annotation.settling.pages.calibration import address_of
from davy.core import Scheme
from davy.people.pages.visitor import Form, field
from davy.store import Connection
from davy.web import render
from davy.web.context import context_of
from davy.web.translations import translated_label

router = APIRouter(include_in_schema=False)


def values(db: Connection, place: Place, phase: Phase, scheme: Scheme, person: str, lang: str) -> dict[str, Any]:
    """Return what the page of a screening shows: everyone's results for those who watch, else the reader's own."""
    own = None if place.may("watch") else place.account.id
    results = screening.screening_results(db, place.project, phase, scheme, only=own)
    chosen = next((result for result in results if result.pseudonym == person), None)
    titles = {
        question.name: {label.name: translated_label(label, lang) for label in question.labels}
        for question in scheme.questions
    }
    return {
        "results": results,
        "chosen": chosen,
        "picture": chosen.marks
        if chosen
        else screening.combine_scores([result.marks for result in results])
        if own is None
        else (),
        "counts": {state: sum(result.state == state for result in results) for state in ("passed", "failed", "open")},
        "mark": max(screening.pass_marks(phase.settings, scheme).values(), default=None),
        "titles": titles,
        "shade": shade,
    }


@router.post("/projects/{project_id}/phases/{name}/decide")
def decide(request: Request, place: Manages, name: str, form: Form) -> Response:
    """Let a manager say that somebody passed or failed, with a reason that is kept."""
    pseudonym, state, reason = field(form, "person"), field(form, "state"), field(form, "reason", most=500)
    with context_of(request).store.write() as db:
        phase = phases.by_name(db, place.project.id, name)
        user = next(
            (
                member.user
                for member in members.of_project(db, place.project.id, left=True)
                if member.pseudonym == pseudonym
            ),
            "",
        )
        screening.decide(db, place.project, phase, user, state, reason=reason, by=place.account.id)
    return render.redirect(request, address_of(place, phase), "decided", person=pseudonym)


def shade(n: int, among: Sequence[int]) -> int:
    """Return which of the shades 0 to 5 a cell of a confusion table has: its share of its row."""
    total = sum(among)
    return round(5 * n / total) if total else 0
