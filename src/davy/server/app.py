"""The web door, put together: settings in, a FastAPI app out.

The store is opened and the first detector loaded before the first request, so that a
wrong setting is one clear line at the start. Layers from outside to inside:
headers on everything, counting, other sites' pages, errors, the Host check, refusal under too much load, packing, the
body limit, routes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache, partial
from itertools import count
from pkgutil import resolve_name
from typing import Any

from anyio import to_thread
from fastapi import FastAPI
from starlette.middleware import Middleware

from davy.core.errors import UserError
from davy.core.feature import features
from davy.core.scorer import Scorer
from davy.demo import demo
from davy.detectors.cascade_screen import as_cascade
from davy.detectors.embedded import as_one_by_one
from davy.detectors.load import load
from davy.detectors.prevalence import at_prevalence
from davy.detectors.registered import load_registered
from davy.people.key_cache import KeyCache
from davy.people.passwords import check_password
from davy.people.quotas import Quotas
from davy.scoring.queue.batching import Batcher
from davy.scoring.queue.detector import Detector
from davy.scoring.queue.detectors import Detectors
from davy.scoring.queue.load_shedding import LoadShedding
from davy.scoring.queue.pictures import HeldPictures
from davy.server.api_description import describe_api
from davy.server.pages.metrics import worker_gauges
from davy.server.routers import load_routers
from davy.store import open_store
from davy.version import __version__
from davy.web import error_pages, render
from davy.web.context import Context
from davy.web.limits import Limiter
from davy.web.metrics import Metrics
from davy.web.middleware import BodyLimit, Compression, Cors, HostCheck, SecurityHeaders
from davy.web.process_counters import SharedFile
from davy.web.request_log import RequestLog
from davy.web.settings import DEMO_WORD_LIST, ServerSettings

logger = logging.getLogger("davy.serve")

STORE_SECONDS = 3
"""How often sums go to the store."""


def create_app(settings: ServerSettings) -> FastAPI:
    """Return the app; its database exists and its detector is loaded."""
    context = _context(settings)
    routers = load_routers()
    routes = [route for router in routers for route in router.routes]
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
            *([Middleware(Cors, origins=settings.cors_origins)] if settings.cors_origins else []),
            Middleware(error_pages.ErrorLayer),
            Middleware(HostCheck, allowed=settings.allowed_hosts),
            Middleware(LoadShedding, most_seconds=settings.most_wait),
            Middleware(Compression),
            Middleware(BodyLimit, limit=settings.max_body, upload=settings.max_upload, routes=routes),
        ],
    )
    app.state.context = context
    context.metrics.gauges = partial(worker_gauges, context)
    error_pages.install(app)
    for router in routers:
        app.include_router(router)
    app.openapi = partial(describe_api, app, routes)  # type: ignore[method-assign]
    return app


def _context(settings: ServerSettings) -> Context:
    def queue(scorer: Scorer) -> Batcher:
        return Batcher(scorer, largest=settings.largest_batch, most_seconds=settings.most_wait)

    def make(scorer: Scorer, **more: Any) -> Detector:
        # Strangers' posts share a batch, and must not move each other's scores.
        alone = at_prevalence(as_one_by_one(scorer, settings.threads), settings.prevalence)
        return Detector(as_cascade(alone) if settings.screen else alone, queue=queue, **more)

    pictures = HeldPictures()
    scorer = demo.scorer() if settings.model == DEMO_WORD_LIST else load(settings.model, images=pictures)
    store = open_store(settings.database, create=True)
    shared = SharedFile(settings.shared)
    load_entry = partial(load_registered, images=pictures)
    detectors = Detectors(store, make(scorer), load=load_entry, make=make, pictures=pictures)
    context = Context(
        settings=settings,
        store=store,
        templates=render.environment(),
        limiter=Limiter(shared=shared),
        metrics=Metrics(shared, worker=settings.worker),
        key_cache=KeyCache(store),
        quotas=Quotas(store, shared),
        lexicon=demo.lexicon() if settings.demo else None,
        parts=[detectors],
    )
    for feature in features():
        if feature.server_part:
            context.parts.append(resolve_name(feature.server_part)(context))
    return context


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    context: Context = app.state.context
    await to_thread.run_sync(warm_up)
    for part in context.parts:
        await part.start()
    flusher = asyncio.create_task(_flush(context), name="counters")
    try:
        yield
    finally:
        flusher.cancel()
        for part in context.parts:
            await part.stop()
        context.metrics.flush()
        for flush in _store_flushes(context):
            _flush_last(flush)
        context.store.close()


async def _flush(context: Context) -> None:
    """Write down what this process counted: every second for the others, every few seconds for the store."""
    for second in count(1):
        await asyncio.sleep(1)
        await _flush_one(context.metrics.flush)
        if second % STORE_SECONDS:
            continue
        for flush in _store_flushes(context):
            await _flush_one(flush)


def _store_flushes(context: Context) -> list[Callable[[], object]]:
    return [context.quotas.flush, *(flush for part in context.parts for flush in part.flushes())]


async def _flush_one(flush: Callable[[], object]) -> None:
    """Write down one kind of count; what goes wrong is logged, and the others and the next time still come."""
    try:
        await to_thread.run_sync(flush)
    except UserError as error:  # the database is busy or away; the sums stay for the next time
        logger.warning("can't write down what was counted: %s", error.message)
    except Exception:
        logger.exception("can't write down what was counted")


def _flush_last(flush: Callable[[], object]) -> None:
    """Write down one kind of count when the server stops; the others still come where it can't be written."""
    try:
        flush()
    except UserError as error:  # the database went away: there is nowhere left to write to
        logger.warning("what was counted last is lost: %s", error.message)


@cache
def warm_up() -> None:
    """Make the decoy hash, so that the first unknown login takes as long as the others."""
    check_password("", None)
