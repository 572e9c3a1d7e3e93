"""What happens around every request, in small ASGI layers: headers, host, body size, compression, other sites' pages.

Security headers are on whatever leaves, errors and static files too; the Host check is against DNS rebinding. Pages are
not compressed: they hold a form's secret beside words that a stranger may choose, and lengths give such secrets away
(the BREACH attack).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from fastapi import HTTPException
from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

CSP = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "font-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    )
)

ALWAYS: dict[str, str] = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    # Not no-referrer: browsers then send "Origin: null" with our own forms.
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=(), interest-cohort=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}

KEPT = {b"content-security-policy", b"cache-control"}
"""Headers that an answer may set itself: a report has a stricter policy, a picture may be kept."""

_HOST = re.compile(r"^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::\d{1,5})?$")

COMPRESSED_PATHS: tuple[str, ...] = ("/v1/", "/v1alpha1/", "/api/", "/metrics", "/static/", "/$discovery/")
SMALLEST_COMPRESSED = 1_000
"""Bytes below which packing costs more than it saves."""

API_PATHS: tuple[str, ...] = ("/v1/", "/v1alpha1/", "/$discovery/")
EXPOSED: tuple[str, ...] = (
    "Davy-Decision",
    "Davy-Model",
    "Davy-Quota-Remaining",
    "RateLimit-Limit",
    "RateLimit-Remaining",
    "RateLimit-Reset",
    "Retry-After",
    "X-Request-ID",
)
"""Headers that a page of another site may read."""


class SecurityHeaders:
    """Adds the headers above; pages are not kept by caches unless they say so themselves."""

    def __init__(self, app: ASGIApp, *, https: bool) -> None:
        self.app = app
        always = ALWAYS | ({"Strict-Transport-Security": "max-age=31536000"} if https else {})
        always = always | {"Cache-Control": "no-store"}
        # Encoded once: a header that is set by its name costs a look through all others, with every answer.
        self._always = [(name.lower().encode(), value.encode()) for name, value in always.items()]
        self._ours = {name.lower().encode() for name in always} - KEPT

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and add the headers to the response."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [it for it in message["headers"] if it[0] not in self._ours]
                named = {name for name, _ in own}
                message["headers"] = [*own, *(it for it in self._always if it[0] not in named)]
            await send(message)

        await self.app(scope, receive, send_with_headers)


class HostCheck:
    """Refuses requests whose Host header is not one of ours, or that have several."""

    def __init__(self, app: ASGIApp, *, allowed: frozenset[str]) -> None:
        self.app = app
        self._allowed = allowed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on if its Host is known; 400 otherwise."""
        if scope["type"] == "http":
            hosts = Headers(scope=scope).getlist("host")
            name = _HOST.match(hosts[0]) if len(hosts) == 1 else None
            if name is None or name.group(1).lower() not in self._allowed:
                raise HTTPException(400, "host")
        await self.app(scope, receive, send)


class BodyLimit:
    """Refuses bodies over `limit` bytes: by their announced length, else while they are read.

    Those of `routes` whose pattern ends in `/upload` take up to `upload` bytes; they look at who asks before they read
    a byte. An address alone says nothing: in `/label/{assignment_id}` its last part is the sender's choice.
    """

    def __init__(self, app: ASGIApp, *, limit: int, upload: int, routes: Sequence[BaseRoute]) -> None:
        self.app = app
        self._limit = limit
        self._upload = max(limit, upload)
        self._routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with a body that can't grow past the limit; 413 otherwise."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        most, refusal = (self._upload, "upload") if self._is_upload(scope) else (self._limit, "body")
        announced = Headers(scope=scope).get("content-length", "0")
        if not announced.isdigit():
            raise HTTPException(400, "length")
        if int(announced) > most:
            raise HTTPException(413, refusal)
        seen = 0

        async def receive_counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > most:
                raise HTTPException(413, refusal)
            return message

        await self.app(scope, receive_counted, send)

    def _is_upload(self, scope: Scope) -> bool:
        """Return whether the route that will answer is one for uploads: the first that takes address and method."""
        if not scope["path"].endswith("/upload"):
            return False
        route = next((it for it in self._routes if it.matches(scope)[0] is Match.FULL), None)
        return str(getattr(route, "path", "")).endswith("/upload")


class Compression:
    """gzip on the addresses in `COMPRESSED_PATHS`."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._packing = GZipMiddleware(app, minimum_size=SMALLEST_COMPRESSED, compresslevel=4)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, packing what comes back where it may be packed."""
        packs = scope["type"] == "http" and scope["path"].startswith(COMPRESSED_PATHS) and _takes_gzip(scope)
        await (self._packing if packs else self.app)(scope, receive, send)


def _takes_gzip(scope: Scope) -> bool:
    return any(name == b"accept-encoding" and b"gzip" in value for name, value in scope["headers"])


class Cors:
    """Lets pages of the sites in `origins` call the API from a browser: with a key, never with a session's cookie."""

    def __init__(self, app: ASGIApp, *, origins: Sequence[str]) -> None:
        self.app = app
        self._open = CORSMiddleware(
            app,
            allow_origins=origins,
            allow_methods=("GET", "POST"),
            allow_headers=("Authorization", "Content-Type", "X-Goog-Api-Key", "X-Request-ID"),
            expose_headers=EXPOSED,
            max_age=600,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; addresses of the API answer other sites."""
        is_api = scope["type"] == "http" and scope["path"].startswith(API_PATHS)
        await (self._open if is_api else self.app)(scope, receive, send)
