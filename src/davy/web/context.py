"""What one running server holds: settings, store, detectors, counters. Made once by `create_app`, passed by request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from anyio import CapacityLimiter
from jinja2 import Environment
from starlette.requests import Request

from davy.moderation.attribute_map import AttributeMap
from davy.moderation.moderation_decisions import Decider
from davy.moderation.shadow import Shadow
from davy.people.key_cache import KeyCache
from davy.people.quotas import Quotas
from davy.scoring.queue.detector import Detector
from davy.scoring.queue.detectors import Detectors
from davy.scoring.queue.pictures import HeldPictures
from davy.store import Store
from davy.text.lexicons.read import Lexicon
from davy.text.mask import mask
from davy.web.limits import Limiter
from davy.web.metrics import Metrics
from davy.web.settings import ServerSettings

ANSWERING_AT_ONCE = 4
"""Threads of a process that save answers: more would take Python's one lock from each other in mid-transaction."""


@dataclass(frozen=True, slots=True)
class Context:
    """The parts that pages use. Nothing here is global: two apps in one process don't meet."""

    settings: ServerSettings
    store: Store
    detectors: Detectors
    templates: Environment
    limiter: Limiter
    metrics: Metrics
    key_cache: KeyCache
    quotas: Quotas
    decider: Decider
    attributes: AttributeMap
    """What Perspective's attributes mean here."""
    categories: AttributeMap
    """What the categories of OpenAI's moderation mean here."""
    attribute_detectors: Mapping[str, Detector] = field(default_factory=dict)
    """The detectors that the file of attributes names, by their name there."""
    pictures: HeldPictures = field(default_factory=HeldPictures)
    shadow: Shadow | None = None
    answering: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(ANSWERING_AT_ONCE))
    lexicon: Lexicon | None = None
    """What is masked; None is the shipped lexicon."""

    def link(self, path: str) -> str:
        """Return a whole address, as people get it sent: of a path that begins with a slash."""
        return self.settings.base_url.rstrip("/") + path

    def mask(self, text: str) -> str:
        """Return a text as a page shows it first."""
        return mask(text, self.lexicon)


def context_of(request: Request) -> Context:
    """Return the context of the app that a request came to."""
    context: Context = request.app.state.context
    return context
