"""A meme model in ONNX, run without torch: texts and pictures in, probabilities out.

The folder holds `model.onnx` (token ids and, for a model that looks, one vector a picture; one logit out), the
tokenizer, and `picture.onnx`, the image encoder (RGB bytes in, one vector a cell out). `davy export` writes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from davy.core.errors import UserError
from davy.core.scheme import Question
from davy.image.picture import Picture
from davy.models import folder as folders
from davy.models.encoder import TextTokenizer
from davy.models.image_features import pixel_array
from davy.models.onnx import open_session, open_tokenizer

ENGINE = "meme-onnx"
PICTURE_GRAPH = "picture.onnx"
BATCH = 16


class OnnxPictureReader:
    """What makes one vector of a picture: the mean over its cells. The graph is loaded with the first picture."""

    def __init__(self, path: Path, side: int) -> None:
        self.path, self.side = path, side
        self._session: Any = None

    def cells(self, pictures: Sequence[Picture], side: int) -> np.ndarray:
        """Return one vector a cell (n, cells, width) in 16 bits, as a network learnt from them."""
        self._session = self._session or open_session(self.path)
        pixels = np.stack([pixel_array(picture, side) for picture in pictures])
        grids: np.ndarray = self._session.run(None, {"pixels": pixels})[0]
        return grids.astype(np.float16)

    def read(self, pictures: Sequence[Picture]) -> np.ndarray:
        """Return (n, width)."""
        parts = [self.cells(pictures[i : i + BATCH], self.side) for i in range(0, len(pictures), BATCH)]
        cells: np.ndarray = np.concatenate(parts).astype(np.float32)
        means: np.ndarray = cells.mean(1)
        return means.astype(np.float16).astype(np.float32)


@dataclass(frozen=True)
class OnnxMemeModel:
    """The graph of a trained row with its tokenizer and the question that it answers."""

    session: Any
    reading: TextTokenizer
    question: Question
    looks: bool
    temperature: float = 1.0

    @classmethod
    def open(cls, folder: Path, manifest: folders.Manifest) -> OnnxMemeModel:
        """Return the model of a folder whose files were checked."""
        session = open_session(folder / "model.onnx")
        tokenizer, pad = open_tokenizer(folder)
        reading = TextTokenizer(tokenizer, int(manifest.settings["max_length"]), pad)
        question = manifest.questions[0]
        looks = "picture" in {given.name for given in session.get_inputs()}
        if looks and not (folder / PICTURE_GRAPH).is_file():
            raise UserError(f"{folder} has no {PICTURE_GRAPH}. Export the model again.")
        return cls(session, reading, question, looks, float(manifest.temperatures.get(question.name, 1.0)))

    def logits(self, texts: Sequence[str], pictures: np.ndarray | None) -> np.ndarray:
        """Return one logit a meme; `pictures` are in the order of the texts. Each meme is read by itself."""
        out = np.zeros(len(texts), np.float32)
        for place, ids in enumerate(self.reading.ids(texts)):
            tokens = np.array([ids], np.int64)
            feed: dict[str, np.ndarray] = {"input_ids": tokens, "attention_mask": np.ones_like(tokens)}
            if pictures is not None:
                feed["picture"] = pictures[place : place + 1]
            out[place] = self.session.run(["logit"], feed)[0][0, 0]
        return out

    def probabilities(self, texts: Sequence[str], pictures: np.ndarray | None) -> np.ndarray:
        """Return each meme's probability of yes."""
        return np.asarray(1 / (1 + np.exp(-self.logits(texts, pictures) / self.temperature)), np.float32)
