"""Run the steps that look at one post at a time over batches, in this process or in several.

A batch is an Arrow file. A worker is a process of its own, started as a command: a request is one line of JSON on
stdin, the answer one line on stdout. Processes and not threads, because telling languages holds Python's lock;
commands and not forks, so that a script which calls us needs no main guard.
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
from dataclasses import asdict, dataclass
from typing import IO, TYPE_CHECKING, Any, Protocol

from davy.core.errors import UserError
from davy.corpus.clean.changes import ChangeStep
from davy.corpus.clean.drops import DropStep, DuplicateStep
from davy.corpus.clean.recipe import CleaningRecipe, Step, from_list

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class CleaningTask:
    """One batch and what to do with it: posts that `keep` (a file of yes and no) leaves out go first."""

    source: str
    out: str
    first: int
    last: int
    """Which steps to run: first up to, but not including, last."""
    keep: str | None = None
    compare: bool = False
    """Whether the step at `last` compares posts, and so wants its arrays written."""


@dataclass(frozen=True, slots=True)
class StepCount:
    """What one step did to one batch."""

    came: int
    dropped: int
    changed: int


def run_task(task: CleaningTask, steps: tuple[Step, ...]) -> list[StepCount]:
    """Run the steps over the task's batch, write what is left, and return what each step did."""
    import numpy as np
    import polars as pl

    posts = pl.read_ipc(task.source)
    if task.keep is not None:
        posts = posts.filter(pl.Series(np.load(task.keep)))
    counts = []
    for step in steps[task.first : task.last]:
        posts, count = run_step(posts, step)
        counts.append(count)
    if task.compare:
        step = steps[task.last]
        assert isinstance(step, DuplicateStep)
        for name, array in step.arrays(posts).items():
            np.save(f"{task.out}.{name}.npy", array)
    posts.write_ipc(task.out, compression="lz4")
    return counts


def run_step(posts: pl.DataFrame, step: Step) -> tuple[pl.DataFrame, StepCount]:
    """Return the posts after a step, and what it did."""
    if isinstance(step, ChangeStep):
        before = posts["text"]
        after = step.changed(before).alias("text")
        return posts.with_columns(after), StepCount(len(posts), 0, int((before != after).sum()))
    assert isinstance(step, DropStep)
    left = posts.filter(~step.dropped(posts))
    return left, StepCount(len(posts), len(posts) - len(left), 0)


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


def main() -> None:
    """Answer requests until stdin ends; the first line holds the recipe's steps."""
    steps = from_list(json.loads(sys.stdin.readline()))
    for line in sys.stdin:
        asked: dict[str, Any] = json.loads(line)
        print(json.dumps([asdict(count) for count in run_task(CleaningTask(**asked), steps)]), flush=True)


if __name__ == "__main__":
    main()
