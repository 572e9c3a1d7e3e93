"""The one way from a request to scores, whatever shape the request has: `/v1/score`, Perspective's, OpenAI's, a page.

Posts in; the detector that answered and its scores out. Limits, quotas, the time-out, pictures and the shadow are here,
so that no door forgets one of them. Texts are neither kept nor logged.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from anyio import to_thread
from starlette.requests import Request

from davy.core.errors import UserError
from davy.core.scorer import Scores
from davy.image.picture import Picture
from davy.people.quotas import quota_refusal
from davy.people.store.keys import ApiKey
from davy.scoring.queue.detector import Detector, PostToScore
from davy.scoring.queue.detectors import Detectors
from davy.scoring.queue.pictures import decode_pictures
from davy.web.context import Context, ServerPart, context_of
from davy.web.errors import LocalizedError

Result = TypeVar("Result")

MOST_EXPLAINED = 10
"""Posts of one request that can be explained: each costs up to a hundred more texts, as long as itself. Together they
are no longer than one text may be."""


class PostDecider(ServerPart):
    """The part of the feature that decides about scored posts."""

    def decide(
        self,
        detector: Detector,
        posts: Sequence[PostToScore],
        scores: Scores,
        *,
        community: str | None,
        key: ApiKey | None,
        references: Sequence[str | None],
        may_store: bool,
    ) -> tuple[Scores, list[str | None]]:
        """Return the scores with the thresholds of a community, and what it decides about each post."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class ScoredPosts:
    """What came of a request: `posts` in their order, who answered, and the scores."""

    detector: Detector
    posts: tuple[PostToScore, ...]
    scores: Scores
    decisions: list[str | None]
    """What a community decides about each post: `pass`, `flag`, `review`, `not_judged`; None where none decides."""

    @property
    def headers(self) -> dict[str, str]:
        """What every answer says about who answered, also where its body has no room for it."""
        return {"Davy-Model": _header(self.detector.full_name)}


async def score_posts(
    request: Request,
    posts: Sequence[PostToScore],
    *,
    model: str | None = None,
    detector: Detector | None = None,
    images: Sequence[str | None] = (),
    community: str | None = None,
    may_store: bool = True,
    longest: int | None = None,
    counted: int | None = None,
    references: Sequence[str | None] = (),
    explain: bool = False,
) -> ScoredPosts:
    """Return the scores of posts; `images` are base64 texts beside them. `may_store` is False for `doNotStore`.

    `detector` answers in place of the one that `model` names.
    `longest` is how many characters a text may have where that is not the server's setting, `counted` how many posts
    the request counts as. `references` are the sender's ids of the first posts; the others are parts of these.
    With `explain` the posts are few and short enough to be explained, too.
    """
    context = context_of(request)
    request.state.community = community  # whose thresholds decide
    check_posts(context, posts, longest=longest, explain=explain)
    charge(request, len(posts) if counted is None else counted)
    detectors = context.part(Detectors)
    detector = detector or await detectors.find(model)
    pictures = await _pictures(detector, images)
    holding = detectors.pictures.holding(pictures) if pictures else nullcontext([None] * len(posts))
    began = time.perf_counter()
    with holding as names:
        asked = tuple(replace(post, image=name) for post, name in zip(posts, names, strict=True))
        scores = await within_time(context, detector.score(asked, sender=sender_of(request)))
    context.metrics.scored(detector.full_name, len(posts), time.perf_counter() - began)
    key: ApiKey | None = getattr(request.state, "key", None)
    scores, decisions = context.part(PostDecider).decide(
        detector, asked, scores, community=community, key=key, references=references, may_store=may_store
    )
    return ScoredPosts(detector, asked, scores, decisions)


async def explanations(request: Request, scored: ScoredPosts) -> list[dict[str, Any]]:
    """Return for each post the words that carried its decision, strongest first."""

    async def explained() -> list[dict[str, Any]]:
        found = []
        for post in scored.posts:
            reason = await scored.detector.explain(post, sender=sender_of(request))
            words = [
                {"start": it.start, "end": it.end, "text": reason.text[it.start : it.end], "weight": it.weight}
                for it in reason.strongest()
            ]
            found.append({"question": reason.question, "label": reason.label, "words": words})
        return found

    return await within_time(context_of(request), explained())


def sender_of(request: Request) -> str:
    """Return in whose turn a request is scored: its key's, or its account's."""
    key: ApiKey | None = getattr(request.state, "key", None)
    account = getattr(getattr(request.state, "visitor", None), "account", None)
    return key.id if key is not None else str(getattr(account, "id", ""))


def check_posts(
    context: Context, posts: Sequence[PostToScore], *, longest: int | None = None, explain: bool = False
) -> None:
    """Refuse more or longer posts than the server takes at once, or than it explains."""
    most, longest = context.settings.max_batch, longest or context.settings.max_text
    if len(posts) > most:
        raise LocalizedError("too_many_texts", status=413, got=len(posts), most=most)
    for place, post in enumerate(posts, 1):
        if len(post.text) > longest:
            raise LocalizedError("text_too_long", status=413, place=place, got=len(post.text), most=longest)
    if explain and len(posts) > MOST_EXPLAINED:
        raise LocalizedError("too_many_explained", status=413, got=len(posts), most=MOST_EXPLAINED)
    total = sum(len(post.text) for post in posts)
    if explain and total > longest:
        raise LocalizedError("too_long_to_explain", status=413, got=total, most=longest)


def charge(request: Request, posts: int) -> None:
    """Take posts off the quota of the key that a request came with; refuse with 429 where it is used up."""
    key: ApiKey | None = getattr(request.state, "key", None)
    if key is None:
        return
    context = context_of(request)
    wait, left = context.quotas.take(key, posts)
    if left is not None:
        request.state.quota_left = left
    if wait:
        context.metrics.count("rate_limited")
        raise quota_refusal(key, wait, left)


async def _pictures(detector: Detector, images: Sequence[str | None]) -> list[Picture | None]:
    if not any(images):
        return []
    if not detector.looks:
        raise LocalizedError("no_pictures", status=422, name=detector.model["name"])
    return await to_thread.run_sync(decode_pictures, images)


async def within_time(context: Context, work: Awaitable[Result]) -> Result:
    """Return what comes of some work of a detector, or refuse with 503 where it takes too long."""
    try:
        async with asyncio.timeout(context.settings.request_seconds):
            return await work
    except TimeoutError:
        context.metrics.count("timed_out")
        raise UserError(
            f"The detector took longer than {context.settings.request_seconds:g} seconds. Send less at once, or later.",
            status=503,
        ) from None


def _header(text: str) -> str:
    """Return text that a header can carry."""
    return text.encode("ascii", "replace").decode().replace("\n", " ").replace("\r", " ")[:200]
