"""Perspective's shape: what its requests hold, and the description of it that Google's client libraries read.

Written from the public reference. Names are in camel case or with underscores.
`tests/moderation/test_other_clients.py` builds Google's own client from the description.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

_STRING = {"type": "string"}
_BOOLEAN = {"type": "boolean"}
_STRINGS = {"type": "array", "items": _STRING}
_SCORE_TYPES = ["SCORE_TYPE_UNSPECIFIED", "PROBABILITY", "STD_DEV_SCORE", "PERCENTILE", "RAW"]
_TEXT_TYPES = ["TEXT_TYPE_UNSPECIFIED", "PLAIN_TEXT", "HTML"]

ScoreType = Literal["SCORE_TYPE_UNSPECIFIED", "PROBABILITY", "STD_DEV_SCORE", "PERCENTILE", "RAW"]
TextType = Literal["TEXT_TYPE_UNSPECIFIED", "PLAIN_TEXT", "HTML"]
Token = Annotated[str | None, Field(max_length=1_000)]
Chance = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": name}


def _list(name: str) -> dict[str, Any]:
    return {"type": "array", "items": _ref(name)}


def _map(name: str) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": _ref(name)}


_COMMON: dict[str, Any] = {
    "comment": _ref("TextEntry"),
    "context": _ref("Context"),
    "languages": _STRINGS,
    "clientToken": _STRING,
    "sessionId": _STRING,
    "communityId": _STRING,
}

_SCHEMAS: dict[str, dict[str, Any]] = {
    "AnalyzeCommentRequest": {
        **_COMMON,
        "requestedAttributes": _map("AttributeParameters"),
        "doNotStore": _BOOLEAN,
        "spanAnnotations": _BOOLEAN,
        "dropUnsupportedAttributes": _BOOLEAN,
    },
    "AnalyzeCommentResponse": {
        "attributeScores": _map("AttributeScores"),
        "languages": _STRINGS,
        "detectedLanguages": _STRINGS,
        "clientToken": _STRING,
        "davy": {"type": "object", "additionalProperties": {"type": "any"}},
    },
    "SuggestCommentScoreRequest": {**_COMMON, "attributeScores": _map("AttributeScores")},
    "SuggestCommentScoreResponse": {
        "clientToken": _STRING,
        "detectedLanguages": _STRINGS,
        "requestedLanguages": _STRINGS,
    },
    "TextEntry": {"text": _STRING, "type": {**_STRING, "enum": _TEXT_TYPES}},
    "Context": {"entries": _list("TextEntry"), "articleAndParentComment": _ref("ArticleAndParentComment")},
    "ArticleAndParentComment": {"article": _ref("TextEntry"), "parentComment": _ref("TextEntry")},
    "AttributeParameters": {
        "scoreType": {**_STRING, "enum": _SCORE_TYPES},
        "scoreThreshold": {"type": "number", "format": "float"},
    },
    "AttributeScores": {"summaryScore": _ref("Score"), "spanScores": _list("SpanScore")},
    "SpanScore": {
        "begin": {"type": "integer", "format": "int32"},
        "end": {"type": "integer", "format": "int32"},
        "score": _ref("Score"),
    },
    "Score": {"value": {"type": "number", "format": "float"}, "type": {**_STRING, "enum": _SCORE_TYPES}},
}

_QUERY: dict[str, str] = {
    "key": "API key.",
    "fields": "Taken and not used: the whole answer is sent.",
    "alt": "Data format for the answer; json.",
    "prettyPrint": "Taken and not used.",
    "quotaUser": "Taken and not used.",
    "access_token": "Not used: send a key.",
    "oauth_token": "Not used: send a key.",
    "callback": "Not used.",
    "uploadType": "Not used.",
    "upload_protocol": "Not used.",
    "$.xgafv": "Not used.",
}


def _method(name: str, message: str, description: str) -> dict[str, Any]:
    return {
        "id": f"commentanalyzer.comments.{name}",
        "path": f"v1alpha1/comments:{name}",
        "flatPath": f"v1alpha1/comments:{name}",
        "httpMethod": "POST",
        "parameterOrder": [],
        "parameters": {},
        "request": _ref(f"{message}Request"),
        "response": _ref(f"{message}Response"),
        "scopes": ["https://www.googleapis.com/auth/userinfo.email"],
        "description": description,
    }


def discovery_document(base_url: str) -> dict[str, Any]:
    """Return the document of the service at an address."""
    root = f"{base_url.rstrip('/')}/"
    methods = {
        "analyze": _method("analyze", "AnalyzeComment", "Scores a comment for the attributes asked for."),
        "suggestscore": _method("suggestscore", "SuggestCommentScore", "Keeps a correction for review."),
    }
    schemas = {name: {"id": name, "type": "object", "properties": properties} for name, properties in _SCHEMAS.items()}
    return {
        "kind": "discovery#restDescription",
        "discoveryVersion": "v1",
        "id": "commentanalyzer:v1alpha1",
        "name": "commentanalyzer",
        "canonicalName": "Comment Analyzer",
        "version": "v1alpha1",
        "title": "Davy in the shape of the Perspective Comment Analyzer API",
        "protocol": "rest",
        "rootUrl": root,
        "baseUrl": root,
        "basePath": "",
        "servicePath": "",
        "batchPath": "batch",
        "parameters": {
            name: {"type": "string", "location": "query", "description": about} for name, about in _QUERY.items()
        },
        "resources": {"comments": {"methods": methods}},
        "schemas": schemas,
    }


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
