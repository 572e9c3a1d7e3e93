"""One phase of a project: how far it is, what its rule says, what to do next. A calibration and a screening show more.

Managers and experts see everyone under pseudonyms; an annotator sees their own part alone. The review of a calibration
shows divided posts with everyone's answers, the most divided first, and keeps notes of the talk; annotators see it once
the set is closed, so that nobody is led by others. In a screening, managers may decide otherwise, with a reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.labelling import screening
from davy.annotation.project import monitoring, next_steps, phase_gates, project_creation
from davy.annotation.project.pages.project_access import Here, Manages, ProjectAccess, project_page
from davy.annotation.project.pages.watch import distribution
from davy.annotation.project.project import Phase
from davy.annotation.project.store import members, messages, phases
from davy.annotation.settling import agreement
from davy.annotation.settling.store import phase_answers
from davy.core import Metric, Scheme
from davy.people.pages.visitor import Form, field
from davy.store import Connection
from davy.web import charts, render
from davy.web.context import context_of
from davy.web.errors import LocalizedError
from davy.web.i18n import Translator, label_titles, question_titles
from davy.web.refused_by import refused_by

router = APIRouter(include_in_schema=False)
ON_A_PAGE = 10
COEFFICIENTS: tuple[str, ...] = ("fleiss", "alpha", "ac1", "randolph", "cohen", "percent", *agreement.OVERLAPS)


class _View(NamedTuple):
    """What the page of a kind of phase may need besides what every phase shows."""

    db: Connection
    place: ProjectAccess
    phase: Phase
    scheme: Scheme
    measured: list[monitoring.QuestionAgreement]
    person: str
    words: Translator


PAGES: Mapping[str, Callable[[_View], dict[str, Any]]] = {
    "phase_calibration": lambda page: calibration_values(page.phase, page.measured, page.words),
    "phase_screening": lambda page: screening_values(
        page.db, page.place, page.phase, page.scheme, page.person, page.words.lang
    ),
}
"""What the pages of some kinds of phase show besides, by the `page` of the kind."""


@router.get("/projects/{project_id}/phases/{name}")
def one_phase(request: Request, place: Here, name: str, person: str = "") -> Response:
    """Return the phase's page; in a screening, `person` chooses whose picture is shown."""
    return _page(request, place, name, person=person)


def _page(
    request: Request, place: ProjectAccess, name: str, *, person: str = "", wrong: str = "", status: int = 200
) -> Response:
    context, words = context_of(request), render.translator_of(request)
    with context.store.read() as db:
        phase = phases.by_name(db, place.project.id, name)
    watches = place.may("watch")
    snapshot = monitoring.fresh_snapshot(context.store, phase) if watches else None
    with context.store.read() as db:
        every = phases.of_project(db, place.project.id)
        statuses = phase_gates.phase_statuses(db, place.project)
        standing = next(status for status in statuses if status.phase.id == phase.id)
        coming = next_steps.next_steps(db, place.project, place.member, place.may, statuses)
        scheme = agreement.scheme_of(db, place.project)
        everyones = watches or phase.behaviour.shared
        tallies = phase_answers.tallies_of(db, [phase.id], annotator=None if everyones else place.account.id)
        roster = members.of_project(db, place.project.id, left=True)
        measured = monitoring.question_agreements(snapshot)
        details = PAGES.get(phase.behaviour.page)
        more = details(_View(db, place, phase, scheme, measured, person, words)) if details else {}
    return project_page(
        request,
        place,
        f"{phase.behaviour.page}.html",
        status=status,
        phase=phase,
        standing=standing,
        progress=_progress(phase, tallies, roster, words),
        own=next((tally for tally in tallies if tally.annotator == place.account.id), None),
        measured=measured,
        snapshot=snapshot,
        distribution=distribution(measured, scheme, words.lang),
        steps=_steps(every, phase, standing),
        following=coming.main if coming.main and coming.main.phase is None else None,
        next_phase=_following(every, phase, "open"),
        watches=watches,
        wrong=wrong,
        figure=lambda metric: charts.metric_text(words, metric),
        decimal=lambda value, digits=2: charts.decimal_text(words, value, digits),
        **more,
    )


@router.post("/projects/{project_id}/phases/{name}/go-on")
@refused_by(_page)
def go_on(request: Request, place: Manages, name: str, form: Form) -> Response:
    """Close the phase, or open what comes after it: the next set of a calibration, or the next phase."""
    act, anyway = field(form, "do"), field(form, "anyway", most=500) or None
    with context_of(request).store.write() as db:
        phase = phases.by_name(db, place.project.id, name)
        if act == "close":
            phase_gates.close_phase(db, place.project, phase, by=place.account.id, anyway=anyway)
            return render.redirect(request, address_of(place, phase), "phase_closed", phase=phase.name)
        following = _following(phases.of_project(db, place.project.id), phase, act)
        if following is None and act == "next set":
            following = project_creation.next_set(db, place.project, phase, n=phase.size, by=place.account.id)
        if following is None:
            raise LocalizedError("nothing_next", status=409)
        phase_gates.open_phase(db, place.project, following, by=place.account.id, anyway=anyway)
        return render.redirect(request, address_of(place, following), "phase_opened", phase=following.name)


