"""Clean a folder of Parquet shards by a recipe, on this machine or on a Ray cluster.

Shards in, shards of the same names out, with the funnel. Steps that look at one
post at a time run where the workers are. A step that compares posts sees a few
bytes of each, gathered here, so duplicates are dropped across shards as they are
within one. What lies between two steps is kept in `_scratch` of the output.
"""

from __future__ import annotations

import io
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from davy.core.errors import UserError
from davy.core.reporter import SILENT, Reporter
from davy.corpus.clean import recipe as recipes
from davy.corpus.clean.clean import add_near_duplicates, refuse_empty, save_funnel
from davy.corpus.clean.drops import DropDuplicates, DuplicateStep
from davy.corpus.clean.recipe import CleaningRecipe, from_list, name_of
from davy.corpus.clean.run import Funnel, FunnelRow
from davy.corpus.clean.worker import run_step
from davy.corpus.post_source import PostSource
from davy.engines.shards import (
    FileFolder,
    ShardSlice,
    ShardWork,
    hide_password,
    map_shards,
    open_folder,
    open_work,
    read_slice,
    subfolder,
    write_shard,
)
from davy.engines.unit_work import Engine
from davy.files.file_table import FileTable
from davy.files.post_columns import as_posts
from davy.files.yaml_objects import parameters

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]

ROWS = 100_000
"""The most rows of a unit."""
IDS = "ids"
_WORKER = "davy.corpus.clean.clean_shards:ShardCleaner"


def clean_shards(
    source: PostSource,
    out: str,
    recipe: str | CleaningRecipe = "edos",
    *,
    near: float | None = None,
    funnel: Path | None = None,
    engine: Engine | None = None,
    rows: int = ROWS,
    reporter: Reporter = SILENT,
) -> Funnel:
    """Write what a recipe leaves of every shard of a folder or URL into another; return the funnel."""
    began = time.perf_counter()
    chosen = add_near_duplicates(recipes.load(recipe) if isinstance(recipe, str) else recipe, near)
    work = open_work(source.path, out, rows)
    if any(name.endswith(".parquet") for name in work.out.names()):
        raise UserError(f"{hide_password(out)} holds shards already. Name an empty folder.")
    run = _ShardRun(work, chosen, source, engine)
    reporter.begin(f"Cleaning {len(work.units)} shards", sum(unit.rows for unit in work.units))
    try:
        done = run.run(reporter)
    finally:
        run.clear()
    reporter.end()
    result = Funnel(chosen.name, chosen.version, chosen.digest, tuple(done), time.perf_counter() - began)
    if not result.left:
        for unit in work.units:
            work.out.remove(unit.name)
    refuse_empty(result)
    if funnel is not None:
        save_funnel(result, funnel)
    return result


class _ShardRun:
    """One recipe over all units: a pass over them up to each step that compares posts, and one that writes."""

    def __init__(self, work: ShardWork, recipe: CleaningRecipe, columns: PostSource, engine: Engine | None) -> None:
        self.work, self.recipe, self.engine, self.units = work, recipe, engine, work.units
        self.scratch = open_folder(subfolder(work.out.url, "_scratch"))
        self.check_ids = not any(isinstance(step, DropDuplicates) and step.by == "id" for step in recipe.steps)
        own = {"text": columns.text, "id": columns.id, "check_ids": self.check_ids}
        self.arguments = {"steps": recipe.to_list(), **own}

    def run(self, reporter: Reporter) -> list[FunnelRow]:
        steps = self.recipe.steps
        stops = [place for place, step in enumerate(steps) if isinstance(step, DuplicateStep)]
        rows: list[FunnelRow] = []
        for first, last in zip([0, *(stop + 1 for stop in stops)], [*stops, len(steps)], strict=True):
            told = reporter if first == 0 else SILENT
            results = map_shards(
                self.work, self.units, _WORKER, self.arguments, self.engine, told, first=first, last=last
            )
            rows += _rows(self.recipe, first, results)
            if first == 0 and self.check_ids:
                self._refuse_repeats()
            if last < len(steps):
                rows.append(self._compare(steps[last]))
        return rows

    def _compare(self, step: Any) -> FunnelRow:
        """Have a step compare all posts, and leave for each unit who stays."""
        loaded = [_load_arrays(self.scratch, f"{unit.name}.arrays") for unit in self.units]
        kept = step.rows_to_keep({name: [arrays[name] for arrays in loaded] for name in loaded[0]})
        sizes = [len(arrays["is_present"]) for arrays in loaded]
        for unit, part in zip(self.units, np.split(kept, np.cumsum(sizes)[:-1]), strict=True):
            _save_arrays(self.scratch, f"{unit.name}.keep", {"keep": part})
        return FunnelRow(name_of(step), parameters(step), len(kept), len(kept) - int(kept.sum()), 0)

    def _refuse_repeats(self) -> None:
        """Raise where two posts of all shards have one id."""
        parts = [_load_arrays(self.scratch, f"{unit.name}.{IDS}")[IDS] for unit in self.units]
        hashes = np.concatenate(parts)
        order = np.argsort(hashes, kind="stable")
        same = np.flatnonzero(hashes[order][1:] == hashes[order][:-1])
        if len(same):
            ends = np.cumsum([len(part) for part in parts])
            places = [int(order[same[0]]), int(order[same[0] + 1])]
            where = [self.units[int(np.searchsorted(ends, place, side="right"))].shard for place in places]
            raise UserError(
                f"An id is there twice, in {where[0]} and {where[1]}. Ids must differ: name another column with "
                "--id-column, or drop repeats with the step drop-duplicates (by: id)."
            )

    def clear(self) -> None:
        """Remove what lay between the steps."""
        for name in self.scratch.names():
            self.scratch.remove(name)
        if "://" not in self.scratch.url and Path(self.scratch.url).is_dir():
            Path(self.scratch.url).rmdir()


