"""The layer that refuses scoring requests before everybody waits: 429 at once, for next to nothing.

By Little's law a request that comes now waits as long as those under way need at the rate of the last answers: its
sender's own, and of every other sender no more than those, since senders are scored by turns. Where that is longer than
callers may wait, it is refused before its key is looked up or its body read, so that a flood costs the server little
and keeps nobody else out. A request is under way from when its sender is
known: who has no key, or sends a body that never ends, keeps nobody out. A connection that asks again before the time
it was told gets its next refusal when that time has come: who never waits would take the cores from those who are
answered.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, OrderedDict, deque

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from davy.scoring.queue.batching import QueueFull

DOORS: frozenset[str] = frozenset(("/v1/score", "/v1/moderations", "/v1alpha1/comments:analyze"))
FEWEST = 8
"""Requests under way that are never too many."""
RECENT = 64
"""Answers that the rate is taken from."""
LONGEST_HOLD = 2.0
MOST_REFUSED = 10_000
"""Connections whose last refusal is remembered."""


class LoadShedding:
    """Counts what is under way at the scoring doors, and refuses what would wait longer than `most_seconds`."""

    def __init__(self, app: ASGIApp, *, most_seconds: float) -> None:
        self.app = app
        self._most_seconds = most_seconds
        self._under_way: Counter[bytes] = Counter()
        self._answered: deque[float] = deque(maxlen=RECENT)
        self._refused_until: OrderedDict[object, float] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] != "http" or scope["path"] not in DOORS or scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        sender = _credential(scope)
        waiting = self._under_way.total()
        wait = self._expected_seconds(sender) if waiting >= FEWEST else 0.0
        if wait > self._most_seconds:
            refusal = QueueFull(waiting, wait)
            await self._hold(scope.get("client"), refusal.wait)
            raise refusal
        scored = counted = False

        def count() -> None:
            nonlocal counted
            self._under_way[sender] += not counted
            counted = True

        async def send_noting(message: Message) -> None:
            nonlocal scored
            if message["type"] == "http.response.start":
                scored = message["status"] == 200
            await send(message)

        scope.setdefault("state", {})["count_under_way"] = count  # called once the sender is known
        try:
            await self.app(scope, receive, send_noting)
        finally:
            self._under_way[sender] -= counted
            if not self._under_way[sender]:
                del self._under_way[sender]
            if scored:
                self._answered.append(time.monotonic())

    async def _hold(self, client: object, wait: float) -> None:
        """Return at once to a connection that was not refused lately, and otherwise when it was told to come back."""
        now = time.monotonic()
        until = self._refused_until.pop(client, now)
        self._refused_until[client] = max(now, until) + min(wait, LONGEST_HOLD)
        if len(self._refused_until) > MOST_REFUSED:
            self._refused_until.popitem(last=False)
        await asyncio.sleep(min(until - now, LONGEST_HOLD) if until > now else 0)

    def _expected_seconds(self, sender: bytes) -> float:
        """Return how long a request that comes now would take, by the rate of the last answers."""
        if len(self._answered) < FEWEST or time.monotonic() - self._answered[0] > 10 * self._most_seconds + 1:
            return 0.0
        seconds = time.monotonic() - self._answered[0]
        own = self._under_way[sender]
        first = own + sum(min(n, own + 1) for other, n in self._under_way.items() if other != sender)
        return first * seconds / len(self._answered)


def _credential(scope: Scope) -> bytes:
    """Return what a request names its sender by, unchecked: a key in a header or in the query, or a session."""
    headers: dict[bytes, bytes] = dict(scope["headers"])
    given = headers.get(b"authorization") or headers.get(b"x-goog-api-key") or scope["query_string"]
    return given or headers.get(b"cookie", b"")
