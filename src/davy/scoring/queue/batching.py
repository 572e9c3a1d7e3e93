"""The queue before a scorer: many small requests become a few large batches.

Frames of posts in, each caller's own scores out. A batch starts as soon as the
scorer is free: while it works, requests gather; an idle scorer waits `wait`
seconds for company. Batches are as large as the scorer does in `batch_seconds`,
and what would wait longer than `most_seconds` is refused at once, before everybody
waits. The scorer runs in one worker thread, so it need not be thread-safe and the
event loop stays free.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from davy.core.errors import UserError
from davy.core.scorer import Scorer, Scores

if TYPE_CHECKING:
    import polars as pl

NEW_SHARE = 0.2
"""How much the last batch counts in the running mean of seconds a post."""

Result = TypeVar("Result")


class QueueFull(UserError):
    """More posts wait than the scorer does in the time that callers may wait; `wait` is how many seconds it needs."""

    def __init__(self, waiting: int, wait: float) -> None:
        seconds = int(wait) + 1
        super().__init__(
            f"{waiting} posts are waiting for the detector, the most it takes. Retry after {seconds} second"
            f"{'s' * (seconds > 1)}.",
            status=429,
        )
        self.wait = max(wait, 0.5)


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

    At most `room` posts may wait, and no longer than `most_seconds`; more are refused with status 429 at once, because
    a queue that only grows helps nobody. Use it as `async with Batcher(scorer) as batcher`.
    """

    def __init__(
        self,
        scorer: Scorer,
        *,
        largest: int = 64,
        wait: float = 0.001,
        room: int = 2048,
        batch_seconds: float = 0.01,
        most_seconds: float = 1.0,
    ) -> None:
        self.scorer = scorer
        self._largest = largest
        self._wait = wait
        self._room = room
        self._batch_seconds = batch_seconds
        self._most_seconds = most_seconds
        self._post_seconds = 0.0
        self._working = 0
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
        if counters.waiting and (counters.waiting + len(posts) > self._room or self.is_full):
            counters.refused += 1
            raise QueueFull(counters.waiting, self.expected_seconds)
        request = _Request(posts, asyncio.Future())
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

    @property
    def expected_seconds(self) -> float:
        """How long a post that comes now would wait, by what the last batches took."""
        return (self._counters.waiting + self._working) * self._post_seconds

    @property
    def is_full(self) -> bool:
        """Whether a post that comes now would wait longer than posts may."""
        return self._counters.waiting > 0 and self.expected_seconds > self._most_seconds

    async def run(self, function: Callable[[Scorer], Result]) -> Result:
        """Return what a function makes of the scorer, between two batches and in the scorer's own thread."""
        if self._closing or self._thread is None:
            raise UserError("The server is stopping. Try again in a few seconds.", status=503)
        return await asyncio.get_running_loop().run_in_executor(self._thread, function, self.scorer)

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
        most = self._largest
        if self._post_seconds:
            most = max(1, min(most, int(self._batch_seconds / self._post_seconds)))
        while self._queue and (not batch or size + len(self._queue[0].posts) <= most):
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
        frames = [request.posts for request in batch]
        self._working = sum(map(len, frames))
        try:
            scores, seconds = await loop.run_in_executor(self._thread, _score, self.scorer, frames)
        finally:
            working, self._working = self._working, 0
        if working:
            share = NEW_SHARE if self._post_seconds else 1.0
            self._post_seconds += share * (seconds / working - self._post_seconds)
        return scores


def _score(scorer: Scorer, frames: list[Any]) -> tuple[list[Scores], float]:
    """Score frames as one and return the part of each, and the seconds that it took."""
    import numpy as np
    import polars as pl

    began = time.perf_counter()
    # Those with and without pictures have other columns; joining equal ones takes a fifth of the time.
    alike = all(frame.schema == frames[0].schema for frame in frames)
    posts = frames[0] if len(frames) == 1 else pl.concat(frames, how="vertical" if alike else "diagonal_relaxed")
    scores = scorer.score(posts)
    if len(scores) != len(posts):
        raise RuntimeError(f"{scorer.name} returned {len(scores)} rows for {len(posts)} posts")
    seconds = time.perf_counter() - began
    if len(frames) == 1:
        return [scores], seconds
    ends = np.cumsum([len(frame) for frame in frames])
    parts = [scores.take(np.arange(end - len(frame), end)) for frame, end in zip(frames, ends, strict=True)]
    return parts, seconds


def _settle(request: _Request, *, scores: Scores | None = None, error: Exception | None = None) -> None:
    if request.answer.done():  # its caller has gone
        return
    if error is not None:
        request.answer.set_exception(error)
    elif scores is not None:
        request.answer.set_result(scores)
