"""The queue before a scorer: many small requests become a few large batches.

Frames of posts in, each caller's own scores out. A batch starts as soon as the
scorer is free: while it works, requests gather; an idle scorer waits `wait`
seconds for company. The scorer runs in one worker thread, so it need not be
thread-safe and the event loop stays free.
"""

from __future__ import annotations

import asyncio
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from davy.core.errors import UserError
from davy.core.scorer import Scorer, Scores

if TYPE_CHECKING:
    import polars as pl

COLUMNS = ("text", "lang", "image")


@dataclass
class Counters:
    """What the queue did since it was opened. All but `waiting` and `largest` only grow."""

    requests: int = 0
    posts: int = 0
    batches: int = 0
    refused: int = 0
    cancelled: int = 0
    failed: int = 0
    retried: int = 0
    largest: int = 0
    waiting: int = 0


@dataclass(slots=True, eq=False)
class _Request:
    posts: pl.DataFrame
    answer: asyncio.Future[Scores]


class Batcher:
    """Scores what callers put in, in batches of at most `largest` posts (a larger request is a batch of its own).

    At most `room` posts may wait; more are refused with status 503 at once, because a
    queue that only grows helps nobody. Use it as `async with Batcher(scorer) as batcher`.
    """

    def __init__(self, scorer: Scorer, *, largest: int = 64, wait: float = 0.003, room: int = 2048) -> None:
        self.scorer = scorer
        self._largest = largest
        self._wait = wait
        self._room = room
        self._queue: deque[_Request] = deque()
        self._counters = Counters()
        self._arrived = asyncio.Event()
        self._closing = False
        self._worker: asyncio.Task[None] | None = None
        self._thread: ThreadPoolExecutor | None = None

    async def __aenter__(self) -> Batcher:
        self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def counters(self) -> dict[str, int]:
        """What was counted so far, by name."""
        return asdict(self._counters)

    def start(self) -> None:
        """Start working; needs a running event loop."""
        if self._worker is None:
            self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="scorer")
            self._worker = asyncio.create_task(self._work(), name="batcher")

    async def score(self, posts: pl.DataFrame) -> Scores:
        """Return the scores of these posts; waits for a place in a batch. A cancelled caller leaves the queue."""
        if self._closing or self._worker is None:
            raise UserError("The server is stopping. Try again in a few seconds.", status=503)
        counters = self._counters
        if counters.waiting + len(posts) > self._room and counters.waiting:
            counters.refused += 1
            raise UserError(
                f"{counters.waiting} posts are waiting for the detector, the most it takes. Retry after 1 second.",
                status=503,
            )
        request = _Request(posts.select(c for c in COLUMNS if c in posts.columns), asyncio.Future())
        counters.requests += 1
        counters.waiting += len(posts)
        self._queue.append(request)
        self._arrived.set()
        try:
            return await request.answer
        except asyncio.CancelledError:
            counters.cancelled += 1
            if request in self._queue:
                self._leave(request)
            raise

    async def close(self) -> None:
        """Answer what is waiting, then stop. New requests are refused from now on."""
        self._closing = True
        self._arrived.set()
        if self._worker is not None:
            await self._worker
            self._worker = None
        if self._thread is not None:
            self._thread.shutdown(wait=True)
            self._thread = None

    def _leave(self, request: _Request) -> None:
        self._queue.remove(request)
        self._counters.waiting -= len(request.posts)

    async def _work(self) -> None:
        while True:
            if not self._queue:
                if self._closing:
                    return
                self._arrived.clear()
                await self._arrived.wait()
                await self._company()
            if batch := self._next():
                await self._answer(batch)

    async def _company(self) -> None:
        """Wait a moment after the first request for others to share its batch."""
        if self._closing or self._counters.waiting >= self._largest:
            return
        await asyncio.sleep(self._wait)

    def _next(self) -> list[_Request]:
        """Take requests off the queue, oldest first, until the batch is full."""
        batch: list[_Request] = []
        size = 0
        while self._queue and (not batch or size + len(self._queue[0].posts) <= self._largest):
            request = self._queue[0]
            self._leave(request)
            if not request.answer.done():
                batch.append(request)
                size += len(request.posts)
        return batch

    async def _answer(self, batch: list[_Request]) -> None:
        counters = self._counters
        try:
            scores = await self._scored(batch)
        except Exception as error:  # noqa: BLE001 — whatever a scorer raises belongs to its caller, not to the queue
            if len(batch) == 1:
                counters.failed += 1
                _settle(batch[0], error=error)
                return
            counters.retried += len(batch)
            for request in batch:
                await self._answer([request])
            return
        start = 0
        for request, part in zip(batch, scores, strict=True):
            start += len(request.posts)
            _settle(request, scores=part)
        counters.batches += 1
        counters.posts += start
        counters.largest = max(counters.largest, start)

    async def _scored(self, batch: list[_Request]) -> list[Scores]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, _score, self.scorer, [request.posts for request in batch])


def _score(scorer: Scorer, frames: list[Any]) -> list[Scores]:
    """Score frames as one and return the part of each."""
    import numpy as np
    import polars as pl

    posts = frames[0] if len(frames) == 1 else pl.concat(frames, how="diagonal_relaxed")
    scores = scorer.score(posts)
    if len(scores) != len(posts):
        raise RuntimeError(f"{scorer.name} returned {len(scores)} rows for {len(posts)} posts")
    ends = np.cumsum([len(frame) for frame in frames])
    return [scores.take(np.arange(end - len(frame), end)) for frame, end in zip(frames, ends, strict=True)]


def _settle(request: _Request, *, scores: Scores | None = None, error: Exception | None = None) -> None:
    if request.answer.done():  # its caller has gone
        return
    if error is not None:
        request.answer.set_exception(error)
    elif scores is not None:
        request.answer.set_result(scores)
