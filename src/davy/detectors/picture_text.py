"""`ocr:MODEL`: a detector of texts that reads what stands on pictures, too.

A post's text with the text on its picture below it goes to MODEL. Pixels come from `images`, which whoever loads the
detector gives: a folder, or a project's pictures.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from davy.core.errors import UserError
from davy.core.scorer import Abilities, Scorer, Scores
from davy.detectors.calibrated import WrappingScorer

if TYPE_CHECKING:
    import polars as pl

    from davy.detectors.model_name import ModelName
    from davy.image.picture_names import Pictures


@dataclass
class PictureText(WrappingScorer):
    """Reads pictures, then asks another scorer. The reader's networks are loaded with the first picture."""

    scorer: Scorer
    images: Pictures
    _reader: Any = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """The scorer's name, marked."""
        return f"ocr:{self.scorer.name}"

    @property
    def abilities(self) -> Abilities:
        """The scorer's, without its folder and its screen, which know nothing of pictures."""
        return replace(
            self.scorer.abilities,
            images=True,
            with_images=lambda images: replace(self, images=images),
            cascade=None,
            cascaded=False,
            parallel=False,
            folder=None,
            data_hash=None,
        )

    def score(self, posts: pl.DataFrame) -> Scores:
        """Return the scores of posts with what stands on their pictures."""
        import polars as pl

        if "image" not in posts.columns:
            return self.scorer.score(posts)
        rows = zip(posts["text"], posts["image"], strict=True)
        texts = [self._joined(text or "", image) for text, image in rows]
        return self.scorer.score(posts.with_columns(pl.Series("text", texts, pl.String)))

    def _joined(self, text: str, image: str | None) -> str:
        from davy.image import ocr

        if not image:
            return text
        self._reader = self._reader or ocr.reader()
        found = ocr.text_of(ocr.read_lines(self.images(image), self._reader))
        return "\n".join(part for part in (text, found) if part)


def load_picture_text(asked: ModelName) -> PictureText:
    """Return the scorer that a name such as `ocr:embedded` describes."""
    from davy.detectors.load import DEFAULT, load

    if asked.images is None:
        raise UserError(f"Model {asked.name!r} reads pictures. Say where they are: --images FOLDER.")
    return PictureText(load(asked.argument or DEFAULT, read=asked.read, images=asked.images), asked.images)
