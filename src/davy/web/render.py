"""Templates in, pages out: every page is made by `page`, which fills in what all of them share.

Autoescaping is always on. The language is the account's, else the cookie's, else
the browser's; the account is known once a route has asked who is there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import resources
from typing import Any
from urllib.parse import quote

from itsdangerous import BadSignature, URLSafeTimedSerializer
from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from davy.core.errors import UserError
from davy.core.metric import FEWEST
from davy.image.image_folder import is_image_key
from davy.people.permissions import may
from davy.people.store.users import User
from davy.people.work_choices import choices_of
from davy.version import __version__
from davy.web import cookies, csrf
from davy.web.feature_files import template_folders
from davy.web.i18n import LANGUAGES, Translator, choose_language

SERVER_PLACES: tuple[tuple[str, str], ...] = (
    ("people", "see people"),
    ("keys", "make own keys"),
    ("jobs", "see jobs"),
    ("schemes", "make projects"),
    ("posts", "browse posts"),
    ("audit", "see the audit"),
)
"""What the menu has under *Server*, each with the permission it takes."""


def environment() -> Environment:
    """Return the templates: an undefined name is an error, everything is escaped."""
    templates = Environment(
        loader=FileSystemLoader(template_folders()),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    templates.tests["image_key"] = is_image_key
    templates.globals.update(static=_static_links(), languages=LANGUAGES, version=__version__, fewest=FEWEST)
    return templates


def page(
    request: Request,
    template: str,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    **values: Any,
) -> Response:
    """Return a page, or with a template from `parts/` a part of one."""
    context = request.app.state.context
    account = account_of(request)
    note = _read_note(request)
    is_whole = not template.startswith("parts/")
    role = account.role if account is not None and is_whole else None
    server_places = [place for place, act in SERVER_PLACES if role and may(role, act)]
    html = context.templates.get_template(template).render(
        t=translator_of(request),
        account=account,
        chosen_work=choices_of(account),
        may=lambda act: account is not None and may(account.role, act),
        csrf=csrf.token_for(request),
        time=lambda at: _time(translator_of(request), at),
        path=request.url.path,
        server_places=server_places,
        on_server=request.url.path.startswith(tuple(f"/{place}" for place in server_places)),
        address=request.url.path + (f"?{request.url.query}" if request.url.query else ""),
        demo=context.settings.demo,
        plain=cookies.read(request, "plain") == "yes",
        note=note,
        **values,
    )
    response = HTMLResponse(html, status, dict(headers or {}))
    response.headers["Content-Language"] = translator_of(request).lang
    response.headers["Vary"] = "Cookie, Accept-Language, HX-Request"
    fresh = getattr(request.state, "new_visitor", None)
    if fresh:
        cookies.write(request, response, "visitor", fresh)
    if note and is_whole:
        cookies.clear(request, response, "note")
    return response


def live_part(request: Request, template: str, *, live: bool, **values: Any) -> Response:
    """Return a part that a page asks for again while a job runs; when the job has ended, the whole page is redrawn."""
    return page(request, template, headers={} if live else {"HX-Refresh": "true"}, live=live, **values)


def redirect(
    request: Request, path: str, key: str | None = None, *, undo: str | None = None, **values: str
) -> Response:
    """Return a redirect after a change; the next page shows `note.KEY`, and a button that posts to `undo`."""
    response = RedirectResponse(path, 303)
    if key:
        note = _notes(request).dumps({"key": key, "values": values, "undo": undo})
        cookies.write(request, response, "note", str(note))
    return response


def translator_of(request: Request) -> Translator:
    """Return the words in the language that this reader reads."""
    account = account_of(request)
    lang = choose_language(
        account.language if account else None,
        cookies.read(request, "lang"),
        request.headers.get("accept-language"),
    )
    return Translator(lang, getattr(request.state, "zone", UTC))


def account_of(request: Request) -> User | None:
    """Return who is signed in, where a route has asked; else None."""
    visitor = getattr(request.state, "visitor", None)
    account: User | None = visitor.account if visitor else None
    return account


def error_text(request: Request, error: UserError) -> str:
    """Return an error's sentence in the reader's language."""
    key, words = getattr(error, "key", None), translator_of(request)
    if not key:
        return words.error(error.message)
    return words(key if "." in key else f"error.{key}", **getattr(error, "values", {}))


def route_of(request: Request) -> str:
    """Return the pattern of the route that matched, such as `/jobs/{id}`; never the path itself."""
    route = request.scope.get("route")
    return str(getattr(route, "path", None) or "unmatched")


def quoted_path(request: Request) -> str:
    """Return the path with its query, quoted for use as a `next` value."""
    path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return quote(path, safe="")


def own_path(wanted: str | None) -> str:
    """Return a path on this server to go on to: `/` unless `wanted` can't be read as another site."""
    if not wanted or not wanted.startswith("/") or wanted[1:2] in ("/", "\\"):
        return "/"
    if any(ord(c) < 33 or ord(c) == 127 or c == "\\" for c in wanted):
        return "/"
    return wanted


def _notes(request: Request) -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(request.app.state.context.settings.secret_key, salt="note")


def _read_note(request: Request) -> dict[str, Any] | None:
    sealed = cookies.read(request, "note")
    if not sealed:
        return None
    try:
        note: dict[str, Any] = _notes(request).loads(sealed, max_age=300)
    except BadSignature:
        return None
    return note


def _time(words: Translator, at: datetime | None) -> Markup:
    if at is None:
        return Markup("–")
    return Markup('<time datetime="{}">{}</time>').format(at.isoformat(timespec="seconds"), words.when(at))


def _static_links() -> dict[str, str]:
    """Return each static file's address with a hash of its content, so that browsers keep it until it changes."""
    links = {}
    for name, content in static_files().items():
        links[name] = f"/static/{name}?v={hashlib.sha256(content).hexdigest()[:12]}"
    return links


def static_files() -> dict[str, bytes]:
    """Return the files that pages load, by name: ours, the shared tokens, the memes' fonts and the vendored scripts."""
    tokens = resources.files("davy.report").joinpath("tokens.css").read_bytes()
    artwork = resources.files("davy.memes").joinpath("artwork")
    files = {f"fonts/{item.name}": item.read_bytes() for item in artwork.iterdir() if item.name.endswith(".ttf")}
    folder = resources.files("davy.web").joinpath("static")
    for item in folder.iterdir():
        if item.is_file():
            files[item.name] = item.read_bytes()
    files["davy.css"] = tokens + files["davy.css"]  # one request for both
    vendor = folder.joinpath("vendor")
    if vendor.is_dir():
        files |= {f"vendor/{item.name}": item.read_bytes() for item in vendor.iterdir() if item.is_file()}
    return files
