"""Refusing before everybody waits: who waits as told is answered at once, and who does not is held."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from davy.scoring.queue.batching import QueueFull
from davy.scoring.queue.detectors import Detectors
from davy.scoring.queue.load_shedding import FEWEST, LONGEST_HOLD, LoadShedding
from web_site import make_key, make_site

PATH = {"type": "http", "path": "/v1/score", "method": "POST", "headers": [], "query_string": b""}


async def never_received() -> dict[str, object]:
    return {}


async def unheard(_: object) -> None:
    return None


def overloaded() -> LoadShedding:
    """Return a layer whose requests under way take longer than they may, at twenty answers a second."""
    layer = LoadShedding(None, most_seconds=0.3)  # type: ignore[arg-type]  # a refused request goes no further
    layer._under_way[b""] = FEWEST
    layer._answered.extend(time.monotonic() - 0.5 + n * 0.05 for n in range(FEWEST + 2))
    return layer


@pytest.fixture
def refused(monkeypatch) -> Callable[[LoadShedding, int], float]:
    """Let a layer refuse the client at a port, and return the seconds that it is held for; nobody waits them out."""
    held: list[float] = []

    async def note(seconds: float) -> None:
        held.append(seconds)

    monkeypatch.setattr("davy.scoring.queue.load_shedding.asyncio.sleep", note)

    def refuse(layer: LoadShedding, port: int) -> float:
        with pytest.raises(QueueFull):
            asyncio.run(layer({**PATH, "client": ("127.0.0.1", port)}, never_received, unheard))
        return held[-1]

    return refuse


def test_a_connection_that_does_not_wait_is_refused_when_its_time_has_come(refused):
    layer = overloaded()
    assert refused(layer, 1) == 0
    told = layer._refused_until[("127.0.0.1", 1)]
    assert told - time.monotonic() <= LONGEST_HOLD
    assert 0 < refused(layer, 1) <= LONGEST_HOLD
    assert layer._refused_until[("127.0.0.1", 1)] >= told + 0.5  # a refusal says to wait half a second or more
    assert refused(layer, 2) == 0


def test_the_flood_of_one_sender_keeps_no_other_out(refused):
    layer = overloaded()
    refused(layer, 1)
    reached = []

    async def app(scope, receive, send):
        reached.append(dict(scope["headers"]))

    layer.app = app
    other = {**PATH, "client": ("127.0.0.1", 2), "headers": [(b"authorization", b"Bearer another")]}
    asyncio.run(layer(other, never_received, unheard))
    assert len(reached) == 1


def test_one_that_waited_as_told_is_refused_at_once(refused):
    layer = overloaded()
    refused(layer, 1)
    layer._refused_until[("127.0.0.1", 1)] -= 100  # as though that time had passed
    began = time.monotonic()
    assert refused(layer, 1) == 0
    assert layer._refused_until[("127.0.0.1", 1)] >= began


def test_refusals_are_forgotten_when_there_are_many(monkeypatch, refused):
    monkeypatch.setattr("davy.scoring.queue.load_shedding.MOST_REFUSED", 3)
    layer = overloaded()
    for port in range(10):
        refused(layer, port)
    assert list(layer._refused_until) == [("127.0.0.1", port) for port in (7, 8, 9)]


@pytest.mark.parametrize("key", ["", "davy_x_1", "good"], ids=["no key", "wrong key", "good key"])
def test_bodies_that_never_come_keep_nobody_out(settings, empty_database, key):
    with make_site(replace(settings, most_wait=0.01), empty_database).started() as site:
        _, secret = make_key(site)
        headers = {"authorization": f"Bearer {secret}"}
        client = site.visitor()
        ask = {"url": "/v1/score", "json": {"text": "a"}, "headers": headers}
        assert {client.post(**ask).status_code for _ in range(FEWEST + 1)} == {200}  # now it knows its rate
        waiting, given_up = threading.Semaphore(0), asyncio.Event()

        async def receive() -> dict[str, object]:
            waiting.release()
            await given_up.wait()
            return {"type": "http.disconnect"}

        async def send(_: object) -> None:
            waiting.release()  # refused before its body was read

        sent = [(b"host", b"127.0.0.1"), (b"content-length", b"1000"), (b"content-type", b"application/json")]
        sent += [(b"authorization", f"Bearer {secret if key == 'good' else key}".encode())] * bool(key)
        idle = {**PATH, "headers": sent, "query_string": b""}
        portal = site.running.portal
        slow = [
            portal.start_task_soon(site.app, {**idle, "client": ("198.51.100.1", n)}, receive, send) for n in range(20)
        ]
        try:
            assert all(waiting.acquire(timeout=60) for _ in slow)
            assert client.post(**ask).status_code == 200
        finally:
            portal.call(given_up.set)
            assert all(task.result(60) is None for task in slow)


def test_requests_count_while_they_are_answered_once_their_sender_is_known(site):
    _, secret = make_key(site)
    layer = site.app.middleware_stack
    while not isinstance(layer, LoadShedding):
        layer = layer.app
    counts: list[int] = []
    detector = site.app.state.context.part(Detectors).started
    score = detector.score

    async def noting(posts, sender):
        counts.append(layer._under_way.total())
        return await score(posts, sender=sender)

    detector.score = noting
    client = site.visitor()
    good = {"authorization": f"Bearer {secret}"}
    assert client.post("/v1/score", json={"text": "a"}, headers=good).status_code == 200
    assert client.post("/v1/moderations", json={"input": "a"}, headers=good).status_code == 200
    assert client.post("/v1/score", json={"text": "a"}, headers={"authorization": "Bearer no"}).status_code == 401
    assert counts == [1, 1]
    assert not layer._under_way
