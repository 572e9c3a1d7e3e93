"""The web door, put together: settings in, a FastAPI app out.

The store is opened and the first detector loaded before the first request, so that a
wrong setting is one clear line at the start. Layers from outside to inside:
headers on everything, counting, errors, the Host check, refusal under too much load, packing, the body limit, routes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache, partial
from itertools import count
from typing import Any

from anyio import to_thread
from fastapi import FastAPI
from starlette.middleware import Middleware

from davy.core.errors import UserError
from davy.core.scorer import Scorer
from davy.demo import demo
from davy.detectors.cascade_screen import as_cascade
from davy.detectors.embedded import as_one_by_one
from davy.detectors.load import load
from davy.detectors.registered import load_registered
from davy.moderation.attribute_map import check_lexicon_kinds, load_attributes
from davy.moderation.moderation_decisions import Decider
from davy.moderation.shadow import Shadow
from davy.people.key_cache import KeyCache
from davy.people.passwords import check_password
from davy.people.quotas import Quotas
from davy.scoring.queue.batching import Batcher
from davy.scoring.queue.detector import Detector
from davy.scoring.queue.detectors import Detectors
from davy.scoring.queue.load_shedding import LoadShedding
from davy.scoring.queue.pictures import HeldPictures
from davy.server.routers import load_routers
from davy.store import open_store
from davy.text.lexicons.read import KINDS
from davy.version import __version__
from davy.web import error_pages, render
from davy.web.context import Context
from davy.web.limits import Limiter
from davy.web.metrics import Metrics
from davy.web.middleware import BodyLimit, Compression, HostCheck, RequestLog, SecurityHeaders
from davy.web.process_counters import SharedFile
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
            Middleware(error_pages.ErrorLayer),
            Middleware(HostCheck, allowed=settings.allowed_hosts),
            Middleware(LoadShedding, most_seconds=settings.most_wait),
            Middleware(Compression),
            Middleware(BodyLimit, limit=settings.max_body, upload=settings.max_upload, routes=routes),
        ],
    )
    app.state.context = context
    error_pages.install(app)
    for router in routers:
        app.include_router(router)
    return app


def _context(settings: ServerSettings) -> Context:
    pictures = HeldPictures()
    attributes, categories = load_attributes(settings.attributes), load_attributes(settings.categories)
    for named in (attributes, categories):
        check_lexicon_kinds(named, KINDS)

    def queue(scorer: Scorer) -> Batcher:
        return Batcher(scorer, largest=settings.largest_batch, most_seconds=settings.most_wait)

    def make(scorer: Scorer, **more: Any) -> Detector:
        # Strangers' posts share a batch, and must not move each other's scores.
        alone = as_one_by_one(scorer, settings.threads)
        return Detector(as_cascade(alone) if settings.screen else alone, queue=queue, **more)

    scorer = demo.scorer() if settings.model == DEMO_WORD_LIST else load(settings.model, images=pictures)
    shadow = load(settings.shadow) if settings.shadow else None
    store = open_store(settings.database, create=True)
    shared = SharedFile(settings.shared)
    load_entry = partial(load_registered, images=pictures)
    return Context(
        settings=settings,
        store=store,
        detectors=Detectors(store, make(scorer), load=load_entry, make=make),
        templates=render.environment(),
        limiter=Limiter(shared=shared),
        metrics=Metrics(shared),
        key_cache=KeyCache(store),
        quotas=Quotas(store, shared),
        decider=Decider(store),
        attributes=attributes,
        attribute_detectors={name: make(load(name)) for name in attributes.models},
        categories=categories,
        pictures=pictures,
        shadow=Shadow(store, make(shadow), keep_texts=settings.shadow_texts) if shadow is not None else None,
        lexicon=demo.lexicon() if settings.demo else None,
    )


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    context: Context = app.state.context
    await to_thread.run_sync(warm_up)
    await context.detectors.start()
    for detector in context.attribute_detectors.values():
        await detector.start()
    if context.shadow is not None:
        await context.shadow.detector.start()
    flusher = asyncio.create_task(_flush(context), name="counters")
    try:
        yield
    finally:
        flusher.cancel()
        await context.detectors.stop()
        for detector in context.attribute_detectors.values():
            await detector.stop()
        if context.shadow is not None:
            await context.shadow.stop()
        context.metrics.flush()
        try:
            context.quotas.flush()
            context.decider.flush()
        except UserError as error:  # the database went away: there is nowhere left to write to
            logger.warning("what was counted last is lost: %s", error.message)
        context.store.close()


async def _flush(context: Context) -> None:
    """Write down what this process counted: every second for the others, every few seconds for the store."""
    for second in count(1):
        await asyncio.sleep(1)
        await _flush_one(context.metrics.flush)
        if second % STORE_SECONDS:
            continue
        await _flush_one(context.quotas.flush)
        await _flush_one(context.decider.flush)
        if context.shadow is not None:
            await _flush_one(context.shadow.flush)


async def _flush_one(flush: Callable[[], object]) -> None:
    """Write down one kind of count; what goes wrong is logged, and the others and the next time still come."""
    try:
        await to_thread.run_sync(flush)
    except UserError as error:  # the database is busy or away; the sums stay for the next time
        logger.warning("can't write down what was counted: %s", error.message)
    except Exception:
        logger.exception("can't write down what was counted")


@cache
def warm_up() -> None:
    """Make the decoy hash, so that the first unknown login takes as long as the others."""
    check_password("", None)
