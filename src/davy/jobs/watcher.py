"""A thread of a worker process that looks once a minute whether jobs are due that nobody asks for."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

from davy.store import Store

logger = logging.getLogger(__name__)

EVERY_SECONDS = 60.0


class JobWatcher:
    """Calls each of `looks` with the store, again and again until it is stopped."""

    def __init__(
        self, store: Store, looks: Sequence[Callable[[Store], object]], *, seconds: float = EVERY_SECONDS
    ) -> None:
        self.store = store
        self.looks = tuple(looks)
        self.seconds = seconds
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="davy-watcher", daemon=True)

    def start(self) -> JobWatcher:
        """Start looking and return the watcher."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop looking."""
        self._stopping.set()
        self._thread.join(10)

    def _run(self) -> None:
        while not self._stopping.wait(self.seconds):
            for look in self.looks:
                try:
                    look(self.store)
                except Exception:  # the database may be away for a while; the thread must outlive that
                    logger.exception("can't look for jobs that are due; trying again")
