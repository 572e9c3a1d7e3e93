"""The worker: leases jobs from the store and runs them in threads of this process.

A kind of job is a function that takes a `JobContext` and returns what JSON can
hold. It should look at `context.checkpoint` first, go on from there, and call
`progress` or `step` often: those are where a cancelled or stopped job ends.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from davy.core.errors import UserError
from davy.jobs import store as jobs
from davy.store import Connection, Store

logger = logging.getLogger(__name__)

PROGRESS_EVERY = 0.5
"""Seconds between two writes of progress; the rest stays in memory, since each write is a sync of the disk."""

WATCH_SECONDS = 60.0


class JobCancelled(Exception):
    """Someone asked to cancel the job."""


class JobStopped(Exception):
    """The worker is stopping; the job goes back to the queue with its checkpoint."""


def no_files_error() -> UserError:
    """Return the error of a worker that was told of no folder, for a job that needs one."""
    return UserError("The worker has no folder for files. Start it with --files FOLDER.", status=503)


class JobContext:
    """What a job's function gets: its arguments, where it left off, and ways to say how far it is."""

    def __init__(self, store: Store, job: jobs.Job, stopping: threading.Event, files: Path | None = None) -> None:
        self.store = store
        self.files = files
        self.job = job
        self.arguments: Mapping[str, Any] = job.arguments
        self.checkpoint: Any = job.checkpoint
        self._stopping = stopping
        self._cancel = threading.Event()
        self._lost = threading.Event()
        self._progress = (job.done, job.total, job.note)
        self._written = 0.0

    def check(self) -> None:
        """Raise where the job must end here: cancelled, stopping, or taken over by another worker."""
        if self._lost.is_set():
            raise jobs.LeaseLost(f"job {self.job.id} was taken over")
        if self._cancel.is_set():
            raise JobCancelled
        if self._stopping.is_set():
            raise JobStopped

    def require_files(self) -> Path:
        """Return the folder for files; a worker that was told of none can't run this job."""
        if self.files is None:
            raise no_files_error()
        return self.files

    def begin(self, note: str, total: int | None) -> None:
        """Say that a new part of the job begins, with its own count."""
        self.check()
        self._progress = (0, total, note)
        self.flush()

    def progress(self, done: int, total: int | None = None, note: str | None = None) -> None:
        """Say how far the job is. Cheap: at most two writes a second reach the store."""
        self.check()
        _, old_total, old_note = self._progress
        self._progress = (done, old_total if total is None else total, old_note if note is None else note)
        if time.monotonic() - self._written >= PROGRESS_EVERY:
            self.flush()

    def flush(self) -> None:
        """Write the progress that is still in memory."""
        with self.store.write() as db:
            self._save_progress(db)

    def log(self, line: str) -> None:
        """Add a line to the job's log. Never a post's text."""
        with self.store.write() as db:
            jobs.log(db, self.job, line)

    def save(self, checkpoint: Any) -> None:
        """Remember from where the job goes on after a crash."""
        with self.step(checkpoint):
            pass

    @contextmanager
    def step(self, checkpoint: Any) -> Iterator[Connection]:
        """Yield a write transaction that keeps the work of one step and its checkpoint together, or neither.

        The job's row is locked first, so that a step is never done twice, even
        by a worker that was thought dead and comes back.
        """
        self.check()
        with self.store.write() as db:
            jobs.save_checkpoint(db, self.job, checkpoint)
            self._save_progress(db)
            yield db
        self.checkpoint = checkpoint

    def look(self, db: Connection) -> None:
        """Learn whether someone asked to cancel the job."""
        if jobs.get(db, self.job.id).cancel_asked_at is not None:
            self._cancel.set()

    def renew(self, seconds: float) -> None:
        """Hold the job for longer, and learn whether it was cancelled or lost."""
        try:
            with self.store.write() as db:
                if jobs.renew(db, self.job, seconds=seconds):
                    self._cancel.set()
        except jobs.LeaseLost:
            self._lost.set()

    def _save_progress(self, db: Connection) -> None:
        done, total, note = self._progress
        jobs.save_progress(db, self.job, done=done, total=total, note=note)
        self._written = time.monotonic()


Kinds = Mapping[str, Callable[[JobContext], Any] | str]
"""Names of kinds, and the function of each: itself, or `module:name`, imported when the first job of it runs."""


