"""The exit within an encoder: it clears posts that come out plainly harmless after a few layers.

Posts that a screen did not clear in; a logit of yes for each question of the exit out,
and the states of those that must be read on. The encoder is in two files, `exit.onnx`
(its first layers and a small head that foresees the last layer's answer) and
`rest.onnx`. Neither holds a matrix of the encoder: both point into `model.onnx`, so
what goes on scores as without an exit. `scripts/build_embedded/network_split.py` writes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from davy.core.errors import UserError
from davy.detectors.cascade_screen import thresholds_of
from davy.detectors.folder import Manifest
from davy.detectors.token_batches import TokenRows

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

FIRST, REST, WHOLE = "exit.onnx", "rest.onnx", "model.onnx"
OF = "of"
"""Under this name both parts say which network they point into: the SHA-256 of its file."""
TOKENS = 2048
"""How many tokens, padding included, go through the first layers before the rest go on: what waits takes room."""


@dataclass(frozen=True)
class EarlyExit:
    """An exit: both parts of the network, and the mark of each question, in the order of the head's columns."""

    questions: tuple[str, ...]
    marks: Array
    first: Any
    rest: Any

    @classmethod
    def open(cls, folder: Path, manifest: Manifest, session: Callable[[Path], Any]) -> EarlyExit | None:
        """Return the exit of a model folder, or None where it has none; `session(path)` opens a network."""
        path = folder / FIRST
        if not path.is_file():
            return None
        questions, marks = thresholds_of(path, manifest.settings, "exit")
        first, rest = session(path), session(folder / REST)
        names = [{it.name: it.shape[-1] for it in part.get_outputs()} for part in (first, rest)]
        inputs = [{it.name for it in part.get_inputs()} for part in (first, rest)]
        if (
            names[0].get("logits") != len(marks)
            or "states" not in names[0]
            or inputs != [{"input_ids", "attention_mask"}, {"states", "attention_mask"}]
        ):
            raise UserError(f"{path} does not fit its manifest. Export the model again.")
        for part in (first, rest):
            # Its matrices lie at certain bytes of that file; in another one there is something else.
            if part.get_modelmeta().custom_metadata_map.get(OF) != manifest.files.get(WHOLE):
                raise UserError(
                    f"{path} belongs to another {WHOLE}. Cut the network again or remove {FIRST} and {REST}."
                )
        return cls(questions, marks, first, rest)

    def enter(self, rows: TokenRows, places: Array, *, padding: int, tokens: int) -> tuple[Array, Array, TokenRows]:
        """Return the places whose posts must be read on, the logits of all places, and the states of those read on.

        Logits are in the order of `places`, of which there is at least one; states are rows in the order of the places
        that come back.
        """
        import numpy as np

        logits = np.empty((len(rows), len(self.marks)), dtype=np.float32)
        kept, states = [], []
        for batch in rows.batches(places, tokens=tokens):
            ids, mask = rows.padded(batch, padding)
            feed = {"input_ids": ids, "attention_mask": mask.astype(np.int64)}
            logits[batch], after = self.first.run(["logits", "states"], feed)
            on = np.any(logits[batch] >= self.marks, axis=1)
            kept.append(batch[on])
            # The network keeps tokens position by position; rows are post by post.
            apart = after.reshape(*mask.shape[::-1], -1).transpose(1, 0, 2)
            states.append(apart[mask & on[:, None]])
        order = np.concatenate(kept)
        lengths = rows.lengths[order]
        return order, logits[places], TokenRows(np.concatenate(states), np.cumsum(lengths) - lengths, lengths)

    def read_on(self, states: TokenRows, names: Sequence[str], *, tokens: int) -> Iterator[tuple[Array, list[Array]]]:
        """Yield places among these states and, for each name, the network's output there."""
        import numpy as np

        for batch in states.batches(np.arange(len(states)), tokens=tokens):
            vectors, mask = states.padded(batch, 0)
            yield batch, self.rest.run(list(names), {"states": vectors, "attention_mask": mask.astype(np.int64)})
