"""What was scored in this run, so that a text that comes again is not scored again.

Keys and scores in, scores out. Bounded: the oldest blocks are forgotten first.
Keys are hashes, so no text is held.
"""

from __future__ import annotations

import hashlib
from collections import deque
from typing import TYPE_CHECKING, Any

from davy.core.scorer import Scores

if TYPE_CHECKING:
    import polars as pl


class ScoreCache:
    """Holds the scores of about the last `capacity` distinct posts, a block for each window they came in."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._blocks: deque[tuple[int, list[bytes], Scores]] = deque()
        self._at: dict[bytes, tuple[int, int]] = {}
        self._held = 0
        self._made = 0

    def __len__(self) -> int:
        return self._held

    def split(self, keys: list[bytes]) -> tuple[dict[int, tuple[int, int]], list[int]]:
        """Return where the known keys are held, by position in `keys`, and the positions of the new ones."""
        known = {i: self._at[key] for i, key in enumerate(keys) if key in self._at}
        return known, [i for i in range(len(keys)) if i not in known]

    def recalled(self, known: dict[int, tuple[int, int]]) -> tuple[list[Scores], Any]:
        """Return the scores of known posts in parts, and the positions that their rows belong to."""
        import numpy as np

        by_block: dict[int, list[tuple[int, int]]] = {}
        for position, (block, row) in known.items():
            by_block.setdefault(block, []).append((position, row))
        held = {number: scores for number, _, scores in self._blocks}
        parts = [held[number].take(np.array([row for _, row in pairs])) for number, pairs in by_block.items()]
        order = [position for pairs in by_block.values() for position, _ in pairs]
        return parts, np.array(order, dtype=np.int64)

    def keep(self, keys: list[bytes], scores: Scores) -> None:
        """Hold new scores; forget the oldest blocks where there are too many."""
        self._blocks.append((self._made, keys, scores))
        self._at.update((key, (self._made, row)) for row, key in enumerate(keys))
        self._made += 1
        self._held += len(keys)
        while self._held > self._capacity and self._blocks:
            number, old, _ = self._blocks.popleft()
            self._held -= len(old)
            for key in old:
                if self._at[key][0] == number:
                    del self._at[key]


def keys_of(posts: pl.DataFrame) -> list[bytes]:
    """Return a hash for each post of all that a scorer may look at."""
    columns = [posts[name].to_list() for name in posts.columns]
    if len(columns) == 1:
        return [hashlib.blake2b(text.encode(), digest_size=16).digest() for text in columns[0]]
    return [
        hashlib.blake2b(repr(row).encode("utf-8", "backslashreplace"), digest_size=16).digest()
        for row in zip(*columns, strict=True)
    ]
