"""How many cores this process may use, on every system.

Linux and some others tell which cores a process was given; macOS and Windows tell only how many the machine has.
"""

from __future__ import annotations

import os


def usable_cores() -> int:
    """Return how many cores the system lets this process use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def compute_threads() -> int:
    """Return how many threads a detector may use; OMP_NUM_THREADS, which clusters set, can only lower it."""
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    return min(usable_cores(), int(wanted)) if wanted.isdigit() and int(wanted) else usable_cores()
