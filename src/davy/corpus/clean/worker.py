"""Run the steps that look at one post at a time over one batch; also a process of its own that does so on request.

A batch is an Arrow file. A request is one line of JSON on stdin, the answer one
line on stdout: how many posts each step dropped and changed. Processes and not
threads, because telling languages holds Python's lock.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from davy.corpus.clean.changes import ChangeStep
from davy.corpus.clean.drops import DropStep
from davy.corpus.clean.duplicate_steps import DuplicateStep
from davy.corpus.clean.recipe import from_list
from davy.corpus.clean.steps import Step

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


def main() -> None:
    """Answer requests until stdin ends; the first line holds the recipe's steps."""
    steps = from_list(json.loads(sys.stdin.readline()))
    for line in sys.stdin:
        asked: dict[str, Any] = json.loads(line)
        print(json.dumps([asdict(count) for count in run_task(CleaningTask(**asked), steps)]), flush=True)


if __name__ == "__main__":
    main()
