"""Score one text and show why: a page that works without scripts, and its part for htmx. Nothing is kept."""
# ruff: noqa: ARG001 — a route's signature says what it needs, such as a permission or a checked form

from __future__ import annotations

from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from davy.core.errors import UserError
from davy.score.result import repair_text
from davy.serve import render
from davy.serve.context import context_of
from davy.serve.detector import PostToScore, answer_views, verdict_text
from davy.serve.errors import LocalizedError, is_htmx
from davy.serve.scoring import score_posts
from davy.serve.visitor import Form, allowed, check_rate, field
from davy.store.users import User

router = APIRouter(include_in_schema=False)

Scores = Annotated[User, Depends(allowed("score texts"))]


@router.get("/score")
def ask(request: Request, who: Scores) -> Response:
    """Return the page with an empty text."""
    return _page(request)


@router.post("/score")
async def score(request: Request, who: Scores, form: Form) -> Response:
    """Return the text's scores: the whole page, or for htmx the result alone."""
    check_rate(request, "texts of a session", who.id)
    text = str(form.get("text") or "").replace("\r\n", "\n")
    model = field(form, "model")
    try:
        result = await _result(request, text, model)
    except UserError as error:
        if is_htmx(request) or error.status == 500:
            raise
        return _page(
            request, text=text[:50_000], model=model, wrong=render.error_text(request, error), status=error.status
        )
    if is_htmx(request):
        return render.page(request, "parts/score.html", result=result)
    return _page(request, text=text, model=model, result=result)


async def _result(request: Request, text: str, wanted: str) -> dict[str, object]:
    context = context_of(request)
    if not text.strip():
        raise LocalizedError("empty_text")
    if len(text) > context.settings.max_text:
        raise LocalizedError("too_long", status=413, most=context.settings.max_text, got=len(text))
    scored = await score_posts(request, [PostToScore(text)], model=wanted or None)
    scores = scored.scores
    shown = repair_text(text)
    return {
        "text": shown,
        "masked": await to_thread.run_sync(context.mask, shown),
        "verdict": verdict_text(scores, 0, render.translator_of(request).lang),
        "unsupported": str(scores.languages()[0]),
        "answers": answer_views(scores, 0, render.translator_of(request).lang),
        "model": scored.detector.model,
    }


def _page(
    request: Request,
    *,
    text: str = "",
    model: str = "",
    result: dict[str, object] | None = None,
    wrong: str = "",
    status: int = 200,
) -> Response:
    context = context_of(request)
    return render.page(
        request,
        "score.html",
        status=status,
        text=text,
        result=result,
        wrong=wrong,
        most=context.settings.max_text,
        names=context.detectors.names,
        model=model,
    )
