"""What one running server holds: settings, store, counters, and a part of each feature that needs one.

Made once by `create_app`, found by request. A feature's part is asked for by its type: `context.part(Detectors)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from anyio import CapacityLimiter
from jinja2 import Environment
from starlette.requests import Request

from davy.people.key_cache import KeyCache
from davy.people.quotas import Quotas
from davy.store import Store
from davy.text.lexicons.read import Lexicon
from davy.text.mask import mask
from davy.web.limits import Limiter
from davy.web.metrics import Metrics
from davy.web.settings import ServerSettings

ANSWERING_AT_ONCE = 4
"""Threads of a process that save answers: more would take Python's one lock from each other in mid-transaction."""


class ServerPart:
    """What a feature adds to a running server. A feature's `server_part` makes it, the server starts and stops it."""

    async def start(self) -> None:
        """Begin to work, in the running event loop."""

    async def stop(self) -> None:
        """Finish what was begun."""

    def flushes(self) -> Iterable[Callable[[], object]]:
        """Return what writes down what this process counted: each is called every few seconds and after `stop`."""
        return ()


Part = TypeVar("Part", bound=ServerPart)


@dataclass(frozen=True, slots=True)
class Context:
    """The parts that pages use. Nothing here is global: two apps in one process don't meet."""

    settings: ServerSettings
    store: Store
    templates: Environment
    limiter: Limiter
    metrics: Metrics
    key_cache: KeyCache
    quotas: Quotas
    answering: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(ANSWERING_AT_ONCE))
    lexicon: Lexicon | None = None
    """What is masked; None is the shipped lexicon."""
    parts: list[ServerPart] = field(default_factory=list)
    """The features' parts, in the features' order."""

    def part(self, kind: type[Part]) -> Part:
        """Return the part of this type."""
        for part in self.parts:
            if isinstance(part, kind):
                return part
        raise LookupError(f"no feature has put a {kind.__name__} into this server")

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
