"""Each request's id, its line in the log, its place in the metrics, and what is left of its key's limits.

`X-Request-ID` is taken from whoever asks, or made, and is on every answer and in every line that is logged meanwhile.
The log never has the path (it may hold an invitation's token), the query, a header or a body. Refusals are logged one
by one until they become a flood; then one line says how many more there were.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time
from typing import Any

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from davy.shell.logs import REQUEST_ID
from davy.web import render
from davy.web.limits import Drawn
from davy.web.metrics import Metrics

REFUSED: tuple[int, ...] = (401, 403, 429)
PROBES: frozenset[str] = frozenset(("/healthz", "/readyz", "/metrics"))
"""Addresses that machines ask all day; they are not counted, and only logged where they fail."""
FIRST_REFUSALS = 5
"""Refusals of one kind that are logged one by one in a span of time."""
FLOOD_SECONDS = 10.0

_ID = re.compile(rb"[A-Za-z0-9._:+/=@-]{1,128}")

log = logging.getLogger("davy.access")
audit = logging.getLogger("davy.audit")


class RequestLog:
    """Counts and logs what passes through it."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self.app = app
        self._metrics = metrics
        self._refusals = RefusalLog()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and note how it was answered."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = time.perf_counter()
        status = 500
        request_id = _request_id(scope)
        state = scope.setdefault("state", {})
        state["request_id"] = request_id

        async def send_noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", request_id.encode()), *_limits(state)]
            await send(message)

        token = REQUEST_ID.set(request_id)
        try:
            await self.app(scope, receive, send_noting)
        finally:
            self._note(scope, status, time.perf_counter() - began)
            REQUEST_ID.reset(token)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        method = scope["method"] if scope["method"] in ("GET", "HEAD", "POST") else "OTHER"
        route = render.route_of(Request(scope))
        if scope["path"] in PROBES and status < 500:
            return
        if scope["path"] not in PROBES:
            self._metrics.answered(method, route, status, seconds)
        fields = {"method": method, "route": route, "status": status, "ms": round(seconds * 1000, 1)}
        key = scope["state"].get("key")
        if key is not None:
            fields["key"] = key.prefix  # the part that lists show; the secret is nowhere
        if status in REFUSED:
            who = getattr(scope["state"].get("visitor"), "account", None)
            self._refusals.note(fields | {"user": who.id if who is not None else None})
        log.info("%s %s %d %.0f ms", method, route, status, seconds * 1000, extra={"fields": fields})


class RefusalLog:
    """Logs refusals: of one kind (method, route, status, key) the first few one by one, the others as a sum."""

    def __init__(self, *, first: int = FIRST_REFUSALS, seconds: float = FLOOD_SECONDS) -> None:
        self._first = first
        self._seconds = seconds
        self._counts: dict[tuple[Any, ...], int] = {}

    def note(self, fields: dict[str, Any]) -> None:
        """Log a refusal, or count it where there were many of its kind just now."""
        kind = (fields["method"], fields["route"], fields["status"], fields.get("key"))
        if kind not in self._counts:
            asyncio.get_running_loop().call_later(self._seconds, self._sum_up, kind)
        n = self._counts[kind] = self._counts.get(kind, 0) + 1
        if n <= self._first:
            audit.warning("refused %s %s %d", *kind[:3], extra={"fields": fields})

    def _sum_up(self, kind: tuple[Any, ...]) -> None:
        more = self._counts.pop(kind) - self._first
        if more > 0:
            fields = dict(zip(("method", "route", "status", "key"), kind, strict=True)) | {"more": more}
            text = "refused %s %s %d: %d more in %g seconds"
            audit.warning(text, *kind[:3], more, self._seconds, extra={"fields": fields})


def _request_id(scope: Scope) -> str:
    """Return the id that the caller gave, where it is a plain word, else a new one."""
    given = next((value for name, value in scope["headers"] if name == b"x-request-id"), b"")
    return given.decode() if _ID.fullmatch(given) else secrets.token_hex(8)


def _limits(state: dict[str, Any]) -> list[tuple[bytes, bytes]]:
    """Return headers that say what is left of a key's requests a minute, and of its posts today if it has a quota."""
    drawn: Drawn | None = state.get("drawn")
    if drawn is None:
        return []
    headers = [
        (b"ratelimit-limit", drawn.limit),
        (b"ratelimit-remaining", drawn.left),
        (b"ratelimit-reset", drawn.full_in),
    ]
    if (quota_left := state.get("quota_left")) is not None:
        headers.append((b"davy-quota-remaining", quota_left))
    return [(name, b"%d" % n) for name, n in headers]
