"""Your own answers in a project: newest first, with a search, and the way to correct each."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.care.pages.consent import member_of
from davy.annotation.labelling.labelling import scheme_of
from davy.annotation.labelling.pages.questions import QuestionView, question_views
from davy.annotation.labelling.pages.sheets import answer_titles, display_choice_of, flag_titles
from davy.annotation.labelling.store import annotations as own_answers
from davy.annotation.labelling.store.annotations import AnsweredItem, answered_items, end_of_search
from davy.annotation.project.pages.project_access import Labels, ProjectAccess, project_page
from davy.annotation.project.phase_kind import PHASE_KINDS
from davy.web import render
from davy.web.context import context_of
from davy.web.errors import LocalizedError

router = APIRouter(include_in_schema=False)


SHOWN = 30


@router.get("/projects/{project_id}/mine/answers")
def my_answers(
    request: Request, place: Labels, q: Annotated[str, Query(max_length=200)] = "", before: str = ""
) -> Response:
    """Return what this person answered, those whose post has `q` in it."""
    try:
        until = datetime.fromisoformat(before) if before else None
    except ValueError:
        raise LocalizedError("choice") from None
    with context_of(request).store.read() as db:
        who = (db, place.project.id, place.account.id)
        end = end_of_search(*who, before=until) if q.strip() else None
        answered = answered_items(*who, search=q.strip(), before=until, until=end, limit=SHOWN + 1)
        scheme = scheme_of(db, place.project)
    words, context = render.translator_of(request), context_of(request)
    asked = question_views(scheme, scheme.guideline, words.lang)
    flags = flag_titles(words)
    shown = answered[:SHOWN]
    last = shown[-1].at if len(answered) > SHOWN else end
    return project_page(
        request,
        place,
        "my_answers.html",
        rows=[_row(item, asked, flags, context.mask(item.text), place) for item in shown],
        q=q,
        older=last.isoformat() if last else "",
        searched=own_answers.SEARCHED,
        display=display_choice_of(place.project, member_of(place)),
    )


def _row(
    item: AnsweredItem, asked: tuple[QuestionView, ...], flags: dict[str, str], masked: str, place: ProjectAccess
) -> dict[str, Any]:
    given = item.annotation.answers
    open_ = place.project.state == item.phase_state == "open"
    return {
        "it": item,
        "masked": masked,
        "answers": [
            (question.title, answer_titles(question, given[question.name], masked))
            for question in asked
            if question.name in given
        ],
        "flags": [flags[flag] for flag in item.annotation.flags if flag in flags],
        # After feedback an answer stays as it is.
        "may_change": open_ and not PHASE_KINDS[item.kind].feedback,
    }
