"""The web door, put together: settings in, a FastAPI app out.

The store is opened and the first detector loaded before the first request, so that a
wrong setting is one clear line at the start. Layers from outside to inside:
headers on everything, counting, errors, the Host check, the body limit, routes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache

from anyio import to_thread
from fastapi import FastAPI
from starlette.middleware import Middleware

from davy.models.load import load
from davy.serve import demo, error_pages, render
from davy.serve.context import Context
from davy.serve.detector import Detector
from davy.serve.detectors import Detectors
from davy.serve.headers import BodyLimit, HostCheck, SecurityHeaders
from davy.serve.limits import Limiter
from davy.serve.metrics import Metrics
from davy.serve.pages import ROUTERS
from davy.serve.request_log import RequestLog
from davy.serve.settings import ServerSettings
from davy.serve.shared import SharedFile
from davy.store import open_store
from davy.store.passwords import check_password
from davy.version import __version__


def create_app(settings: ServerSettings) -> FastAPI:
    """Return the app; its database exists and its detector is loaded."""
    scorer = demo.scorer() if settings.model == demo.WORD_LIST else load(settings.model)
    store = open_store(settings.database, create=True)
    shared = SharedFile(settings.shared)
    context = Context(
        settings=settings,
        store=store,
        detectors=Detectors(store, Detector(scorer)),
        templates=render.environment(),
        limiter=Limiter(shared=shared),
        metrics=Metrics(shared),
        lexicon=demo.lexicon() if settings.demo else None,
    )
    app = FastAPI(
        title="Davy",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        lifespan=_lifespan,
        middleware=[
            Middleware(SecurityHeaders, https=settings.https),
            Middleware(RequestLog, metrics=context.metrics),
            Middleware(error_pages.ErrorLayer),
            Middleware(HostCheck, allowed=settings.allowed_hosts),
            Middleware(BodyLimit, limit=settings.max_body, upload=settings.max_upload),
        ],
    )
    app.state.context = context
    error_pages.install(app)
    for router in ROUTERS:
        app.include_router(router)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    context: Context = app.state.context
    await to_thread.run_sync(_warm_up)
    await context.detectors.start()
    flusher = asyncio.create_task(_flush_metrics(context.metrics), name="metrics")
    try:
        yield
    finally:
        flusher.cancel()
        await context.detectors.stop()
        context.metrics.flush()
        context.store.close()


async def _flush_metrics(metrics: Metrics) -> None:
    """Let the other processes of the server know every second what this one counted."""
    while True:
        await asyncio.sleep(1)
        await to_thread.run_sync(metrics.flush)


@cache
def _warm_up() -> None:
    """Make the decoy hash, so that the first unknown login takes as long as the others."""
    check_password("", None)
