"""Perspective's shape: `comments:analyze` and `comments:suggestscore`, so that its clients work with another address.

A comment and attributes in; a score for each, for the whole and for its sentences, out. Attributes mean what the file
of attributes says. One that nothing stands behind in the comment's language is refused with Perspective's own error.
A suggested score is kept, with its text, for somebody to review.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from davy.core.errors import UserError
from davy.core.scheme import Question
from davy.moderation.api_answers import PerspectiveAnswer, PerspectiveCorrection
from davy.moderation.appeals import AppealRequest
from davy.moderation.attribute_map import AttributeMap, AttributeSource
from davy.moderation.deciding_scores import NOT_JUDGED
from davy.moderation.pages.appeals import file_for_key
from davy.moderation.perspective_answer import (
    CommentLanguages,
    ModelScores,
    Plan,
    behind,
    find_languages,
    plan_attributes,
    scores_of,
    unknown_error,
    unsupported_error,
)
from davy.moderation.perspective_format import (
    AnalyzeCommentRequest,
    AttributeParameters,
    CommentContext,
    SuggestCommentScoreRequest,
    TextEntry,
    discovery_document,
)
from davy.moderation.server_part import Moderation
from davy.moderation.store import suggestions
from davy.moderation.store.communities import Community
from davy.moderation.store.suggestions import Suggestion
from davy.people.pages.visitor import check_rate, key_only
from davy.people.store.users import User
from davy.scoring.queue.detector import Detector, PostToScore
from davy.scoring.queue.detectors import Detectors
from davy.scoring.queue.request_scoring import charge, score_posts, sender_of, within_time
from davy.scoring.result import repair_text
from davy.text.lexicons.read import load as load_lexicon
from davy.text.words import sentence_spans
from davy.web.context import context_of
from davy.web.error_pages import AnalyzeError


async def refuse_unclear_keys(request: Request) -> None:
    """Refuse a body in which an object has a key twice or a broken one: what was meant is not for us to guess."""

    def pairs(items: list[tuple[str, Any]]) -> None:
        counts = Counter(name for name, _ in items)
        if not "".join(counts).isascii() and any("\ud800" <= char <= "\udfff" for name in counts for char in name):
            raise AnalyzeError("A field's name has half of a UTF-16 pair. Send the whole character.")
        doubled = next((name for name, n in counts.items() if n > 1), None)
        if doubled is not None:
            raise AnalyzeError(f"The field {doubled[:100]!r} stands twice in one object. Send it once.")

    with suppress(ValueError):  # what is no JSON at all is refused when it is read
        json.loads(await request.body(), object_pairs_hook=pairs)


router = APIRouter(strict_content_type=False)  # Perspective took a body without a Content-Type

MOST_BYTES = 20_480
MOST_SPANS = 50

Caller = Annotated[User, Depends(key_only("score", "score texts"))]
Spans = list[tuple[int, int]]


@router.get("/$discovery/rest")
def discovery(request: Request, version: str = "v1alpha1") -> dict[str, Any]:
    """Return the description of this service that Google's client libraries build themselves from."""
    if version != "v1alpha1":
        raise AnalyzeError(f"There is no version {version[:20]!r}; this service has v1alpha1.")
    return discovery_document(context_of(request).settings.base_url)


@router.post(
    "/v1alpha1/comments:analyze",
    dependencies=[Depends(refuse_unclear_keys)],
    response_model=None,
    responses={200: {"model": PerspectiveAnswer}},
)
async def analyze(
    request: Request,
    response: Response,
    asked: AnalyzeCommentRequest,
    who: Caller,  # noqa: ARG001 — the key is the permission
) -> dict[str, Any]:
    """Return scores of a comment for the attributes asked for."""
    context = context_of(request)
    text = _checked_text(asked.comment, asked.context)
    moderation = context.part(Moderation)
    wanted = _wanted(moderation.attributes, asked.requested_attributes)
    default = await context.part(Detectors).find(None)
    community = moderation.decider.community_of(asked.community_id, request.state.key)
    languages = await to_thread.run_sync(_languages, request, text, asked.languages, default, community)

    def not_judged() -> None:
        if community is not None:
            post = PostToScore(text, languages.used[0] if languages.used else None)
            moderation.decider.record_unjudged(
                default,
                post,
                community=community,
                reference=asked.client_token,
                may_store=not asked.do_not_store,
            )

    if not languages.used:
        not_judged()
        raise AnalyzeError("Unable to detect language.", "LANGUAGE_DETECTION_FAILED")
    drops = asked.drop_unsupported_attributes or context.settings.drop_unsupported
    plan = plan_attributes(
        moderation.attributes,
        wanted,
        languages.used,
        lambda model: moderation.attribute_detectors[model] if model else default,
        own_words=context.lexicon is not None,
    )
    if plan.missing and (not drops or not plan.sources):
        not_judged()
    if plan.missing and not drops:
        raise unsupported_error(plan.missing, moderation.attributes, languages)
    spans = sentence_spans(text, most=MOST_SPANS) if asked.span_annotations else [(0, len(text))]
    scored, decision, headers = await _scored(request, asked, text, spans, plan)
    response.headers.update(headers)
    if not plan.sources and community is not None:
        decision = NOT_JUDGED
    if decision:
        response.headers["Davy-Decision"] = decision
    values, unanswered = scores_of(plan, scored, context.lexicon or load_lexicon("masking"))
    if unanswered and not drops:
        raise unsupported_error(unanswered, moderation.attributes, languages)
    scores = _attribute_scores(asked, values, text, spans)
    answer: dict[str, Any] = {"attributeScores": scores, "languages": languages.used}
    if languages.detected:
        answer["detectedLanguages"] = languages.detected
    if asked.client_token:
        answer["clientToken"] = asked.client_token
    davy: dict[str, Any] = {"language": languages.source, "attributes": behind(scores, plan, scored)}
    if dropped := {**plan.missing, **unanswered}:
        davy["dropped"] = dropped
    if asked.community_id and community is None:
        davy["community"] = "not known here for this key, so it decides nothing"
    return {**answer, "davy": davy}


