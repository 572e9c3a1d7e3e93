"""Errors as the clients of other services expect them: Google's JSON for Perspective's shape, OpenAI's for theirs.

A status and a message in, a status and a body out. The words are ours; what programs look at (codes, types, details)
is theirs.
"""

from __future__ import annotations

from typing import Any

from davy.core.errors import UserError

PERSPECTIVE = "/v1alpha1/"
MODERATIONS = "/v1/moderations"

_SERVICE = "commentanalyzer.googleapis.com"
_GOOGLE_STATUS: dict[int, str] = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    410: "NOT_FOUND",
    413: "INVALID_ARGUMENT",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_NO_KEY = (
    "Method doesn't allow unregistered callers (callers without established identity). "
    "Please use API Key or other form of API consumer identity to call this API."
)
_OPENAI_TYPE: dict[int, str] = {401: "invalid_request_error", 429: "requests", 500: "server_error", 503: "server_error"}


class AnalyzeError(UserError):
    """A request that Perspective refuses, with its `errorType` and what belongs to it."""

    def __init__(self, message: str, error_type: str = "INVALID_REQUEST", **more: Any) -> None:
        super().__init__(message, status=400)
        self.details = {
            "@type": "type.googleapis.com/google.commentanalyzer.v1alpha1.Error",
            "errorType": error_type,
            **more,
        }


def google_error(status: int, message: str, error: Exception) -> tuple[int, dict[str, Any]]:
    """Return the status and body of an error in Google's form."""
    details: list[dict[str, Any]] = []
    if isinstance(error, AnalyzeError):
        details = [error.details]
    elif status == 401 and getattr(error, "key", "") == "sign_in_needed":
        status, message = 403, _NO_KEY
    elif status == 401:
        status = 400
        message = f"API key not valid. Please pass a valid API key. {message}"
        metadata = {"service": _SERVICE}
        details = [
            {
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": "API_KEY_INVALID",
                "domain": "googleapis.com",
                "metadata": metadata,
            }
        ]
    elif status in (413, 415, 422):
        status = 400
    name = _GOOGLE_STATUS.get(status, "INTERNAL" if status >= 500 else "INVALID_ARGUMENT")
    body: dict[str, Any] = {"code": status, "message": message, "status": name}
    return status, {"error": {**body, "details": details} if details else body}


def openai_error(status: int, message: str, error: Exception) -> tuple[int, dict[str, Any]]:
    """Return the status and body of an error in OpenAI's form."""
    code = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}.get(status)
    if getattr(error, "key", "") == "quota":
        code = "insufficient_quota"
    kind = _OPENAI_TYPE.get(status, "invalid_request_error")
    status = 400 if status == 422 else status
    return status, {"error": {"message": message, "type": kind, "param": None, "code": code}}
