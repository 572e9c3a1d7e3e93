"""Refusing before everybody waits: who waits as told is answered at once, and who does not is held."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import pytest

from davy.serve.batching import QueueFull
from davy.serve.load_shedding import FEWEST, LONGEST_HOLD, LoadShedding

PATH = {"type": "http", "path": "/v1/score", "method": "POST"}


async def never_received() -> dict[str, object]:
    return {}


async def unheard(_: object) -> None:
    return None


def overloaded() -> LoadShedding:
    """Return a layer whose requests under way take longer than they may, at twenty answers a second."""
    layer = LoadShedding(None, most_seconds=0.3)  # type: ignore[arg-type]  # a refused request goes no further
    layer._under_way = FEWEST
    layer._answered.extend(time.monotonic() - 0.5 + n * 0.05 for n in range(FEWEST + 2))
    return layer


@pytest.fixture
def refused(monkeypatch) -> Callable[[LoadShedding, int], float]:
    """Let a layer refuse the client at a port, and return the seconds that it is held for; nobody waits them out."""
    held: list[float] = []

    async def note(seconds: float) -> None:
        held.append(seconds)

    monkeypatch.setattr("davy.serve.load_shedding.asyncio.sleep", note)

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


def test_one_that_waited_as_told_is_refused_at_once(refused):
    layer = overloaded()
    refused(layer, 1)
    layer._refused_until[("127.0.0.1", 1)] -= 100  # as though that time had passed
    began = time.monotonic()
    assert refused(layer, 1) == 0
    assert layer._refused_until[("127.0.0.1", 1)] >= began


def test_refusals_are_forgotten_when_there_are_many(monkeypatch, refused):
    monkeypatch.setattr("davy.serve.load_shedding.MOST_REFUSED", 3)
    layer = overloaded()
    for port in range(10):
        refused(layer, port)
    assert list(layer._refused_until) == [("127.0.0.1", port) for port in (7, 8, 9)]
