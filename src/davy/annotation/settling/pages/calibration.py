"""Calibration: everyone labels the same small set alone, sees how far they agree, and talks about where they don't.

The review shows divided posts with everyone's answers under pseudonyms, the most divided first, and keeps notes of the
talk. Managers and experts may look at any time; annotators once the set is closed, so that nobody is led by others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.project import monitoring
from davy.annotation.project.pages.project_access import Here, ProjectAccess, project_page
from davy.annotation.project.project import Phase
from davy.annotation.project.store import messages, phases
from davy.annotation.settling import agreement
from davy.annotation.settling.store import phase_answers
from davy.core import Metric
from davy.people.pages.visitor import Form, field
from davy.web import charts, render
from davy.web.context import context_of
from davy.web.errors import LocalizedError
from davy.web.i18n import Translator

router = APIRouter(include_in_schema=False)


ON_A_PAGE = 10
COEFFICIENTS: tuple[str, ...] = ("fleiss", "alpha", "ac1", "randolph", "cohen", "percent", *agreement.OVERLAPS)


def values(phase: Phase, measured: Sequence[monitoring.QuestionAgreement], words: Translator) -> dict[str, Any]:
    """Return what the page of a calibration shows besides its progress."""
    gate = agreement.gate(measured, phase.settings)
    return {
        "gate": gate,
        "coefficients": COEFFICIENTS,
        "table": [
            (name, [each.metric(name) for each in measured])
            for name in COEFFICIENTS
            if name not in agreement.OVERLAPS or any(each.metric(name) for each in measured)
        ],
        "one_out": _one_out(phase, measured, gate.coefficient if gate.coefficient != "cohen" else "fleiss"),
        "pairs": [(each.question, *_square(each.pairs, words)) for each in measured if each.pairs],
    }


@router.get("/projects/{project_id}/phases/{name}/review")
def split_posts(request: Request, place: Here, name: str, page: int = 1) -> Response:
    """Return the posts on which people differ, the most divided first, with the notes about each."""
    context = context_of(request)
    with context.store.read() as db:
        phase = phases.by_name(db, place.project.id, name)
        may_review(place, phase)
        scheme = agreement.scheme_of(db, place.project)
        every = agreement.divided_posts(db, place.project, phase, scheme)
        page = min(max(page, 1), max(1, -(-len(every) // ON_A_PAGE)))
        some = every[(page - 1) * ON_A_PAGE : page * ON_A_PAGE]
        names = agreement.pseudonyms(db, place.project)
        rows = [
            {
                "post": shown,
                "masked": context.mask(shown.text),
                "disagreement": divided.disagreement,
                "said": {question: _by_label(cells) for question, cells in divided.answers.items()},
                "notes": [
                    (names.get(note.by, "–"), note.at, note.text, context.mask(note.text))
                    for note in messages.notes_of(db, place.project.id, divided.post)
                ],
            }
            for divided, shown in agreement.posts_with_answers(db, phase, some)
        ]
    return project_page(
        request,
        place,
        "review.html",
        phase=phase,
        rows=rows,
        total=len(every),
        page=page,
        pages=max(1, -(-len(every) // ON_A_PAGE)),
        too_long=phase.size > agreement.MOST_ITEMS,
    )


@router.post("/projects/{project_id}/phases/{name}/notes")
def add_note(request: Request, place: Here, name: str, form: Form) -> Response:
    """Keep a note about a divided post."""
    post, text, page = field(form, "post"), field(form, "text", most=messages.LONGEST), field(form, "page")
    with context_of(request).store.write() as db:
        phase = phases.by_name(db, place.project.id, name)
        may_review(place, phase)
        if not phase_answers.phase_posts(db, phase.id, [post]):
            raise LocalizedError("no_such_post", status=404)
        messages.note(db, place.project.id, text, by=place.account.id, post=post)
    number = page if page.isascii() and page.isdigit() else "1"
    return render.redirect(request, f"{address_of(place, phase)}/review?page={number}", "note_kept")


def address_of(place: ProjectAccess, phase: Phase) -> str:
    """Return where a phase's page is; a name may have any characters but a slash."""
    return f"{place.address}/phases/{quote(phase.name, safe='')}"


def may_review(place: ProjectAccess, phase: Phase) -> None:
    """Refuse who may not see others' answers: annotators while the set is open, and everyone in other phases."""
    if not phase.behaviour.gate:
        raise LocalizedError("no_review", status=404)
    if not place.may("watch") and (phase.state != "closed" or not place.may("label posts")):
        raise LocalizedError("review_later", status=403)


def _by_label(cells: Mapping[str, str]) -> list[tuple[str, list[str]]]:
    """Return each answer with who gave it, the commonest first."""
    given: dict[str, list[str]] = {}
    for person, label in sorted(cells.items()):
        given.setdefault(label, []).append(person)
    return sorted(given.items(), key=lambda item: (-len(item[1]), item[0]))


def _one_out(
    phase: Phase, measured: Sequence[monitoring.QuestionAgreement], coefficient: str
) -> monitoring.LeaveOneOut:
    """Return the table without each person for this phase alone."""
    people = sorted({name for each in measured for name in each.one_out})
    rows: list[tuple[str | None, tuple[Metric | None, ...]]] = []
    for name in (None, *people):
        cells = [each.metrics if name is None else each.one_out.get(name, ()) for each in measured]
        rows.append((name, tuple(next((m for m in cell if m.name == coefficient), None) for cell in cells)))
    return monitoring.LeaveOneOut(
        ((phase.name, tuple(each.question for each in measured)),), tuple(rows) if people else ()
    )


def _square(
    pairs: Mapping[tuple[str, str], Metric], words: Translator
) -> tuple[list[str], list[tuple[str, list[tuple[str, str]]]]]:
    """Return the people, and for each a row of (κ, its interval in words) with each other person."""
    people = sorted({name for pair in pairs for name in pair})
    rows = []
    for one in people:
        cells = []
        for other in people:
            metric = pairs.get((one, other)) or pairs.get((other, one))
            value = None if metric is None else metric.value
            cells.append(
                (charts.decimal_text(words, value, 2) if one != other else "", charts.metric_text(words, metric))
            )
        rows.append((one, cells))
    return people, rows
