"""Forms that only our own pages can send.

A token is an HMAC of the sender's session (or, before sign-in, of a random
visitor cookie) under the server's secret: it dies with the session, so that a
form kept from before can't be replayed. Besides, the Origin must be ours.
"""

from __future__ import annotations

import hmac
import secrets
from urllib.parse import urlsplit

from starlette.requests import Request

from davy.web import cookies
from davy.web.context import context_of
from davy.web.errors import LocalizedError


def token_for(request: Request) -> str:
    """Return the token that forms on this page carry; a first-time visitor gets their cookie with the response."""
    bound_to = _bound_to(request)
    if bound_to is None:
        bound_to = f"visitor:{secrets.token_urlsafe(24)}"
        request.state.new_visitor = bound_to.removeprefix("visitor:")
    return _signed(request, bound_to)


def check(request: Request, token: str | None) -> None:
    """Refuse a request that another site or an old page sent."""
    if not _own_origin(request):
        raise LocalizedError("foreign", status=403)
    bound_to = _bound_to(request)
    if bound_to is None or not token:
        raise LocalizedError("stale_form", status=403)
    if not hmac.compare_digest(_signed(request, bound_to).encode(), token.encode("utf-8", "surrogatepass")):
        raise LocalizedError("stale_form", status=403)


def _bound_to(request: Request) -> str | None:
    fresh = getattr(request.state, "new_visitor", None)
    for kind in ("session", "visitor"):
        value = cookies.read(request, kind)
        if value:
            return f"{kind}:{value}"
    return f"visitor:{fresh}" if fresh else None


def _signed(request: Request, bound_to: str) -> str:
    secret = context_of(request).settings.secret_key.encode()
    return hmac.digest(secret, b"csrf:" + bound_to.encode("utf-8", "surrogateescape"), "sha256").hex()


def _own_origin(request: Request) -> bool:
    """Whether the browser says that our page sent this; programs that say nothing pass on to the token."""
    origin = request.headers.get("origin")
    if origin is None:
        return request.headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")
    base = urlsplit(context_of(request).settings.base_url)
    own = {f"{request.url.scheme}://{request.headers.get('host', '')}", f"{base.scheme}://{base.netloc}"}
    return origin.lower() in {address.lower() for address in own}
