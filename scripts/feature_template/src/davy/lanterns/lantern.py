"""One lantern: a name in, a checked `Lantern` out. No I/O."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from davy.core.errors import UserError

LONGEST_NAME = 80


@dataclass(frozen=True, slots=True)
class Lantern:
    """A lantern and when it was added."""

    id: str
    name: str
    added_at: datetime


def clean_name(name: str) -> str:
    """Return a name without outer spaces; an empty or a long one is refused."""
    name = " ".join(name.split())
    if not name or len(name) > LONGEST_NAME:
        raise UserError(f"A lantern's name has 1 to {LONGEST_NAME} characters; this one has {len(name)}.")
    return name
