"""Entering a text in a round: write it, say what it is, and see at once what the target says.

Checked first, scored through the server's queue, then kept; whatever refuses it leaves the text in the form. The form's
id is the entry's, so a form that is sent twice is one entry.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Depends
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.care import care
from davy.annotation.care.pages.consent import member_of
from davy.annotation.labelling.pages.questions import AnswerForm, question_views, read_answers
from davy.annotation.labelling.pages.sheets import BLANK, FormState, guideline_view, questions_html
from davy.annotation.labelling.pages.steps import redirect_page, require_consent
from davy.annotation.project.pages.project_access import ProjectAccess, in_project, project_page
from davy.annotation.project.project_scheme import scheme_of
from davy.core import Scheme, UserError
from davy.people.pages.visitor import Form, check_rate
from davy.people.pages.visitor import field as form_field
from davy.rounds import entries as entering
from davy.rounds.pages.round_gaps import gaps_shown
from davy.rounds.pages.round_targets import QueuedScorer, ask_targets, refusal_text
from davy.rounds.pages.rounds import find_round, label_title, own_count, progress_of
from davy.rounds.round import STRATEGIES, SUPPORTS, Entry, Round, TargetPrediction
from davy.rounds.store import entries, round_seeds
from davy.rounds.store.entries import EntryText
from davy.scoring.explain import explain
from davy.scoring.queue.detectors import Detectors
from davy.store import Connection
from davy.store.columns import new_id
from davy.web import render
from davy.web.context import context_of
from davy.web.errors import LocalizedError, is_htmx
from davy.web.i18n import Translator

router = APIRouter(include_in_schema=False)

Enters = Annotated[ProjectAccess, Depends(in_project("enter texts"))]

IDEAS = 3
MOST_TEXT = 6_000


@dataclass(frozen=True, slots=True)
class EntryForm:
    """What an entry's form holds; `wrong` says why it was refused."""

    entry_id: str
    text: str = ""
    answers: AnswerForm = field(default_factory=lambda: AnswerForm({}))
    strategy: str = ""
    support: str = "own"
    derived_from: str = ""
    lang: str = ""
    seconds: float = 0.0
    change: str = ""
    wrong: str = ""
    why: str = ""
    """The key of the reason, so that the page can offer a way out."""


@router.get("/projects/{project_id}/rounds/{round_number}/enter")
def show(
    request: Request,
    place: Enters,
    round_number: str,
    last: str = "",
    support: str = "",
    after: str = "",
    again: str = "",
) -> Response:
    """Return the form, with the verdict on one's last entry.

    `support` fills it with a text to start from, `again` with that of an entry that one took back.
    """
    if away := require_consent(request, place):
        return away
    with context_of(request).store.write() as db:
        if care.before_next(db, place.project, member_of(place)) is not None:
            return redirect_page(request, f"{place.address}/rest")
        round_ = find_round(db, place, round_number)
        filled = EntryForm(new_id())
        if support in SUPPORTS:
            seed = round_seeds.next_seed(db, round_, support, place.account.id, after=after or None)
            if seed is not None:
                filled = replace(filled, text=seed.text, support=support, derived_from=seed.id, lang=seed.lang or "")
        taken = own_entry(db, place, again) if again else None
        if taken is not None and taken.entry.taken_back:
            filled = replace(filled, text=taken.text, strategy=taken.entry.strategy or "", lang=taken.lang or "")
        result = own_entry(db, place, last) if last else None
        values = _values(request, db, place, round_, filled, result)
    return project_page(request, place, "round_enter.html", **values)


@router.post("/projects/{project_id}/rounds/{round_number}/enter")
async def enter(request: Request, place: Enters, round_number: str, form: Form) -> Response:
    """Keep an entry and show what the target says of it; for htmx the part that changed."""
    if away := require_consent(request, place):
        return away
    round_, scheme, filled, known = await to_thread.run_sync(_read, request, place, round_number, form)
    status, entry = 200, known
    if known is None:
        try:
            check_rate(request, "texts of a session", place.account.id)
            found = await to_thread.run_sync(_check, request, round_, filled)
            said = await predictions_of(request, round_, scheme, filled, found)
            entry = await to_thread.run_sync(_save, request, place, round_, scheme, filled, said)
        except UserError as error:
            status, filled = error.status, refused_form(request, filled, error)
    if entry is not None and not is_htmx(request):
        return render.redirect(request, f"{place.address}/rounds/{round_number}/enter?last={entry.id}")
    return await to_thread.run_sync(_answer, request, place, round_, filled, entry, status)


