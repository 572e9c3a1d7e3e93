"""Contrasts: one settled entry, and the smallest change of its emoji or its words that flips its label.

The page shows the difference and its size while one writes, says which rule the change follows, and offers emoji to
swap. Every step is a form, so that it works without scripts: comparing and swapping send it and bring it back.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Depends
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.care import care
from davy.annotation.care.pages.consent import member_of
from davy.annotation.labelling.pages.questions import AnswerForm
from davy.annotation.labelling.pages.sheets import guideline_view
from davy.annotation.labelling.pages.steps import redirect_page, require_consent
from davy.annotation.project.pages.project_access import ProjectAccess, in_project, project_page
from davy.annotation.project.project_scheme import scheme_of
from davy.core import Scheme, UserError
from davy.people.pages.visitor import Form, check_rate, field
from davy.rounds import entries as entering
from davy.rounds.entries import EntryRefused, check_contrast, difference, measure_change
from davy.rounds.pages.round_entry import (
    EntryForm,
    keep_entry,
    own_entry,
    predictions_of,
    questions_of,
    read_entry_form,
    refused_form,
    require_answers,
    verdict_values,
)
from davy.rounds.pages.rounds import find_round, label_title
from davy.rounds.round import CHANGES, Entry, Round, TargetPrediction
from davy.rounds.store import entries
from davy.rounds.store.entries import EntryText
from davy.store import Connection
from davy.store.columns import new_id
from davy.text import emoji
from davy.text.emoji import suggest_swaps
from davy.web import render
from davy.web.context import context_of
from davy.web.errors import LocalizedError, is_htmx

router = APIRouter(include_in_schema=False)

Enters = Annotated[ProjectAccess, Depends(in_project("enter texts"))]

MOST_EMOJI = 4
"""Swaps are offered for so many emoji of a text."""


@router.get("/projects/{project_id}/rounds/{round_number}/contrast")
def go_on(request: Request, place: Enters, round_number: str) -> Response:
    """Lead to the next entry that waits for its contrast, or to the round where none does."""
    with context_of(request).store.read() as db:
        round_ = find_round(db, place, round_number)
        waiting = entries.to_contrast(db, round_.id, limit=1)
    here = f"{place.address}/rounds/{round_number}"
    return redirect_page(request, f"{here}/contrast/{waiting[0].entry.id}" if waiting else here)


@router.get("/projects/{project_id}/rounds/{round_number}/contrast/{entry_id}")
def show(request: Request, place: Enters, round_number: str, entry_id: str) -> Response:
    """Return the entry with a form for its contrast; where it has one already, what the target said of that."""
    if away := require_consent(request, place):
        return away
    with context_of(request).store.write() as db:
        if care.before_next(db, place.project, member_of(place)) is not None:
            return redirect_page(request, f"{place.address}/rest")
        round_, scheme = find_round(db, place, round_number), scheme_of(db, place.project)
        original = _original(db, round_, entry_id)
        filled = EntryForm(new_id(), original.text, _flipped(scheme, round_, original), lang=original.lang or "")
        return _page(request, db, place, round_, scheme, original, filled)


@router.post("/projects/{project_id}/rounds/{round_number}/contrast/{entry_id}")
async def write(request: Request, place: Enters, round_number: str, entry_id: str, form: Form) -> Response:
    """Compare the texts, swap an emoji, or keep the contrast."""
    if away := require_consent(request, place):
        return away
    round_, scheme, original, filled = await to_thread.run_sync(_read, request, place, round_number, entry_id, form)
    if swap := field(form, "swap", most=60):
        filled = replace(filled, text=_swapped(filled.text, swap), change="emoji")
    elif field(form, "do") != "compare":
        try:
            entry = await _keep(request, place, round_, scheme, original, filled)
            return redirect_page(request, f"{place.address}/rounds/{round_number}/contrast/{entry.parent}")
        except UserError as error:
            filled = refused_form(request, filled, error)
            return await to_thread.run_sync(_again, request, place, round_, scheme, original, filled, error.status)
    return await to_thread.run_sync(_again, request, place, round_, scheme, original, filled, 200)


async def _keep(
    request: Request, place: ProjectAccess, round_: Round, scheme: Scheme, original: EntryText, filled: EntryForm
) -> Entry:
    check_rate(request, "texts of a session", place.account.id)
    found = await to_thread.run_sync(_check, request, place, round_, original, filled)
    if isinstance(found, Entry):
        return found
    said = await predictions_of(request, round_, scheme, filled, found)
    return await to_thread.run_sync(_save, request, place, round_, scheme, original, filled, said)


def _check(
    request: Request, place: ProjectAccess, round_: Round, original: EntryText, filled: EntryForm
) -> Entry | str | None:
    """Return the language of a contrast that may be kept; or the entry that this very form made before."""
    if filled.change and filled.change not in CHANGES:
        raise LocalizedError("choice")
    with context_of(request).store.read() as db:
        known = own_entry(db, place, filled.entry_id)
        if known is not None:
            return known.entry
        if entries.contrast_of(db, round_.project, original.entry.id):
            raise EntryRefused("taken", status=409)
        label = filled.answers.answers.get(round_.question, ("",))[0]
        check_contrast(original, filled.text, label, change=filled.change or None)
        require_answers(filled)
        return entering.check(db, round_, filled.text, lang=filled.lang or original.lang, original=original)


def _save(
    request: Request,
    place: ProjectAccess,
    round_: Round,
    scheme: Scheme,
    original: EntryText,
    filled: EntryForm,
    said: list[TargetPrediction],
) -> Entry:
    with context_of(request).store.write() as db:
        fresh = entries.get_text(db, round_.project, original.entry.id)
        filled = replace(filled, lang=filled.lang or original.lang or "")
        return keep_entry(db, place, round_, scheme, filled, said, fresh)


def _read(
    request: Request, place: ProjectAccess, round_number: str, entry_id: str, form: FormData
) -> tuple[Round, Scheme, EntryText, EntryForm]:
    with context_of(request).store.read() as db:
        round_, scheme = find_round(db, place, round_number), scheme_of(db, place.project)
        filled = replace(read_entry_form(scheme, form), support="own", derived_from="")
        return round_, scheme, _original(db, round_, entry_id), filled


def _original(db: Connection, round_: Round, entry_id: str) -> EntryText:
    row = entries.find_text(db, round_.project, entry_id)
    if row is None or row.entry.round != round_.id:
        raise LocalizedError("no_such", status=404)
    return row


def _flipped(scheme: Scheme, round_: Round, original: EntryText) -> AnswerForm:
    """Return the answer that a contrast has to have, where the question is a yes/no."""
    question = scheme.question(round_.question)
    other = {question.positive: question.no, question.no: question.positive}.get(original.entry.settled)
    return AnswerForm({question.name: (other,)} if other else {})


def _swapped(text: str, swap: str) -> str:
    """Return a text with one of its emoji replaced: `swap` is its place from 0, a space, and the new one."""
    place, _, new = swap.partition(" ")
    found = emoji.find(text)
    if not place.isdecimal() or int(place) >= len(found) or emoji.count(new) != 1:
        raise LocalizedError("choice")
    old = found[int(place)]
    return text[: old.start] + new + text[old.end :]


def _again(
    request: Request,
    place: ProjectAccess,
    round_: Round,
    scheme: Scheme,
    original: EntryText,
    filled: EntryForm,
    status: int,
) -> Response:
    with context_of(request).store.read() as db:
        return _page(request, db, place, round_, scheme, original, filled, status=status)


def _page(
    request: Request,
    db: Connection,
    place: ProjectAccess,
    round_: Round,
    scheme: Scheme,
    original: EntryText,
    filled: EntryForm,
    *,
    status: int = 200,
) -> Response:
    context, words = context_of(request), render.translator_of(request)
    left, right = difference(original.text, filled.text)
    values: dict[str, Any] = {
        "round": round_,
        "original": original,
        "form": filled,
        "change": measure_change(original.text, filled.text),
        "left": [(piece.kind, context.mask(piece.text), piece.text) for piece in left],
        "right": [(piece.kind, context.mask(piece.text), piece.text) for piece in right],
        "place": place,
    }
    if is_htmx(request) and status == 200 and not filled.wrong and request.headers.get("hx-target") == "difference":
        return render.page(request, "parts/round_difference.html", **values)
    contrast = entries.contrast_of(db, place.project.id, original.entry.id)
    mine = contrast if contrast and contrast.entry.author == place.account.id else None
    values |= {
        "contrast": contrast,
        "result": verdict_values(words, scheme, round_, mine),
        "masked": context.mask(original.text),
        "settled": label_title(words, scheme, round_, original.entry.settled),
        "swaps": [
            (place_of, it.emoji, suggest_swaps(it.emoji, words.lang))
            for place_of, it in enumerate(emoji.find(filled.text)[:MOST_EMOJI])
        ],
        "questions_html": questions_of(request, scheme, filled),
        "guide": guideline_view(scheme, scheme.guideline, words),
    }
    values.pop("place")
    return project_page(request, place, "round_contrast.html", status=status, **values)
