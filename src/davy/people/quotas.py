"""How much a key may do: requests a minute (a rate limit) and posts a day (a quota that survives a restart).

What a key with a quota used is counted in the server's shared file, so that all its processes see one sum; what others
use, in memory. Both are added to the store every few seconds. A restart forgets at most those seconds.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from davy.people.store import keys
from davy.people.store.keys import ApiKey, KeyUsage
from davy.store import Store
from davy.store.store import DatabaseUnavailable
from davy.web.errors import LocalizedError
from davy.web.limits import Rate
from davy.web.process_counters import SharedFile

logger = logging.getLogger("davy.serve")


class Quotas:
    """Counts what keys use. `take` is safe to call from several threads and processes."""

    def __init__(
        self, store: Store, shared: SharedFile, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._store = store
        self._shared = shared
        self._clock = clock
        self._known: set[tuple[str, str]] = set()
        self._lock = threading.Lock()
        self._without_quota: dict[tuple[str, str], tuple[int, int]] = {}
        """Requests and posts of keys without a quota, by key and day."""
        with shared.transaction() as db:
            db.execute(
                "CREATE TABLE IF NOT EXISTS used (key TEXT, day TEXT, posts INTEGER, new_posts INTEGER, "
                "new_requests INTEGER, PRIMARY KEY (key, day)) WITHOUT ROWID"
            )

    def take(self, key: ApiKey, posts: int) -> tuple[float, int | None]:
        """Count a request of so many posts; return 0 and what is left of today, or the seconds until there is more."""
        at = self._clock()
        day = f"{at:%Y-%m-%d}"
        if key.per_day is None:
            with self._lock:
                before = self._without_quota.get((key.id, day), (0, 0))
                self._without_quota[key.id, day] = (before[0] + 1, before[1] + posts)
            return 0.0, None
        with self._shared.transaction() as db:
            row = db.execute("SELECT posts FROM used WHERE key = ? AND day = ?", (key.id, day)).fetchone()
            if row is None:  # midnight came after `know`
                db.execute("INSERT INTO used VALUES (?, ?, 0, 0, 0)", (key.id, day))
            used = row[0] if row else 0
            if used + posts > key.per_day:
                return _until_tomorrow(at), max(0, key.per_day - used)
            db.execute(
                "UPDATE used SET posts = posts + ?, new_posts = new_posts + ?, new_requests = new_requests + 1 "
                "WHERE key = ? AND day = ?",
                (posts, posts, key.id, day),
            )
        return 0.0, key.per_day - used - posts

    def flush(self) -> None:
        """Add what was counted to the store. What the store does not take now is kept for the next time."""
        with self._shared.transaction() as db:  # not held while the store is written: keys would wait for its disk
            query = "SELECT key, day, new_requests, new_posts FROM used WHERE new_requests > 0"
            used = [KeyUsage(*row) for row in db.execute(query)]
            db.execute("UPDATE used SET new_requests = 0, new_posts = 0")
            db.execute("DELETE FROM used WHERE day < ?", (f"{self._clock():%Y-%m-%d}",))
        with self._lock:
            without_quota, self._without_quota = self._without_quota, {}
        used += [KeyUsage(*name, *sums) for name, sums in without_quota.items()]
        if not used:
            return
        try:
            with self._store.write() as store:
                keys.add_usage(store, used)
        except BaseException:
            self._put_back(used)
            raise

    def _put_back(self, used: Sequence[KeyUsage]) -> None:
        with self._shared.transaction() as db:
            for it in used:
                db.execute("INSERT OR IGNORE INTO used VALUES (?, ?, ?, 0, 0)", (it.key, it.day, it.posts))
                db.execute(
                    "UPDATE used SET new_posts = new_posts + ?, new_requests = new_requests + ? "
                    "WHERE key = ? AND day = ?",
                    (it.posts, it.requests, it.key, it.day),
                )

    def know(self, key: ApiKey) -> None:
        """Begin with what the store has counted of this key today. Reads the store once a key and day."""
        day = f"{self._clock():%Y-%m-%d}"
        if (key.id, day) in self._known:
            return
        try:
            with self._store.read() as store:
                before = keys.usage_of_day(store, key.id, day)
        except DatabaseUnavailable as error:  # a new day: there is little that others can have used of it
            logger.warning("the quota of key %s counts from 0 today: %s", key.prefix, error.message)
            return
        with self._shared.transaction() as db:
            db.execute("INSERT OR IGNORE INTO used VALUES (?, ?, ?, 0, 0)", (key.id, day, before.posts))
        self._known = {known for known in self._known if known[1] == day} | {(key.id, day)}


def quota_refusal(key: ApiKey, wait: float, left: int | None) -> LocalizedError:
    """Return what a program reads whose key has used up its quota."""
    return LocalizedError("quota", status=429, wait=wait, per_day=key.per_day, left=left)


def rate_of(key: ApiKey) -> Rate | None:
    """Return a key's own rate limit, or None where the usual one holds. Ten seconds' worth may come at once."""
    if key.per_minute is None:
        return None
    return Rate(burst=max(1, key.per_minute // 6), per_minute=key.per_minute)


def _until_tomorrow(at: datetime) -> float:
    tomorrow = datetime(at.year, at.month, at.day, tzinfo=UTC) + timedelta(days=1)
    return (tomorrow - at).total_seconds()
