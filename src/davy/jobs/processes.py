"""The worker as a process: `davy work` runs one, and a server starts some of its own and keeps them alive.

It has two threads for quick jobs, and starts a second process for long ones, so that neither a training nor one
project's import holds up another project's export. Long jobs have a process of their own because Python runs one
thread at a time: an import beside a training would hold the database five times as long, and people who label wait for
it. All of them give way to the server's own processes.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from pkgutil import resolve_name

from davy.files.cores import usable_cores
from davy.jobs.job_files import files_folder
from davy.jobs.kinds import check_kinds, job_functions, job_kinds
from davy.jobs.worker import JobWatcher, JobWorker, no_files_error
from davy.store import Store, default_url, open_store
from davy.store.serving import hold_database

logger = logging.getLogger(__name__)

QUICK_THREADS = 2
QUICK_NICE, LONG_NICE = 5, 10
"""How far jobs give way to those who answer people: quick ones a little, since they hold the database now and then."""
SWITCH_SECONDS = 0.0005
"""How long a thread may go on while another waits: a job that computes beside one that writes must not slow it down."""
STATISTICS_SECONDS = 6 * 3600
STOP_SECONDS = 15
"""How long a worker may take to reach a job's next step before it is ended; the job's lease then lapses."""


def work(
    database: str | None = None,
    files: Path | None = None,
    *,
    kinds: Sequence[str] = (),
    once: bool = False,
    parent: int | None = None,
    lease_seconds: float = 60,
    verbose: bool = False,
    log_json: bool = False,
) -> None:
    """Run jobs until SIGTERM or Ctrl+C; with `once`, until none is due.

    `kinds` leaves only some kinds. `parent` is the process that started this one, and with whose end it ends.
    """
    every = job_kinds()
    chosen = check_kinds(list(kinds)) or list(every)
    url = database or default_url()
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN if parent else lambda *_: stop.set())
    if not once:
        _give_way(LONG_NICE if all(every[kind].long for kind in chosen) else QUICK_NICE)
    with hold_database(url, "davy work"), open_store(url, background=True) as store, ExitStack() as stack:
        folder = files_folder(url, files)
        if folder is None:
            chosen = _without_files(chosen, asked=bool(kinds))
        apart = [kind for kind in chosen if every[kind].long]
        if once or len(apart) == len(chosen):
            apart = []
        tables = ((job_functions(long=True), 1), (job_functions(long=False), QUICK_THREADS))
        workers = [
            JobWorker(store, mine, files=folder, threads=threads, once=once, lease_seconds=lease_seconds)
            for table, threads in tables
            if (mine := {kind: target for kind, target in table.items() if kind in chosen and kind not in apart})
        ]
        for worker in workers:
            worker.start()
        if once:
            for worker in workers:
                worker.join()
            return
        if apart:
            how = {"verbose": verbose, "log_json": log_json}
            stack.enter_context(WorkerProcesses(1, url, files, kinds=apart, lease_seconds=lease_seconds, **how))
        due = [resolve_name(each.enqueue_due) for kind in chosen if (each := every[kind]).enqueue_due is not None]
        if due:
            refresh = StatisticsRefresh()
            refresh(store)
            stack.callback(JobWatcher(store, [*due, refresh]).start().stop)
        while not stop.wait(0.5):
            if parent and os.getppid() != parent:
                logger.warning("the server is gone, so this worker ends")
                break
        for worker in workers:  # all first, so that they stop side by side
            threading.Thread(target=worker.stop, daemon=True).start()
        for worker in workers:
            worker.stop(STOP_SECONDS)


class StatisticsRefresh:
    """Lets the database look at its tables when the worker starts and a few times a day."""

    def __init__(self, seconds: float = STATISTICS_SECONDS) -> None:
        self._seconds = seconds
        self._next = float("-inf")

    def __call__(self, store: Store) -> None:
        """Do it, if it is time again."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + self._seconds
            store.refresh_statistics()


def _without_files(chosen: Sequence[str], *, asked: bool) -> list[str]:
    """Return the kinds that a worker without a folder for files can run; if it was `asked` for another, it refuses."""
    every = job_kinds()
    others = [kind for kind in chosen if not every[kind].needs_files]
    if len(others) < len(chosen):
        if asked:
            raise no_files_error()
        left = ", ".join(kind for kind in chosen if every[kind].needs_files)
        logger.warning("without --files, this worker leaves to others: %s", left)
    return others


def _give_way(nice: int) -> None:
    """Let others have the cores first, and threads of this process take turns more often."""
    if hasattr(os, "nice"):
        os.nice(max(0, nice - os.nice(0)))
    sys.setswitchinterval(SWITCH_SECONDS)


class WorkerProcesses:
    """Worker processes of a server: started with the block, started again when one dies, stopped at its end."""

    def __init__(
        self,
        count: int,
        database: str,
        files: Path | None = None,
        *,
        verbose: bool = False,
        log_json: bool = False,
        kinds: Sequence[str] = (),
        lease_seconds: float = 60,
    ) -> None:
        self._command = [
            sys.executable,
            "-m",
            "davy",
            "work",
            "--parent",
            str(os.getpid()),
            "--lease",
            str(lease_seconds),
            *(["--kinds", ",".join(kinds)] if kinds else []),
        ]
        # In the environment, not in the command, which every account of the machine may read.
        self._environment = {**os.environ, "DAVY_DATABASE": database}
        # One core is left to those who answer people, unless the operator has said otherwise.
        self._environment.setdefault("OMP_NUM_THREADS", str(max(1, usable_cores() - 1)))
        if files is not None:
            self._environment["DAVY_FILES"] = str(files)
        if verbose:
            self._environment["DAVY_VERBOSE"] = "true"
        if log_json:
            self._environment["DAVY_LOG_JSON"] = "true"
        self._count = count
        self._processes: list[subprocess.Popen[bytes]] = []
        self._stopping = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="davy-workers", daemon=True)

    @property
    def pids(self) -> list[int]:
        """The process ids of the workers."""
        return [process.pid for process in self._processes]

    def __enter__(self) -> WorkerProcesses:
        self._processes = [self._start() for _ in range(self._count)]
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._watcher.join()
        for process in self._processes:
            process.terminate()
        until = time.monotonic() + STOP_SECONDS + 2
        for process in self._processes:
            try:
                process.wait(max(0.1, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(self._command, env=self._environment, stdin=subprocess.DEVNULL)

    def _watch(self) -> None:
        """Start a worker again when it died; one that dies at once waits longer each time."""
        wait = 1.0
        while not self._stopping.wait(wait):
            dead = [place for place, process in enumerate(self._processes) if process.poll() is not None]
            for place in dead:
                logger.warning("a worker ended with code %s; starting another", self._processes[place].returncode)
                self._processes[place] = self._start()
            wait = min(60.0, wait * 2) if dead else 1.0
