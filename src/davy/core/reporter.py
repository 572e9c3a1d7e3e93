"""How an action says how far it is, and how it is stopped.

Every action takes a `Reporter`. The one here is silent; the shell's draws bars, a
background job's writes to the job's row. Actions call `advance` or `check` often:
that is where one that must stop ends, by an exception, and what it keeps on disk
(parts, checkpoints) is where the same call goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Stopped(Exception):
    """The caller's `should_stop` said yes, so the action ended between two steps."""


class Reporter:
    """Hears about an action's progress and says nothing; subclasses show it."""

    def __init__(self, should_stop: Callable[[], bool] | None = None) -> None:
        self._should_stop = should_stop

    def begin(self, task: str, total: int | None = None) -> None:
        """A task begins that has `total` steps; None where nobody knows how many."""

    def advance(self, steps: int = 1) -> None:  # noqa: ARG002 — subclasses count them
        """So many more steps of the task are done."""
        self.check()

    def end(self) -> None:
        """The task is done."""

    def note(self, line: str) -> None:
        """One sentence for the user about what happens. Never a post's text."""

    def status(self, line: Callable[[], str]) -> None:
        """Where the task is now, in a few words; `line` is called only where they are shown."""

    def keep(self, what: str) -> None:
        """So much is on disk if the action stops now, and the same call goes on from there."""

    @contextmanager
    def unbroken_steps(self) -> Iterator[None]:
        """Within the block, a stop waits for the next `advance` or `check`, so that no step is cut in two."""
        yield

    def check(self) -> None:
        """Raise where the action must end here."""
        if self._should_stop is not None and self._should_stop():
            raise Stopped


SILENT = Reporter()
