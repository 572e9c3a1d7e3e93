"""Ctrl-C and SIGTERM: answered within two seconds, whatever the main thread is doing.

Python raises KeyboardInterrupt only when its main thread is back from the library that it is in, which may take a
minute. `InterruptWatch` hears the signal in a thread of its own and, where the block has not ended by then, says what
is kept and ends the process. That is safe: outputs appear whole or not at all, and runs go on from what is on disk.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType

PATIENCE = 1.5
"""Seconds that the main thread has to end by itself."""
LAST_STEP = 20.0
"""Seconds that a training has for the step that it is in and its checkpoint."""
INTERRUPTED, TERMINATED = 130, 143


class _Ending:
    """The exit code of an interrupt: whether the last one was Ctrl-C or SIGTERM."""

    code = INTERRUPTED


ending = _Ending()


def end_at_sigterm() -> None:
    """Have SIGTERM end this process as Ctrl-C does, so that what was done is kept and said."""
    owner = os.getpid()

    def stop(number: int, frame: FrameType | None) -> None:
        if os.getpid() != owner:  # a fork has the handler, too, and nothing to keep
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGTERM)
            return
        ending.code = TERMINATED
        ctrl_c = signal.getsignal(signal.SIGINT)
        if not callable(ctrl_c):  # a process in the background ignores Ctrl-C
            raise KeyboardInterrupt
        ctrl_c(number, frame)

    signal.signal(signal.SIGTERM, stop)


class InterruptWatch:
    """A block in which Ctrl-C ends the process soon; `farewell` gives the lines that are printed then."""

    def __init__(self, farewell: Callable[[], list[str]]) -> None:
        self._farewell = farewell
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._signals: tuple[int, int] = (-1, -1)
        self._before = -1
        self._stopping = False
        self._unbroken = False

    def __enter__(self) -> InterruptWatch:
        if threading.current_thread() is not threading.main_thread():
            return self  # signals come to the main thread alone
        if os.name != "posix":
            return self  # Windows can't wake a pipe: Ctrl-C waits there until Python has the thread again
        self._over.clear()
        self._signals = os.pipe()
        os.set_blocking(self._signals[1], False)
        self._before = signal.set_wakeup_fd(self._signals[1], warn_on_full_buffer=False)
        self._thread = threading.Thread(target=self._watch, name="interrupts", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._thread is None:
            return
        self._over.set()
        signal.set_wakeup_fd(self._before)
        os.close(self._signals[1])
        self._thread.join()
        os.close(self._signals[0])
        self._thread = None

    def check(self) -> None:
        """Raise KeyboardInterrupt where Ctrl-C was pressed during an unbroken step."""
        if self._stopping:
            raise KeyboardInterrupt

    @contextmanager
    def unbroken(self) -> Iterator[None]:
        """Within the block Ctrl-C raises nothing: `check` does, between two steps. A second one ends the process."""
        if self._thread is None:
            yield
            return
        self._unbroken = True
        before = signal.signal(signal.SIGINT, self._stop_after_step)
        try:
            yield
        finally:
            self._unbroken = False
            signal.signal(signal.SIGINT, before)

    def _stop_after_step(self, *_: object) -> None:
        if self._stopping:
            self._end()
        self._stopping = True
        print("Stopping after this step, so that what was done is kept. Ctrl-C again stops at once.", file=sys.stderr)

    def _watch(self) -> None:
        while signals := os.read(self._signals[0], 1):
            if signals[0] == signal.SIGTERM:
                ending.code = TERMINATED
            if signals[0] in (signal.SIGINT, signal.SIGTERM) and not self._over.wait(
                LAST_STEP if self._unbroken else PATIENCE
            ):
                self._end()

    def _end(self) -> None:
        for line in self._farewell():
            print(line, file=sys.stderr)
        sys.stderr.flush()
        os._exit(ending.code)
