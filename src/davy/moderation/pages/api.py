"""`POST /v1/score`: posts in, scores out, for programs with an API key and for our own pages.
`GET /v1/detectors` says who answers.

Every answer names the model, its version and the hash of its data, with the thresholds and the verdict's path.
Questions that a post's answers don't lead to are left out. Texts and pictures are neither kept nor logged.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from davy.core.errors import UserError, nearest
from davy.detectors import store as registry
from davy.detectors.model_cards import model_cards
from davy.moderation.api_answers import DetectorAnswer, ScoreAnswer
from davy.moderation.server_part import Moderation
from davy.people.pages.visitor import check_rate, key_or_session
from davy.people.store.users import User
from davy.scoring.queue.detector import PostToScore
from davy.scoring.queue.detectors import Detectors
from davy.scoring.queue.request_scoring import ScoredPosts, explanations, score_posts
from davy.scoring.result import records
from davy.web.context import context_of
from davy.web.errors import LocalizedError

router = APIRouter(strict_content_type=False)

Language = Annotated[str | None, Field(max_length=20)]


class SentPost(BaseModel):
    """One post: a text, a picture as base64 (or both), its language where you know it, and your own id for it."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    text: str = ""
    lang: Language = None
    image: str | None = None
    id: str | None = Field(default=None, max_length=200)


class ScoreRequest(BaseModel):
    """One `text`, several `texts`, or `posts`; `lang` is their language where you know it; `model` a detector's name.

    Without `model` the default detector answers; `name@version` asks for exactly one version. `questions` names the
    ones you want, `explain` adds the words that carried each decision (at most 10 posts, which
    are together no longer than one text may be). `community` names whose thresholds decide: each result then has a
    `decision`. It is refused where the key may not use it.
    """

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    text: str | None = None
    texts: list[str] | None = Field(default=None, min_length=1)
    posts: list[SentPost] | None = Field(default=None, min_length=1)
    lang: Language = None
    model: str | None = Field(default=None, max_length=200)
    questions: list[str] | None = Field(default=None, min_length=1, max_length=100)
    explain: bool = False
    community: str | None = Field(default=None, max_length=200)


@router.post("/v1/score", response_model=ScoreAnswer)
async def score(
    request: Request,
    asked: ScoreRequest,
    who: Annotated[User, Depends(key_or_session("score", "score texts"))],
) -> Response:
    """Return for each post its verdict and each question's label and probabilities, in the order of the posts."""
    sent = _sent(asked)
    key = getattr(request.state, "key", None)
    decider = context_of(request).part(Moderation).decider
    if asked.community is not None and decider.community_of(asked.community, key) is None:
        raise LocalizedError("community_of_key", status=403, name=asked.community)
    if key is None:  # a key has limits of its own
        check_rate(request, "texts of a session", who.id, cost=len(sent))
    posts = [PostToScore(post.text, post.lang or asked.lang) for post in sent]
    images = [post.image for post in sent]
    scored = await score_posts(
        request,
        posts,
        model=asked.model,
        images=images,
        community=asked.community,
        references=[p.id for p in sent],
        explain=asked.explain,
    )
    _check_questions(scored, asked.questions)
    results = records(scored.scores, asked.questions)
    for post, result, decision in zip(sent, results, scored.decisions, strict=True):
        if post.id is not None:
            result["id"] = post.id
        if asked.community is not None:
            result["decision"] = decision
    if asked.explain:
        for result, explanation in zip(results, await explanations(request, scored), strict=True):
            result["explanation"] = explanation
    answer = msgspec.json.encode({"model": scored.detector.model, "results": results})
    return Response(answer, headers=scored.headers, media_type="application/json")


@router.get("/v1/detectors", response_model=list[DetectorAnswer])
def list_detectors(
    request: Request,
    who: Annotated[User, Depends(key_or_session("read", "score texts"))],  # noqa: ARG001
) -> list[dict[str, Any]]:
    """Return the detectors that can be asked by name: version, questions, languages, thresholds, which is default."""
    context = context_of(request)
    with context.store.read() as db:
        entries = [entry for entry in registry.list_detectors(db) if entry.state == "active"]
    loaded = context.part(Detectors)
    started, default = loaded.started, loaded.default_model
    own = started.model
    found = [(it.name, it.version, it.source, it.questions, it.thresholds, it.data_hash) for it in entries]
    name, version = str(own["name"]), str(own["version"])
    found += [(name, version, context.settings.model, started.questions, {}, own["data_hash"])]
    return [
        {
            "name": name,
            "version": version,
            "default": (name, version) == (default["name"], default["version"]),
            "questions": list(questions),
            "languages": sorted({code for card in model_cards(source) for code in card.languages}),
            "thresholds": {q: t for card in model_cards(source) for q, t in card.thresholds.items()} | dict(thresholds),
            "data_hash": data_hash,
        }
        for name, version, source, questions, thresholds, data_hash in found
    ]


def _sent(asked: ScoreRequest) -> list[SentPost]:
    given = [it for it in (asked.text, asked.texts, asked.posts) if it is not None]
    if len(given) != 1:
        raise LocalizedError("one_of", status=422)
    if asked.posts is not None:
        for place, post in enumerate(asked.posts, 1):
            if not post.text and not post.image:
                raise LocalizedError("empty_post", status=422, place=place)
        return asked.posts
    texts = [asked.text] if asked.text is not None else list(asked.texts or [])
    return [SentPost(text=text) for text in texts]


def _check_questions(scored: ScoredPosts, wanted: list[str] | None) -> None:
    known = list(scored.detector.questions)
    for name in wanted or []:
        if name not in known:
            raise UserError(
                f"{scored.detector.model['name']} has no question {name[:80]!r}; it has {', '.join(known)}."
                f"{nearest(name, known)}",
                status=422,
            )
