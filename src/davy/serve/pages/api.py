"""`POST /v1/score`: texts in, scores out, for programs with an API key and for our own pages.

Every answer names the model and its version. Texts are neither kept nor logged.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request

from davy.score.result import records
from davy.serve.context import context_of
from davy.serve.detector import response_body
from davy.serve.errors import LocalizedError
from davy.serve.visitor import check_rate, key_or_session
from davy.store.users import User

router = APIRouter()


class ScoreRequest(BaseModel):
    """One `text`, or several `texts`; `lang` is their language where you know it; `model` a detector's name.

    Without `model` the default detector answers; `name@version` asks for exactly one version.
    """

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    text: str | None = None
    texts: list[str] | None = Field(default=None, min_length=1)
    lang: str | None = Field(default=None, max_length=20)
    model: str | None = Field(default=None, max_length=200)


@router.post("/v1/score")
async def score(
    request: Request, asked: ScoreRequest, who: Annotated[User, Depends(key_or_session("score", "score texts"))]
) -> dict[str, Any]:
    """Return for each text its verdict and each question's label and probabilities, in the order of the texts."""
    context = context_of(request)
    texts = _texts(asked, most=context.settings.max_batch, longest=context.settings.max_text)
    if request.headers.get("authorization") is None:  # a key has a limit of its own
        check_rate(request, "texts of a session", who.id, cost=len(texts))
    model, scores = await context.detectors.score(texts, [asked.lang] * len(texts), model=asked.model)
    context.metrics.count("texts_scored", len(texts))
    return response_body(model, records(scores))


def _texts(asked: ScoreRequest, *, most: int, longest: int) -> list[str]:
    if (asked.text is None) == (asked.texts is None):
        raise LocalizedError("one_of", status=422)
    texts = [asked.text] if asked.text is not None else list(asked.texts or [])
    if len(texts) > most:
        raise LocalizedError("too_many_texts", status=413, got=len(texts), most=most)
    for place, text in enumerate(texts, 1):
        if len(text) > longest:
            raise LocalizedError("text_too_long", status=413, place=place, got=len(text), most=longest)
    return texts
