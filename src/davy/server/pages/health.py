"""Is the server well? `/healthz` for whoever keeps it running, `/readyz` for whoever sends it work."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from davy.core.errors import UserError
from davy.people.store import users
from davy.scoring.queue.detectors import Detectors
from davy.version import __version__
from davy.web.context import context_of

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
