"""Which engine an action works with, by the name that the user gave."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from davy.core.errors import UserError, nearest
from davy.engines.shards import is_shards
from davy.engines.unit_work import ENGINES, Engine, LocalEngine
from davy.files.formats import STDIO, names_format


def uses_shards(path: str, out: str, engine: str, address: str | None, workers: int | None) -> bool:
    """Return whether a run goes from shards to shards: on Ray always, else from a folder or URL to a folder or URL.

    A folder that is written to one file (`--out scored.csv`) is read as one table.
    """
    if engine not in ENGINES:
        raise UserError(
            f"There is no engine {engine!r}; there are {', '.join(ENGINES)}.{nearest(engine, list(ENGINES))}"
        )
    if engine == "local" and (address is not None or workers is not None):
        raise UserError("--address and --workers go with --engine ray.")
    to_folder = "://" in out or (out != STDIO and not names_format(out))
    return engine == "ray" or "://" in path or (is_shards(path) and to_folder)


@contextmanager
def open_engine(engine: str, address: str | None = None, workers: int | None = None) -> Iterator[Engine]:
    """Yield the engine of this name; a cluster is left when the block ends."""
    if workers is not None and workers < 1:
        raise UserError(f"--workers is {workers}; give at least 1.")
    if engine == "local":
        yield LocalEngine()
        return
    from davy.engines.ray_cluster import open_cluster

    with open_cluster(address, workers) as cluster:
        yield cluster
