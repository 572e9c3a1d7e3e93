"""Processes that help one another: a child does not outlive its parent, and may leave Ctrl-C to it."""

from __future__ import annotations

import os
import signal
import threading
import time

LOOK_SECONDS = 0.2


def end_with_parent(parent: int | None = None) -> None:
    """End this process when the one that started it is gone, however that ended.

    `parent` is its id, where it could be gone before this one has started.
    """
    known = os.getppid() if parent is None else parent

    def watch() -> None:
        while os.getppid() == known:
            time.sleep(LOOK_SECONDS)
        os._exit(1)  # nobody would hear of this one, or end it

    threading.Thread(target=watch, daemon=True).start()


def follow_parent(parent: int | None = None) -> None:
    """As `end_with_parent`, and leave Ctrl-C to the parent, which ends its children in order."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent(parent)
