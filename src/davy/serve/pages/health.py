"""Is the server well? `/healthz` for whoever keeps it running, `/metrics` for Prometheus."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from davy.serve.context import context_of
from davy.serve.settings import is_loopback
from davy.serve.visitor import key_or_session
from davy.store import users
from davy.version import __version__

router = APIRouter()


@router.get("/healthz", operation_id="healthz")
@router.head("/healthz", include_in_schema=False)
def healthz(request: Request) -> Response:
    """Return 200 where the database answers and the default detector is ready, else 503 with what is not."""
    context = context_of(request)
    model = context.detectors.default_model
    state: dict[str, Any] = {"status": "ok", "version": __version__, "database": "ok", "model": model}
    try:
        with context.store.read() as db:
            users.count(db)
    except Exception as error:  # noqa: BLE001 — whatever it is, the database does not answer
        state |= {"status": "failing", "database": type(error).__name__}
    if not context.detectors.ready:
        state |= {"status": "failing", "model": None}
    return JSONResponse(state, 200 if state["status"] == "ok" else 503)


@router.get("/metrics")
def metrics(request: Request, authorization: Annotated[str | None, Header()] = None) -> Response:
    """Return counters in Prometheus' text format: from this machine, or with an admin's key or session."""
    context = context_of(request)
    if not is_loopback(request.client.host if request.client else ""):
        key_or_session("admin", "see the audit")(request, authorization)
    text = context.metrics.text(context.detectors.loaded)
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")