def _progress(phase: Phase, tallies: list[Any], roster: list[Any], words: Translator) -> list[tuple[str, int, int]]:
    """Return (pseudonym, dealt with, posts) of everyone who has a part in the phase, by pseudonym.

    A discussion has one line: its answers are everybody's.
    """
    if phase.behaviour.shared:
        return [(words("project.together"), sum(tally.given for tally in tallies), phase.size)]
    did = {tally.annotator: tally.given + tally.refused for tally in tallies}
    waited_for = phase.state != "closed"  # who joined later has no part in a closed phase
    asked = [
        member
        for member in roster
        if member.user in did or (waited_for and member.left_at is None and "annotator" in member.roles)
    ]
    return sorted((member.pseudonym, did.get(member.user, 0), phase.size) for member in asked)


def _steps(every: list[Phase], phase: Phase, standing: phase_gates.PhaseStatus) -> list[str]:
    """Return what a manager can do about the phase now, the likeliest first: close, review, next set, open."""
    if phase.state == "open":
        return ["close"] if standing.next == "close" else []
    if phase.state == "waiting":
        return ["open this"] if standing.may_open else []
    if phase.behaviour.gate and standing.gate is not None and not standing.gate.passed:
        later = [other for other in every if other.position > phase.position and other.behaviour.gate]
        return [] if any(other.state != "waiting" for other in later) else ["review", "next set"]
    return ["open"] if _following(every, phase, "open") is not None else []


def _following(every: list[Phase], phase: Phase, act: str) -> Phase | None:
    """Return the phase that an act opens: this one, the next set of a calibration, or the next phase after it."""
    if act == "open this":
        return phase
    later = [other for other in every if other.position > phase.position and other.state == "waiting"]
    if act == "next set":
        return next((other for other in later if other.behaviour.gate), None)
    passed = [other for other in later if not (phase.behaviour.gate and other.behaviour.gate)]
    return passed[0] if act == "open" and passed else None


def screening_values(
    db: Connection, place: ProjectAccess, phase: Phase, scheme: Scheme, person: str, lang: str
) -> dict[str, Any]:
    """Return what the page of a screening shows: everyone's results for those who watch, else the reader's own."""
    own = None if place.may("watch") else place.account.id
    results = screening.screening_results(db, place.project, phase, scheme, only=own)
    chosen = next((result for result in results if result.pseudonym == person), None)
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
        "titles": label_titles(scheme, lang),
        "shade": shade_of,
    }


@router.post("/projects/{project_id}/phases/{name}/decide")
def decide_screening(request: Request, place: Manages, name: str, form: Form) -> Response:
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


def shade_of(n: int, among: Sequence[int]) -> int:
    """Return which of the shades 0 to 5 a cell of a confusion table has: its share of its row."""
    total = sum(among)
    return round(5 * n / total) if total else 0


def calibration_values(
    phase: Phase, measured: Sequence[monitoring.QuestionAgreement], words: Translator
) -> dict[str, Any]:
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
    context, lang = context_of(request), render.translator_of(request).lang
    with context.store.read() as db:
        phase = phases.by_name(db, place.project.id, name)
        may_review(place, phase)
        scheme = agreement.scheme_of(db, place.project)
        titles, labels = question_titles(scheme, lang), label_titles(scheme, lang)
        every = agreement.divided_posts(db, place.project, phase, scheme)
        page = min(max(page, 1), max(1, -(-len(every) // ON_A_PAGE)))
        some = every[(page - 1) * ON_A_PAGE : page * ON_A_PAGE]
        names = agreement.pseudonyms(db, place.project)
        rows = [
            {
                "post": shown,
                "masked": context.mask(shown.text),
                "disagreement": divided.disagreement,
                "said": [
                    (titles.get(question, question), _by_label(cells, labels.get(question, {})))
                    for question, cells in divided.answers.items()
                ],
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


def _by_label(cells: Mapping[str, str], titles: Mapping[str, str]) -> list[tuple[str, list[str]]]:
    """Return each answer, as the scheme titles its labels, with who gave it, the commonest first."""
    given: dict[str, list[str]] = {}
    for person, label in sorted(cells.items()):
        given.setdefault(", ".join(titles.get(it, it) for it in label.split("|")), []).append(person)
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
