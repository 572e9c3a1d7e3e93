"""What is known of memes' pictures before a split: which memes are of low quality, and which pictures are alike.

Posts and their pictures in; for each post a reason to leave it out (or None) and a hash of its picture out. The hash is
of the middle of the picture: a meme's text stands at its edges, so the same picture under other words has a near hash.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from davy.core.answers import gold_of_labels
from davy.core.errors import UserError
from davy.image.perceptual_hash import MIN_QUALITY, pdq, without_text

if TYPE_CHECKING:
    import polars as pl

    from davy.image.picture_names import Pictures

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class QualityRule:
    """What a meme needs to be in any part. `min_detail` is PDQ's quality, 0 for a plain ground to 100."""

    min_side: int = 64
    min_words: int = 1
    min_detail: int = 5


@dataclass(frozen=True, slots=True)
class PictureFacts:
    """What pictures showed, one row a post: `key` is "" where a post has no picture that can be read."""

    key: tuple[str, ...]
    problem: tuple[str | None, ...]
    """Why a picture can't be used, None where it can."""
    side: Array
    """The shorter side in pixels."""
    detail: Array
    hashes: Array
    """(n, 32) bytes."""

    @property
    def comparable(self) -> Array:
        """The rows whose hash means something: plain pictures have none that does."""
        return np.flatnonzero(self.detail >= MIN_QUALITY)

    def take(self, rows: list[int]) -> PictureFacts:
        """Return the facts of some rows."""
        keys, problems = tuple(self.key[row] for row in rows), tuple(self.problem[row] for row in rows)
        return PictureFacts(keys, problems, self.side[rows], self.detail[rows], self.hashes[rows])


def read_picture_facts(
    names: list[str | None], pictures: Pictures, progress: Callable[[], None] = lambda: None
) -> PictureFacts:
    """Return what the pictures of posts show; each file is read once, whatever number of posts name it."""
    known: dict[str, tuple[str, str | None, int, int, Array]] = {}
    for name in names:
        if name and name not in known:
            known[name] = _look(name, pictures)
        progress()
    nothing = ("", "no picture", 0, 0, np.zeros(32, dtype=np.uint8))
    rows = [known[name] if name else nothing for name in names]
    keys, problems, sides, details, hashes = zip(*rows, strict=True) if rows else ((), (), (), (), ())
    return PictureFacts(
        keys, problems, np.array(sides, dtype=np.int64), np.array(details, dtype=np.int64),
        np.array(hashes, dtype=np.uint8).reshape(len(rows), 32),
    )  # fmt: skip


def _look(name: str, pictures: Pictures) -> tuple[str, str | None, int, int, Array]:
    try:
        picture = pictures(name)
    except UserError:
        return "", "its picture is missing or can't be read", 0, 0, np.zeros(32, dtype=np.uint8)
    _, detail = pdq(picture.image)
    middle, _ = pdq(without_text(picture.image))
    return picture.key, None, min(picture.image.size), detail, middle


def low_quality(posts: pl.DataFrame, rule: QualityRule, facts: PictureFacts | None) -> list[str | None]:
    """Return for each post why it is left out, or None. Without facts, pictures are only names."""
    import polars as pl

    texts = posts["text"].cast(pl.String).fill_null("").to_list()
    images = posts["image"].to_list() if "image" in posts.columns else [""] * len(posts)
    gold = gold_of_labels(posts.columns)
    answers = posts.select(gold).rows() if gold else [()] * len(posts)
    first: dict[tuple[str, str], int] = {}
    reasons: list[str | None] = []
    for row, text in enumerate(texts):
        reason = _text_reason(text, rule) or (_picture_reason(facts, row, rule) if facts else None)
        if reason is None and images[row] is None:
            reason = "no picture"
        same = (facts.key[row] if facts else str(images[row]), " ".join(text.casefold().split()))
        if reason is None and (before := first.setdefault(same, row)) != row:
            reason = "repeats an earlier meme"
            if answers[before] != answers[row]:
                reason = reasons[before] = "the same meme has two different answers"
        reasons.append(reason)
    return reasons


def _text_reason(text: str, rule: QualityRule) -> str | None:
    return "no text" if len(text.split()) < rule.min_words else None


def _picture_reason(facts: PictureFacts, row: int, rule: QualityRule) -> str | None:
    if facts.problem[row]:
        return facts.problem[row]
    if facts.side[row] < rule.min_side:
        return f"its picture is smaller than {rule.min_side} pixels"
    return "its picture is plain" if facts.detail[row] < rule.min_detail else None
