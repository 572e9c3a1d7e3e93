"""Answers to programs and static files leave compressed where the client takes gzip.

Pages don't: they hold a form's secret beside words that a stranger may choose, and lengths of compressed answers give
such secrets away (the BREACH attack).
"""

from __future__ import annotations

from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

PATHS: tuple[str, ...] = ("/v1/", "/v1alpha1/", "/api/", "/metrics", "/static/", "/$discovery/")
SMALLEST = 1_000
"""Bytes below which packing costs more than it saves."""


class Compression:
    """gzip on the addresses in `PATHS`."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._packing = GZipMiddleware(app, minimum_size=SMALLEST, compresslevel=4)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, packing what comes back where it may be packed."""
        packs = scope["type"] == "http" and scope["path"].startswith(PATHS)
        await (self._packing if packs else self.app)(scope, receive, send)
