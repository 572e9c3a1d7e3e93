"""Is the server well? `/healthz` for whoever keeps it running, `/readyz` for whoever sends it work.

Neither needs a key, so neither tells where the database is: that is in the log.
"""

from __future__ import annotations

import logging
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from davy.core.errors import UserError
from davy.people.store import users
from davy.scoring.queue.detectors import Detectors, trouble_of
from davy.version import __version__
from davy.web.context import context_of

router = APIRouter()

logger = logging.getLogger("davy.serve")


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
        logger.warning("unwell: %s", error.message)
        state |= {"status": "failing", "database": "disk full" if trouble_of(error) == "disk" else "failing"}
    except Exception as error:  # noqa: BLE001 — whatever it is, the database does not answer
        logger.warning("unwell: the database raised %s", type(error).__name__)
        state |= {"status": "failing", "database": "failing"}
    if not context.part(Detectors).ready:
        state |= {"status": "failing", "model": None}
    return JSONResponse(state, 200 if state["status"] == "ok" else 503)


@router.get("/readyz", operation_id="readyz")
@router.head("/readyz", include_in_schema=False)
async def readyz(request: Request) -> Response:
    """Return 200 where a post that comes now is scored soon, else 503: for whoever spreads requests over servers.

    While the database or the disk fails, posts of the keys that this process knows are scored: `degraded` says so.
    """
    context = context_of(request)
    detectors = context.part(Detectors)
    if not detectors.ready:
        return JSONResponse({"status": "starting or stopping"}, 503)
    if detectors.is_full:
        return JSONResponse({"status": "busy"}, 503, {"Retry-After": "1"})
    degraded = [detectors.trouble] if detectors.trouble else []
    if "database" in degraded and not context.key_cache.knows_any():
        return JSONResponse({"status": "no key can be checked", "degraded": degraded}, 503)
    refused = sorted(set(detectors.refused.values()))
    return JSONResponse({"status": "ready", "degraded": degraded, "refused": refused})
