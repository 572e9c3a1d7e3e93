"""What connectors say to the loop that listens to them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from davy.corpus.collect.records import Record


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One thing that a platform said; all None is a sign of life. `cursor` is from where to go on after it."""

    record: Record | None = None
    cursor: str | None = None
    withdrawn: str | None = None
    """The id of a post that its author deleted."""


class ConnectionDropped(Exception):
    """The connection ended or was refused for now; ask again after `wait` seconds, or when the loop thinks fit."""

    def __init__(self, why: str, wait: float | None = None) -> None:
        super().__init__(why)
        self.why, self.wait = why, wait


class PostStream(Protocol):
    """One place to listen to. `pause` is how long to wait after `events` ended well, None where that is the end."""

    platform: str
    pause: float | None

    def events(self, cursor: str | None) -> Iterator[StreamEvent]:
        """Yield what comes from the cursor on; raise `ConnectionDropped` where the connection breaks."""
        ...
