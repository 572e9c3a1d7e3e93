"""A refused form's own page again, for forms whose route shows no page of its own (`refused_by.py` is for those).

The page that the browser names as where the form came from is asked for within the server, as the same person. Its
form is filled in as it was sent, and the error stands above and beside its field.
"""

from __future__ import annotations

from html import escape
from urllib.parse import parse_qsl, urlsplit

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import Message

from davy.core.errors import UserError
from davy.web import csrf, render
from davy.web.errors import PasswordRequired, is_htmx, wants_json
from davy.web.filled_form import fill_form

_MAIN = '<main id="main" tabindex="-1">'
_MOST_FIELDS = 4_000


def came_from(request: Request) -> str:
    """Return the page whose form was sent, as the browser names it; empty where it is not ours."""
    page = urlsplit(request.headers.get("referer", ""))
    own = page.netloc == request.headers.get("host")
    return page.path + (f"?{page.query}" if page.query else "") if own and page.path else ""


async def sent_fields(request: Request) -> list[tuple[str, str]]:
    """Return the text fields of a form that a route may have read before; none of one that can't be read any more."""
    known = getattr(request, "_form", None)
    if isinstance(known, FormData):
        return [(name, value) for name, value in known.multi_items() if isinstance(value, str)]
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        return []
    body = (await request.body()).decode("latin-1")
    return parse_qsl(body, keep_blank_values=True, errors="replace", max_num_fields=_MOST_FIELDS)


async def form_again(request: Request, error: Exception) -> Response | None:
    """Return the page of a refused form, filled in again; None where there is no such page."""
    page = came_from(request)
    if isinstance(error, PasswordRequired) and request.method == "POST" and not is_htmx(request):
        return await _password_first(request, page)
    if request.method != "POST" or not isinstance(error, UserError) or not page or _is_left_out(request, error):
        return None
    html = await _own_page(request, page)
    if html is None or _MAIN not in html:
        return None
    message = render.error_text(request, error)
    html = fill_form(html, request.url.path, await sent_fields(request), error, message)
    fault = f'<div class="fault" role="alert"><p>{escape(message)}</p></div>'
    wait = float(getattr(error, "wait", 0.0))
    headers = {"Retry-After": str(int(wait) + 1)} if wait else {}
    return HTMLResponse(html.replace(_MAIN, _MAIN + fault, 1), error.status, headers)


async def _password_first(request: Request, page: str) -> Response | None:
    """Return the page that asks for the password and keeps the form; None if our own page did not send it."""
    fields = await sent_fields(request)
    try:
        csrf.check(request, dict(fields).get("csrf"))
    except UserError:
        return None
    kept = [it for it in fields if it[0] != "csrf"]
    return render.page(
        request, "confirm.html", status=403, next=page or "/", resume=request.url.path, kept=kept, wrong=""
    )


def _is_left_out(request: Request, error: UserError) -> bool:
    """Return whether an error has its own answer: to programs, parts of pages, and people who are not signed in."""
    return error.status in (401, 501) or error.status >= 500 or is_htmx(request) or wants_json(request)


async def _own_page(request: Request, address: str) -> str | None:
    """Return the HTML of a page of this server, asked for as the sender of the request; None if it is refused."""
    path, _, query = address.partition("?")
    left_out = (b"content-type", b"content-length", b"if-none-match", b"if-modified-since")
    scope = {
        **request.scope,
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [it for it in request.scope["headers"] if it[0] not in left_out],
        "state": dict(request.scope.get("state", {})),
    }
    parts: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        parts.append(message)

    await request.app.router(scope, receive, send)
    start = parts[0]
    kinds = [value for name, value in start["headers"] if name == b"content-type"]
    if start["status"] != 200 or not kinds or not kinds[0].startswith(b"text/html"):
        return None
    return b"".join(part.get("body", b"") for part in parts[1:]).decode()
