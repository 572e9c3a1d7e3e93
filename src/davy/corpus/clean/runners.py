"""Several processes that run tasks of `worker.py`, one at a time each.

Started as commands of their own, so that a script which calls us needs no main
guard, and nothing of this process's memory is copied. One that dies is an error
of ours or a lack of memory, and is said as such.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from typing import IO, Any, Protocol

from davy.core.errors import UserError
from davy.corpus.clean.recipe import CleaningRecipe
from davy.corpus.clean.worker import CleaningTask, StepCount, run_task


class StepRunner(Protocol):
    """Runs tasks; the answers come in the order of the tasks."""

    def run(self, tasks: Iterator[CleaningTask]) -> Iterator[tuple[CleaningTask, list[StepCount]]]: ...


class LocalRunner:
    """Runs tasks in this process: for few posts, starting others would cost more than they save."""

    def __init__(self, recipe: CleaningRecipe) -> None:
        self._steps = recipe.steps

    def run(self, tasks: Iterator[CleaningTask]) -> Iterator[tuple[CleaningTask, list[StepCount]]]:
        """Yield each task with what its steps did."""
        for task in tasks:
            yield task, run_task(task, self._steps)


class ProcessRunner:
    """Runs tasks in several processes."""

    def __init__(self, processes: Sequence[subprocess.Popen[str]], errors: IO[str], pool: ThreadPoolExecutor) -> None:
        self._free: queue.Queue[subprocess.Popen[str]] = queue.Queue()
        for process in processes:
            self._free.put(process)
        self._errors = errors
        self._pool = pool

    def run(self, tasks: Iterator[CleaningTask]) -> Iterator[tuple[CleaningTask, list[StepCount]]]:
        """Yield each task with what its steps did; tasks are taken as fast as they come, for they are small."""
        asked = [(task, self._pool.submit(self._ask, task)) for task in tasks]
        for task, answer in asked:
            yield task, answer.result()

    def _ask(self, task: CleaningTask) -> list[StepCount]:
        process = self._free.get()
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps(asdict(task)) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            self._free.put(process)
        if not line:
            raise self._lost(process)
        return [StepCount(**count) for count in json.loads(line)]

    def _lost(self, process: subprocess.Popen[str]) -> Exception:
        code = process.wait()
        self._errors.seek(0)
        message = self._errors.read()
        if code in (-9, 137):
            return UserError("A helper process was killed, most likely for lack of memory. Use --workers 1.")
        return RuntimeError(f"a helper process ended with {code}:\n{message[-4000:]}")


@contextmanager
def open_runner(recipe: CleaningRecipe, workers: int) -> Iterator[StepRunner]:
    """Yield a runner with so many processes; they are gone when the block ends, however it ends."""
    if workers <= 1:
        yield LocalRunner(recipe)
        return
    settings: dict[str, Any] = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "POLARS_MAX_THREADS": "1",
    }
    command = [sys.executable, "-m", "davy.corpus.clean.worker"]
    processes: list[subprocess.Popen[str]] = []
    with tempfile.TemporaryFile("w+", encoding="utf-8") as errors, ThreadPoolExecutor(workers) as pool:
        try:
            for _ in range(workers):
                pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": errors}
                process = subprocess.Popen(command, env=settings, encoding="utf-8", **pipes)
                assert process.stdin
                process.stdin.write(json.dumps(recipe.to_list()) + "\n")
                processes.append(process)
            yield ProcessRunner(processes, errors, pool)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in processes:
                process.kill()
                process.communicate()
