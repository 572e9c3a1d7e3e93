"""`/metrics`: what the server did and does, for Prometheus. One process answers for all of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from anyio import to_thread
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from davy.core.errors import UserError
from davy.jobs import store as jobs
from davy.moderation.server_part import Moderation
from davy.people.pages.visitor import key_or_session
from davy.scoring.queue.detectors import Detectors
from davy.store.columns import now
from davy.version import __version__
from davy.web.context import Context, context_of
from davy.web.metrics import Gauge
from davy.web.settings import is_loopback

router = APIRouter()


@router.get("/metrics", operation_id="metrics")
async def metrics(request: Request) -> Response:
    """Return counters in Prometheus' text format: from this machine, with a key of the scope metrics, or a session."""
    if not is_loopback(request.client.host if request.client else ""):
        await key_or_session("metrics", "see metrics")(request)
    text = await to_thread.run_sync(_text, context_of(request))
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")


def _text(context: Context) -> str:
    try:
        gauges = [("davy_build_info", {"version": __version__}, 1), *_job_gauges(context)]
    except UserError:  # the database is away: what the processes counted is still told
        gauges = []
    return context.metrics.text(gauges)


def _job_gauges(context: Context) -> Iterator[Gauge]:
    with context.store.read() as db:
        counts, oldest = jobs.counts_by_state(db), jobs.oldest_due(db)
    for state in ("waiting", "running", "failed"):
        yield "davy_jobs", {"state": state}, counts.get(state, 0)
    yield "davy_job_waiting_seconds", {}, round((now() - oldest).total_seconds(), 1) if oldest is not None else 0


def worker_gauges(context: Context) -> Iterator[Gauge]:
    """Yield what is true of this process now."""
    detectors, moderation = context.part(Detectors), context.part(Moderation)
    yield "davy_worker_up", {}, 1
    yield "davy_worker_memory_bytes", {}, memory_bytes()
    for model in detectors.loaded:
        yield "davy_model_info", {"model": str(model["name"]), "version": str(model["version"])}, 1
    queues = [
        *detectors.queue_counters(),
        *((it.full_name, it.counters) for it in moderation.attribute_detectors.values()),
    ]
    for model_name, counters in queues:
        for what, n in counters.items():
            yield "davy_queue", {"model": model_name, "what": what}, n
    yield "davy_detectors_refused", {}, len(detectors.refused)
    yield "davy_shadow_passed_over", {}, moderation.shadow.passed_over if moderation.shadow is not None else 0


def memory_bytes() -> int:
    """Return the memory that this process has in use; 0 where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
