"""What a person sees next while they label: a post, an answer of theirs, a rest, or why there is nothing.

A `Turn` in, a response out. htmx gets the next post as a part. A rest and an empty page
are pages of their own, so that nothing of the work is left around them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from davy.annotate.care import Rest
from davy.annotate.work import Sheet
from davy.serve import render
from davy.serve.answered import Answered, answered_values
from davy.serve.context import context_of
from davy.serve.errors import is_htmx
from davy.serve.i18n import Words
from davy.serve.membership import Place, project_page
from davy.serve.nothing_left import Nothing, nothing_values
from davy.serve.sheets import Filled, guide_of, shown


@dataclass(frozen=True, slots=True)
class Turn:
    """What to show next."""

    what: Sheet | Answered | Nothing | Rest
    said: str = ""
    """What happened: read aloud on the page, a note after a redirect."""
    kindly: str = ""
    """Why something did not happen."""
    filled: Filled | None = None
    status: int = 200
    guideline: str = ""
    """The version of the guideline that the browser shows."""


def consent_first(request: Request, place: Place) -> Response | None:
    """Return the way to the consent page for who has not agreed yet, else None."""
    if place.member is not None and place.member.consented_at is not None:
        return None
    return away(request, f"{place.address}/consent")


def away(request: Request, path: str, said: str = "") -> Response:
    """Return a redirect that loads a whole page, also for htmx; the page shows `note.SAID`."""
    response = render.see(request, path, said or None)
    if is_htmx(request):
        response.status_code = 200
        del response.headers["location"]
        response.headers["HX-Redirect"] = path
    return response


def go_on(request: Request, place: Place, turn: Turn) -> Response:
    """Return what follows a form: the next post as a part, or a redirect to it, or the form again."""
    if isinstance(turn.what, Rest | Nothing) and not turn.kindly:
        return away(request, path_of(place, turn), turn.said)
    if is_htmx(request) or turn.filled is not None or turn.kindly:
        return show(request, place, turn)
    return away(request, path_of(place, turn), turn.said)


def show(request: Request, place: Place, turn: Turn) -> Response:
    """Return the turn: a part for htmx, else a page."""
    if isinstance(turn.what, Rest):
        return RedirectResponse(path_of(place, turn), 303)
    words = render.words_of(request)
    part, it = _part(request, words, turn)
    sheet = turn.what if isinstance(turn.what, Sheet) else getattr(turn.what, "sheet", None)
    values: dict[str, Any] = {
        "it": it,
        "address_of": path_of(place, turn),
        "base": f"{place.address}/label",
        "project_id": place.project.id,
        "said": _said(words, turn.said),
        "kindly": _kindly(words, turn.kindly),
        "undo": _may_undo(turn),
    }
    if is_htmx(request):
        seen = str(sheet.guideline.version if sheet and sheet.guideline else 0)
        stale = bool(sheet and turn.guideline and turn.guideline != seen)
        guide = guide_of(sheet.scheme, sheet.guideline, words) if sheet and stale else None
        if guide and not values["kindly"]:
            values["kindly"] = f"{words('label.guideline_new', n=guide.version)} {guide.changes}".strip()
        return render.page(request, part, status=turn.status, oob=True, guide=guide, guide_changed=stale, **values)
    guide = guide_of(sheet.scheme, sheet.guideline, words) if sheet else None
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


def path_of(place: Place, turn: Turn) -> str:
    """Return the address of what is shown."""
    match turn.what:
        case Sheet(assignment=assignment) | Answered(sheet=Sheet(assignment=assignment)):
            return f"{place.address}/label/{assignment.id}"
        case Rest():
            return f"{place.address}/rest"
    return f"{place.address}/label"


def _part(request: Request, words: Words, turn: Turn) -> tuple[str, Any]:
    context = context_of(request)
    match turn.what:
        case Sheet():
            return "parts/sheet.html", shown(context, words, turn.what, turn.filled)
        case Answered():
            return "parts/answered.html", answered_values(context, words, turn.what)
        case Nothing():
            return "parts/nothing.html", nothing_values(words, turn.what)
    raise AssertionError(turn.what)


def _may_undo(turn: Turn) -> bool | str:
    """Return whether there is an undo button; on a post that was answered, the assignment that it opens."""
    match turn.what:
        case Sheet() as sheet:
            return sheet.number > 1 or sheet.tally.refused + sheet.tally.skipped > 0 or bool(turn.said)
        case Answered() as it:
            return it.sheet.assignment.id if it.feedback is None else False
        case Nothing() as it:
            return it.done + it.refused > 0 and it.is_open
    return False


def _said(words: Words, said: str) -> str:
    sentences = {
        "saved": words("label.saved"),
        "skipped": words("label.skipped"),
        "refused": words("label.refused_said"),
        "undone": words("label.undone"),
    }
    return sentences.get(said, "")


def _kindly(words: Words, why: str) -> str:
    sentences = {
        "already": words("label.already"),
        "gone": words("label.gone"),
        "closed": words("label.closed_meanwhile"),
    }
    return sentences.get(why, "")
