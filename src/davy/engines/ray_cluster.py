"""Units of work on a Ray cluster, driven by Ray Data.

Units in, results out as they are done. Only units and results travel through Ray:
a worker reads its posts from where they lie and writes them where they go, so a
row is never copied through Ray's object store. A worker that dies is started again
and its unit is done again; so is what ran on a node that is lost.
"""

from __future__ import annotations

import json
import logging
import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from davy.core.errors import UserError
from davy.core.install import install_extra
from davy.engines.unit_work import Unit, UnitRunner, WorkerClass, result_of


class RayEngine:
    """A cluster. `workers` is how many processes work, one core each (None: one for each core of the cluster)."""

    def __init__(self, workers: int | None = None) -> None:
        self._workers = workers

    def run(self, worker: WorkerClass, units: Sequence[Unit]) -> Iterator[tuple[int, Any]]:
        """Yield each unit's result as it comes."""
        import ray

        if not units:
            return
        cores = int(ray.cluster_resources().get("CPU", 0))  # type: ignore[no-untyped-call]
        if cores < 1:
            raise UserError("The Ray cluster has no cores to work with. Start its nodes with --num-cpus.")
        size = min(self._workers or cores, cores, len(units))
        rows = [{"place": place, "unit": json.dumps(unit)} for place, unit in enumerate(units)]
        answers = ray.data.from_items(rows, override_num_blocks=len(rows)).map_batches(
            _RayWorker,
            fn_constructor_args=(worker.name, dict(worker.arguments)),
            batch_size=1,
            batch_format="numpy",
            compute=ray.data.ActorPoolStrategy(size=size, max_tasks_in_flight_per_actor=2),
            num_cpus=1,
        )
        for row in answers.iter_rows():
            yield int(row["place"]), result_of(json.loads(str(row["answer"])), "A node of the cluster")


class _RayWorker:
    """What Ray makes once in each of its processes."""

    def __init__(self, name: str, arguments: dict[str, Any]) -> None:
        self._runner = UnitRunner(WorkerClass(name, arguments))

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[Any]]:
        answers = [json.dumps(self._runner.run(json.loads(str(unit)))) for unit in batch["unit"]]
        return {"place": list(batch["place"]), "answer": answers}


@contextmanager
def open_cluster(address: str | None, workers: int | None = None) -> Iterator[RayEngine]:
    """Yield the cluster at an address (`HOST:PORT` or `auto`; None starts one on this machine), left at the end."""
    try:
        import ray
        import ray.data
    except ImportError:
        raise UserError(f"--engine ray needs Ray: {install_extra('scale')}") from None
    if ray.is_initialized():
        raise UserError("This process is connected to a Ray cluster already. Call ray.shutdown() first.")
    _refuse_silent(address)
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        ray.init(address=address, include_dashboard=False if address is None else None, **_QUIET)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise UserError(
            f"No Ray cluster answers at {address}: {str(error).splitlines()[0][:200]} "
            "Start one with ray start --head, or leave --address out to work on this machine alone."
        ) from None
    try:
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        yield RayEngine(workers)
    finally:
        ray.shutdown()


def _refuse_silent(address: str | None) -> None:
    """Raise where nobody listens at `HOST:PORT`: Ray itself would ask again for minutes."""
    host, colon, port = (address or "").rpartition(":")
    if not colon or not port.isdigit() or "://" in (address or ""):
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=5).close()
    except (OSError, OverflowError) as error:
        raise UserError(
            f"No Ray cluster answers at {address}: {getattr(error, 'strerror', None) or error}. "
            "Start one with ray start --head, or leave --address out to work on this machine alone."
        ) from None


_QUIET: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR, "configure_logging": True}
