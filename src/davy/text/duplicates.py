"""Exact and near duplicates among many texts, with memory of some bytes a text.

Texts in, small arrays out: a key of eight bytes for equality, and a MinHash
sketch for similarity, which is the Jaccard index of the pairs of neighbouring
words. Sketches are made a batch at a time, by any process; comparing them sorts
one band's keys at a time, so that cost grows with the number of texts and not
with its square.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import polars as pl

    Array = np.ndarray[Any, np.dtype[Any]]

PERMUTATIONS = 128
TOKEN = r"[\p{L}\p{M}\p{N}]+|\p{Extended_Pictographic}|\p{Regional_Indicator}"  # noqa: S105
"""What counts as a word; emoji do, punctuation and case do not."""
RECALL = 0.99
"""The share of pairs right at the threshold that share a band, and so are looked at."""
NEIGHBOURS = 8
"""How many earlier texts of one band each is compared with, beside the first: it bounds the cost of common bands."""
_BLOCK = 1000  # texts whose words stay in the processor's cache while they are permuted
_START = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xD6E8FEB86659FD93)


@dataclass(frozen=True, slots=True)
class Sketches:
    """What is kept of n texts: `bands` (bands × n) find candidates, `bits` (n × 128 bytes) estimate similarity."""

    bands: Array
    bits: Array

    def __len__(self) -> int:
        return len(self.bits)


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of similar texts by their places, `first` < `second`, in order of the second, with their similarity."""

    first: Array
    second: Array
    similarity: Array

    def __len__(self) -> int:
        return len(self.first)

    def __iter__(self) -> Iterator[tuple[int, int, float]]:
        return zip(self.first.tolist(), self.second.tolist(), self.similarity.tolist(), strict=True)


def keys(texts: pl.Series, *, fold: bool = False) -> Array:
    """Return eight bytes for each text, the same for equal texts; `fold` takes case and white space for equal."""
    if fold:
        texts = texts.str.to_lowercase().str.replace_all(r"\s+", " ").str.strip_chars()
    found: Array = texts.hash(seed=7).to_numpy().copy()
    return found


