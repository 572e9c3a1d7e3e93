"""The queue before a scorer, on a real event loop with a small fake detector."""

import asyncio
import threading
import time

import numpy as np
import pytest

from davy.core import Abilities, Label, Question, Scores, UserError
from davy.scoring.queue.batching import Batcher, QueueFull

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
        yes = np.array([min(1, len(text) / 100) for text in texts])
        return Scores(self.questions, {"hate": np.stack([1 - yes, yes], axis=1)})


def posts(*texts):
    return [(text, None, None) for text in texts]


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


def test_a_batch_is_never_larger_than_allowed_and_a_large_request_is_cut():
    async def scene():
        fake = Fake()
        async with Batcher(fake, largest=8, wait=0.01) as batcher:
            await asyncio.gather(*(batcher.score(posts("x", "y", "z")) for _ in range(10)))
            scores = await batcher.score(posts(*("a" * n for n in range(1, 18))))
        assert max(map(len, fake.calls)) == 8
        assert lengths(scores) == list(range(1, 18))

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


def test_posts_with_and_without_a_language_share_a_batch():
    async def scene():
        fake = Fake()
        async with Batcher(fake, wait=0.02) as batcher:
            one, two = await asyncio.gather(batcher.score([("aaa", "de", None)]), batcher.score(posts("b")))
        assert (lengths(one), lengths(two)) == ([3], [1])

    asyncio.run(scene())


async def until(condition):
    """Wait until something holds; the test ends by its own limit where it never does."""
    for _ in range(6_000):
        if condition():
            return
        await asyncio.sleep(0.01)
    pytest.fail("it never came to hold")


LONG = tuple(f"{n} " + "x" * 8_000 for n in range(100))


def test_a_short_request_has_its_turn_between_the_slices_of_another_senders_large_one():
    async def scene():
        fake = Fake()
        fake.gate.clear()
        async with Batcher(fake, wait=0) as batcher:
            large = asyncio.create_task(batcher.score(posts(*LONG), sender="one"))
            await until(lambda: fake.calls)
            short = [asyncio.create_task(batcher.score(posts(word), sender=word)) for word in ("a", "bb")]
            await asyncio.sleep(0)
            fake.gate.set()
            assert [lengths(await it) for it in short] == [[1], [2]]
            assert not large.done()
            assert len(await large) == 100
        assert fake.calls[1] == ["a", "bb"]
        assert [call for call in fake.calls if call[0] in LONG] == [[text] for text in LONG]

    asyncio.run(scene())


def test_large_requests_of_one_sender_take_turns_and_all_its_own_together_have_one_senders_share():
    async def scene():
        fake = Fake()
        fake.gate.clear()
        async with Batcher(fake, wait=0) as batcher:
            tasks = []
            for sender, name in (("one", "a"), ("one", "b"), ("two", "c")):
                texts = [f"{name} " + "x" * 5_000 for _ in range(6)]
                tasks.append(asyncio.create_task(batcher.score(posts(*texts), sender=sender)))
                await until(lambda: fake.calls)
            fake.gate.set()
            await asyncio.gather(*tasks)
        order = "".join(call[0][0] for call in fake.calls)
        assert order[:10].count("c") == 5
        assert abs(order[:12].count("a") - order[:12].count("b")) <= 1

    asyncio.run(scene())


def test_nobody_waits_longer_than_they_may_not_even_the_first_who_waits():
    async def scene():
        fake = Fake(seconds=0.3)
        async with Batcher(fake, wait=0, most_seconds=0.2) as batcher:
            await batcher.score(posts("a"))  # an idle scorer takes anything, and now it is known how slow it is
            under_way = asyncio.create_task(batcher.score(posts("b"), sender="one"))
            await until(lambda: len(fake.calls) == 2)
            with pytest.raises(QueueFull):
                await batcher.score(posts("c"), sender="two")
            assert lengths(await under_way) == [1]

    asyncio.run(scene())


