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
from davy.detectors.token_batches import TokenRows

if TYPE_CHECKING:
    import numpy as np

    from davy.core.scorer import Scorer

    Array = np.ndarray[Any, np.dtype[Any]]

FILE = "screen.onnx"
TOKENS = 2048
"""What the screen makes of so many tokens stays in a core's cache."""


@dataclass(frozen=True)
class Screen:
    """A screen: the network in `session`, and the mark of each question, in the order of the network's columns.

    `tokens` is how many tokens, padding included, it reads at once; 1 is post by post.
    """

    questions: tuple[str, ...]
    marks: Array
    session: Any
    tokens: int = TOKENS

    @classmethod
    def open(cls, folder: Path, settings: Mapping[str, Any], session: Any) -> Screen | None:
        """Return the screen of a model folder, or None where it has none; `session(path)` opens a network."""
        path = folder / FILE
        if not path.is_file():
            return None
        questions, marks = thresholds_of(path, settings, "screen")
        opened = session(path)
        names = [it.name for it in (*opened.get_inputs(), *opened.get_outputs())]
        if names != ["ids", "mask", "logits"] or opened.get_outputs()[0].shape[-1] != len(marks):
            raise UserError(f"{path} has other questions than its manifest. Export the model again.")
        return cls(questions, marks, opened)

    def read(self, rows: TokenRows | Sequence[Sequence[int]]) -> tuple[Array, Array]:
        """Return for each post whether it must be read, and the logits (posts × questions)."""
        import numpy as np

        rows = rows if isinstance(rows, TokenRows) else TokenRows.of(rows)
        logits = np.empty((len(rows), len(self.marks)), dtype=np.float32)
        for batch in rows.batches(np.arange(len(rows)), tokens=self.tokens):
            ids, mask = rows.padded(batch, 0)
            logits[batch] = self.session.run(["logits"], {"ids": ids, "mask": mask.astype(np.float32)})[0]
        read: Array = np.any(logits >= self.marks, axis=1)
        return read, logits


def thresholds_of(path: Path, settings: Mapping[str, Any], name: str) -> tuple[tuple[str, ...], Array]:
    """Return the questions under `name` in a manifest's settings, and the mark of each; `path` is what they are for."""
    import numpy as np

    try:
        given = dict(settings[name])
        return tuple(given), np.array([float(threshold) for threshold in given.values()], dtype=np.float32)
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{path} has no marks in its manifest ({error}). Export the model again.") from error


def as_cascade(scorer: Scorer) -> Scorer:
    """Return a scorer with its screen in front, or as it is where it has none."""
    cascade = scorer.abilities.cascade
    return scorer if cascade is None else cascade()
