"""Steps of a recipe that compare posts with each other; the first of those alike stays.

They have two halves. `arrays` looks at one batch, in any process, and returns a
few bytes for each post; `kept` gets the arrays of all batches and says who stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from davy.corpus.clean.drops import require_between, require_known
from davy.text import duplicates

if TYPE_CHECKING:
    import polars as pl

    Array = np.ndarray[Any, np.dtype[Any]]
    Arrays = Mapping[str, Array]
    Parts = Mapping[str, Sequence[Array]]


class DuplicateStep:
    """A step that needs to have seen all posts."""

    def arrays(self, posts: pl.DataFrame) -> Arrays:
        """Return what is kept of a batch to compare posts by; `is_present` marks the posts that have a value."""
        raise NotImplementedError

    def rows_to_keep(self, parts: Parts) -> Array:
        """Return which posts stay, from the arrays of all batches."""
        raise NotImplementedError


@dataclass(frozen=True)
class DropDuplicates(DuplicateStep):
    """Posts whose text, or id, another one before them has. `fold` takes case and white space for equal."""

    by: str = "text"
    fold: bool = False

    def __post_init__(self) -> None:
        require_known((self.by,), ("text", "id"), "thing to compare by")

    def arrays(self, posts: pl.DataFrame) -> Arrays:
        """Return eight bytes a post."""
        import polars as pl

        texts = posts[self.by].cast(pl.String)
        return {"keys": duplicates.keys(texts, fold=self.fold), "is_present": texts.is_not_null().to_numpy()}

    def rows_to_keep(self, parts: Parts) -> Array:
        """Return which posts are the first with their text; posts without one are no duplicates."""
        kept: Array = duplicates.first_of(np.concatenate(parts["keys"])) | ~np.concatenate(parts["is_present"])
        return kept


@dataclass(frozen=True)
class DropNearDuplicates(DuplicateStep):
    """Posts that share most of their pairs of neighbouring words with one before them that stays.

    `threshold` is the Jaccard index, as estimated by MinHash; `words` neighbouring words make a feature.
    """

    threshold: float = 0.8
    words: int = 2

    def __post_init__(self) -> None:
        require_between("threshold", self.threshold, 0.3, 1)
        require_between("words", self.words, 1, 8)

    def arrays(self, posts: pl.DataFrame) -> Arrays:
        """Return the sketches of a batch."""
        made = duplicates.sketch(posts["text"], self.threshold, words=self.words)
        return {"bands": made.bands, "bits": made.bits, "is_present": posts["text"].is_not_null().to_numpy()}

    def rows_to_keep(self, parts: Parts) -> Array:
        """Return which posts are like none before them that stays; posts without a text are like none."""
        is_present = np.concatenate(parts["is_present"])
        bands = (np.concatenate(band) for band in zip(*parts["bands"], strict=True))
        pairs = duplicates.near_pairs(bands, np.concatenate(parts["bits"]), self.threshold)
        kept: Array = duplicates.keep_first(pairs, len(is_present)) | ~is_present
        return kept
