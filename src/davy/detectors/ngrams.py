"""Texts as counts of hashed pieces: character n-grams and words, with TF-IDF weights.

Texts in, a sparse table out (rows, buckets, values). All in numpy, on the whole
batch at once, and the same in training and at run time, so that a trained model
needs no vocabulary file and no scikit-learn.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from davy.core.errors import UserError

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

_WORD = re.compile(r"\b\w\w+\b")
_GAP = re.compile(r"\s+")
_ODD = 0x9E3779B97F4A7C15
_STEP = 0x100000001B3
LONGEST = 20_000
"""Characters of a text that are read: a megabyte in one post says no more than its first pages."""


@dataclass(frozen=True)
class NgramHasher:
    """What a text is cut into: character n-grams and runs of words of these lengths, hashed into 2**bits buckets."""

    characters: tuple[int, int] = (2, 5)
    words: tuple[int, int] = (1, 2)
    bits: int = 18

    def __post_init__(self) -> None:
        for name, lengths in (("characters", self.characters), ("words", self.words)):
            if len(lengths) != 2 or not all(isinstance(it, int) and 0 <= it <= 100 for it in lengths):
                raise UserError(f"The {name} of a piece are two lengths, such as (2, 5), not {lengths!r}.")
        if not 1 <= self.bits <= 40:
            raise UserError(f"Pieces are hashed into 2**{self.bits} buckets; 1 to 40 bits.")

    def counts(self, texts: list[str]) -> tuple[Array, Array, Array]:
        """Return row, bucket and count for each piece that a text holds, sorted by row."""
        import numpy as np

        codes, rows = _codes(texts)
        found: list[Array] = []
        with np.errstate(over="ignore"):
            mixed = _mix(codes.astype(np.uint64) + np.uint64(1))
            for n in range(self.characters[0], self.characters[1] + 1):
                found.append(self._keys(*_grams(mixed, rows, n), salt=n))
            hashes, places = _words(mixed, codes, rows)
            for n in range(self.words[0], self.words[1] + 1):
                found.append(self._keys(*_grams(hashes, places, n), salt=100 + n))
        keys, counts = np.unique(np.concatenate(found), return_counts=True)
        return (
            (keys >> np.uint64(self.bits)).astype(np.int64),
            (keys & np.uint64(2**self.bits - 1)).astype(np.int64),
            counts,
        )

    def _keys(self, hashes: Array, rows: Array, *, salt: int) -> Array:
        """Return row and bucket of each piece as one number."""
        import numpy as np

        buckets = _mix(hashes + np.uint64(salt) * np.uint64(_ODD)) >> np.uint64(64 - self.bits)
        keys: Array = (rows.astype(np.uint64) << np.uint64(self.bits)) | buckets
        return keys


@dataclass(frozen=True)
class NumberedWords:
    """The most frequent words of the texts at hand, numbered by the alphabet; other texts have other words.

    So a model learns that column 7 is one word and later reads another there. It is what a vectoriser does that is
    fitted again on the posts to score: a mistake, here to show what it costs.
    """

    most: int = 100

    @property
    def bits(self) -> int:
        """How many bits a column's number has."""
        return (self.most - 1).bit_length()

    def counts(self, texts: list[str]) -> tuple[Array, Array, Array]:
        """Return row, column and count for each frequent word that a text holds, sorted by row."""
        import numpy as np

        words = [Counter(_WORD.findall(text[:LONGEST].lower())) for text in texts]
        total: Counter[str] = Counter()
        for each in words:
            total.update(each)
        columns = {word: i for i, word in enumerate(sorted(word for word, _ in total.most_common(self.most)))}
        found = [(row, columns[w], n) for row, each in enumerate(words) for w, n in each.items() if w in columns]
        table = np.array(sorted(found), dtype=np.int64).reshape(-1, 3)
        return table[:, 0], table[:, 1], table[:, 2]


def inverse_frequencies(buckets: Array, size: int, n: int) -> Array:
    """Return how rare each bucket is among n texts: ln((1 + n) / (1 + df)) + 1."""
    import numpy as np

    return np.log((1 + n) / (1 + np.bincount(buckets, minlength=size))) + 1


def weigh(rows: Array, buckets: Array, counts: Array, rarity: Array, n: int) -> Array:
    """Return TF-IDF values: (1 + ln count) × rarity, each row scaled to length 1."""
    import numpy as np

    values = (1 + np.log(counts)) * rarity[buckets]
    length = np.sqrt(np.bincount(rows, weights=values**2, minlength=n))
    return np.asarray(values / np.where(length > 0, length, 1)[rows])


def _codes(texts: list[str]) -> tuple[Array, Array]:
    """Return the code points of all texts, lower case, single spaces around words, and the row of each."""
    import numpy as np

    folded = [f" {_GAP.sub(' ', text[:LONGEST].lower()).strip()} " for text in texts]
    codes = np.frombuffer("".join(folded).encode("utf-32-le", "replace"), dtype=np.uint32)
    return codes, np.repeat(np.arange(len(texts)), [len(text) for text in folded])


def _grams(hashes: Array, rows: Array, n: int) -> tuple[Array, Array]:
    """Return a hash for each run of n neighbours in one row, and its row."""
    import numpy as np

    if len(hashes) < n:
        return hashes[:0], rows[:0]
    last = len(hashes) - n + 1
    total = np.zeros(last, dtype=np.uint64)
    for k in range(n):
        total = total * np.uint64(_STEP) + hashes[k : k + last]
    same = rows[:last] == rows[n - 1 :]
    return total[same], rows[:last][same]


def _words(mixed: Array, codes: Array, rows: Array) -> tuple[Array, Array]:
    """Return a hash for each word, and its row. A word is a run of anything but spaces."""
    import numpy as np

    inside = codes != ord(" ")
    starts = np.flatnonzero(inside & ~np.concatenate([[False], inside[:-1]]))
    if not len(starts):
        return mixed[:0], rows[:0]
    # Every folded text starts with a space, so the first word never starts at 0.
    place = np.arange(len(codes)) - np.repeat(
        np.append(0, starts), np.diff(np.concatenate([[0], starts, [len(codes)]]))
    )
    spread = np.where(inside, mixed * _mix(place.astype(np.uint64) + np.uint64(7)), np.uint64(0))
    return np.add.reduceat(spread, starts), rows[starts]


def _mix(values: Array) -> Array:
    """Return 64-bit numbers whose every bit depends on all bits of the values."""
    import numpy as np

    with np.errstate(over="ignore"):
        mixed = values * np.uint64(_ODD)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(mixed ^ (mixed >> np.uint64(31)))
