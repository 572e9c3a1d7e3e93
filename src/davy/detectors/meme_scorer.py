"""A saved meme model as a scorer: posts with their pictures in, scores from picture and text together out.

Pixels come from `images`, which whoever loads the detector gives. A post without a picture has no answer. Where a post
has no text, the text on its picture is read (OCR), as the model wants both.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from davy.core.errors import UserError
from davy.core.scheme import Question
from davy.core.scorer import Abilities, Scores
from davy.detectors import folder as folders
from davy.detectors.meme_onnx import ENGINE as ONNX
from davy.detectors.meme_onnx import OnnxMemeModel, OnnxPictureReader

if TYPE_CHECKING:
    import polars as pl

    from davy.detectors.meme_model import MemeModel, PictureReader
    from davy.image.picture import Picture
    from davy.image.picture_names import Pictures

BATCH = 32


@dataclass
class MemeScorer:
    """One row of the Hateful Memes table, trained. Its image encoder is loaded with the first picture."""

    model: MemeModel | OnnxMemeModel
    pictures: PictureReader | OnnxPictureReader
    folder: Path
    manifest: folders.Manifest
    images: Pictures | None = None
    _reader: Any = field(default=None, init=False, repr=False)

    @classmethod
    def open(cls, folder: Path, manifest: folders.Manifest, images: Pictures | None = None) -> MemeScorer:
        """Return the scorer of a folder; `images` gives the picture that a post's `image` names."""
        if manifest.engine == ONNX:
            model = OnnxMemeModel.open(folder, manifest)
            return cls(model, OnnxPictureReader.open(folder, manifest), folder, manifest, images)
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
        """Return the scores of memes; posts without a picture have no answer."""
        if self.model.looks and "image" not in posts.columns:
            raise UserError(
                f"The model {self.name!r} looks at pictures, and posts have no column `image` that names them. "
                "Give one meme as --image FILE, or many with their pictures: --images DIR."
            )
        names = posts["image"].to_list() if "image" in posts.columns else [None] * len(posts)
        there = np.array([bool(name) for name in names], dtype=bool)
        rows = np.flatnonzero(there) if self.model.looks else np.arange(len(posts))
        texts = posts["text"].fill_null("").to_list()
        seen = {int(row): self._picture(str(names[row])) for row in rows if there[row]}
        said = [texts[row] or self._text_on(seen.get(int(row))) for row in rows]
        yes = np.zeros(len(posts), dtype=np.float64)
        if len(rows):
            features: Any = self.pictures.read([seen[int(row)] for row in rows]) if self.model.looks else None
            yes[rows] = self.model.probabilities(said, features)
        question = self.model.question
        place = question.label_names.index(str(question.positive))
        block = np.empty((len(posts), 2))
        block[:, place], block[:, 1 - place] = yes, 1 - yes
        answered = {question.name: there} if self.model.looks and not there.all() else {}
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
