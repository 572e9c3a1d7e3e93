"""The cheap screen before an encoder: it clears posts that are plainly harmless, so that the encoder reads the rest.

Token ids in, which posts must be read out, with a logit of yes for each question
that the screen knows. It is a small network (`screen.onnx`) that learned to foresee
what the encoder says. A post is cleared only where every question stays below its
mark; marks are in the folder's manifest. `scripts/build_embedded/screen.py` makes it.
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

FILE = "screen.onnx"
TOKENS = 16_384
"""How many tokens, padding included, the screen reads at once."""


@dataclass(frozen=True)
class Screen:
    """A screen: the network in `session`, and the mark of each question, in the order of the network's columns."""

    questions: tuple[str, ...]
    marks: Array
    session: Any

    @classmethod
    def open(cls, folder: Path, settings: Mapping[str, Any], session: Any) -> Screen | None:
        """Return the screen of a model folder, or None where it has none; `session(path)` opens a network."""
        path = folder / FILE
        if not path.is_file():
            return None
        import numpy as np

        try:
            given = dict(settings["screen"])
            marks = np.array([float(mark) for mark in given.values()], dtype=np.float32)
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"{path} has no marks in its manifest ({error}). Export the model again.") from error
        opened = session(path)
        names = [it.name for it in (*opened.get_inputs(), *opened.get_outputs())]
        if names != ["ids", "mask", "logits"] or opened.get_outputs()[0].shape[-1] != len(marks):
            raise UserError(f"{path} has other questions than its manifest. Export the model again.")
        return cls(tuple(given), marks, opened)

    def read(self, rows: Sequence[Sequence[int]]) -> tuple[Array, Array]:
        """Return for each post whether it must be read, and the logits (posts × questions)."""
        import numpy as np

        lengths = np.array([len(row) for row in rows], dtype=np.int64)
        order = np.argsort(lengths, kind="stable")
        logits = np.empty((len(rows), len(self.marks)), dtype=np.float32)
        start = 0
        while start < len(order):
            longest = int(lengths[order[min(len(order), start + 512) - 1]])
            part = order[start : start + max(1, min(512, TOKENS // max(1, longest)))]
            ids, mask = _padded([rows[i] for i in part], int(lengths[part[-1]]))
            logits[part] = self.session.run(["logits"], {"ids": ids, "mask": mask})[0]
            start += len(part)
        read: Array = np.any(logits >= self.marks, axis=1)
        return read, logits


def screened(scorer: Scorer) -> Scorer:
    """Return a scorer as a cascade where it has a screen, else as it is."""
    return scorer.screened() if hasattr(scorer, "screened") else scorer


def _padded(rows: list[Sequence[int]], width: int) -> tuple[Array, Array]:
    import numpy as np

    lengths = np.array([len(row) for row in rows])
    mask = np.arange(max(1, width)) < lengths[:, None]
    ids = np.zeros(mask.shape, dtype=np.int64)
    ids[mask] = np.fromiter((piece for row in rows for piece in row), dtype=np.int64, count=int(lengths.sum()))
    return ids, mask.astype(np.float32)
