"""The queue before a scorer, on a real event loop with a small fake detector."""

import asyncio
import threading
import time

import numpy as np
import polars as pl
import pytest

from davy.core import Abilities, Label, Question, Scores, UserError
from davy.scoring.queue.batching import Batcher

HATE = Question("hate", (Label("no"), Label("yes")), positive="yes")


class Fake:
    """Scores a text by its length; fails on 'boom'; notes each call; can be held up."""

    name, version, questions, abilities = "fake", "1", (HATE,), Abilities()

    def __init__(self, seconds=0.0):
        self.calls, self.threads, self.seconds = [], set(), seconds
        self.gate = threading.Event()
        self.gate.set()

    def score(self, posts):
        texts = posts["text"].to_list()
        self.calls.append(texts)
        self.threads.add(threading.get_ident())
        self.gate.wait(60)
        time.sleep(self.seconds)
        if "boom" in texts:
            raise UserError("This text can't be scored.")
        yes = np.array([len(text) / 100 for text in texts])
        return Scores(self.questions, {"hate": np.stack([1 - yes, yes], axis=1)})


def posts(*texts):
    return pl.DataFrame({"text": list(texts)})


def lengths(scores):
    return (scores.positive("hate") * 100).round().astype(int).tolist()


def test_requests_that_come_together_share_a_batch_and_each_gets_its_own_rows():
    async def scene():
        fake = Fake()
        async with Batcher(fake, wait=0.02) as batcher:
            results = await asyncio.gather(*(batcher.score(posts("a" * i, "b" * (i + 1))) for i in range(1, 21)))
        assert [lengths(r) for r in results] == [[i, i + 1] for i in range(1, 21)]
        assert [len(call) for call in fake.calls] == [40]
        assert batcher.counters == {
            "requests": 20, "posts": 40, "batches": 1, "refused": 0, "cancelled": 0,
            "failed": 0, "retried": 0, "largest": 40, "waiting": 0,
        }  # fmt: skip

    asyncio.run(scene())


def test_a_batch_is_never_larger_than_allowed_but_a_large_request_stays_whole():
    async def scene():
        fake = Fake()
        async with Batcher(fake, largest=8, wait=0.01) as batcher:
            await asyncio.gather(*(batcher.score(posts("x", "y", "z")) for _ in range(10)))
            await batcher.score(posts(*"abcdefghijklmnop"))
        assert max(len(call) for call in fake.calls[:-1]) <= 8
        assert len(fake.calls[-1]) == 16

    asyncio.run(scene())


def test_one_request_that_fails_does_not_fail_the_others():
    async def scene():
        async with Batcher(Fake(), wait=0.02) as batcher:
            results = await asyncio.gather(
                batcher.score(posts("a")),
                batcher.score(posts("boom")),
                batcher.score(posts("ccc")),
                return_exceptions=True,
            )
        assert lengths(results[0]) == [1]
        assert lengths(results[2]) == [3]
        assert isinstance(results[1], UserError)
        assert batcher.counters["failed"] == 1

    asyncio.run(scene())


def test_an_overfull_queue_refuses_at_once_and_recovers():
    async def scene():
        fake = Fake()
        fake.gate.clear()
        async with Batcher(fake, largest=2, wait=0, room=6) as batcher:
            first = asyncio.create_task(batcher.score(posts("a", "b")))
            while not fake.calls:
                await asyncio.sleep(0.001)
            waiting = [asyncio.create_task(batcher.score(posts("c", "d", "e"))) for _ in range(2)]
            await asyncio.sleep(0)
            with pytest.raises(UserError, match="Retry after") as caught:
                await batcher.score(posts("f"))
            assert caught.value.status == 429
            fake.gate.set()
            await asyncio.gather(first, *waiting)
            assert lengths(await batcher.score(posts("f"))) == [1]
            assert batcher.counters["refused"] == 1

    asyncio.run(scene())


def test_a_caller_that_gives_up_is_not_scored():
    async def scene():
        fake = Fake()
        fake.gate.clear()
        async with Batcher(fake, wait=0) as batcher:
            first = asyncio.create_task(batcher.score(posts("a")))
            while not fake.calls:
                await asyncio.sleep(0.001)
            stays = asyncio.create_task(batcher.score(posts("bb")))
            gone = asyncio.create_task(batcher.score(posts("gone")))
            await asyncio.sleep(0)
            gone.cancel()
            with pytest.raises(asyncio.CancelledError):
                await gone
            fake.gate.set()
            assert lengths(await first) == [1]
            assert lengths(await stays) == [2]
            assert batcher.counters["waiting"] == 0
        assert fake.calls == [["a"], ["bb"]]

    asyncio.run(scene())


def test_a_caller_that_gives_up_during_its_batch_leaves_the_others_alone():
    async def scene():
        fake = Fake(seconds=0.05)
        async with Batcher(fake, wait=0.01) as batcher:
            gone, stays = (asyncio.create_task(batcher.score(posts(text))) for text in ("gone", "bb"))
            while not fake.calls:
                await asyncio.sleep(0.001)
            gone.cancel()
            assert lengths(await stays) == [2]

    asyncio.run(scene())


def test_closing_answers_what_waits_and_refuses_what_comes_after():
    async def scene():
        fake = Fake(seconds=0.02)
        batcher = Batcher(fake, largest=1, wait=0)
        batcher.start()
        tasks = [asyncio.create_task(batcher.score(posts("x" * i))) for i in range(1, 6)]
        await asyncio.sleep(0)
        await batcher.close()
        assert [lengths(await task) for task in tasks] == [[i] for i in range(1, 6)]
        with pytest.raises(UserError, match="stopping"):
            await batcher.score(posts("late"))
        await batcher.close()

    asyncio.run(scene())


def test_the_scorer_runs_in_one_thread_of_its_own_and_the_loop_stays_free():
    async def scene():
        fake = Fake(seconds=0.1)
        async with Batcher(fake, wait=0) as batcher:
            task = asyncio.create_task(batcher.score(posts("a")))
            ticks = 0
            while not task.done():
                await asyncio.sleep(0.005)
                ticks += 1
            await batcher.score(posts("b"))
        assert ticks >= 5
        assert len(fake.threads) == 1
        assert threading.get_ident() not in fake.threads

    asyncio.run(scene())


def test_frames_with_and_without_a_language_share_a_batch():
    async def scene():
        fake = Fake()
        async with Batcher(fake, wait=0.02) as batcher:
            frame = pl.DataFrame({"id": ["7"], "lang": ["de"], "text": ["aaa"]})
            one, two = await asyncio.gather(batcher.score(frame), batcher.score(posts("b")))
        assert (lengths(one), lengths(two)) == ([3], [1])

    asyncio.run(scene())
