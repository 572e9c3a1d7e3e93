"""Watching a project: progress, agreement over time, without each person, labels, and for managers the people.

Everything comes from tallies and from the newest snapshot of each phase, so the page does not get slower with more
posts. People are pseudonyms in the order of these, never in the order of their figures. Each person finds their own
figures, and nobody else's, under `mine`.
"""
# ruff: noqa: ARG001 — a route's signature says what it needs, such as a permission or a checked form

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.labelling.store.tallies import Tally
from davy.annotation.project import monitoring
from davy.annotation.project.pages.project_access import Labels, ProjectAccess, in_project, project_page
from davy.annotation.project.project import Phase
from davy.annotation.settling import agreement
from davy.annotation.settling.jobs import MEASURE_AGREEMENT
from davy.core import Scheme, Wording
from davy.jobs import store as jobs
from davy.people.pages.visitor import Form
from davy.web import charts, render
from davy.web.context import context_of
from davy.web.i18n import translated_label, translated_title

router = APIRouter(include_in_schema=False)

Watches = Annotated[ProjectAccess, Depends(in_project("watch"))]

COEFFICIENTS: tuple[str, ...] = ("fleiss", "alpha", "ac1", "randolph", "percent", *agreement.OVERLAPS)
"""What the page can show, the one of GMHP7k's Table 4 first."""


@dataclass(frozen=True, slots=True)
class PersonRow:
    """A person's figures in one phase; `kappas` are (question, mean κ with the others)."""

    pseudonym: str
    given: int
    seconds: float | None
    an_hour: float | None
    kappas: tuple[tuple[str, float | None], ...]


@router.get("/projects/{project_id}/watch")
def watch_page(request: Request, place: Watches, coefficient: str = "fleiss", phase: str = "") -> Response:
    """Return the page; `coefficient` and `phase` choose what its tables show."""
    words = render.translator_of(request)
    chosen = coefficient if coefficient in COEFFICIENTS else COEFFICIENTS[0]
    store = context_of(request).store
    with store.read() as db:
        board = monitoring.load_dashboard(db, place.project)
        scheme = agreement.scheme_of(db, place.project)
    if monitoring.catch_up(store, board):
        with store.read() as db:
            board = monitoring.load_dashboard(db, place.project)
    at = shown_phase(board, phase)
    return project_page(
        request,
        place,
        "watch.html",
        board=board,
        pictures=_pictures(board, chosen, words),
        one_out=monitoring.leave_one_out_table(board, chosen),
        coefficients=[name for name in COEFFICIENTS if name not in agreement.OVERLAPS or _is_measured(board, name)],
        coefficient=chosen,
        shown=at,
        distribution=distribution(board.measured.get(at.id, ()), scheme, words.lang) if at else (),
        people=_people(board, at) if at and place.may("manage") else (),
        measured_at=max((snapshot.at for snapshot in board.snapshots.values()), default=None),
        figure=lambda metric: charts.metric_text(words, metric),
        decimal=lambda value, digits=2: charts.decimal_text(words, value, digits),
    )


@router.post("/projects/{project_id}/watch/measure")
def measure_now(request: Request, place: Watches, form: Form) -> Response:
    """Measure small phases at once and long ones in the background, where anything is new."""
    store = context_of(request).store
    with store.read() as db:
        board = monitoring.load_dashboard(db, place.project)
    key = "measured"
    for phase in board.phases:
        mine = [tally for tally in board.tallies if tally.phase == phase.id]
        if not monitoring.is_snapshot_stale(board.snapshots.get(phase.id), mine):
            continue
        if sum(tally.given for tally in mine) <= monitoring.SMALL:
            monitoring.take_snapshot(store, phase.id)
            continue
        key = "measuring"
        with store.write() as db:
            jobs.enqueue(
                db,
                MEASURE_AGREEMENT,
                {"phase": phase.id},
                owner=place.account.id,
                key=monitoring.state_key(phase, mine),
                project=place.project.id,
            )
    return render.redirect(request, f"{place.address}/watch", key)