def test_a_large_request_does_not_make_the_server_full_for_others():
    async def scene():
        fake = Fake(seconds=0.02)
        async with Batcher(fake, wait=0, most_seconds=0.2) as batcher:
            await batcher.score(posts(LONG[0]))
            large = asyncio.create_task(batcher.score(posts(*LONG), sender="one"))  # two seconds' work
            await until(lambda: len(fake.calls) > 2)
            with pytest.raises(QueueFull):
                await batcher.score(posts(*LONG), sender="one")
            assert not batcher.is_full
            assert lengths(await batcher.score(posts("a"), sender="two")) == [1]
            large.cancel()
            await asyncio.wait([large])
        assert batcher.counters["waiting"] == 0

    asyncio.run(scene())


def test_a_scorer_that_threads_may_share_scores_short_requests_while_it_is_at_a_long_one():
    class Shared(Fake):
        abilities = Abilities(parallel=True)

        def score(self, posts):
            self.calls.append(posts["text"].to_list())
            if "x" in self.calls[-1][0]:
                self.gate.wait(60)
            yes = np.array([min(1, len(text) / 100) for text in posts["text"].to_list()])
            return Scores(self.questions, {"hate": np.stack([1 - yes, yes], axis=1)})

    async def scene():
        fake = Shared()
        fake.gate.clear()
        async with Batcher(fake, wait=0) as batcher:
            long = asyncio.create_task(batcher.score(posts(LONG[0]), sender="one"))
            await until(lambda: fake.calls)
            assert lengths(await batcher.score(posts("a"), sender="two")) == [1]
            assert lengths(await batcher.score(posts("bb"), sender="one")) == [2]
            assert not long.done()
            fake.gate.set()
            assert lengths(await long) == [100]

    asyncio.run(scene())


def test_short_requests_are_not_refused_for_a_long_one_beside_which_they_are_scored():
    class Shared(Fake):
        abilities = Abilities(parallel=True)

        def score(self, posts):
            if len(posts["text"][0]) > 2_000:
                time.sleep(0.25)
            return super().score(posts)

    async def scene():
        fake = Shared()
        async with Batcher(fake, most_seconds=0.1) as batcher:
            await batcher.score(posts(LONG[0] * 3))  # what characters cost is known now
            fake.gate.clear()
            long = asyncio.create_task(batcher.score(posts(LONG[0] * 3), sender="one"))
            await until(lambda: batcher._working)
            short = asyncio.create_task(batcher.score(posts("a"), sender="two"))
            await asyncio.sleep(0)
            with pytest.raises(QueueFull):
                await batcher.score(posts("y" * 3_000), sender="three")
            fake.gate.set()
            assert lengths(await short) == [1]
            await long

    asyncio.run(scene())


def test_one_short_text_on_a_machine_that_stalls_does_not_make_the_server_full():
    async def scene():
        fake = Fake()
        async with Batcher(fake, most_seconds=0.5) as batcher:
            for _ in range(3):
                await batcher.score(posts(*LONG))
            fake.seconds = 0.3
            await batcher.score(posts("a"))
            fake.seconds = 0.0
            fake.gate.clear()
            waiting = [asyncio.create_task(batcher.score(posts("b" * 500), sender=str(n))) for n in range(3)]
            await until(lambda: batcher._working)
            assert not batcher.is_full
            fake.gate.set()
            await asyncio.gather(*waiting)

    asyncio.run(scene())


def test_a_request_that_fails_in_one_slice_fails_whole_and_its_rest_is_not_scored():
    async def scene():
        fake = Fake()
        async with Batcher(fake, largest=2, wait=0) as batcher:
            with pytest.raises(UserError, match="can't be scored"):
                await batcher.score(posts("a", "boom", "c", "d", "e", "f"))
            assert lengths(await batcher.score(posts("g"))) == [1]
        assert ["e", "f"] not in fake.calls
        assert batcher.counters["waiting"] == 0

    asyncio.run(scene())
