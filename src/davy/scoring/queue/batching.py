"""The queue before a scorer: many small requests become a few large batches, and nobody's large one holds up others.

Rows of posts in, each caller's own scores out. A batch starts as soon as the scorer is free: while it works, requests
gather. Whose posts are next is the fair queue's to say (`fair_queue`). Batches are as large as the scorer does in
`batch_seconds`, and what would wait longer than `most_seconds` for others is refused at once. The scorer runs in a
worker thread, so that the event loop stays free; one that several threads may ask at once scores short requests in a
second thread while it is at long ones.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from davy.core.errors import UserError
from davy.core.scorer import Scorer, Scores
from davy.core.text_scorer import score_texts
from davy.scoring.queue.fair_queue import NOBODY, POST_COST, SHORT, FairQueue, Request, Row, Slice

KEPT_SHARE = 0.8
"""How much of what was measured before counts beside the last batch, in the mean of seconds a character.

Batches count by their size: a short text on a machine that stalls says little about what a character costs.
"""
MOST_COST = 10_000
"""Characters of a batch at most, whatever the scorer does in its time."""

Result = TypeVar("Result")


class QueueFull(UserError):
    """More waits than the scorer does in the time that callers may wait; `wait` is how many seconds it needs."""

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


class Batcher:
    """Scores what callers put in, in batches of at most `largest` posts.

    At most `room` posts may wait, and none longer than `most_seconds` for those of others; more are refused with status
    429 at once, because a queue that only grows helps nobody. Use it as `async with Batcher(scorer) as batcher`.
    """

    def __init__(
        self,
        scorer: Scorer,
        *,
        largest: int = 64,
        wait: float = 0.0,
        room: int = 2048,
        batch_seconds: float = 0.03,
        most_seconds: float = 1.0,
    ) -> None:
        self.scorer = scorer
        self._abilities = scorer.abilities
        self._largest = largest
        self._wait = wait
        self._room = room
        self._batch_seconds = batch_seconds
        self._most_seconds = most_seconds
        self._cost_seconds = 0.0
        """Seconds a character."""
        self._spent = self._done = 0.0
        """Seconds and characters of the last batches, older ones counting less."""
        self._long = 0
        """Characters of the long batch that is being scored; short requests have a thread of their own meanwhile."""
        self._working = 0
        """Characters that are being scored."""
        self._queue = FairQueue()
        self._counters = Counters()
        self._arrived = asyncio.Event()
        self._short_arrived = asyncio.Event()
        self._is_at_long = False
        self._closing = False
        self._workers: list[asyncio.Task[None]] = []
        self._threads: ThreadPoolExecutor | None = None

    async def __aenter__(self) -> Batcher:
        self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def counters(self) -> dict[str, int]:
        """What was counted so far, by name."""
        return asdict(self._counters) | {"waiting": self._queue.waiting}

    def start(self) -> None:
        """Start working; needs a running event loop."""
        if self._workers:
            return
        work = [self._work(), *([self._work_on_short()] if self._abilities.parallel else [])]
        self._threads = ThreadPoolExecutor(max_workers=len(work), thread_name_prefix="scorer")
        self._workers = [asyncio.create_task(it, name="batcher") for it in work]

    async def score(self, rows: Sequence[Row], *, sender: str = "") -> Scores:
        """Return the scores of these posts; waits for its turns. A cancelled caller leaves the queue."""
        scores: Scores = await self._answered(Request(sender, rows, asyncio.Future()))
        return scores

    async def run(self, function: Callable[[Scorer], Result], *, sender: str = "") -> Result:
        """Return what a function makes of the scorer, in its sender's turn and in the scorer's own thread."""
        result: Result = await self._answered(Request(sender, (), asyncio.Future(), function))
        return result

    async def _answered(self, request: Request) -> Any:
        if self._closing or not self._workers:
            raise UserError("The server is stopping. Try again in a few seconds.", status=503)
        counters, waiting = self._counters, self._queue.waiting + len(request.rows)
        share = self._room / (len(self._queue) + 1)
        has_room = waiting <= self._room or self._queue.posts_of(request.sender) + len(request.rows) <= share
        wait = self.expected_seconds(request.sender, request.cost)
        if (self._queue.waiting and not has_room) or wait > self._most_seconds:
            counters.refused += 1
            raise QueueFull(self._queue.waiting, wait)
        counters.requests += 1
        self._queue.add(request)
        self._arrived.set()
        if self._is_at_long and request.is_short:
            self._short_arrived.set()
        try:
            return await request.answer
        except asyncio.CancelledError:
            counters.cancelled += 1
            self._queue.leave(request)
            raise

    def expected_seconds(self, sender: str = "", cost: int = POST_COST) -> float:
        """Return how long a request of a sender would wait for others that came before, by what batches took."""
        beside = self._long if cost <= SHORT and self._abilities.parallel else 0
        return (self._queue.before(sender, cost) + self._working - beside) * self._cost_seconds

    @property
    def is_full(self) -> bool:
        """Whether a short post of somebody who asks for nothing else would wait longer than posts may."""
        return len(self._queue) > 0 and self.expected_seconds(NOBODY) > self._most_seconds

    async def close(self) -> None:
        """Answer what is waiting, then stop. New requests are refused from now on."""
        self._closing = True
        self._arrived.set()
        self._short_arrived.set()
        if self._workers:
            await asyncio.wait(self._workers)
            self._workers = []
        if self._threads is not None:
            self._threads.shutdown(wait=True)
            self._threads = None

    async def _work(self) -> None:
        while True:
            if not self._queue:
                if self._closing:
                    return
                self._arrived.clear()
                await self._arrived.wait()
                if not self._closing:  # whatever else has come by now shares the batch
                    await asyncio.sleep(self._wait)
            if batch := self._queue.take(self._largest, self._most_cost()):
                cost = sum(it.cost for it in batch)
                self._is_at_long = cost > SHORT
                self._long = cost if self._is_at_long else 0
                if self._is_at_long and self._queue.has_short():
                    self._short_arrived.set()
                await self._answer(batch)
                self._is_at_long, self._long = False, 0

    async def _work_on_short(self) -> None:
        """Score short requests while the scorer is at long ones."""
        while not self._closing:
            self._short_arrived.clear()
            await self._short_arrived.wait()
            while self._is_at_long and (batch := self._queue.take_short(self._largest)):
                await self._answer(batch)

    def _most_cost(self) -> int:
        if not self._cost_seconds:
            return MOST_COST
        return max(1, min(MOST_COST, int(self._batch_seconds / self._cost_seconds)))

    async def _answer(self, batch: list[Slice]) -> None:
        counters = self._counters
        batch = [it for it in batch if not it.request.answer.done()]
        if not batch:
            return
        try:
            parts = await self._scored(batch)
        except Exception as error:  # noqa: BLE001 — whatever a scorer raises belongs to its caller, not to the queue
            if len(batch) == 1:
                counters.failed += 1
                self._queue.leave(batch[0].request)
                if not batch[0].request.answer.done():
                    batch[0].request.answer.set_exception(error)
                return
            counters.retried += len(batch)
            for each in batch:
                await self._answer([each])
            return
        for each, part in zip(batch, parts, strict=True):
            _settle(each, part)
        posts = sum(it.end - it.start for it in batch)
        counters.batches += 1
        counters.posts += posts
        counters.largest = max(counters.largest, posts)

    async def _scored(self, batch: list[Slice]) -> Sequence[Any]:
        loop = asyncio.get_running_loop()
        if (function := batch[0].request.function) is not None:
            return [await loop.run_in_executor(self._threads, function, self.scorer)]
        cost = sum(it.cost for it in batch)
        self._working += cost
        try:
            parts, seconds = await loop.run_in_executor(self._threads, self._parts, [it.rows for it in batch])
        finally:
            self._working -= cost
        self._spent = KEPT_SHARE * self._spent + seconds
        self._done = KEPT_SHARE * self._done + cost
        self._cost_seconds = self._spent / self._done
        return parts

    def _parts(self, slices: list[Sequence[Row]]) -> tuple[list[Scores], float]:
        """Score slices as one and return the part of each, and the seconds that it took."""
        began = time.perf_counter()
        rows = slices[0] if len(slices) == 1 else [row for some in slices for row in some]
        scores = self._score(rows)
        if len(scores) != len(rows):
            raise RuntimeError(f"{self.scorer.name} returned {len(scores)} rows for {len(rows)} posts")
        seconds = time.perf_counter() - began
        if len(slices) == 1:
            return [scores], seconds
        parts, start = [], 0
        for some in slices:
            parts.append(scores.take(slice(start, start + len(some))))
            start += len(some)
        return parts, seconds

    def _score(self, rows: Sequence[Row]) -> Scores:
        texts, langs, images = zip(*rows, strict=True)
        if not self._abilities.images:
            return score_texts(self.scorer, texts, langs)
        import polars as pl

        columns = {"text": texts, "lang": langs, "image": images}
        return self.scorer.score(pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)))


def _settle(each: Slice, part: Any) -> None:
    """Give a request one part of its answer; with the last one it is answered."""
    request = each.request
    if request.answer.done():  # its caller has gone
        return
    if request.function is not None:
        request.answer.set_result(part)
        return
    request.parts.append((each.start, part))
    if sum(len(some) for _, some in request.parts) == len(request.rows):
        request.answer.set_result(Scores.concat([some for _, some in sorted(request.parts, key=lambda it: it[0])]))
