"""Tell in which of the detectors' languages a text of a few words is, offline.

A text in, log odds of each language out. Models of all the world's languages take two German words for anything: this
one knows only the languages it has learnt, from runs of one to six words (`scripts/build_embedded/short_languages.py`).
Its weights are those of hashed character n-grams, so that the file holds no words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from zlib import crc32

import numpy as np

from davy.text.normalise import tidy

FILE = "short_language.npz"
LONGEST_NGRAM = 5
BUCKETS = 2**15
SHORT = 8
"""Texts of fewer words are short. Of longer ones the model of all languages is right about 998 in a thousand."""
FEWEST_LETTERS = 3
"""Texts with fewer letters are of no language."""
SURE = 1.5
"""Log odds from which on a text is said to be in a language."""
_WORD = re.compile(r"[^\W\d_]+")
_NOT_LATIN = re.compile(r"[^\W\d_a-zß-öø-ɏ]")


def words_of(text: str) -> list[str]:
    """Return a text's words in small letters, without emoji, digits and punctuation."""
    return _WORD.findall((text if text.isascii() else tidy(text, one_line=True)).lower())


def ngram_buckets(words: Iterable[str]) -> list[int]:
    """Return the bucket of every character n-gram of the words, a space before and after each word."""
    buckets = []
    for word in words:
        padded = f" {word} "
        for size in range(1, LONGEST_NGRAM + 1):
            for start in range(len(padded) - size + 1):
                buckets.append(crc32(padded[start : start + size].encode()) % BUCKETS)
    return buckets


def is_short(words: Sequence[str]) -> bool:
    """Return whether the model can be asked about a text's words: few, in Latin letters."""
    letters = "".join(words)
    return len(words) < SHORT and len(letters) >= FEWEST_LETTERS and not _NOT_LATIN.search(letters)


@dataclass(frozen=True)
class ShortLanguageModel:
    """A linear model over hashed n-grams, counts divided by their length as a vector."""

    languages: tuple[str, ...]
    weights: np.ndarray
    """(BUCKETS, languages)"""
    bias: np.ndarray

    def log_odds(self, words: Iterable[str]) -> dict[str, float]:
        """Return each language's log odds against the others, of a text's words."""
        buckets, counts = np.unique(ngram_buckets(words), return_counts=True)
        logits = counts @ self.weights[buckets] / np.sqrt((counts**2).sum()) + self.bias
        shares = np.exp(logits - logits.max())
        shares = np.clip(shares / shares.sum(), 1e-9, 1 - 1e-9)
        return dict(zip(self.languages, np.log(shares / (1 - shares)).tolist(), strict=True))

    def language(self, words: Iterable[str]) -> str:
        """Return the language of a text's words; nothing where that is in doubt."""
        odds = self.log_odds(words)
        best = max(odds, key=lambda lang: odds[lang])
        return best if odds[best] >= SURE else ""

    def save(self, path: Path) -> None:
        """Write the model in eight bits a weight."""
        scale = np.abs(self.weights).max() / 127
        codes = np.round(self.weights / scale).astype(np.int8)
        np.savez_compressed(path, languages=np.array(self.languages), weights=codes, scale=scale, bias=self.bias)


@cache
def load_short_language_model() -> ShortLanguageModel:
    """Return the model that ships."""
    with resources.as_file(resources.files("davy.text") / FILE) as path, np.load(path, allow_pickle=False) as arrays:
        weights = arrays["weights"].astype(np.float32) * np.float32(arrays["scale"])
        return ShortLanguageModel(tuple(arrays["languages"].tolist()), weights, arrays["bias"])