class JobWorker:
    """Threads that lease jobs of the given kinds and run them until `stop`; with `once`, until none is due."""

    def __init__(
        self,
        store: Store,
        kinds: Kinds,
        *,
        files: Path | None = None,
        threads: int = 1,
        once: bool = False,
        lease_seconds: float = 60,
        poll_seconds: float = 1,
        retry_seconds: float = 10,
    ) -> None:
        self.store = store
        self.kinds = dict(kinds)
        self.files = files
        self.once = once
        self.name = f"{socket.gethostname()}:{os.getpid()}"
        self.lease_seconds = lease_seconds
        self.poll_seconds = poll_seconds
        self.retry_seconds = retry_seconds
        self._stopping = threading.Event()
        self._running: dict[str, JobContext] = {}
        self._seen: dict[str, tuple[jobs.Job, float]] = {}
        self._threads = [
            threading.Thread(target=self._work, name=f"davy-job-{number}", daemon=True) for number in range(threads)
        ]
        self._keeper = threading.Thread(target=self._keep, name="davy-job-keeper", daemon=True)

    def start(self) -> JobWorker:
        """Start the threads and return the worker."""
        for thread in (*self._threads, self._keeper):
            thread.start()
        return self

    def stop(self, timeout: float = 10) -> bool:
        """Stop taking jobs, let running ones reach their next step, and return whether all did in time.

        A job that does not come to a step keeps its lease until that expires, then another worker goes on.
        """
        self._stopping.set()
        until = time.monotonic() + timeout
        for thread in (*self._threads, self._keeper):
            if thread.ident is not None:
                thread.join(max(0, until - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def join(self) -> None:
        """Wait until the threads end."""
        for thread in self._threads:
            thread.join()

    def __enter__(self) -> JobWorker:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _work(self) -> None:
        while not self._stopping.is_set():
            job = self._next()
            if job is not None:
                self._run(job)
                continue
            if self.once:
                return
            self._stopping.wait(self.poll_seconds)

    def _next(self) -> jobs.Job | None:
        try:
            with self.store.read() as db:
                if not jobs.has_due(db, list(self.kinds)):
                    return None
            with self.store.write() as db:
                return jobs.lease(db, list(self.kinds), worker=self.name, seconds=self.lease_seconds)
        except Exception:  # the database may be away for a while; the thread must outlive that
            logger.exception("can't look for jobs; trying again")
            self._stopping.wait(self.poll_seconds)
            return None

    def _run(self, job: jobs.Job) -> None:
        context = JobContext(self.store, job, self._stopping, self.files)
        self._running[job.id] = context
        try:
            self._settle(context)
        except jobs.LeaseLost:
            logger.warning("job %s was taken over by another worker", job.id)
        except Exception:  # the outcome could not be written; the lease expires and the job runs again
            logger.exception("job %s: its outcome could not be saved", job.id)
        finally:
            self._running.pop(job.id, None)

    def _settle(self, context: JobContext) -> None:
        """Run a job's function and write how it ended."""
        job = context.job
        try:
            function = self.kinds[job.kind]
            result = (resolve_name(function) if isinstance(function, str) else function)(context)
            context.flush()
            with self.store.write() as db:
                jobs.finish(db, job, result)
        except jobs.LeaseLost:
            raise
        except JobCancelled:
            with self.store.write() as db:
                jobs.finish_cancelled(db, job)
        except JobStopped:
            with self.store.write() as db:
                jobs.give_back(db, job)
        except UserError as error:  # the user's to fix, so trying again does not help; a busy database is not
            logger.warning("job %s (%s) failed: %s", job.id, job.kind, error.message)
            self._fail(job, error.message, again=error.status >= 500)
        except Exception as error:
            logger.exception("job %s (%s) failed", job.id, job.kind)
            self._fail(job, f"{type(error).__name__}: {error}", again=True)

    def _fail(self, job: jobs.Job, error: str, *, again: bool) -> None:
        wait = timedelta(seconds=min(600, self.retry_seconds * 2 ** (job.attempts - 1)))
        with self.store.write() as db:
            jobs.fail(db, job, error, again_in=wait if again else None)

    def _keep(self) -> None:
        """Renew the leases of running jobs, notice wishes to cancel, and end leases of workers that went silent."""
        renewed = time.monotonic()
        tick = min(self.poll_seconds, self.lease_seconds / 3)
        while any(thread.is_alive() for thread in self._threads):
            self._stopping.wait(tick)
            try:
                self._notice_cancels()
                if time.monotonic() - renewed >= self.lease_seconds / 3:
                    renewed = time.monotonic()
                    for context in list(self._running.values()):
                        context.renew(self.lease_seconds)
                    self._watch()
            except Exception:
                logger.exception("can't renew leases; trying again")
            if self._stopping.is_set():
                time.sleep(min(tick, 0.1))

    def _notice_cancels(self) -> None:
        contexts = list(self._running.values())
        if contexts:
            with self.store.read() as db:
                for context in contexts:
                    context.look(db)

    def _watch(self) -> None:
        """End leases that did not move for longer than they last, by a clock that never jumps.

        Leases normally end by the time in the row. After the machine's clock was
        set back, that time may be hours away although the worker is dead.
        """
        with self.store.read() as db:
            held = {job.id: job for job in jobs.list_leased(db, list(self.kinds)) if job.id not in self._running}
        seen, self._seen = self._seen, {}
        for job in held.values():
            before, since = seen.get(job.id, (job, time.monotonic()))
            if (before.lease, before.leased_until) != (job.lease, job.leased_until):
                since = time.monotonic()
            self._seen[job.id] = (job, since)
            if time.monotonic() - since > 1.5 * self.lease_seconds:
                with self.store.write() as db:
                    jobs.expire(db, job)


class JobWatcher:
    """Calls each of `looks` with the store, again and again until it is stopped."""

    def __init__(
        self, store: Store, looks: Sequence[Callable[[Store], object]], *, seconds: float = WATCH_SECONDS
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
