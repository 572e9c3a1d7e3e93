"""Refusing before everybody waits: who waits as told is answered at once, and who does not is held."""

from __future__ import annotations

import asyncio
import time

import pytest

from davy.serve.batching import QueueFull
from davy.serve.load_shedding import FEWEST, LoadShedding

PATH = {"type": "http", "path": "/v1/score", "method": "POST"}


async def never_received() -> dict[str, object]:
    return {}


async def unheard(_: object) -> None:
    return None


def overloaded() -> LoadShedding:
    """Return a layer whose requests under way take longer than they may, at twenty answers a second."""
    layer = LoadShedding(None, most_seconds=0.1)  # type: ignore[arg-type]  # a refused request goes no further
    layer._under_way = FEWEST
    layer._answered.extend(time.monotonic() - 0.5 + n * 0.05 for n in range(FEWEST + 2))
    return layer


async def refused_after(layer: LoadShedding, client: tuple[str, int]) -> float:
    began = time.monotonic()
    with pytest.raises(QueueFull):
        await layer({**PATH, "client": client}, never_received, unheard)
    return time.monotonic() - began


def test_a_connection_that_does_not_wait_is_refused_when_its_time_has_come():
    async def scene() -> None:
        layer = overloaded()
        first = await refused_after(layer, ("127.0.0.1", 1))
        again = await refused_after(layer, ("127.0.0.1", 1))
        other = await refused_after(layer, ("127.0.0.1", 2))
        assert first < again
        assert other < again
        assert again >= 0.45  # a refusal says to wait half a second or more

    asyncio.run(scene())


def test_one_that_waited_as_told_is_refused_at_once():
    async def scene() -> None:
        layer = overloaded()
        await refused_after(layer, ("127.0.0.1", 1))
        layer._refused_until[("127.0.0.1", 1)] -= 100  # as though that time had passed
        began = time.monotonic()
        await asyncio.wait_for(refused_after(layer, ("127.0.0.1", 1)), 5)
        assert layer._refused_until[("127.0.0.1", 1)] >= began

    asyncio.run(scene())


def test_refusals_are_forgotten_when_there_are_many(monkeypatch):
    monkeypatch.setattr("davy.serve.load_shedding.MOST_REFUSED", 3)

    async def scene() -> None:
        layer = overloaded()
        for port in range(10):
            await refused_after(layer, ("127.0.0.1", port))
        assert list(layer._refused_until) == [("127.0.0.1", port) for port in (7, 8, 9)]

    asyncio.run(scene())
