"""What the processes of one server share while they run: a small SQLite file that is gone when the server stops.

Nothing in it outlives the server, so nothing is synced to the disk: a transaction takes about 20 microseconds.
A server of one process, and a test, keep it in memory. Rate limits and counters lie here and not in the store,
where each change would wait for the disk and for those who save answers.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

BUSY_SECONDS = 5


class SharedFile:
    """Transactions on the file at `path`, one at a time; without a path, on this process's memory."""

    def __init__(self, path: Path | None = None) -> None:
        self._lock = threading.Lock()
        self._db = sqlite3.connect(
            path or ":memory:", timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        for pragma in ("journal_mode = WAL", "synchronous = OFF"):
            self._db.execute(f"PRAGMA {pragma}")

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection; what the block does is seen by the other processes whole or not at all."""
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def close(self) -> None:
        """Give the file back."""
        with self._lock:
            self._db.close()
