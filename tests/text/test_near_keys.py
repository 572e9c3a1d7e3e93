"""Keys for near duplicates: similar texts meet, others don't, and keys never change."""

import random

import polars as pl

from davy.text import duplicates, near_keys

TEXT = "my neighbour sings all day and I think that is what they all do 🐍"


def test_the_likeness_is_the_one_that_sketches_estimate():
    other = TEXT.replace("all day", "all night")
    bits = duplicates.sketch(pl.Series([TEXT, other]), 0.5).bits
    estimate = duplicates.similarity(bits, [0], [1])[0]
    assert abs(near_keys.likeness(TEXT, other) - estimate) < 0.12


def test_texts_that_differ_in_one_emoji_share_a_band():
    assert near_keys.likeness(TEXT, TEXT.replace("🐍", "🐷")) >= near_keys.LEAST
    assert set(near_keys.bands(TEXT)) & set(near_keys.bands(TEXT.replace("🐍", "🐷")))


def test_almost_all_pairs_at_the_threshold_meet():
    chance = random.Random(1)
    words = [f"w{n}" for n in range(500)]
    met = 0
    for _ in range(100):
        text = chance.sample(words, 17)
        other = [*text[:-2], "x", "y"]
        met += bool(set(near_keys.bands(" ".join(text))) & set(near_keys.bands(" ".join(other))))
    assert met >= 95


def test_keys_are_the_same_for_ever():
    assert near_keys.equal_key("A  b") == near_keys.equal_key(" a b")
    assert near_keys.bands("a b")[0] == near_keys.bands("A, b!")[0]
    assert near_keys.equal_key("a b") == "c8687a08aa5d6ed2044328fa6a697ab8"