@router.post("/projects/{project_id}/rounds/{round_number}/entries/{entry_id}/take-back")
def take_back(request: Request, place: Enters, round_number: str, entry_id: str, form: Form) -> Response:  # noqa: ARG001
    """Take one's own entry back and return to its text; refused, with the reason, where somebody labels it already."""
    with context_of(request).store.write() as db:
        round_ = find_round(db, place, round_number)
        row = own_entry(db, place, entry_id)
        if row is None or row.entry.round != round_.id:
            raise LocalizedError("no_such", status=404)
        try:
            entering.take_back(db, round_, row, by=place.account.id)
        except UserError as error:
            values = _values(request, db, place, round_, refused_form(request, EntryForm(new_id()), error), row)
            return project_page(request, place, "round_enter.html", status=error.status, **values)
    return render.redirect(request, f"{place.address}/rounds/{round_number}/enter?again={entry_id}")


@router.get("/projects/{project_id}/rounds/{round_number}/entries/{entry_id}/why")
def why(request: Request, place: Enters, round_number: str, entry_id: str) -> Response:
    """Return which parts of one's own entry carried the first target's answer."""
    context = context_of(request)
    with context.store.read() as db:
        round_ = find_round(db, place, round_number)
        row = own_entry(db, place, entry_id)
        scheme = scheme_of(db, place.project)
    if row is None:
        raise LocalizedError("no_such", status=404)
    scorer = QueuedScorer(context.part(Detectors), round_.targets[0])
    found = explain(row.text, scorer, question=round_.question, lang=row.lang, most=32)
    most = max((abs(it.weight) for it in found.weights), default=0.0) or 1.0
    pieces, end = [], 0
    for it in found.weights:
        pieces += [(found.text[end : it.start], 0)] if it.start > end else []
        pieces.append((found.text[it.start : it.end], round(4 * it.weight / most)))
        end = it.end
    values: dict[str, Any] = {
        "pieces": [*pieces, (found.text[end:], 0)],
        "label": label_title(render.translator_of(request), scheme, round_, found.label),
        "share": found.base,
    }
    if is_htmx(request):
        return render.page(request, "parts/round_why.html", **values)
    return project_page(request, place, "round_why.html", round=round_, **values)


# ---- what several pages of rounds use ----------------------------------------------------------


def read_entry_form(scheme: Scheme, form: FormData) -> EntryForm:
    """Return what an entry's form holds; one that our page can't have sent is refused."""
    entry_id, support = form_field(form, "entry_id", most=40), form_field(form, "support") or "own"
    written = form.get("text")
    text = (written if isinstance(written, str) else "").replace("\r\n", "\n").strip()
    if not entry_id.isalnum() or support not in SUPPORTS:
        raise LocalizedError("bad_form")
    if len(text) > MOST_TEXT:
        raise LocalizedError("too_long", status=413, most=MOST_TEXT, got=len(text))
    try:
        seconds = min(max(float(form_field(form, "seconds") or 0), 0.0), care.LONGEST_ITEM)
    except ValueError:
        seconds = 0.0
    return EntryForm(
        entry_id,
        text,
        read_answers(scheme, form),
        strategy=form_field(form, "strategy", most=entering.LONGEST_STRATEGY),
        support=support,
        derived_from=form_field(form, "derived_from", most=200),
        lang=form_field(form, "lang", most=10),
        seconds=round(seconds, 1) if seconds == seconds else 0.0,  # NaN is no round_number
        change=form_field(form, "change"),
    )


def require_answers(filled: EntryForm) -> None:
    """Refuse a form with a question left open."""
    if filled.answers.missing or filled.answers.wrong:
        raise LocalizedError("answers_missing", status=422)


async def predictions_of(
    request: Request, round_: Round, scheme: Scheme, filled: EntryForm, lang: str | None
) -> list[TargetPrediction]:
    """Return what the targets say of a form's text."""
    question = scheme.question(round_.question)
    label = filled.answers.answers[round_.question][0]
    return (await ask_targets(request, round_, question, [filled.text], [lang], label))[0]


def keep_entry(
    db: Connection,
    place: ProjectAccess,
    round_: Round,
    scheme: Scheme,
    filled: EntryForm,
    said: list[TargetPrediction],
    original: EntryText | None = None,
) -> Entry:
    """Keep an entry and count it as work of its author."""
    made = entering.enter(
        db,
        round_,
        scheme,
        entry_id=filled.entry_id,
        author=place.account.id,
        text=filled.text,
        answers=filled.answers.answers,
        predictions=said,
        lang=filled.lang or None,
        strategy=filled.strategy,
        support=filled.support,
        seconds=filled.seconds or None,
        original=original,
        change=filled.change or None,
        derived_from=filled.derived_from or None,
        guideline_version=scheme.guideline.version if scheme.guideline else 0,
    )
    hard = care.is_hard(place.project, scheme, filled.answers.answers)
    care.after_save(db, place.project, member_of(place), None, filled.seconds or None, hard=hard)
    return made


