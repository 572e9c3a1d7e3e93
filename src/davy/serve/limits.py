"""Rate limits: a token bucket for each address, account or key.

Kept in this process and bounded: the buckets that were used longest ago go first,
so that a flood of addresses can't fill the memory. Several server processes each
count for themselves.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `burst` at once, and `per_minute` over time."""

    burst: int
    per_minute: float


RATES: dict[str, Rate] = {
    "sign-in address": Rate(burst=20, per_minute=20),
    "sign-in account": Rate(burst=8, per_minute=4),
    "invitation address": Rate(burst=20, per_minute=10),
    "password account": Rate(burst=8, per_minute=4),
    "words of a person": Rate(burst=30, per_minute=20),
    "score page": Rate(burst=60, per_minute=120),
    "api key": Rate(burst=200, per_minute=1200),
    "api refused": Rate(burst=30, per_minute=30),
}


class Limiter:
    """Buckets by kind and name. `take` is safe to call from several threads."""

    def __init__(
        self, rates: dict[str, Rate] | None = None, *, size: int = 10_000, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rates = RATES if rates is None else rates
        self._size = size
        self._clock = clock
        self._buckets: OrderedDict[tuple[str, str], tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, kind: str, name: str, cost: float = 1.0) -> float:
        """Take from a bucket and return 0, or return how many seconds to wait, taking nothing."""
        rate = self._rates[kind]
        per_second = rate.per_minute / 60
        with self._lock:
            now = self._clock()
            left, then = self._buckets.pop((kind, name), (float(rate.burst), now))
            left = min(float(rate.burst), left + (now - then) * per_second)
            # More than a bucket holds is let through when it is full, else nobody could ever send it.
            need = min(cost, float(rate.burst))
            wait = 0.0 if left >= need else (need - left) / per_second
            self._buckets[kind, name] = (left - need if wait == 0 else left, now)
            while len(self._buckets) > self._size:
                self._buckets.popitem(last=False)
        return wait

    def forget(self, kind: str, name: str) -> None:
        """Fill a bucket again, as after a right password."""
        with self._lock:
            self._buckets.pop((kind, name), None)
