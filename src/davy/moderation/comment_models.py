"""The requests of Perspective's shape, as its public reference has them. Names in camel case or with underscores."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

ScoreType = Literal["SCORE_TYPE_UNSPECIFIED", "PROBABILITY", "STD_DEV_SCORE", "PERCENTILE", "RAW"]
TextType = Literal["TEXT_TYPE_UNSPECIFIED", "PLAIN_TEXT", "HTML"]
Token = Annotated[str | None, Field(max_length=1_000)]
Chance = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class _Message(BaseModel):
    model_config = ConfigDict(
        extra="forbid", hide_input_in_errors=True, alias_generator=to_camel, populate_by_name=True
    )


class TextEntry(_Message):
    """A text and its kind; only plain text is scored."""

    text: str = ""
    type: TextType = "PLAIN_TEXT"


class ArticleAndParentComment(_Message):
    """What a comment is about and answers to."""

    article: TextEntry | None = None
    parent_comment: TextEntry | None = None


class CommentContext(_Message):
    """What stands around a comment. It is taken and not used, as by Perspective itself."""

    entries: list[TextEntry] | None = Field(default=None, max_length=100)
    article_and_parent_comment: ArticleAndParentComment | None = None


class AttributeParameters(_Message):
    """How an attribute is wanted; scores below the threshold are left out."""

    score_type: ScoreType = "PROBABILITY"
    score_threshold: Annotated[float, Field(allow_inf_nan=False)] | None = None


class _CommentRequest(_Message):
    comment: TextEntry | None = None
    context: CommentContext | None = None
    languages: list[Annotated[str, Field(max_length=20)]] | None = Field(default=None, max_length=10)
    client_token: Token = None
    session_id: Token = None
    community_id: Annotated[str | None, Field(max_length=200)] = None


class AnalyzeCommentRequest(_CommentRequest):
    """A comment and the attributes that it is scored for."""

    requested_attributes: dict[Annotated[str, Field(max_length=100)], AttributeParameters] | None = Field(
        default=None, max_length=100
    )
    do_not_store: bool = False
    span_annotations: bool = False
    drop_unsupported_attributes: bool = False


class SuggestedScore(_Message):
    """A value and its type."""

    value: Chance
    type: ScoreType = "PROBABILITY"


class SuggestedSpanScore(_Message):
    """The score of a part of the comment."""

    begin: int = Field(ge=0, le=1_000_000)
    end: int = Field(ge=0, le=1_000_000)
    score: SuggestedScore


class SuggestedAttributeScores(_Message):
    """What an attribute's scores should have been: of the whole, of parts, or both."""

    summary_score: SuggestedScore | None = None
    span_scores: list[SuggestedSpanScore] | None = Field(default=None, max_length=1_000)


class SuggestCommentScoreRequest(_CommentRequest):
    """A comment and the scores that it should have had."""

    attribute_scores: dict[Annotated[str, Field(max_length=100)], SuggestedAttributeScores] | None = Field(
        default=None, max_length=100
    )
