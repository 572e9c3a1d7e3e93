"""A saved meme model as a scorer: posts with their pictures in, scores from picture and text together out.

Pixels come from `images`, which whoever loads the detector gives. A post without a picture has no answer. If a post has
no text, the text on its picture is read (OCR), as the model wants both. A folder that `davy export` wrote runs without
torch: it holds `model.onnx` (token ids and, for a model that looks, one vector a picture, cell or region; one logit
out), the tokenizer, `picture.onnx`, the image encoder (RGB bytes in, one vector a cell out), and `boxes.onnx`, which
finds regions, for a model that looks at them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from davy.core.errors import UserError
from davy.core.scheme import Question
from davy.core.scorer import Abilities, Scores
from davy.detectors import folder as folders
from davy.detectors.encoder import TextTokenizer
from davy.detectors.image_features import WHOLE, box_weights, pixel_array
from davy.detectors.object_boxes import BoxFinder
from davy.detectors.onnx import open_session, open_tokenizer
from davy.image.perceptual_hash import pdq
from davy.image.picture import Picture

if TYPE_CHECKING:
    import polars as pl

    from davy.detectors.meme_model import MemeModel, PictureReader
    from davy.detectors.neighbour_model import NeighbourModel
    from davy.image.picture_names import Pictures


ENGINE = "meme-onnx"
PICTURE_GRAPH = "picture.onnx"
BOX_GRAPH = "boxes.onnx"
PICTURES_AT_ONCE = 16
LEAST_DETAIL = 5
"""PDQ's quality below which a picture is plain; `davy split --plan memes` leaves such memes out, too."""


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
        parts = [
            self.cells(pictures[i : i + PICTURES_AT_ONCE], self.side) for i in range(0, len(pictures), PICTURES_AT_ONCE)
        ]
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


BATCH = 32


@dataclass
class MemeScorer:
    """One row of the Hateful Memes table, trained. Its image encoder is loaded with the first picture."""

    model: MemeModel | OnnxMemeModel | NeighbourModel
    pictures: PictureReader | OnnxPictureReader | NeighbourModel
    folder: Path
    manifest: folders.Manifest
    images: Pictures | None = None
    _reader: Any = field(default=None, init=False, repr=False)

    @classmethod
    def open(cls, folder: Path, manifest: folders.Manifest, images: Pictures | None = None) -> MemeScorer:
        """Return the scorer of a folder; `images` gives the picture that a post's `image` names."""
        if manifest.engine == ENGINE:
            model = OnnxMemeModel.open(folder, manifest)
            return cls(model, OnnxPictureReader.open(folder, manifest), folder, manifest, images)
        if manifest.engine == "meme-neighbours":
            from davy.detectors.neighbour_model import NeighbourModel

            model_with_memes = NeighbourModel.open(folder, manifest)
            return cls(model_with_memes, model_with_memes, folder, manifest, images)
        from davy.detectors.meme_model import MemeModel, PictureReader

        trained = MemeModel.open(folder, manifest)
        return cls(trained, PictureReader(trained.preset, trained.device), folder, manifest, images)

    @property
    def name(self) -> str:
        """The folder's own name."""
        return self.manifest.name

    @property
    def version(self) -> str:
        """The manifest's version."""
        return self.manifest.version

    @property
    def questions(self) -> tuple[Question, ...]:
        """The one question of the model."""
        return (self.model.question,)

    @property
    def abilities(self) -> Abilities:
        """Whether it looks at pictures; leaving words out explains the text's part alone."""
        own = folders.abilities(self.folder, self.manifest)
        return replace(own, images=self.model.looks, with_images=self._with_images, batch_size=BATCH)

    def score(self, posts: pl.DataFrame) -> Scores:
        """Return the scores of memes; posts without a picture have no answer, nor has a blank one without text."""
        if self.model.looks and "image" not in posts.columns:
            raise UserError(
                f"The model {self.name!r} looks at pictures, and posts have no column `image` that names them. "
                "Give one meme as --image FILE, or many with their pictures: --images DIR."
            )
        names = posts["image"].to_list() if "image" in posts.columns else [None] * len(posts)
        there = np.array([bool(name) for name in names], dtype=bool)
        asked = there if self.model.looks else np.ones(len(posts), dtype=bool)
        texts = posts["text"].fill_null("").to_list()
        seen = {int(row): self._picture(str(names[row])) for row in np.flatnonzero(asked & there)}
        said = [text or self._text_on(seen.get(row)) for row, text in enumerate(texts)]
        shows = np.array(
            [bool(said[row]) or (self.model.looks and _has_detail(seen.get(row))) for row in range(len(said))]
        )
        asked = asked & (shows | ~there)
        rows = np.flatnonzero(asked)
        yes = np.zeros(len(posts), dtype=np.float64)
        if len(rows):
            features: Any = self.pictures.read([seen[int(row)] for row in rows]) if self.model.looks else None
            yes[rows] = self.model.probabilities([said[row] for row in rows], features)
        question = self.model.question
        place = question.label_names.index(str(question.positive))
        block = np.empty((len(posts), 2))
        block[:, place], block[:, 1 - place] = yes, 1 - yes
        answered = {} if asked.all() else {question.name: asked}
        return Scores((question,), {question.name: block}, dict(self.manifest.thresholds), answered=answered)

    def _with_images(self, images: Pictures) -> MemeScorer:
        other = copy(self)  # the networks are shared, not loaded again
        other.images = images
        return other

    def _picture(self, name: str) -> Picture:
        if self.images is None:
            raise UserError(f"The model {self.name!r} looks at pictures. Say where they are: --images FOLDER.")
        return self.images(name)

    def _text_on(self, picture: Picture | None) -> str:
        if picture is None:
            return ""
        from davy.image import ocr

        self._reader = self._reader or ocr.reader()
        return ocr.text_of(ocr.read_lines(picture, self._reader))


def _has_detail(picture: Picture | None) -> bool:
    """Return whether a picture shows anything: one of a single colour does not."""
    return picture is not None and pdq(picture.image)[1] >= LEAST_DETAIL
