"""A post: what somebody wrote, with or without an image, and where it came from.

One post is a `Post`. Posts in bulk are a polars frame with the columns of
`POST_COLUMNS`, plus `Q.gold` for each question that has a settled answer and
whatever else the file had. `meta` travels in frames as JSON text, so that no
two rows need the same fields; a null and an empty text are different things.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

POST_COLUMNS: tuple[str, ...] = (
    "id",
    "text",
    "lang",
    "image",
    "source",
    "licence",
    "collected_at",
    "found",
    "parent",
    "meta",
)


@dataclass(frozen=True, slots=True)
class Source:
    """Where a post was found: the corpus or platform, its licence, when, and by which rule."""

    name: str
    licence: str | None = None
    collected_at: datetime | None = None
    found: str | None = None


@dataclass(frozen=True, slots=True)
class Post:
    """One post. `image` is a key into an image folder, never bytes; `parent` is the id it was derived from."""

    id: str
    text: str
    lang: str | None = None
    image: str | None = None
    source: Source | None = None
    parent: str | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.id:
            raise ValueError("a post needs an id")
        if self.parent == self.id:
            raise ValueError(f"post {self.id!r} names itself as its parent")