@router.post(
    "/v1alpha1/comments:suggestscore",
    dependencies=[Depends(refuse_unclear_keys)],
    response_model=None,
    responses={200: {"model": PerspectiveCorrection}},
)
async def suggest(request: Request, asked: SuggestCommentScoreRequest, who: Caller) -> dict[str, Any]:
    """Keep a correction for somebody to review."""
    context = context_of(request)
    text = _checked_text(asked.comment, asked.context)
    given = asked.attribute_scores or {}
    if not given:
        raise AnalyzeError("Missing attribute_scores")
    moderation = context.part(Moderation)
    sources = _wanted(moderation.attributes, dict.fromkeys(given, AttributeParameters()))
    for name, scores in given.items():
        if scores.summary_score is None and not scores.span_scores:
            raise AnalyzeError(f"Attribute {name} has neither a summary score nor span scores")
    default = await context.part(Detectors).find(None)
    community = moderation.decider.community_of(asked.community_id, request.state.key)
    languages = await to_thread.run_sync(_languages, request, text, asked.languages, default, community)
    questions = default.scorer.questions
    summary = {name: it.summary_score.value for name, it in given.items() if it.summary_score is not None}
    key = request.state.key
    suggestion = Suggestion(
        text=repair_text(text),
        scores=summary,
        answers=_answers(summary, sources, questions),
        by=who.id,
        lang=languages.used[0] if languages.used else None,
        context=_kept_context(asked),
        key=key.id,
        community=asked.community_id,
        session=asked.session_id,
        client_token=asked.client_token,
    )
    appeal = await to_thread.run_sync(_appeal, request, community, suggestion, who)
    if appeal is None:
        await to_thread.run_sync(_keep, request, suggestion)
    answer: dict[str, Any] = {"requestedLanguages": languages.requested, "detectedLanguages": languages.detected}
    more: dict[str, Any] = {"clientToken": asked.client_token} if asked.client_token else {}
    if appeal is not None:
        more["davy"] = {"appeal": appeal}
    return {name: it for name, it in answer.items() if it} | more


def _appeal(request: Request, community: Community | None, suggestion: Suggestion, who: User) -> str | None:
    """Return the appeal that a correction is, where it is against the decision that its token names; else None."""
    if community is None or community.project is None or not suggestion.client_token:
        return None
    wanted = _wanted_outcome(request, community, suggestion)
    if wanted is None:
        return None
    check_rate(request, "suggestions of a key", request.state.key.id)
    with suppress(UserError):  # then it is kept as a correction
        asked = AppealRequest(suggestion.client_token, suggestion.text, wanted=wanted)
        return file_for_key(request, community.name, asked, who).id
    return None


def _wanted_outcome(request: Request, community: Community, suggestion: Suggestion) -> str | None:
    """Return what the community would decide by a correction's scores; None where they say nothing about it."""
    attributes = context_of(request).part(Moderation).attributes
    for name, value in suggestion.scores.items():
        if name == community.question or attributes.source(name, "").question == community.question:
            return "flag" if value >= 0.5 else "pass"
    return None


def _keep(request: Request, suggestion: Suggestion) -> None:
    check_rate(request, "suggestions of a key", str(suggestion.key))
    charge(request, 1)
    with context_of(request).store.write() as db:
        suggestions.add(db, suggestion)


def _checked_text(comment: TextEntry | None, around: CommentContext | None) -> str:
    text = comment.text if comment is not None else ""
    if comment is not None and comment.type == "HTML":
        raise AnalyzeError("Currently, only 'PLAIN_TEXT' comments are supported")
    if not text.strip():
        raise AnalyzeError("Comment must be non-empty.", "COMMENT_EMPTY")
    if len(text.encode("utf-8", "surrogatepass")) > MOST_BYTES:
        raise AnalyzeError("Comment text too long.", "COMMENT_TOO_LONG")
    if around is not None and around.entries and around.article_and_parent_comment:
        raise AnalyzeError(
            "Context can have either entries or article_and_parent_comment, but both fields were populated."
        )
    return text


