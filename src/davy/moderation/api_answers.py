"""What the API answers, as types for its description. Tools of others read them, and tests check answers by them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ScoringModel(_Answer):
    """Who answered: name, version, and the hash of what it was trained on where that is known."""

    name: str
    version: str
    data_hash: str | None


class ScoredQuestion(_Answer):
    """The answer to one question. `probability` (of yes) and `threshold` are those of yes/no questions."""

    label: str
    labels: dict[str, float]
    probability: float | None = None
    threshold: float | None = None
    unsure: bool | None = None


class ExplainedWord(_Answer):
    """A word that carried a decision, and how much."""

    start: int
    end: int
    text: str
    weight: float


class PostExplanation(_Answer):
    """The words that carried one post's decision, strongest first."""

    question: str | None
    label: str | None
    words: list[ExplainedWord]


class ScoredPost(_Answer):
    """One post's verdict, its path as steps, and the questions that its answers lead to."""

    verdict: str | None
    path: list[list[str]]
    questions: dict[str, ScoredQuestion]
    unsupported_language: str | None = None
    cleared: bool | None = None
    id: str | None = None
    decision: Literal["pass", "flag", "review", "not_judged"] | None = None
    explanation: PostExplanation | None = None


class ScoreAnswer(_Answer):
    """What `/v1/score` answers: results in the order of the posts."""

    model: ScoringModel
    results: list[ScoredPost]


class DetectorAnswer(_Answer):
    """A detector that can be asked by name."""

    name: str
    version: str
    default: bool
    questions: list[str]
    languages: list[str]
    thresholds: dict[str, float]
    data_hash: str | None


class _Perspective(BaseModel):
    model_config = ConfigDict(extra="forbid", alias_generator=to_camel)


class PerspectiveScore(_Perspective):
    """A probability."""

    value: float
    type: Literal["PROBABILITY"]


class PerspectiveSpan(_Perspective):
    """The score of a part of the comment, from `begin` up to `end`."""

    begin: int
    end: int
    score: PerspectiveScore


class PerspectiveAttribute(_Perspective):
    """One attribute's scores."""

    summary_score: PerspectiveScore
    span_scores: list[PerspectiveSpan]


class PerspectiveAnswer(_Perspective):
    """What `comments:analyze` answers. `davy` says what stands behind each attribute, which Perspective does not."""

    attribute_scores: dict[str, PerspectiveAttribute]
    languages: list[str]
    detected_languages: list[str] | None = None
    client_token: str | None = None
    davy: dict[str, Any]


class PerspectiveCorrection(_Perspective):
    """What `comments:suggestscore` answers."""

    requested_languages: list[str] | None = None
    detected_languages: list[str] | None = None
    client_token: str | None = None
    davy: dict[str, Any] | None = None


class ModerationResult(_Answer):
    """One input's categories. Those that nothing stands behind are false, 0 and named in `unscored`."""

    flagged: bool
    categories: dict[str, bool]
    category_scores: dict[str, float]
    category_applied_input_types: dict[str, list[Literal["text", "image"]]]
    unscored: list[str]


class ModerationAnswer(_Answer):
    """What `/v1/moderations` answers, in OpenAI's shape."""

    id: str
    model: str
    results: list[ModerationResult]
    data_hash: str | None
