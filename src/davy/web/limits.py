"""Rate limits: a token bucket for each address, account or key, shared by all processes of a server.

Buckets lie in a small SQLite file that goes with the server, or in memory where there is one process.
Their number is bounded: those that are full again soonest go first, so that a flood of addresses
can't fill the disk. The file has hashes of names, never an address or a login.
"""

from __future__ import annotations

import hashlib
import math
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass

from davy.web.process_counters import SharedFile


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `burst` at once, and `per_minute` over time."""

    burst: int
    per_minute: float


@dataclass(frozen=True, slots=True)
class Drawn:
    """What taking from a bucket gave: the seconds to wait (0 is none), what is left, and when it is full again."""

    wait: float
    left: int
    limit: int
    full_in: int


RATES: dict[str, Rate] = {
    "sign-in address": Rate(burst=20, per_minute=20),
    "sign-in account": Rate(burst=8, per_minute=4),
    "sign-in device": Rate(burst=8, per_minute=4),
    "invitation address": Rate(burst=20, per_minute=10),
    "password account": Rate(burst=8, per_minute=4),
    "words of a person": Rate(burst=30, per_minute=20),
    "texts of a session": Rate(burst=100, per_minute=120),
    "api key": Rate(burst=200, per_minute=1200),
    "suggestions of a key": Rate(burst=60, per_minute=60),
    "api refused": Rate(burst=30, per_minute=30),
}


class Limiter:
    """Buckets by kind and name. `take` is safe to call from several threads and processes."""

    def __init__(
        self,
        rates: dict[str, Rate] | None = None,
        *,
        shared: SharedFile | None = None,
        size: int = 10_000,
        clock: Callable[[], float] = time.monotonic,  # counts from the machine's start, so processes agree on it
    ) -> None:
        self._rates = RATES if rates is None else rates
        self._shared = shared or SharedFile()
        self._size = size
        self._clock = clock
        with self._shared.transaction() as db:
            db.execute(
                "CREATE TABLE IF NOT EXISTS buckets (name BLOB PRIMARY KEY, tokens REAL, at REAL, full_at REAL) "
                "WITHOUT ROWID"
            )
            db.execute("CREATE INDEX IF NOT EXISTS ix_full_at ON buckets (full_at)")

    def __len__(self) -> int:
        with self._shared.transaction() as db:
            return int(db.execute("SELECT count(*) FROM buckets").fetchone()[0])

    def take(self, kind: str, name: str, cost: float = 1.0, *, rate: Rate | None = None) -> float:
        """Take from a bucket and return 0, or return how many seconds to wait, taking nothing.

        `rate` is the limit of this name, where it has one of its own.
        """
        return self.draw(kind, name, cost, rate=rate).wait

    def draw(self, kind: str, name: str, cost: float = 1.0, *, rate: Rate | None = None) -> Drawn:
        """Take from a bucket as `take` does; return what is left, too."""
        rate, key = rate or self._rates[kind], _key(kind, name)
        per_second = rate.per_minute / 60
        with self._shared.transaction() as db:
            now = self._clock()
            row = db.execute("SELECT tokens, at FROM buckets WHERE name = ?", (key,)).fetchone()
            tokens, at = row or (float(rate.burst), now)
            tokens = min(float(rate.burst), tokens + max(0.0, now - at) * per_second)
            # More than a bucket holds is let through when it is full, else nobody could ever send it.
            needed = min(cost, float(rate.burst))
            wait = 0.0 if tokens >= needed else (needed - tokens) / per_second
            tokens -= needed if wait == 0 else 0
            full_at = now + (rate.burst - tokens) / per_second
            db.execute("INSERT OR REPLACE INTO buckets VALUES (?, ?, ?, ?)", (key, tokens, now, full_at))
            if row is None:
                self._make_room(db, key)
        return Drawn(wait, int(tokens), rate.burst, math.ceil(full_at - now))

    def forget(self, kind: str, name: str) -> None:
        """Fill a bucket again, as after a right password."""
        with self._shared.transaction() as db:
            db.execute("DELETE FROM buckets WHERE name = ?", (_key(kind, name),))

    def _make_room(self, db: sqlite3.Connection, key: bytes) -> None:
        """Keep to the size: the buckets that are full again soonest hold back least, so they go."""
        excess = db.execute("SELECT count(*) FROM buckets").fetchone()[0] - self._size
        if excess > 0:
            db.execute(
                "DELETE FROM buckets WHERE name IN (SELECT name FROM buckets WHERE name != ? ORDER BY full_at LIMIT ?)",
                (key, excess),
            )


def _key(kind: str, name: str) -> bytes:
    return hashlib.blake2b(f"{kind}\0{name}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
