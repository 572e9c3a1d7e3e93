"""Is the server well? `/healthz` for whoever keeps it running, `/readyz` for whoever sends it work, `/metrics`."""

from __future__ import annotations

from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Header
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from davy.core.errors import UserError
from davy.moderation.server_part import Moderation
from davy.people.pages.visitor import key_or_session
from davy.people.store import users
from davy.scoring.queue.detectors import Detectors
from davy.version import __version__
from davy.web.context import Context, context_of
from davy.web.settings import is_loopback

router = APIRouter()


@router.get("/healthz", operation_id="healthz")
@router.head("/healthz", include_in_schema=False)
def healthz(request: Request) -> Response:
    """Return 200 where the database answers and keeps changes and the detector is ready, else 503 with what is not."""
    context = context_of(request)
    model = context.part(Detectors).default_model
    state: dict[str, Any] = {"status": "ok", "version": __version__, "database": "ok", "model": model}
    try:
        with context.store.read() as db:
            users.count(db)
        context.store.check_writable()
    except UserError as error:
        state |= {"status": "failing", "database": error.message}
    except Exception as error:  # noqa: BLE001 — whatever it is, the database does not answer
        state |= {"status": "failing", "database": type(error).__name__}
    if not context.part(Detectors).ready:
        state |= {"status": "failing", "model": None}
    return JSONResponse(state, 200 if state["status"] == "ok" else 503)


@router.get("/readyz", operation_id="readyz")
@router.head("/readyz", include_in_schema=False)
def readyz(request: Request) -> Response:
    """Return 200 where a post that comes now is scored soon, else 503: for whoever spreads requests over servers."""
    detectors = context_of(request).part(Detectors)
    if not detectors.ready:
        return JSONResponse({"status": "starting or stopping"}, 503)
    if detectors.is_full:
        return JSONResponse({"status": "busy"}, 503, {"Retry-After": "1"})
    return JSONResponse({"status": "ready", "refused": sorted(set(detectors.refused.values()))})


@router.get("/metrics")
async def metrics(request: Request, authorization: Annotated[str | None, Header()] = None) -> Response:
    """Return counters in Prometheus' text format: from this machine, or with an admin's key or session."""
    context = context_of(request)
    if not is_loopback(request.client.host if request.client else ""):
        await key_or_session("admin", "see the audit")(request, authorization)
    detectors = context.part(Detectors)
    queues = detectors.queue_counters()
    text = await to_thread.run_sync(context.metrics.text, detectors.loaded, queues, _gauges(context))
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")


def _gauges(context: Context) -> dict[str, float]:
    """Return what is true of this process now."""
    shadow = context.part(Moderation).shadow
    return {
        "davy_detectors_refused": len(context.part(Detectors).refused),
        "davy_shadow_passed_over": shadow.passed_over if shadow is not None else 0,
    }
