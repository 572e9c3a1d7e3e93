"""`POST /v1/moderations`: OpenAI's shape, so that its clients work with another address.

A string, a list of strings, or parts (text and one picture) in; one result a string, or one for all parts, out.
Categories mean what the file of categories says. One that no question stands behind is false with a score of 0, as the
shape requires, and named in `unscored`.
"""

from __future__ import annotations

import secrets
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from davy.core.errors import UserError
from davy.core.scheme import applicable_questions
from davy.core.scorer import Scores
from davy.detectors import store as registry
from davy.moderation.api_answers import ModerationAnswer
from davy.moderation.attribute_map import AttributeMap, AttributeSource, attribute_scores
from davy.moderation.server_part import Moderation
from davy.people.pages.visitor import key_only
from davy.people.store.users import User
from davy.scoring.queue.detector import PostToScore
from davy.scoring.queue.detectors import Detectors
from davy.scoring.queue.request_scoring import ScoredPosts, score_posts
from davy.web.context import context_of

router = APIRouter(strict_content_type=False)

THEIR_MODELS: tuple[str, ...] = ("omni-moderation", "text-moderation")
"""Model names of OpenAI's that mean whatever answers by default here."""


class ImageAddress(BaseModel):
    """A picture as a `data:` address. Other addresses are not fetched."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    url: str


class TextPart(BaseModel):
    """A text in a list of parts."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    type: Literal["text"]
    text: str


class ImagePart(BaseModel):
    """A picture in a list of parts."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    type: Literal["image_url"]
    image_url: ImageAddress


Part = Annotated[TextPart | ImagePart, Field(discriminator="type")]


class ModerationRequest(BaseModel):
    """What to look at; `model` is a detector's name here, or one of OpenAI's for the default."""

    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True)

    input: str | list[str] | list[Part]
    model: str | None = Field(default=None, max_length=200)


@router.post("/v1/moderations", response_model=None, responses={200: {"model": ModerationAnswer}})
async def moderate(
    request: Request,
    response: Response,
    asked: ModerationRequest,
    who: Annotated[User, Depends(key_only("score", "score texts"))],  # noqa: ARG001 — the key is the permission
) -> dict[str, Any]:
    """Return which categories each input falls into, and how surely."""
    context = context_of(request)
    posts, images = _posts(asked.input)
    model = None if not asked.model or asked.model.startswith(THEIR_MODELS) else asked.model
    scored = await score_posts(request, posts, model=model, images=images)
    response.headers.update(scored.headers)
    kinds = [["text"] * bool(post.text) + ["image"] * bool(image) for post, image in zip(posts, images, strict=True)]
    return {
        "id": f"modr-{secrets.token_hex(12)}",
        "model": scored.detector.full_name,
        "results": _results(scored, context.part(Moderation).categories, kinds),
        "data_hash": scored.detector.model["data_hash"],
    }


class Model(BaseModel):
    """A detector in OpenAI's shape."""

    id: str
    object: Literal["model"] = "model"
    created: int
    """Seconds since 1970 at which it was added; 0 for the one that the server was started with."""
    owned_by: Literal["davy"] = "davy"


class ModelList(BaseModel):
    """The detectors that may be asked, the default first."""

    object: Literal["list"] = "list"
    data: list[Model]


@router.get("/v1/models")
def list_models(
    request: Request,
    who: Annotated[User, Depends(key_only("score", "score texts"))],  # noqa: ARG001 — the key is the permission
) -> ModelList:
    """Return the detectors that can be named in `model`, the default first."""
    context = context_of(request)
    with context.store.read() as db:
        added = {entry.name: int(entry.added_at.timestamp()) for entry in registry.list_detectors(db)}
    return ModelList(data=[Model(id=name, created=added.get(name, 0)) for name in context.part(Detectors).names])


@router.get("/v1/models/{model:path}")
def show_model(
    request: Request,
    model: str,
    who: Annotated[User, Depends(key_only("score", "score texts"))],
) -> Model:
    """Return one of the detectors."""
    for known in list_models(request, who).data:
        if known.id == model:
            return known
    raise UserError(f"There is no detector {model[:80]!r}. GET /v1/models lists them.", status=404)


def _posts(given: str | list[str] | list[Part]) -> tuple[list[PostToScore], list[str | None]]:
    if isinstance(given, str):
        given = [given]
    if not given:
        raise UserError("The input is empty. Send a text, a list of texts, or parts.", status=422)
    texts = [it for it in given if isinstance(it, str)]
    if texts:
        return [PostToScore(text) for text in texts], [None] * len(texts)
    pictures = [it.image_url.url for it in given if isinstance(it, ImagePart)]
    if len(pictures) > 1:
        raise UserError(f"The input has {len(pictures)} pictures; at most 1 is taken.", status=422)
    text = "\n".join(it.text for it in given if isinstance(it, TextPart))
    return [PostToScore(text)], [pictures[0] if pictures else None]


def _results(scored: ScoredPosts, categories: AttributeMap, kinds: list[list[str]]) -> list[dict[str, Any]]:
    columns = {name: _column(scored.scores, source) for name, source in categories.attributes.items()}
    results = []
    for row in range(len(scored.posts)):
        values = {name: column[row] for name, column in columns.items() if column is not None}
        there = {name: value for name, value in values.items() if value is not None}
        flags = {name: bool(there.get(name, (0.0, False))[1]) for name in categories.attributes}
        results.append(
            {
                "flagged": any(flags.values()),
                "categories": flags,
                "category_scores": {name: there.get(name, (0.0, False))[0] for name in flags},
                "category_applied_input_types": {name: kinds[row] if name in there else [] for name in flags},
                "unscored": [name for name in flags if name not in there],
            }
        )
    return results


def _column(scores: Scores, source: AttributeSource) -> list[tuple[float, bool] | None] | None:
    """Return the score and whether the detector says yes, a post; None where it was not asked."""
    found = attribute_scores(scores, source)
    if found is None or source.question is None:
        return None
    chances, there = found
    label = source.label or scores.question(source.question).positive
    picked = {question.name: scores.chosen(question.name) for question in scores.questions}
    column: list[tuple[float, bool] | None] = []
    for row, (chance, is_there) in enumerate(zip(chances.tolist(), np.asarray(there).tolist(), strict=True)):
        answers = {name: labels[row] for name, labels in picked.items()}
        reached = source.question in applicable_questions(scores.questions, answers)
        yes = reached and label in answers[source.question]
        column.append((round(chance, 6), yes) if is_there else None)
    return column
