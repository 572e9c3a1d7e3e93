"""Which engine an action works with, by the name that the user gave."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from davy.core.errors import UserError, nearest
from davy.engines.unit_work import ENGINES, Engine, LocalEngine
from davy.files.shards import is_shards


def uses_shards(path: str, engine: str, address: str | None, workers: int | None) -> bool:
    """Return whether a run goes over shards: a folder or URL does, and everything on Ray."""
    if engine not in ENGINES:
        raise UserError(
            f"There is no engine {engine!r}; there are {', '.join(ENGINES)}.{nearest(engine, list(ENGINES))}"
        )
    if engine == "local" and (address is not None or workers is not None):
        raise UserError("--address and --workers go with --engine ray.")
    return engine == "ray" or is_shards(path)


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
