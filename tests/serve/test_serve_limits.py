"""Rate limits let normal use through, slow the rest down, and never fill the memory."""

from __future__ import annotations

import threading

from davy.serve.limits import Limiter, Rate

RATES = {"sign-in": Rate(burst=3, per_minute=60)}


class Clock:
    """A clock that a test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_burst_passes_then_one_a_second():
    clock = Clock()
    limiter = Limiter(RATES, clock=clock)
    assert [limiter.take("sign-in", "ada") for _ in range(3)] == [0, 0, 0]
    assert limiter.take("sign-in", "ada") == 1.0
    clock.now += 0.5
    assert limiter.take("sign-in", "ada") == 0.5
    clock.now += 0.5
    assert limiter.take("sign-in", "ada") == 0


def test_one_name_does_not_use_up_anothers():
    limiter = Limiter(RATES, clock=Clock())
    for _ in range(5):
        limiter.take("sign-in", "mallory")
    assert limiter.take("sign-in", "ada") == 0


def test_a_bucket_never_holds_more_than_its_burst():
    clock = Clock()
    limiter = Limiter(RATES, clock=clock)
    limiter.take("sign-in", "ada")
    clock.now += 10_000
    assert [limiter.take("sign-in", "ada") > 0 for _ in range(4)] == [False, False, False, True]


def test_a_flood_of_names_stays_within_the_size():
    limiter = Limiter(RATES, size=100, clock=Clock())
    for number in range(10_000):
        limiter.take("sign-in", f"name{number}")
    assert len(limiter) == 100


def test_threads_can_not_take_more_than_there_is():
    limiter = Limiter({"x": Rate(burst=50, per_minute=0.001)}, clock=Clock())
    passed = []

    def take() -> None:
        passed.extend(limiter.take("x", "ada") == 0 for _ in range(50))

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(passed) == 50


def test_a_request_dearer_than_the_burst_passes_when_the_bucket_is_full():
    limiter = Limiter(RATES, clock=Clock())
    assert limiter.take("sign-in", "ada", cost=99) == 0
    assert limiter.take("sign-in", "ada") > 0
