"""A correction moves plain sentences, leaves other texts alone, and says the same in a network that is cut in two."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts/build_embedded"))
sys.path.insert(0, str(Path(__file__).parents[1] / "detectors"))
import correction
import english_sentences
import german_sentences
from english_correction import vector_of
from patterns import taken_patterns
from test_early_exit import folder, posts, with_mark  # noqa: F401

from davy.detectors.onnx import OnnxScorer


def test_no_pattern_of_the_english_sentences_is_one_of_a_suite():
    lines = [line for part in english_sentences.patterns().values() for line in part]
    assert len(lines) > 300
    assert taken_patterns(lines, "en", english_sentences.group_names()) == []


def test_no_german_pattern_is_one_of_a_suite():
    lines = [line for part in german_sentences.patterns().values() for line in part]
    assert len(lines) > 900
    assert taken_patterns(lines, "de", {name for group in german_sentences.groups() for name in group}) == []


def test_german_insults_are_offensive_their_twins_are_not_and_nothing_is_said_of_hate():
    patterns = german_sentences.patterns()
    insulting = {*patterns["insult"], *patterns["threat"]}
    made = german_sentences.person_sentences()
    assert {post.key for post in made} >= {
        *patterns["insult"][::7],
        *patterns["threat"][::7],
        *patterns["harmless"][::7],
    }
    assert not [post.text for post in made if "{" in post.text]
    for post in made:
        bad = post.key in insulting
        assert post.answers == {"hate.de": [-1 if bad else 0], "misogynistic.de": [0], "aux.offence": [int(bad)]}


def test_a_pattern_of_a_suite_is_found_out():
    from davy.testing import suites

    case = next(case for case in suites.load("identities-en").cases if len(case.text.split()) > 5)
    pattern = case.text.replace(case.fills["identity"], "{A}") + "{E}"
    assert [line for line, _ in taken_patterns([pattern], "en", english_sentences.group_names())] == [pattern]


def test_sentences_are_grammatical_where_a_slot_begins_with_a_vowel_and_know_about_women():
    made = english_sentences.sentences()
    assert not [post.text for post in made if " a immigrant" in post.text or " an woman" in post.text]
    assert {post.answers["sexist"][0] for post in made if "lesbians" in post.text and post.answers["hate"] == [1]} == {
        -1
    }
    assert all(post.answers["sexist"] == [0] for post in made if post.answers["hate"] == [0])


def test_an_insult_or_threat_against_one_person_is_offensive_and_no_more_and_has_a_harmless_twin():
    patterns = english_sentences.patterns()
    insulting = {*patterns["insult"], *patterns["threat"]}
    assert len(insulting) > 120
    assert len(patterns["harmless"]) >= 120
    made = [post for post in english_sentences.sentences() if post.key in {*insulting, *patterns["harmless"]}]
    assert {post.key for post in made} == {*insulting, *patterns["harmless"]}
    assert all(post.answers == {"hate": [0], "offensive": [int(post.key in insulting)], "sexist": [0]} for post in made)
    assert not [post.text for post in made if "{" in post.text]


def test_a_correction_learns_plain_sentences_and_keeps_other_texts_calm():
    rng = np.random.default_rng(0)
    plain, other = rng.normal(size=(400, 8)), rng.normal(size=(2000, 8))
    plain[:, 0] += 3
    other[:, 0] -= 3
    gold = (plain[:, 1] > 0).astype(float)[:, None]
    recipe = correction.Recipe(epochs=20, rate=1e-2, calm=20.0, keeps_odds=True, rate_falls=True)
    vectors = [it.astype(np.float32) for it in (plain, other)]
    flat = [np.zeros((len(it), 1), np.float32) for it in vectors]
    learnt = correction.learn((vectors[0], flat[0], gold), (vectors[1], flat[1]), torch.ones(1), recipe)
    moved = [correction.corrected(learnt, *it) for it in zip(vectors, flat, strict=True)]
    assert ((moved[0] > 0) == gold).mean() > 0.9
    assert np.abs(moved[1]).mean() < 0.2 * np.abs(moved[0]).mean()


def test_the_graph_says_what_the_correction_says_in_one_piece_and_in_two(folder, posts):  # noqa: F811
    with_mark(folder, -1e6)
    vector, texts = vector_of(folder), posts["text"].to_list()
    vectors, odds = correction.read(folder, vector, ("hate",), texts)
    before = OnnxScorer(folder).score(posts)
    moved = correction.Correction(vectors, 1)
    torch.nn.init.normal_(moved.last.weight)
    correction.insert(folder, vector, ("hate",), moved)
    expected = 1 / (1 + np.exp(-correction.corrected(moved, vectors, odds)[:, 0]))
    whole, cut = OnnxScorer(folder).score(posts), with_mark(folder, -1e6).score(posts)
    np.testing.assert_allclose(whole.positive("hate"), expected, atol=1e-4)
    np.testing.assert_allclose(cut.positive("hate"), expected, atol=1e-4)
    np.testing.assert_array_equal(whole.probabilities["type"], before.probabilities["type"])
    assert np.abs(np.array(before.positive("hate")) - expected).max() > 0.1


def test_a_second_correction_comes_after_the_first(folder, posts):  # noqa: F811
    with_mark(folder, -1e6)
    vector, texts = vector_of(folder), posts["text"].to_list()
    for prefix in ("c", "p"):
        vectors, odds = correction.read(folder, vector, ("hate",), texts)
        moved = correction.Correction(vectors, 1)
        torch.nn.init.normal_(moved.last.weight)
        expected = 1 / (1 + np.exp(-correction.corrected(moved, vectors, odds)[:, 0]))
        correction.insert(folder, vector, ("hate",), moved, prefix)
        np.testing.assert_allclose(OnnxScorer(folder).score(posts).positive("hate"), expected, atol=1e-4)
    with pytest.raises(AssertionError, match="has a correction 'p'"):
        correction.insert(folder, vector, ("hate",), moved, "p")
