"""Moderation's part of a running server: what attributes mean here, the communities' decisions, and the shadow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from davy.core.scorer import Scores
from davy.detectors.load import load
from davy.moderation.attribute_map import check_lexicon_kinds, load_attributes
from davy.moderation.moderation_decisions import Decider
from davy.moderation.shadow import Shadow
from davy.people.store.keys import ApiKey
from davy.scoring.queue.detector import Detector, PostToScore
from davy.scoring.queue.detectors import Detectors
from davy.scoring.queue.request_scoring import PostDecider
from davy.text.lexicons.read import KINDS
from davy.web.context import Context


class Moderation(PostDecider):
    """Made before the first request, so that a wrong file of attributes is one clear line at the start."""

    def __init__(self, context: Context) -> None:
        settings, make = context.settings, context.part(Detectors).make
        self.attributes = load_attributes(settings.attributes)
        """What Perspective's attributes mean here."""
        self.categories = load_attributes(settings.categories)
        """What the categories of OpenAI's moderation mean here."""
        for named in (self.attributes, self.categories):
            check_lexicon_kinds(named, KINDS)
        self.attribute_detectors = {name: make(load(name)) for name in self.attributes.models}
        """The detectors that the file of attributes names, by their name there."""
        self.decider = Decider(context.store, attributes=self.attributes)
        self.shadow: Shadow | None = None
        if settings.shadow:
            self.shadow = Shadow(context.store, make(load(settings.shadow)), keep_texts=settings.shadow_texts)

    async def start(self) -> None:
        """Open the queues of its detectors."""
        for detector in self._detectors():
            await detector.start()

    async def stop(self) -> None:
        """Answer what waits in its queues."""
        if self.shadow is not None:
            await self.shadow.finish()
        for detector in self._detectors():
            await detector.stop()

    def flushes(self) -> Iterable[Callable[[], object]]:
        """Return what writes down decisions, and the shadow's sums."""
        return (self.decider.flush, *([self.shadow.flush] if self.shadow is not None else []))

    def decide(
        self,
        detector: Detector,
        posts: Sequence[PostToScore],
        scores: Scores,
        *,
        community: str | None,
        key: ApiKey | None,
        references: Sequence[str | None],
        may_store: bool,
    ) -> tuple[Scores, list[str | None]]:
        """Return what the community decides; the shadow gets the same posts."""
        if self.shadow is not None:
            self.shadow.offer(detector, posts, scores, store_text=may_store)
        return self.decider.decide(
            detector, posts, scores, community=community, key=key, references=references, may_store=may_store
        )

    def _detectors(self) -> list[Detector]:
        return [*self.attribute_detectors.values(), *([self.shadow.detector] if self.shadow is not None else [])]