@router.get("/projects/{project_id}/mine")
def mine(request: Request, place: Labels) -> Response:
    """Return a person's own figures in each phase, and nobody else's."""
    words = render.translator_of(request)
    with context_of(request).store.read() as db:
        board = monitoring.load_dashboard(db, place.project)
    name = place.member.pseudonym if place.member else ""
    own = [tally for tally in board.tallies if tally.annotator == place.account.id and (tally.given or tally.refused)]
    rows = [(phase, _person(board, tally, name)) for phase in board.phases for tally in own if tally.phase == phase.id]
    return project_page(
        request,
        place,
        "mine.html",
        rows=rows,
        pseudonym=name,
        decimal=lambda value, digits=2: charts.decimal_text(words, value, digits),
    )


def shown_phase(board: monitoring.Dashboard, wanted: str) -> Phase | None:
    """Return the phase whose labels and people are shown: the one asked for, else the last that anybody answered."""
    answered = [phase for phase in board.phases if board.progress[phase.id].given]
    return next((phase for phase in answered if phase.name == wanted), answered[-1] if answered else None)


def distribution(measured: Sequence[monitoring.QuestionAgreement], scheme: Scheme, lang: str) -> list[dict[str, Any]]:
    """Return how often each label was given, question by question."""
    rows_of_questions = []
    for each in measured:
        asked = scheme.question(each.question)
        titles = {label.name: translated_label(label, lang) for label in asked.labels}
        if asked.marks_text:
            titles |= {name: translated_title(Wording(), name, lang) for name in agreement.WORD_LABELS}
        order = [
            *(label for label in titles if label in each.labels),
            *(label for label in each.labels if label not in titles),
        ]
        rows = [
            (titles.get(label, label), each.labels[label], each.labels[label] / (each.answers or 1)) for label in order
        ]
        rows_of_questions.append(
            {
                "question": each.question,
                "level": each.level,
                "answers": each.answers,
                "rows": rows,
                "words": asked.marks_text,
            }
        )
    return rows_of_questions


def _is_measured(board: monitoring.Dashboard, coefficient: str) -> bool:
    return any(each.metric(coefficient) for measured in board.measured.values() for each in measured)


def _pictures(board: monitoring.Dashboard, coefficient: str, words: Any) -> list[tuple[Phase, charts.Chart, int]]:
    """Return a picture for each phase that has figures, with the share of its items that were measured (1 in n)."""
    pictures = []
    for phase in board.phases:
        snapshot = board.snapshots.get(phase.id)
        if snapshot is None:
            continue
        gate = phase.settings.get("gate") or {}
        asked = agreement.coefficient(str(gate.get("coefficient", "fleiss kappa"))) if gate else ""
        mark = float(gate["at_least"]) if asked == coefficient and "at_least" in gate else None
        titles = {
            each.question: f"{words.label(each.question)} ({words('watch.level', n=each.level)})"
            if each.level > 1
            else words.label(each.question)
            for each in board.measured[phase.id]
        }
        chart = charts.line_chart(snapshot.content["series"], coefficient, words, gate=mark, titles=titles)
        if chart:
            pictures.append((phase, chart, int(snapshot.content["every"])))
    return pictures


def _people(board: monitoring.Dashboard, phase: Phase) -> list[PersonRow]:
    tallies = [tally for tally in monitoring.by_people(board.tallies) if tally.phase == phase.id]
    people = [_person(board, tally, board.names.get(tally.annotator, tally.annotator)) for tally in tallies]
    return sorted(people, key=lambda person: person.pseudonym)


def _person(board: monitoring.Dashboard, tally: Tally, name: str) -> PersonRow:
    known = [
        each
        for each in board.measured.get(tally.phase, ())
        if any(value is not None for value, _ in each.people.values())
    ]
    kappas = [(each.question, each.people.get(name, (None, 0))[0]) for each in known]
    seconds = tally.seconds / tally.given if tally.given and tally.seconds else None
    return PersonRow(name, tally.given, seconds, 3600 / seconds if seconds else None, tuple(kappas))
