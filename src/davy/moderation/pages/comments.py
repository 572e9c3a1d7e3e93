"""Perspective's shape: `comments:analyze` and `comments:suggestscore`, so that its clients work with another address.

A comment and attributes in; a score for each, for the whole and for its sentences, out. Attributes mean what the file
of attributes says. One that nothing stands behind in the comment's language is refused with Perspective's own error.
A suggested score is kept, with its text, for somebody to review.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from davy.core.scheme import Question
from davy.moderation.attribute_map import AttributeSource, attribute_scores
from davy.moderation.perspective_format import (
    AnalyzeCommentRequest,
    AttributeParameters,
    CommentContext,
    SuggestCommentScoreRequest,
    TextEntry,
    discovery_document,
)
from davy.moderation.store import suggestions
from davy.moderation.store.suggestions import Suggestion
from davy.people.pages.visitor import check_rate, key_only
from davy.people.store.users import User
from davy.scoring.queue.detector import Detector, PostToScore
from davy.scoring.queue.request_scoring import ScoredPosts, charge, score_posts
from davy.text.language import detect
from davy.text.lexicons.read import SHIPPED, Lexicon
from davy.text.lexicons.read import load as load_lexicon
from davy.text.match import matcher
from davy.text.words import sentence_spans
from davy.web.context import Context, context_of
from davy.web.error_pages import AnalyzeError

router = APIRouter(strict_content_type=False)  # Perspective took a body without a Content-Type

MOST_BYTES = 20_480
MOST_SPANS = 50
SURE = 0.5
"""The probability from which on a detected language is believed."""

Caller = Annotated[User, Depends(key_only("score", "score texts"))]
Spans = list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class _Languages:
    requested: list[str]
    detected: list[str]

    @property
    def used(self) -> list[str]:
        return self.requested or self.detected


@router.get("/$discovery/rest")
def discovery(request: Request, version: str = "v1alpha1") -> dict[str, Any]:
    """Return the description of this service that Google's client libraries build themselves from."""
    if version != "v1alpha1":
        raise AnalyzeError(f"There is no version {version[:20]!r}; this service has v1alpha1.")
    return discovery_document(context_of(request).settings.base_url)


@router.post("/v1alpha1/comments:analyze")
async def analyze(
    request: Request,
    response: Response,
    asked: AnalyzeCommentRequest,
    who: Caller,  # noqa: ARG001 — the key is the permission
) -> dict[str, Any]:
    """Return scores of a comment for the attributes asked for."""
    context = context_of(request)
    text = _checked_text(asked.comment, asked.context)
    wanted = _wanted(context, asked.requested_attributes)
    languages = await to_thread.run_sync(_languages, text, asked.languages)
    detector = await context.detectors.find(None)
    kept = {
        name: source
        for name, source in wanted.items()
        if _supported(name, source, detector, languages, drop=asked.drop_unsupported_attributes)
    }
    spans = sentence_spans(text, most=MOST_SPANS) if asked.span_annotations else [(0, len(text))]
    answer: dict[str, Any] = {}
    if kept:
        scored = await _scored(request, asked, text, spans, languages)
        response.headers.update(scored.headers)
        if decision := scored.decisions[0]:
            response.headers["Davy-Decision"] = decision
        scores = _attribute_scores(context, asked, kept, scored, text, spans, languages)
        answer = {"attributeScores": scores} if scores else {}
    answer["languages"] = languages.used
    if languages.detected:
        answer["detectedLanguages"] = languages.detected
    return answer | ({"clientToken": asked.client_token} if asked.client_token else {})


