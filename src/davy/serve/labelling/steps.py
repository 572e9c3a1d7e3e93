"""What a person sees next while they label: a post, an answer of theirs, a rest, or why there is nothing.

A `Turn` in, a response out. htmx gets the next post as a part. A rest and an empty page
are pages of their own, so that nothing of the work is left around them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from davy.annotate.care import RestPeriod
from davy.annotate.labelling import Sheet
from davy.serve import render
from davy.serve.context import context_of
from davy.serve.errors import is_htmx
from davy.serve.i18n import Translator
from davy.serve.labelling.answered_sheets import AnsweredSheet, answered_sheet_values
from davy.serve.labelling.no_work import NoWork, no_work_values
from davy.serve.labelling.sheets import FormState, guideline_view, sheet_view
from davy.serve.membership import Place, project_page


@dataclass(frozen=True, slots=True)
class LabellingStep:
    """What to show next."""

    what: Sheet | AnsweredSheet | NoWork | RestPeriod
    said: str = ""
    """What happened: read aloud on the page, a note after a redirect."""
    kindly: str = ""
    """Why something did not happen."""
    filled: FormState | None = None
    status: int = 200
    guideline: str = ""
    """The version of the guideline that the browser shows."""


def require_consent(request: Request, place: Place) -> Response | None:
    """Return the way to the consent page for who has not agreed yet, else None."""
    if place.member is not None and place.member.consented_at is not None:
        return None
    return redirect_page(request, f"{place.address}/consent")


def redirect_page(request: Request, path: str, said: str = "") -> Response:
    """Return a redirect that loads a whole page, also for htmx; the page shows `note.SAID`."""
    response = render.redirect(request, path, said or None)
    if is_htmx(request):
        response.status_code = 200
        del response.headers["location"]
        response.headers["HX-Redirect"] = path
    return response


def respond_to_form(request: Request, place: Place, turn: LabellingStep) -> Response:
    """Return what follows a form: the next post as a part, or a redirect to it, or the form again."""
    if isinstance(turn.what, RestPeriod | NoWork) and not turn.kindly:
        return redirect_page(request, step_path(place, turn), turn.said)
    if is_htmx(request) or turn.filled is not None or turn.kindly:
        return respond(request, place, turn)
    return redirect_page(request, step_path(place, turn), turn.said)


def respond(request: Request, place: Place, turn: LabellingStep) -> Response:
    """Return the turn: a part for htmx, else a page."""
    if isinstance(turn.what, RestPeriod):
        return RedirectResponse(step_path(place, turn), 303)
    words = render.translator_of(request)
    part, it = _part(request, words, turn)
    sheet = turn.what if isinstance(turn.what, Sheet) else getattr(turn.what, "sheet", None)
    values: dict[str, Any] = {
        "it": it,
        "address_of": step_path(place, turn),
        "base": f"{place.address}/label",
        "project_id": place.project.id,
        "said": _said(words, turn.said),
        "kindly": _kindly(words, turn.kindly),
        "undo": _may_undo(turn),
    }
    if is_htmx(request):
        seen = str(sheet.guideline.version if sheet and sheet.guideline else 0)
        stale = bool(sheet and turn.guideline and turn.guideline != seen)
        guide = guideline_view(sheet.scheme, sheet.guideline, words) if sheet and stale else None
        if guide and not values["kindly"]:
            values["kindly"] = f"{words('label.guideline_new', n=guide.version)} {guide.changes}".strip()
        return render.page(request, part, status=turn.status, oob=True, guide=guide, guide_changed=stale, **values)
    guide = guideline_view(sheet.scheme, sheet.guideline, words) if sheet else None
    return project_page(
        request,
        place,
        "label.html",
        status=turn.status,
        part=part,
        oob=False,
        guide=guide,
        guide_changed=False,
        **values,
    )


def step_path(place: Place, turn: LabellingStep) -> str:
    """Return the address of what is shown."""
    match turn.what:
        case Sheet(assignment=assignment) | AnsweredSheet(sheet=Sheet(assignment=assignment)):
            return f"{place.address}/label/{assignment.id}"
        case RestPeriod():
            return f"{place.address}/rest"
    return f"{place.address}/label"


def _part(request: Request, words: Translator, turn: LabellingStep) -> tuple[str, Any]:
    context = context_of(request)
    match turn.what:
        case Sheet():
            return "parts/sheet.html", sheet_view(context, words, turn.what, turn.filled)
        case AnsweredSheet():
            return "parts/answered.html", answered_sheet_values(context, words, turn.what)
        case NoWork():
            return "parts/nothing.html", no_work_values(words, turn.what)
    raise AssertionError(turn.what)


def _may_undo(turn: LabellingStep) -> bool | str:
    """Return whether there is an undo button; on a post that was answered, the assignment that it opens."""
    match turn.what:
        case Sheet() as sheet:
            return sheet.number > 1 or sheet.tally.refused + sheet.tally.skipped > 0 or bool(turn.said)
        case AnsweredSheet() as it:
            return it.sheet.assignment.id if it.feedback is None else False
        case NoWork() as it:
            return it.done + it.refused > 0 and it.is_open
    return False


def _said(words: Translator, said: str) -> str:
    sentences = {
        "saved": words("label.saved"),
        "skipped": words("label.skipped"),
        "refused": words("label.refused_said"),
        "undone": words("label.undone"),
    }
    return sentences.get(said, "")


def _kindly(words: Translator, why: str) -> str:
    sentences = {
        "already": words("label.already"),
        "gone": words("label.gone"),
        "closed": words("label.closed_meanwhile"),
    }
    return sentences.get(why, "")
