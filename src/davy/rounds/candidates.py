"""The candidates for the next target: architectures × how emoji are read × how often this round's entries count.

Names in, a grid of candidates out. Earlier rounds keep the multipliers that they were given when they were closed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from davy.core.errors import UserError, nearest

EMOJI: tuple[str, ...] = ("tokens", "names", "leave")
"""Each emoji a token of its own; its Unicode name in words, as BERTweet reads it; as the tokenizer finds it."""
TIMES: tuple[int, ...] = (1, 5, 10, 100)
"""How often an entry of the round stands in an epoch: the paper's multipliers."""
BASE = "tfidf"
"""The architecture of the base install: n-grams and a regression, which train in seconds without torch."""
MOST_TIMES = 1000


@dataclass(frozen=True, slots=True)
class Candidate:
    """One model to try: `tfidf`, or an encoder by folder or hub name."""

    architecture: str
    emoji: str
    times: int

    @property
    def kind(self) -> str:
        """What `davy train` calls it."""
        return BASE if self.architecture == BASE else "transformer"

    @property
    def name(self) -> str:
        """What tables call it."""
        return f"{Path(self.architecture).name}, emoji {self.emoji}, ×{self.times}"

    @property
    def slug(self) -> str:
        """What its folder is called."""
        plain = re.sub(r"[^a-z0-9]+", "-", Path(self.architecture).name.lower()).strip("-")
        return f"{plain}-{self.emoji}-{self.times}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return asdict(self)


def make_grid(
    architectures: Sequence[str], emoji: Sequence[str] = EMOJI, times: Sequence[int] = TIMES
) -> tuple[Candidate, ...]:
    """Return every combination, the plainest first. N-grams hold emoji as they are, so `tfidf` is tried one way."""
    for way in emoji:
        if way not in EMOJI:
            raise UserError(f"Emoji are read as {', '.join(EMOJI)}, not as {way!r}.{nearest(way, list(EMOJI))}")
    for each in times:
        if not 1 <= each <= MOST_TIMES:
            raise UserError(f"A round can count 1 to {MOST_TIMES} times, not {each}.")
    if not architectures or not emoji or not times:
        raise UserError(
            "A round is closed with one candidate at least: an architecture, a way to read emoji, a factor."
        )
    grid = tuple(
        Candidate(architecture, way, each)
        for architecture in dict.fromkeys(architectures)
        for way in (("leave",) if architecture == BASE else tuple(dict.fromkeys(emoji)))
        for each in dict.fromkeys(times)
    )
    slugs = [candidate.slug for candidate in grid]
    if len(set(slugs)) < len(slugs):
        raise UserError("Two architectures have the same last name. Name folders whose last parts differ.")
    return grid