class ShardCleaner:
    """Runs steps over slices of shards; made once in each working process."""

    def __init__(
        self,
        *,
        source: str,
        out: str,
        steps: list[Any],
        text: str | None,
        id: str | None,
        json_columns: list[str],
        check_ids: bool,
    ) -> None:
        self._source, self._out = open_folder(source), open_folder(out)
        self._scratch = open_folder(subfolder(out, "_scratch"))
        self._steps = from_list(steps)
        self._text, self._id, self._check_ids = text, id, check_ids
        self._json = frozenset(json_columns)

    def __call__(self, task: Mapping[str, Any]) -> list[list[int]]:
        """Run the steps from `first` up to `last` over a slice; return came, dropped and changed of each."""
        first, last = task["first"], task["last"]
        piece = ShardSlice(**{key: task[key] for key in ("shard", "start", "rows", "name")})
        posts, json_columns = self._read(piece, first)
        counts = []
        for step in self._steps[first:last]:
            posts, count = run_step(posts, step)
            counts.append([count.came, count.dropped, count.changed])
        if last == len(self._steps):
            write_shard(self._out, piece.name, posts, json_columns)
            return counts
        step = self._steps[last]
        assert isinstance(step, DuplicateStep)
        _save_arrays(self._scratch, f"{piece.name}.arrays", step.arrays(posts))
        buffer = io.BytesIO()
        posts.write_ipc(buffer, compression="lz4")
        # A name of its own for every pass: a unit that is done again must find what it read the first time.
        self._scratch.write(f"{piece.name}.{last:02}.arrow", buffer.getvalue())
        return counts

    def _read(self, piece: ShardSlice, first: int) -> tuple[pl.DataFrame, frozenset[str]]:
        """Return the slice's posts as they come to the step `first`."""
        if first:
            with self._scratch.open(f"{piece.name}.{first - 1:02}.arrow") as file:
                posts = pl.read_ipc(io.BytesIO(file.read()))
            return posts.filter(pl.Series(_load_arrays(self._scratch, f"{piece.name}.keep")["keep"])), self._json
        frame = read_slice(self._source, piece)
        table = FileTable(piece.shard, frame.lazy(), self._json, len(frame))
        made = as_posts(table, text=self._text, id=self._id, first_row=piece.start + 1)
        posts = made.frame.collect()
        if self._check_ids:
            hashes = posts["id"].hash().to_numpy()
            _save_arrays(self._scratch, f"{piece.name}.{IDS}", {IDS: hashes})
        return posts, made.json


def _rows(recipe: CleaningRecipe, first: int, results: list[list[list[int]]]) -> list[FunnelRow]:
    rows = []
    for place, each in enumerate(zip(*results, strict=True)):
        step = recipe.steps[first + place]
        came, dropped, changed = (sum(counts) for counts in zip(*each, strict=True))
        rows.append(FunnelRow(name_of(step), parameters(step), came, dropped, changed))
    return rows


def _save_arrays(folder: FileFolder, name: str, arrays: Mapping[str, Array]) -> None:
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    folder.write(f"{name}.npz", buffer.getvalue())


def _load_arrays(folder: FileFolder, name: str) -> dict[str, Array]:
    with folder.open(f"{name}.npz") as file, np.load(io.BytesIO(file.read()), allow_pickle=False) as arrays:
        return dict(arrays)
