"""The layer that counts and logs each request: method, route pattern, status, milliseconds, and which key asked.

What is refused is said once more, with the account's id, under `davy.audit`.

Never the path (it may hold an invitation's token), the query, a header or a body.
"""

from __future__ import annotations

import logging
import time

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from davy.web import render
from davy.web.metrics import Metrics

log = logging.getLogger("davy.access")
audit = logging.getLogger("davy.audit")
REFUSED: tuple[int, ...] = (401, 403, 429)


class RequestLog:
    """Counts and logs what passes through it."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self.app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and note how it was answered."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = time.perf_counter()
        status = 500

        async def send_noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, send_noting)
        finally:
            seconds = time.perf_counter() - began
            method = scope["method"] if scope["method"] in ("GET", "HEAD", "POST") else "OTHER"
            route = render.route_of(Request(scope))
            self._metrics.answered(method, route, status, seconds)
            fields = {"method": method, "route": route, "status": status, "ms": round(seconds * 1000, 1)}
            key = scope.get("state", {}).get("key")
            if key is not None:
                fields["key"] = key.prefix  # the part that lists show; the secret is nowhere
            if status in REFUSED:
                who = getattr(scope.get("state", {}).get("visitor"), "account", None)
                refused = fields | {"user": who.id if who is not None else None}
                audit.warning("refused %s %s %d", method, route, status, extra={"fields": refused})
            log.info("%s %s %d %.0f ms", method, route, status, seconds * 1000, extra={"fields": fields})
