"""Work over a folder of Parquet shards: cut into units, done by an engine, results in the units' order.

A folder or URL to read and one to write in, what a worker returns for each unit out. A worker reads its rows from
where they lie and writes its shard itself; only units and results pass through here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from davy.core.reporter import SILENT, Reporter
from davy.engines import shards
from davy.engines.shards import FileFolder, ShardSlice
from davy.engines.unit_work import Engine, LocalEngine, WorkerClass


@dataclass(frozen=True, slots=True)
class ShardWork:
    """Shards to read, cut into units, and the folder in which each unit becomes a shard; columns as in the first."""

    source: FileFolder
    out: FileFolder
    units: list[ShardSlice]
    columns: list[str]
    json_columns: frozenset[str]


def open_work(source: str, out: str, rows: int) -> ShardWork:
    """Return the work from `source` to `out`, in units of at most `rows`."""
    folder, names = shards.open_shards(source)
    target = shards.open_folder(out)
    shards.require_other_folder(folder, out)
    units = shards.slices(folder, names, rows)
    return ShardWork(folder, target, units, *shards.read_columns(folder, units[0].shard))


def map_shards(
    work: ShardWork,
    units: Sequence[ShardSlice],
    worker: str,
    arguments: Mapping[str, Any],
    engine: Engine | None,
    reporter: Reporter = SILENT,
    **more: Any,
) -> list[Any]:
    """Return what a worker ("module:Class") makes of each unit, in their order; `more` goes into every unit.

    The worker is made with `source`, `out`, `json_columns` and `arguments`; without an engine, in this process.
    """
    given = {"source": work.source.url, "out": work.out.url, "json_columns": sorted(work.json_columns), **arguments}
    results: list[Any] = [None] * len(units)
    tasks = [{**asdict(unit), **more} for unit in units]
    for place, result in (engine or LocalEngine()).run(WorkerClass(worker, given), tasks):
        results[place] = result
        reporter.advance(units[place].rows)
    return results