@router.post("/v1alpha1/comments:suggestscore")
async def suggest(request: Request, asked: SuggestCommentScoreRequest, who: Caller) -> dict[str, Any]:
    """Keep a correction for somebody to review."""
    context = context_of(request)
    text = _checked_text(asked.comment, asked.context)
    given = asked.attribute_scores or {}
    if not given:
        raise AnalyzeError("Missing attribute_scores")
    sources = _wanted(context, dict.fromkeys(given, AttributeParameters()))
    for name, scores in given.items():
        if scores.summary_score is None and not scores.span_scores:
            raise AnalyzeError(f"Attribute {name} has neither a summary score nor span scores")
    languages = await to_thread.run_sync(_languages, text, asked.languages, False)
    questions = (await context.detectors.find(None)).scorer.questions
    summary = {name: it.summary_score.value for name, it in given.items() if it.summary_score is not None}
    key = request.state.key
    suggestion = Suggestion(
        text=text,
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
    await to_thread.run_sync(_keep, request, suggestion)
    answer = {"requestedLanguages": languages.requested, "detectedLanguages": languages.detected}
    return {name: it for name, it in answer.items() if it} | (
        {"clientToken": asked.client_token} if asked.client_token else {}
    )


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


def _wanted(context: Context, given: Mapping[str, AttributeParameters] | None) -> dict[str, AttributeSource]:
    if not given:
        raise AnalyzeError("Missing requested_attributes", "NO_REQUESTED_ATTRIBUTES")
    for name, parameters in given.items():
        if name not in context.attributes.attributes:
            raise AnalyzeError(f"Unknown requested attribute: {name[:100]}")
        if parameters.score_type not in ("PROBABILITY", "SCORE_TYPE_UNSPECIFIED"):
            raise AnalyzeError(
                f"Requested score type {parameters.score_type} is not supported by attribute {name[:100]}"
            )
    return {name: context.attributes.attributes[name] for name in given}


def _languages(text: str, requested: Sequence[str] | None, must: bool = True) -> _Languages:
    given = [lang.strip().lower().partition("-")[0] for lang in requested or [] if lang.strip()]
    lang, probability = detect(text)
    detected = [lang] if lang != "und" and probability >= SURE else []
    if must and not given and not detected:
        raise AnalyzeError("Unable to detect language.", "LANGUAGE_DETECTION_FAILED")
    return _Languages(list(dict.fromkeys(given)), detected)


def _supported(name: str, source: AttributeSource, detector: Detector, languages: _Languages, *, drop: bool) -> bool:
    """Return whether an attribute can be scored in all these languages, as far as the detector says beforehand."""
    known = SHIPPED if source.lexicon else detector.scorer.abilities.languages
    questions = {question.name for question in detector.scorer.questions}
    stands = bool(source) and (bool(source.lexicon) or source.question in questions)
    missing = [lang for lang in languages.used if not stands or (known is not None and lang not in known)]
    return not missing or _refuse_language(name, missing, languages, drop=drop)


def _refuse_language(name: str, missing: Iterable[str], languages: _Languages, *, drop: bool) -> bool:
    if drop:
        return False
    sides = {"requestedLanguages": languages.requested, "detectedLanguages": languages.detected}
    raise AnalyzeError(
        f"Attribute {name} does not support request languages: {', '.join(missing)}",
        "LANGUAGE_NOT_SUPPORTED_BY_ATTRIBUTE",
        languageNotSupportedByAttributeError={**{key: it for key, it in sides.items() if it}, "attribute": name},
    )


async def _scored(
    request: Request, asked: AnalyzeCommentRequest, text: str, spans: Spans, languages: _Languages
) -> ScoredPosts:
    """Score the comment, then its sentences, in each language; it counts as one post."""
    parts = [text, *(text[start:end] for start, end in spans if (start, end) != (0, len(text)))]
    posts = [PostToScore(part, lang) for lang in languages.used for part in parts]
    return await score_posts(
        request,
        posts,
        community=asked.community_id,
        may_store=not asked.do_not_store,
        longest=MOST_BYTES,
        counted=1,
        references=[asked.client_token],
    )


def _attribute_scores(
    context: Context,
    asked: AnalyzeCommentRequest,
    sources: Mapping[str, AttributeSource],
    scored: ScoredPosts,
    text: str,
    spans: Spans,
    languages: _Languages,
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    whole = spans == [(0, len(text))]
    for name, source in sources.items():
        if source.lexicon:
            values = [_has_word(context, source, post.text) for post in scored.posts]
        else:
            chances, there = attribute_scores(scored.scores, source) or ([], [])
            unanswered = [post.lang or "" for post, is_there in zip(scored.posts, there, strict=True) if not is_there]
            missing = list(dict.fromkeys(unanswered))
            if missing and not _refuse_language(name, missing, languages, drop=asked.drop_unsupported_attributes):
                continue
            values = [float(chance) for chance in chances]
        parts = len(values) // len(languages.used)
        # A text in several languages has the score of the language in which it is highest.
        highest = [max(values[place::parts]) for place in range(parts)]
        threshold = (asked.requested_attributes or {})[name].score_threshold
        if threshold is not None and highest[0] < threshold:
            continue
        pieces = [highest[0]] if whole else highest[1:]
        found[name] = {
            "spanScores": [
                {"begin": start, "end": end, "score": _score(value)}
                for (start, end), value in zip(spans, pieces, strict=True)
            ],
            "summaryScore": _score(highest[0]),
        }
    return found


def _score(value: float) -> dict[str, Any]:
    return {"value": round(value, 8), "type": "PROBABILITY"}


def _has_word(context: Context, source: AttributeSource, text: str) -> float:
    lexicon: Lexicon = context.lexicon or load_lexicon("masking")
    return float(any(span.entry.kind in (*source.lexicon, "term") for span in matcher(lexicon).find(text)))


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
