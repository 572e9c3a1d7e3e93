"""A meme model in ONNX, run without torch: texts and pictures in, probabilities out.

The folder holds `model.onnx` (token ids and, for a model that looks, one vector a picture, cell or region; one logit
out), the tokenizer, `picture.onnx`, the image encoder (RGB bytes in, one vector a cell out), and `boxes.onnx`, which
finds regions, for a model that looks at them. `davy export` writes it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from davy.core.errors import UserError
from davy.core.scheme import Question
from davy.detectors import folder as folders
from davy.detectors.box_graph import BoxFinder
from davy.detectors.encoder import TextTokenizer
from davy.detectors.image_features import WHOLE, box_weights, pixel_array
from davy.detectors.onnx import open_session, open_tokenizer
from davy.image.picture import Picture

ENGINE = "meme-onnx"
PICTURE_GRAPH = "picture.onnx"
BOX_GRAPH = "boxes.onnx"
BATCH = 16


@dataclass(frozen=True)
class SeenPictures:
    """Pictures as a graph takes them: one vector each (n, width), or several (n, k, width) with or without boxes."""

    vectors: np.ndarray
    boxes: np.ndarray | None = None

    def feed(self, place: int) -> dict[str, np.ndarray]:
        """Return one picture as inputs of the graph."""
        given = {"picture": self.vectors[place : place + 1]}
        return given if self.boxes is None else {**given, "boxes": self.boxes[place : place + 1]}


class OnnxPictureReader:
    """What makes vectors of a picture: one, a few cells, or regions. Graphs are loaded with the first picture."""

    def __init__(self, path: Path, side: int, *, cells: int = 1, regions: int = 0) -> None:
        self.path, self.side, self.count, self.regions = path, side, cells, regions
        self._finder = BoxFinder(path.with_name(BOX_GRAPH))
        self._session: Any = None

    @classmethod
    def open(cls, folder: Path, manifest: folders.Manifest) -> OnnxPictureReader:
        """Return the reader of a folder; one whose manifest does not say looks at the whole picture."""
        given = {name: int(manifest.settings[name]) for name in ("cells", "regions") if name in manifest.settings}
        return cls(folder / PICTURE_GRAPH, int(manifest.settings["side"]), **given)

    def cells(self, pictures: Sequence[Picture], side: int) -> np.ndarray:
        """Return one vector a cell (n, cells, width) in 16 bits, as a network learnt from them."""
        self._session = self._session or open_session(self.path)
        pixels = np.stack([pixel_array(picture, side) for picture in pictures])
        grids: np.ndarray = self._session.run(None, {"pixels": pixels})[0]
        return grids.astype(np.float16)

    def read(self, pictures: Sequence[Picture]) -> SeenPictures:
        """Return what the model sees of pictures."""
        if self.regions:
            return self._regions(pictures)
        parts = [self.cells(pictures[i : i + BATCH], self.side) for i in range(0, len(pictures), BATCH)]
        cells: np.ndarray = np.concatenate(parts).astype(np.float32)
        means = _halved(averaging(cells.shape[1], self.count) @ cells)
        return SeenPictures(means[:, 0] if self.count == 1 else means)

    def _regions(self, pictures: Sequence[Picture]) -> SeenPictures:
        found = [[WHOLE, *self._finder.find(picture, self.regions - 1)] for picture in pictures]
        boxes = np.array([each + [WHOLE] * (self.regions - len(each)) for each in found], np.float32)
        vectors = []
        for picture, places in zip(pictures, boxes, strict=True):
            grid = self.cells([picture], 2 * self.side).astype(np.float32)
            vectors.append(_halved(box_weights(places[None], math.isqrt(grid.shape[1])) @ grid))
        return SeenPictures(np.concatenate(vectors), boxes)


def averaging(cells: int, wanted: int) -> np.ndarray:
    """Return the matrix (wanted, cells) that averages a square grid to a smaller one, whose cells may overlap."""
    side, new = math.isqrt(cells), math.isqrt(wanted)
    along = np.zeros((new, side), np.float32)
    for place in range(new):
        first, end = place * side // new, -(-(place + 1) * side // new)
        along[place, first:end] = 1 / (end - first)
    return np.kron(along, along)


def _halved(vectors: np.ndarray) -> np.ndarray:
    """Return vectors as a network learnt from them, which were kept in 16 bits."""
    return vectors.astype(np.float16).astype(np.float32)


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
        wanted = [PICTURE_GRAPH] * looks + [BOX_GRAPH] * bool(manifest.settings.get("regions"))
        for name in wanted:
            if not (folder / name).is_file():
                raise UserError(f"{folder} has no {name}. Export the model again.")
        return cls(session, reading, question, looks, float(manifest.temperatures.get(question.name, 1.0)))

    def logits(self, texts: Sequence[str], pictures: SeenPictures | None) -> np.ndarray:
        """Return one logit a meme; `pictures` are in the order of the texts. Each meme is read by itself."""
        out = np.zeros(len(texts), np.float32)
        for place, ids in enumerate(self.reading.ids(texts)):
            tokens = np.array([ids], np.int64)
            feed: dict[str, np.ndarray] = {"input_ids": tokens, "attention_mask": np.ones_like(tokens)}
            if pictures is not None:
                feed |= pictures.feed(place)
            out[place] = self.session.run(["logit"], feed)[0][0, 0]
        return out

    def probabilities(self, texts: Sequence[str], pictures: SeenPictures | None) -> np.ndarray:
        """Return each meme's probability of yes."""
        return np.asarray(1 / (1 + np.exp(-self.logits(texts, pictures) / self.temperature)), np.float32)