def refused_form(request: Request, filled: EntryForm, error: UserError) -> EntryForm:
    """Return a form with the reason why it was refused, in the reader's language."""
    wrong = refusal_text(render.translator_of(request), error)
    return replace(filled, wrong=wrong, why=getattr(error, "why", ""))


def own_entry(db: Connection, place: ProjectAccess, entry_id: str) -> EntryText | None:
    """Return one of this person's own entries, or None."""
    row = entries.find_text(db, place.project.id, entry_id)
    return row if row is not None and row.entry.author == place.account.id else None


def questions_of(request: Request, scheme: Scheme, filled: EntryForm) -> Any:
    """Return the fieldsets of a scheme's questions with what a form answers."""
    words = render.translator_of(request)
    state = BLANK
    if filled.answers.answers or filled.wrong:
        missing = filled.answers.missing if filled.wrong else ()
        state = FormState(filled.answers.answers, missing=missing, wrong=filled.answers.wrong)
    asked = question_views(scheme, scheme.guideline, words.lang)
    return questions_html(context_of(request).templates, words, scheme, asked, state)


def verdict_values(words: Translator, scheme: Scheme, round_: Round, row: EntryText | None) -> dict[str, Any] | None:
    """Return what `parts/round_verdict.html` shows of an entry."""
    if row is None:
        return None
    question = scheme.question(round_.question)
    return {
        "entry": row.entry,
        "text": row.text,
        "label": label_title(words, scheme, round_, row.entry.label),
        "of": label_title(words, scheme, round_, question.positive or row.entry.label),
        "predictions": [
            (
                it,
                label_title(words, scheme, round_, it.label),
                it.label != row.entry.label,
                it.label == question.positive,
            )
            for it in row.entry.predictions
        ],
    }


# ---- one form ------------------------------------------------------------------------------------


def _read(
    request: Request, place: ProjectAccess, round_number: str, form: FormData
) -> tuple[Round, Scheme, EntryForm, Entry | None]:
    with context_of(request).store.read() as db:
        round_, scheme = find_round(db, place, round_number), scheme_of(db, place.project)
        filled = read_entry_form(scheme, form)
        known = own_entry(db, place, filled.entry_id)
        seed = round_seeds.find(db, round_, filled.derived_from) if filled.derived_from else None
    if seed is None:  # what a form says about where its text came from is believed only where that is true
        filled = replace(filled, derived_from="", support="own")
    return round_, scheme, filled, None if known is None else known.entry


def _check(request: Request, round_: Round, filled: EntryForm) -> str | None:
    with context_of(request).store.read() as db:
        found = entering.check(db, round_, filled.text, lang=filled.lang or None)
    require_answers(filled)
    return found


def _save(
    request: Request,
    place: ProjectAccess,
    round_: Round,
    scheme: Scheme,
    filled: EntryForm,
    said: list[TargetPrediction],
) -> Entry:
    with context_of(request).store.write() as db:
        return keep_entry(db, place, round_, scheme, filled, said)


def _answer(
    request: Request, place: ProjectAccess, round_: Round, filled: EntryForm, entry: Entry | None, status: int
) -> Response:
    with context_of(request).store.read() as db:
        result = own_entry(db, place, entry.id) if entry else None
        shown = EntryForm(new_id()) if result else filled
        values = _values(request, db, place, round_, shown, result)
    if is_htmx(request):
        return render.page(request, "parts/round_enter.html", status=status, place=place, **values)
    return project_page(request, place, "round_enter.html", status=status, **values)


def _values(
    request: Request, db: Connection, place: ProjectAccess, round_: Round, filled: EntryForm, result: EntryText | None
) -> dict[str, Any]:
    words, scheme = render.translator_of(request), scheme_of(db, place.project)
    tried = entries.strategies_of(db, round_.id, place.account.id)
    untried = [it for it in STRATEGIES if it not in tried]
    mine = own_count(db, round_, place.account.id)
    start = mine.originals % max(1, len(untried))  # other ideas with every entry, so that no three stand there for ever
    return {
        "round": round_,
        "form": filled,
        "result": verdict_values(words, scheme, round_, result),
        "questions_html": questions_of(request, scheme, filled),
        "strategies": STRATEGIES,
        "ideas": (untried[start:] + untried[:start])[:IDEAS],
        "mine": mine,
        "progress": progress_of(db, round_),
        "gaps": gaps_shown(db, round_, scheme, words, first=mine.originals),
        "seeds": round_seeds.counts(db, round_.id),
        "guide": guideline_view(scheme, scheme.guideline, words),
        "oob": False,
    }