def first_of(keys: Array) -> Array:
    """Return whether each key is the first of its kind."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    new = np.ones(len(keys), dtype=bool)
    new[1:] = ordered[1:] != ordered[:-1]
    first = np.empty(len(keys), dtype=bool)
    first[order] = new
    return first


def rows_of(threshold: float) -> int:
    """Return how many permutations make a band, so that pairs at the threshold are found with `RECALL`."""
    fitting = [r for r in range(1, 33) if 1 - (1 - threshold**r) ** (PERMUTATIONS // r) >= RECALL]
    return max(fitting, default=1)


def sketch(texts: pl.Series, threshold: float, *, words: int = 2) -> Sketches:
    """Return the sketches of texts, to be compared at this threshold; `words` neighbouring words are one feature."""
    hashes, starts = _features(texts, words)
    signatures = np.empty((PERMUTATIONS, len(texts)), dtype=np.uint32)
    chance = np.random.default_rng(20_230_507)  # part of the sketch: another seed could not be compared with it
    flips = chance.integers(0, 2**32, PERMUTATIONS, dtype=np.uint32)
    factors = chance.integers(0, 2**32, PERMUTATIONS, dtype=np.uint32) | np.uint32(1)
    for begin in range(0, len(texts), _BLOCK):
        end = min(begin + _BLOCK, len(texts))
        block = hashes[starts[begin] : starts[end]]
        within = starts[begin:end] - starts[begin]
        held = np.empty_like(block)
        for place in range(PERMUTATIONS):
            np.bitwise_xor(block, flips[place], out=held)
            np.multiply(held, factors[place], out=held)
            signatures[place, begin:end] = np.minimum.reduceat(held, within)
    rows = rows_of(threshold)
    bands = np.stack([_band(signatures[at : at + rows]) for at in range(0, PERMUTATIONS - rows + 1, rows)])
    # The middle bits: the top ones of a minimum are mostly zero.
    return Sketches(bands, np.ascontiguousarray((signatures >> np.uint32(4)).astype(np.uint8).T))


def near_pairs(bands: Iterable[Array], bits: Array, threshold: float) -> Pairs:
    """Return the pairs of texts whose estimated similarity reaches the threshold, from one band after another."""
    known = np.empty(0, dtype=np.uint64)
    for band in bands:
        candidates = np.setdiff1d(_candidates(band), known, assume_unique=True)
        if not len(candidates):
            continue
        second, first = np.divmod(candidates, np.uint64(2**32))
        held = similarity(bits, first.astype(np.int64), second.astype(np.int64)) >= threshold
        known = np.union1d(known, candidates[held])
    second, first = np.divmod(known, np.uint64(2**32))
    places = (first.astype(np.int64), second.astype(np.int64))
    return Pairs(*places, similarity(bits, *places))


def similarity(bits: Array, first: Array, second: Array) -> Array:
    """Return the estimated Jaccard index of pairs of texts, with bytes that agree by chance taken off."""
    shares = np.empty(len(first))
    for at in range(0, len(first), 65_536):
        part = slice(at, at + 65_536)
        shares[part] = (bits[first[part]] == bits[second[part]]).mean(axis=1)
    return np.maximum(0.0, (shares - 1 / 256) / (1 - 1 / 256))


def keep_first(pairs: Pairs, n: int) -> Array:
    """Return which of n texts stay when each that is similar to an earlier one that stays is dropped."""
    kept = [True] * n
    for first, second in zip(pairs.first.tolist(), pairs.second.tolist(), strict=True):
        if kept[first]:
            kept[second] = False
    return np.array(kept, dtype=bool)


def _features(texts: pl.Series, words: int) -> tuple[Array, Array]:
    """Return the hashes of all features one after the other, and where each text's start; none has no feature."""
    import polars as pl

    frame = texts.alias("t").fill_null("").to_frame()
    tokens = frame.select(pl.col("t").str.to_lowercase().str.extract_all(TOKEN).alias("t")).to_series()
    counts = tokens.list.len().to_numpy().astype(np.int64)
    flat = tokens.filter(tokens.list.len() > 0).explode().hash(seed=11).to_numpy()
    starts = np.concatenate([[0], np.cumsum(np.maximum(counts, 1))])
    hashes = np.empty(starts[-1], dtype=np.uint64)
    wordless = starts[:-1][counts == 0]
    filled = np.ones(len(hashes), dtype=bool)
    filled[wordless] = False
    hashes[filled] = flat
    hashes[wordless] = frame["t"].filter(pl.Series(counts == 0)).hash(seed=13).to_numpy()
    place = np.arange(len(hashes)) - np.repeat(starts[:-1], np.diff(starts))
    joined = hashes
    for back in range(1, words):  # a text's first words have a made-up word before them
        before = np.full(len(hashes), _START)
        before[back:] = np.where(place[back:] >= back, hashes[:-back], _START)
        joined = (joined ^ (before * _MIX)) * _START
        joined ^= joined >> np.uint64(29)
    return (joined >> np.uint64(32)).astype(np.uint32), starts


def _band(rows: Array) -> Array:
    key = np.full(rows.shape[1], _START)
    for row in rows:
        key = (key ^ row) * _MIX
        key ^= key >> np.uint64(32)
    return key


def _candidates(keys: Array) -> Array:
    """Return the pairs of one band as second · 2³² + first: with the nearest texts before, and with the first."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    same = ordered[1:] == ordered[:-1]
    if not same.any():
        return np.empty(0, dtype=np.uint64)
    # Only texts that share their key with another go on: for most bands that is a small part.
    inside = np.zeros(len(keys), dtype=bool)
    inside[1:] |= same
    inside[:-1] |= same
    order, ordered = order[inside].astype(np.uint64), ordered[inside]
    opens = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    first = order[np.repeat(opens, np.diff(np.append(opens, len(ordered))))]
    pairs = [((order << np.uint64(32)) | first)[first != order]]
    for back in range(1, NEIGHBOURS + 1):
        meets = ordered[back:] == ordered[:-back]
        if not meets.any():
            break
        pairs.append((order[back:][meets] << np.uint64(32)) | order[:-back][meets])
    return np.unique(np.concatenate(pairs))
