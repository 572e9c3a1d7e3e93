"""The cheap screen before an encoder: it clears posts that are plainly harmless, so that the encoder reads the rest.

Token ids in, which posts are cleared out, with a probability of yes for each
question that the screen knows. It adds a weight for each word piece and each pair
of neighbours; a post is cleared only where every question stays below its mark.
A post with a piece that the screen was told to leave alone (emoji, unknown words)
is never cleared. Made by `scripts/build_embedded/screen.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from davy.core.errors import UserError

if TYPE_CHECKING:
    import numpy as np

    from davy.core.scorer import Scorer

    Array = np.ndarray[Any, np.dtype[Any]]

FILE = "screen.npz"
_FACTORS = (0x9E3779B1, 0x85EBCA77)


@dataclass(frozen=True)
class Screen:
    """Weights of a screen: `pieces` and `pairs` have a column for each question, `wary` is yes for pieces to read."""

    questions: tuple[str, ...]
    marks: Array
    bias: Array
    pieces: Array
    pairs: Array
    wary: Array

    @classmethod
    def open(cls, folder: Path, settings: Mapping[str, Any]) -> Screen | None:
        """Return the screen of a model folder, or None where it has none."""
        if not (folder / FILE).is_file():
            return None
        import numpy as np

        try:
            marks: dict[str, float] = dict(settings["screen"])
            with np.load(folder / FILE, allow_pickle=False) as arrays:
                held = dict(arrays)
            pieces, pairs = (held[name].astype(np.float32) for name in ("pieces", "pairs"))
            screen = cls(
                questions=tuple(marks),
                marks=np.array(list(marks.values()), dtype=np.float32),
                bias=held["bias"].astype(np.float32),
                pieces=pieces,
                pairs=pairs,
                wary=held["wary"].astype(bool),
            )
        except (KeyError, TypeError, ValueError, OSError) as error:
            raise UserError(f"{folder / FILE} does not fit its manifest ({error}). Export the model again.") from error
        if {len(marks), screen.pieces.shape[1], screen.pairs.shape[1]} != {len(screen.bias)}:
            raise UserError(f"{folder / FILE} has other questions than its manifest. Export the model again.")
        return screen

    def read(self, rows: Sequence[Sequence[int]]) -> tuple[Array, Array]:
        """Return for each post whether it must be read, and the logits (posts × questions)."""
        import numpy as np

        lengths = np.array([len(row) for row in rows], dtype=np.int64)
        ids = np.fromiter((piece for row in rows for piece in row), dtype=np.int64, count=int(lengths.sum()))
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        logits = (self._summed(ids, starts) / np.sqrt(np.maximum(lengths, 1))[:, None] + self.bias).astype(np.float32)
        wary = np.logical_or.reduceat(self.wary[ids], starts) if len(ids) else np.zeros(len(rows), dtype=bool)
        return wary | (logits >= self.marks).any(axis=1), logits

    def _summed(self, ids: Array, starts: Array) -> Array:
        """Return the sum of the weights of each post's pieces and pairs; the pair across two posts counts for none."""
        import numpy as np

        weights = self.pieces[ids]
        joins = pair_places(ids[:-1], ids[1:], len(self.pairs))
        found = self.pairs[joins]
        found[starts[1:] - 1] = 0
        weights[1:] += found
        return np.add.reduceat(weights, starts, axis=0)


def pair_places(first: Array, second: Array, buckets: int) -> Array:
    """Return where each pair of neighbouring pieces is kept; two pairs may share a place."""
    import numpy as np

    mixed = first.astype(np.uint64) * np.uint64(_FACTORS[0]) + second.astype(np.uint64) * np.uint64(_FACTORS[1])
    mixed ^= mixed >> np.uint64(15)
    return (mixed % np.uint64(buckets)).astype(np.int64)


def screened(scorer: Scorer) -> Scorer:
    """Return a scorer as a cascade where it has a screen, else as it is."""
    return scorer.screened() if hasattr(scorer, "screened") else scorer
