"""Run a recipe over posts of any number: a frame that streams in, posts and a funnel out.

Posts are cut into batches that lie on disk. Runs of steps that look at one post
at a time go over the batches in several processes; a step that compares posts
sees a few bytes of each. Memory grows with those bytes alone. The funnel's rows
add up: what one step lets through is what comes to the next.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from davy.corpus.clean.drops import DuplicateStep
from davy.corpus.clean.recipe import CleaningRecipe, name_of
from davy.corpus.clean.worker import CleaningTask, StepCount, StepRunner, open_runner
from davy.files.yaml_objects import parameters

if TYPE_CHECKING:
    import polars as pl

    from davy.report.plots import Plot
    from davy.report.tables import Table

    Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class FunnelRow:
    """What one step did."""

    step: str
    parameters: Mapping[str, Any]
    came: int
    dropped: int
    changed: int

    @property
    def left(self) -> int:
        """How many posts went on."""
        return self.came - self.dropped

    @property
    def shown(self) -> str:
        """The step as people read it: its name, and the parameters that are not too long."""
        called = self.parameters.get("called")
        if called:
            return f"{self.step} ({called})"
        listed = ", ".join(_parameter_text(name, value) for name, value in self.parameters.items())
        return f"{self.step} ({listed})" if listed and len(listed) <= 40 else self.step


@dataclass(frozen=True, slots=True)
class Funnel:
    """What a recipe did, step by step."""

    recipe: str
    version: str
    digest: str
    rows: tuple[FunnelRow, ...]
    seconds: float = 0.0

    def __post_init__(self) -> None:
        for before, after in zip(self.rows, self.rows[1:], strict=False):
            if before.left != after.came:
                raise ValueError(f"{before.step} left {before.left} posts, {after.step} got {after.came}")

    def __repr__(self) -> str:
        return f"<Funnel of recipe {self.recipe} {self.version}: {self.came:,} posts came, {self.left:,} are left>"

    def _repr_html_(self) -> str:
        return self.table().html()

    @property
    def came(self) -> int:
        """How many posts came in."""
        return self.rows[0].came

    @property
    def left(self) -> int:
        """How many posts are left at the end."""
        return self.rows[-1].left

    def table(self) -> Table:
        """Return the funnel as a table, a line for each step and one for all."""
        from davy.report.tables import Column, Table

        columns = [Column("step"), *(Column(name, "count") for name in ("came", "dropped", "changed", "left"))]
        rows: list[list[Any]] = [[row.shown, row.came, row.dropped, row.changed, row.left] for row in self.rows]
        rows.append(["all", self.came, self.came - self.left, None, self.left])
        return Table.of(columns, rows, title=f"Recipe {self.recipe} {self.version}")

    def to_dict(self) -> dict[str, Any]:
        """Return the funnel as plain values."""
        steps = [
            {
                "step": row.step,
                "parameters": dict(row.parameters),
                "in": row.came,
                "dropped": row.dropped,
                "changed": row.changed,
                "out": row.left,
            }
            for row in self.rows
        ]
        values = {"recipe": self.recipe, "version": self.version, "digest": self.digest}
        return {**values, "in": self.came, "out": self.left, "seconds": round(self.seconds, 3), "steps": steps}

    def plot(self) -> Plot:
        """Return the funnel as a picture: what is left after each step."""
        from davy.report.plots import funnel

        steps = [("in", self.came)]
        for place, row in enumerate(self.rows, 1):
            steps.append((f"{place}. {row.shown}", row.left))
        return funnel(steps, title=f"Recipe {self.recipe} {self.version}: {self.came:,} → {self.left:,} posts")


def _parameter_text(name: str, value: Any) -> str:
    words = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return words if name in ("with", "of", "languages") else f"{name} {words}"


FEW = 20_000
"""Below so many posts one process does it all."""


@dataclass(frozen=True, slots=True)
class CleaningResult:
    """What a recipe left. `frames` reads the batches, which last as long as the scratch folder."""

    funnel: Funnel
    batches: tuple[Path, ...]
    keep: tuple[Array | None, ...]

    def frames(self) -> Iterator[pl.DataFrame]:
        """Yield the posts that stay, in their order; at least one frame, maybe an empty one."""
        import polars as pl

        for path, keep in zip(self.batches, self.keep, strict=True):
            posts = pl.read_ipc(path)
            yield posts if keep is None else posts.filter(pl.Series(keep))


def clean(
    frames: Iterable[pl.DataFrame],
    recipe: CleaningRecipe,
    scratch: Path,
    *,
    rows: int | None = None,
    workers: int = 1,
    progress: Callable[[int], object] | None = None,
) -> CleaningResult:
    """Return the posts that a recipe leaves, with its funnel.

    `frames` have the columns `id` and `text`; `rows` is how many posts there are, where that is known; `scratch` is
    an empty folder for the batches. `progress` hears of each batch that went through all steps up to a comparison.
    """
    begun = time.perf_counter()
    tell = progress or (lambda _: None)
    few = rows is not None and rows < FEW
    with open_runner(recipe, 1 if few else workers) as runner:
        batches: list[Path] = []
        keep: list[Array | None] = []
        done: list[FunnelRow] = []
        for first, last in _phases(recipe):
            compare = last < len(recipe.steps)
            tasks = _written(frames, scratch, first, last, compare) if first == 0 else _second_pass(
                batches, keep, first, last, compare
            )  # fmt: skip
            batches, counts = _through(runner, tasks, tell)
            done += _rows(recipe, first, counts)
            keep = [None] * len(batches)
            if compare:
                step = recipe.steps[last]
                assert isinstance(step, DuplicateStep)
                keep = _compared(step, batches)
                came = sum(len(k) for k in keep if k is not None)
                left = sum(int(k.sum()) for k in keep if k is not None)
                done.append(FunnelRow(name_of(step), parameters(step), came, came - left, 0))
    seconds = time.perf_counter() - begun
    funnel = Funnel(recipe.name, recipe.version, recipe.digest, tuple(done), seconds)
    return CleaningResult(funnel, tuple(batches), tuple(keep))


def _phases(recipe: CleaningRecipe) -> list[tuple[int, int]]:
    """Return runs of steps (first, last), each up to the next step that compares posts, or to the end."""
    stops = [place for place, step in enumerate(recipe.steps) if isinstance(step, DuplicateStep)]
    starts = [0, *(stop + 1 for stop in stops)]
    phases = list(zip(starts, [*stops, len(recipe.steps)], strict=True))
    if len(phases) > 1 and phases[-1][0] == phases[-1][1]:
        phases.pop()  # nothing comes after the last comparison: who stays is applied when posts are read
    return phases


def _written(
    frames: Iterable[pl.DataFrame], scratch: Path, first: int, last: int, compare: bool
) -> Iterator[CleaningTask]:
    """Yield a task for each batch as soon as it is on disk."""
    for number, frame in enumerate(frames):
        path = scratch / f"{number:06}-in.arrow"
        frame.rechunk().write_ipc(path, compression="lz4")
        yield CleaningTask(str(path), str(scratch / f"{number:06}-{last:02}.arrow"), first, last, None, compare)


def _second_pass(
    batches: list[Path], keep: list[Array | None], first: int, last: int, compare: bool
) -> Iterator[CleaningTask]:
    for path, stay in zip(batches, keep, strict=True):
        file = None
        if stay is not None:
            file = f"{path}.keep.npy"
            np.save(file, stay)
        yield CleaningTask(
            str(path), str(path.with_name(f"{path.name[:6]}-{last:02}.arrow")), first, last, file, compare
        )


def _through(
    runner: StepRunner, tasks: Iterator[CleaningTask], tell: Callable[[int], object]
) -> tuple[list[Path], list[list[StepCount]]]:
    """Return the batches that came out, and what each step did to each."""
    batches, counts = [], []
    for task, count in runner.run(tasks):
        Path(task.source).unlink()
        batches.append(Path(task.out))
        counts.append(count)
        if count:
            tell(count[0].came)
    return batches, counts


def _rows(recipe: CleaningRecipe, first: int, counts: list[list[StepCount]]) -> list[FunnelRow]:
    rows = []
    for place, each in enumerate(zip(*counts, strict=True)):
        step = recipe.steps[first + place]
        came, dropped, changed = (sum(getattr(c, name) for c in each) for name in ("came", "dropped", "changed"))
        rows.append(FunnelRow(name_of(step), parameters(step), came, dropped, changed))
    return rows


def _compared(step: DuplicateStep, batches: list[Path]) -> list[Array | None]:
    """Return who stays, batch by batch, after a step that compares posts."""
    start = f"{batches[0].name}."
    names = [file.name.removeprefix(start).removesuffix(".npy") for file in batches[0].parent.glob(f"{start}*.npy")]
    # Mapped, not read: a step takes what it needs into memory, and what it has used is let go.
    arrays = {name: [np.load(f"{path}.{name}.npy", mmap_mode="r") for path in batches] for name in names}
    kept = step.rows_to_keep(arrays)
    sizes = [len(part) for part in arrays["is_present"]]
    for path in batches:
        for name in names:
            Path(f"{path}.{name}.npy").unlink()
    return list(np.split(kept, np.cumsum(sizes)[:-1]))
