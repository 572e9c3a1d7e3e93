"""Exact and near duplicates: against equality, and against the Jaccard index worked out the long way."""

import random
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from davy.text import duplicates

WORDS = [f"word{i}" for i in range(400)]


def made(n, seed=3, length=20):
    chance = random.Random(seed)
    return [" ".join(chance.choices(WORDS, k=length)) for _ in range(n)]


def pairs(texts, threshold, words=2):
    sketches = duplicates.sketch(pl.Series(texts, dtype=pl.String), threshold, words=words)
    return duplicates.near_pairs(sketches.bands, sketches.bits, threshold)


def jaccard(one, other):
    """The Jaccard index of the pairs of neighbouring words, a start word before the first."""
    a, b = (set(zip(["^", *t.split()], t.split(), strict=False)) for t in (one, other))
    return len(a & b) / len(a | b)


def test_the_first_of_equal_texts_stays():
    texts = pl.Series(["a", "b", "a", "A ", "b", "c"])
    assert duplicates.first_of(duplicates.keys(texts)).tolist() == [True, True, False, True, False, True]
    assert duplicates.first_of(duplicates.keys(texts, fold=True)).tolist() == [True, True, False, False, False, True]


def test_keys_and_sketches_are_the_same_in_another_process():
    code = (
        "import polars as pl; from davy.text import duplicates as d; s = pl.Series(['a b c', 'd e 😀']);"
        "print(d.keys(s).tolist(), d.sketch(s, 0.8).bands.tolist())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    texts = pl.Series(["a b c", "d e 😀"])
    assert done.stdout.strip() == f"{duplicates.keys(texts).tolist()} {duplicates.sketch(texts, 0.8).bands.tolist()}"


def test_estimates_agree_with_the_jaccard_index_worked_out_the_long_way():
    texts, chance = made(300), random.Random(5)
    for text in texts[:300]:
        words = text.split()
        for place in chance.sample(range(20), chance.randint(0, 6)):
            words[place] = chance.choice(WORDS)
        texts.append(" ".join(words))
    sketches = duplicates.sketch(pl.Series(texts), 0.5)
    first, second = np.arange(300), np.arange(300, 600)
    error = duplicates.similarity(sketches.bits, first, second) - [
        jaccard(texts[i], texts[i + 300]) for i in range(300)
    ]
    assert abs(error.mean()) < 0.01
    assert error.std() < 0.05


@pytest.mark.parametrize("threshold", [0.5, 0.8, 0.95])
def test_pairs_above_the_threshold_are_found_and_pairs_far_below_are_not(threshold):
    texts, chance = made(400, length=40), random.Random(6)
    for text in texts[:400]:
        words = text.split()
        for place in chance.sample(range(40), chance.randint(0, 12)):
            words[place] = chance.choice(WORDS)
        texts.append(" ".join(words))
    found = {(a, b) for a, b, _ in pairs(texts, threshold)}
    true = {(i, i + 400): jaccard(texts[i], texts[i + 400]) for i in range(400)}
    sure = [pair for pair, share in true.items() if share >= min(1.0, threshold + 0.1)]
    assert len(sure) > 20
    assert sum(pair in found for pair in sure) >= 0.98 * len(sure)
    assert not [pair for pair in found if true.get(pair, 0) < threshold - 0.2]


def test_case_and_punctuation_make_no_difference_and_emoji_do():
    texts = ["We meet at the old mill 😀", "we meet, at the OLD mill! 😀", "We meet at the old mill 😡"]
    assert [(a, b) for a, b, _ in pairs(texts, 0.95)] == [(0, 1)]


def test_texts_without_words_are_alike_only_when_they_are_equal():
    assert [(a, b) for a, b, _ in pairs(["!!!", "???", "!!!", "", ""], 0.8)] == [(0, 2), (3, 4)]


def test_a_post_like_a_dropped_one_stays():
    links = duplicates.Pairs(np.array([0, 1]), np.array([1, 2]), np.array([0.9, 0.9]))
    assert duplicates.keep_first(links, 3).tolist() == [True, False, True]


def test_a_thousand_copies_of_one_text_cost_no_thousand_squared_pairs():
    found = pairs(["the same words in every one of these"] * 1000, 0.8)
    assert len(found) < 10 * 1000
    assert duplicates.keep_first(found, 1000).sum() == 1
