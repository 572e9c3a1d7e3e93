"""The one place where an error becomes a page or JSON.

`UserError`, HTTP errors and wrong requests say what to do next; anything else is our bug: the answer has an id that is
in the log beside the traceback, and nothing more. The log has no request bodies and no error messages (they may quote a
post) unless the operator asks for details. Clients of other services get Google's or OpenAI's shape. The words are
ours; what programs look at (codes, types, details) is theirs.
"""

from __future__ import annotations

import logging
import secrets
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from davy.core.errors import UserError
from davy.store.store import DatabaseUnavailable
from davy.web import render
from davy.web.errors import LocalizedError, PasswordRequired, SignInRequired, is_htmx, wants_json
from davy.web.form_again import came_from, form_again

PERSPECTIVE = "/v1alpha1/"
OPENAI = ("/v1/moderations", "/v1/models")

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

log = logging.getLogger("davy.serve")


class AnalyzeError(UserError):
    """A request that Perspective refuses, with its `errorType` and what belongs to it."""

    def __init__(self, message: str, error_type: str = "INVALID_REQUEST", **more: Any) -> None:
        super().__init__(message, status=400)
        self.details: list[dict[str, Any]] = [
            {
                "@type": "type.googleapis.com/google.commentanalyzer.v1alpha1.Error",
                "errorType": error_type,
                **more,
            }
        ]


def google_error(status: int, message: str, error: Exception) -> tuple[int, dict[str, Any]]:
    """Return the status and body of an error in Google's form."""
    details: list[dict[str, Any]] = []
    if isinstance(error, AnalyzeError):
        details = error.details
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


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    message: str
    headers: dict[str, str] = field(default_factory=dict)
    id: str | None = None


def install(app: FastAPI) -> None:
    """Make one handler answer every kind of error."""
    for kind in (UserError, HTTPException, RequestValidationError):
        app.add_exception_handler(kind, _handle)


async def _handle(request: Request, error: Exception) -> Response:
    return await form_again(request, error) or respond(request, error)


class ErrorLayer:
    """Answers what is raised outside the routes (Host, body size) and every bug. Layers outside add headers."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; turn what it raises into a response, unless one has begun."""
        begun = False

        async def send_noting(message: Message) -> None:
            nonlocal begun
            begun = begun or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, receive, send_noting)
        except Exception as error:
            if scope["type"] != "http" or begun:
                raise
            await respond(Request(scope, receive), error)(scope, receive, send)


def respond(request: Request, error: Exception) -> Response:
    """Return the response to an error: JSON for programs, a part for htmx, a page for people."""
    answer = _answer(request, error)
    shape = _shape(request.url.path)
    if shape is not None:
        status, shaped = shape(answer.status, answer.message, error)
        return JSONResponse(shaped, status, answer.headers)
    if wants_json(request):
        body: dict[str, object] = {"error": answer.message, "status": answer.status}
        if answer.id:
            body["id"] = answer.id
        return JSONResponse(body, answer.status, answer.headers)
    if isinstance(error, SignInRequired) and request.method in ("GET", "HEAD") and not is_htmx(request):
        return RedirectResponse(f"/sign-in?next={render.quoted_path(request)}", 303)
    if isinstance(error, PasswordRequired) and not is_htmx(request):
        return RedirectResponse(f"/confirm?next={quote(came_from(request) or '/', safe='')}", 303)
    shown: dict[str, Any] = {
        "status": answer.status,
        "headers": answer.headers,
        "message": answer.message,
        "bug": answer.id,
        "code": answer.status,
    }
    if is_htmx(request):
        return render.page(request, "parts/error.html", **shown)
    own = getattr(request.state, "error_page", None)  # a project's, with its navigation
    if own is not None and answer.id is None:
        page: Response = own(request, error, **shown)
        return page
    return render.page(request, "error.html", **shown)


def _shape(path: str) -> Callable[[int, str, Exception], tuple[int, dict[str, object]]] | None:
    """Return how an address words its errors, where that is as another service does."""
    if path.startswith(PERSPECTIVE):
        return google_error
    return openai_error if path.startswith(OPENAI) else None


def _answer(request: Request, error: Exception) -> _Answer:
    words = render.translator_of(request)
    if isinstance(error, LocalizedError):
        headers = {"Retry-After": str(int(error.wait) + 1)} if error.wait else {}
        if isinstance(error, SignInRequired) and wants_json(request):
            headers["WWW-Authenticate"] = "Bearer"
        message = error.message if wants_json(request) else words(f"error.{error.key}", **error.values)
        return _Answer(error.status, message, headers)
    if isinstance(error, DatabaseUnavailable):
        status = max(error.status, 503)  # whoever asks did nothing wrong
        return _Answer(status, error.public if wants_json(request) else words.error(error.public))
    if isinstance(error, UserError):
        wait = float(getattr(error, "wait", 0.0))
        message = error.message if wants_json(request) else words.error(error.message)
        return _Answer(error.status, message, {"Retry-After": str(int(wait) + 1)} if wait else {})
    if isinstance(error, RequestValidationError):
        return _Answer(422, _wrong_body(request, error) or _wrong_fields(error))
    if isinstance(error, HTTPException):
        return _Answer(error.status_code, _http_message(request, error), dict(error.headers or {}))
    return _bug(request, error)


def _wrong_body(request: Request, error: RequestValidationError) -> str | None:
    """Return why the body as a whole can't be read; None where single fields of it are wrong."""
    fault = error.errors()[0]
    if fault["type"] == "json_invalid":
        return f"The body is not JSON: it can't be read from character {fault['loc'][-1]} on."
    if fault["loc"] != ("body",):
        return None
    if fault["type"] == "missing":
        return "The body is empty. Send JSON."
    if "json" not in request.headers.get("content-type", "json"):
        return "The body was not sent as JSON. Send it with the header Content-Type: application/json."
    return "The body is JSON, but not an object: it begins with { and ends with }."


def _wrong_fields(error: RequestValidationError) -> str:
    """Return where the request is wrong and why, without the values that it had."""
    lines = []
    for fault in error.errors()[:5]:
        place = ".".join(str(part) for part in fault["loc"] if part != "body") or "body"
        lines.append(f"{place}: {fault['msg']}")
    return "; ".join(lines)


def _http_message(request: Request, error: HTTPException) -> str:
    words = render.translator_of(request)
    if error.detail == "upload":
        most = request.app.state.context.settings.max_upload // 1_000_000
        return words("error.upload_size", most=most)
    special = {"host": "error.host", "body": "error.body", "length": "error.length"}.get(str(error.detail))
    key = special or f"error.{error.status_code}"
    return words(key) if words.has(key) else words("error.other", code=error.status_code)


def _bug(request: Request, error: Exception) -> _Answer:
    number = secrets.token_hex(4)
    frames = "".join(traceback.format_tb(error.__traceback__))
    details = f": {error}" if request.app.state.context.settings.log_details else ""
    log.error(
        "bug %s in %s %s\n%s%s%s",
        number,
        request.method,
        render.route_of(request),
        frames,
        type(error).__name__,
        details,
    )
    return _Answer(500, render.translator_of(request)("error.500", id=number), id=number)