def _wanted(attributes: AttributeMap, given: Mapping[str, AttributeParameters] | None) -> dict[str, AttributeSource]:
    if not given:
        raise AnalyzeError("Missing requested_attributes", "NO_REQUESTED_ATTRIBUTES")
    unknown = [name for name in given if name not in attributes.attributes]
    if unknown:
        raise unknown_error(unknown)
    for name, parameters in given.items():
        if parameters.score_type not in ("PROBABILITY", "SCORE_TYPE_UNSPECIFIED"):
            raise AnalyzeError(
                f"Requested score type {parameters.score_type} is not supported by attribute {name[:100]}"
            )
    return {name: attributes.attributes[name] for name in given}


def _languages(
    request: Request, text: str, requested: Sequence[str] | None, detector: Detector, community: Community | None
) -> CommentLanguages:
    context = context_of(request)
    language_of = detector.scorer.abilities.language_of
    defaults = {
        "key": request.state.key.lang,
        "community": community.lang if community is not None else None,
        "server": context.settings.default_language,
        "detector": language_of(text) if language_of is not None else None,
    }
    return find_languages(text, requested, defaults, context.part(Moderation).attributes.languages)


async def _scored(
    request: Request, asked: AnalyzeCommentRequest, text: str, spans: Spans, plan: Plan
) -> tuple[dict[str | None, ModelScores], str | None, dict[str, str]]:
    """Score the comment, then its sentences, in each language, by each detector; it counts as one post.

    The first detector's answer is the one that a community decides by. Return the scores, its decision and headers.
    """
    context = context_of(request)
    named_detectors = context.part(Moderation).attribute_detectors
    parts = [text, *(text[start:end] for start, end in spans if (start, end) != (0, len(text)))]
    found: dict[str | None, ModelScores] = {}
    decision: str | None = None
    headers: dict[str, str] = {}
    for model, languages in plan.languages_by_model().items():
        posts = [PostToScore(part, lang) for lang in languages for part in parts]
        if found and model is not None:
            detector = named_detectors[model]
            scores = await within_time(context, detector.score(posts, sender=sender_of(request)))
        else:
            scored = await score_posts(
                request,
                posts,
                detector=named_detectors[model] if model is not None else None,
                community=asked.community_id,
                may_store=not asked.do_not_store,
                longest=MOST_BYTES,
                counted=1,
                references=[asked.client_token],
            )
            detector, scores, decision, headers = scored.detector, scored.scores, scored.decisions[0], scored.headers
        found[model] = ModelScores(detector.full_name, scores, [post.text for post in posts], languages)
    return found, decision, headers


def _attribute_scores(
    asked: AnalyzeCommentRequest, values: Mapping[str, Sequence[float]], text: str, spans: Spans
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, (whole, *sentences) in values.items():
        threshold = (asked.requested_attributes or {})[name].score_threshold
        if threshold is not None and whole < threshold:
            continue
        pieces = [whole] if spans == [(0, len(text))] else sentences
        found[name] = {
            "spanScores": [
                {"begin": start, "end": end, "score": _score(value)}
                for (start, end), value in zip(spans, pieces, strict=True)
            ],
            "summaryScore": _score(whole),
        }
    return found


def _score(value: float) -> dict[str, Any]:
    return {"value": round(value, 8), "type": "PROBABILITY"}


def _answers(
    summary: Mapping[str, float], sources: Mapping[str, AttributeSource], questions: Sequence[Question]
) -> dict[str, str]:
    """Return what suggested scores mean as labels: yes from one half on, else no; a label only where it is meant."""
    known = {question.name: question for question in questions}
    found: dict[str, str] = {}
    for name, value in summary.items():
        source = sources[name]
        question = known.get(source.question or "")
        if question is None:
            continue
        if source.label is not None:
            found |= {question.name: source.label} if value >= 0.5 else {}
        elif question.positive is not None:
            others = [label for label in question.label_names if label != question.positive]
            found[question.name] = question.positive if value >= 0.5 else others[0]
    return found


def _kept_context(asked: SuggestCommentScoreRequest) -> dict[str, Any] | None:
    """Return what else was sent: what stands around the comment, and scores of its parts."""
    kept: dict[str, Any] = {}
    if asked.context is not None:
        kept["context"] = asked.context.model_dump(by_alias=True, exclude_none=True)
    spans = {
        name: [span.model_dump(by_alias=True) for span in it.span_scores]
        for name, it in (asked.attribute_scores or {}).items()
        if it.span_scores
    }
    return {**kept, **({"spanScores": spans} if spans else {})} or None
