"""Explanations by leaving words out, and records of one post."""

import polars as pl
import pytest

from davy.core import Abilities, UserError
from davy.scoring.explain import explain
from davy.scoring.result import one_post, records, repair_text


def test_the_word_that_carried_the_decision_stands_first(fake):
    found = explain("you are a grumblefop!", fake)
    strongest = found.strongest()[0]
    assert (found.question, found.label, found.base) == ("hate", "hateful", 0.9)
    assert found.text[strongest.start : strongest.end] == "grumblefop"
    assert strongest.weight == round(0.9 - len("you are a  !") / 1000, 6)


def test_all_variants_go_to_the_scorer_at_once(fake):
    explain("one two three", fake)
    assert fake.batches == [["one two three", "  two three", "one   three", "one two  "]]


def test_a_long_text_is_left_out_a_few_words_at_a_time(fake):
    found = explain("word " * 1000 + "grumblefop", fake, most=50)
    assert len(fake.asked) <= 51
    assert "grumblefop" in found.text[found.strongest()[0].start : found.strongest()[0].end]


def test_emoji_with_joiners_stay_whole(fake):
    found = explain("hi 👩‍💻 there", fake)
    assert [found.text[w.start : w.end] for w in found.weights] == ["hi", "👩‍💻", "there"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("well, you know: it's fine…", ["well", "you", "know", "it's", "fine"]),
        ("no!!! 😡😡!!", ["no", "😡😡"]),
        ("“so” – f**k, @you #tag 5 €", ["so", "f**k", "you", "tag", "5"]),
        ("¿qué? 👍🏽, 3 < 4", ["qué", "👍🏽", "3", "4"]),
        ("?!...", []),
    ],
)
def test_punctuation_alone_is_no_word(fake, text, words):
    found = explain(text, fake)
    assert [found.text[w.start : w.end] for w in found.weights] == words


def test_an_empty_text_has_nothing_to_explain(fake):
    assert explain("", fake).weights == ()


def test_a_lone_surrogate_is_replaced_and_a_pair_joined():
    assert repair_text("a\ud83db") == "a\ufffdb"
    assert repair_text("a\ud83e\udd9eb") == "a🦞b"
    assert one_post("\udce4")["text"].to_list() == ["\ufffd"]


def test_a_record_has_verdict_labels_and_probabilities(fake):
    record = records(fake.score(pl.DataFrame({"text": ["grumblefop"]})))[0]
    assert record["verdict"] == "hateful > threat"
    assert record["questions"]["hate"] == {
        "label": "hateful",
        "probability": 0.9,
        "threshold": 0.5,
        "labels": {"not hateful": 0.1, "hateful": 0.9},
    }


def test_a_detector_that_does_not_look_at_words_says_so(fake):
    fake.abilities = Abilities(explains=False)
    with pytest.raises(UserError, match="fake does not look at words"):
        explain("hi", fake)
