"""Texts of a few words are read by the detector of their language."""

from __future__ import annotations

import numpy as np
import pytest

from davy.detectors.embedded import detect_languages
from davy.text.short_language import (
    BUCKETS,
    ShortLanguageModel,
    is_short,
    load_short_language_model,
    ngram_buckets,
    words_of,
)

GERMAN = [
    "Nachbarn raus", "Guten Morgen", "Ausländer willkommen", "Du Dummkopf", "halt den Mund", "Frauenfußball",
    "Lügenpresse", "Danke dir", "keine Ahnung", "Die Linke", "Merkel muss weg", "Schwule heiraten",
]  # fmt: skip
ENGLISH = [
    "Neighbours out", "Good morning", "Refugees welcome", "You fool", "shut your mouth", "football",
    "so what", "thank you", "no idea", "die in peace", "men are great", "women are people", "Fake News",
]  # fmt: skip


@pytest.mark.parametrize("text", GERMAN)
def test_a_few_german_words_go_to_the_german_detector(text):
    assert detect_languages([text]) == ["de"]


@pytest.mark.parametrize("text", ENGLISH)
def test_a_few_english_words_stay_with_the_english_detector(text):
    assert detect_languages([text])[0] in ("en", "")


@pytest.mark.parametrize("text", ["", "🦞", "ok", "12", "на улице", "hаtе yоu", "word " * 8])
def test_the_model_is_not_asked_about_texts_that_are_no_few_latin_words(text):
    assert not is_short(words_of(text))


def test_emoji_digits_and_punctuation_are_no_words():
    assert words_of("Guten 🦞 Morgen, 2 mal!") == ["guten", "morgen", "mal"]


def test_a_model_says_the_same_after_it_was_saved_within_eight_bits(tmp_path, monkeypatch):
    weights = np.random.default_rng(1).normal(size=(BUCKETS, 3)).astype(np.float32)
    model = ShortLanguageModel(("a", "b", "c"), weights, np.array([0.1, 0.0, -0.1]))
    model.save(tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz") as kept:
        read = ShortLanguageModel(model.languages, kept["weights"] * kept["scale"], kept["bias"])
    for words in (["guten", "morgen"], ["hello"]):
        one, other = model.log_odds(words), read.log_odds(words)
        assert one == pytest.approx(other, abs=0.1)
        assert sum(1 / (1 + np.exp(-odds)) for odds in one.values()) == pytest.approx(1)


def test_an_n_gram_has_one_bucket_wherever_it_stands():
    assert set(ngram_buckets(["raus"])) <= set(ngram_buckets(["los", "raus"]))
    assert len(ngram_buckets(["ab"])) == 4 + 3 + 2 + 1


def test_every_language_of_the_model_has_a_detector_in_the_package():
    from davy.detectors.embedded import ROUTES

    assert set(load_short_language_model().languages) == set(ROUTES)
