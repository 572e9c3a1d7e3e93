"""Keys that find near duplicates of one text among many, small enough to be kept in a database.

A text in; one key for equal texts and some bands for similar ones out. Two texts of the likeness `LEAST` share a band
in 99 of 100 cases; whoever finds one compares with `likeness`. The keys are the same in every version and process.
"""

from __future__ import annotations

import hashlib
import random
import re
from itertools import pairwise

from davy.text import emoji

LEAST = 0.8
"""From this likeness on, two texts are near duplicates."""
BANDS, ROWS = 21, 6
"""At the likeness 0.8 a band of six agrees with probability 0.26, one of 21 of them with 0.998."""
SHORT = range(5, 13)
"""Texts of so many words and emoji are near duplicates, too, where a single one of them differs."""
_WORD = re.compile(r"[^\W_]+")
_PRIME = (1 << 61) - 1
_CHANCE = random.Random(20_230_507)  # noqa: S311 — part of the keys: another seed would find nothing that is stored
_FACTORS = [(_CHANCE.randrange(1, _PRIME), _CHANCE.randrange(_PRIME)) for _ in range(BANDS * ROWS)]


def equal_key(text: str) -> str:
    """Return a key that texts share which differ only in case and white space."""
    return hashlib.sha256(" ".join(text.casefold().split()).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def bands(text: str) -> list[str]:
    """Return the keys of which similar texts share at least one."""
    features = [int.from_bytes(hashlib.blake2b(pair.encode(), digest_size=7).digest()) for pair in _pairs(text)]
    least = [min((factor * one + shift) % _PRIME for one in features) for factor, shift in _FACTORS]
    rows = (least[start : start + ROWS] for start in range(0, len(least), ROWS))
    return [f"{place:02}{_hash(row)}" for place, row in enumerate(rows)] + _short_keys(text)


def differ_in_one(one: str, other: str) -> bool:
    """Return whether two short texts differ in one word or emoji: put in, left out, or another."""
    return bool(set(_short_keys(one)) & set(_short_keys(other)))


def _short_keys(text: str) -> list[str]:
    """Return a key of a short text's words and emoji, and one without each of them; none of a longer text."""
    words = _words(text)
    if len(words) not in SHORT:
        return []
    left_out = [words, *(words[:place] + words[place + 1 :] for place in range(len(words)))]
    return list(dict.fromkeys(f"s{_hash(each)}" for each in left_out))


def _hash(row: list[int] | list[str]) -> str:
    return hashlib.blake2b(repr(row).encode(), digest_size=6).hexdigest()


def likeness(one: str, other: str) -> float:
    """Return which part of the pairs of neighbouring words, emoji among them, two texts share: 0 to 1."""
    first, second = _pairs(one), _pairs(other)
    return len(first & second) / len(first | second)


def _pairs(text: str) -> set[str]:
    """Return pairs of neighbouring words; the first word has nothing before it, and a text without words is one."""
    return {f"{before} {word}" for before, word in pairwise(["", *_words(text)])} or {text.strip()}


def _words(text: str) -> list[str]:
    words: list[str] = []
    for piece, is_emoji in emoji.split(text.casefold()):
        words += [emoji.plain(piece)] if is_emoji else _WORD.findall(piece)
    return words
