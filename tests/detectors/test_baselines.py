"""Baselines: the most frequent answer, chance, and word lists."""

import numpy as np
import polars as pl
import pytest

from davy.core import Label, Question, UserError
from davy.detectors.baselines import Majority, Uniform
from davy.detectors.keywords import Keywords
from davy.detectors.load import open_folder
from davy.text.lexicons.read import Lexicon, LexiconEntry
from davy.text.lexicons.read import load as load_lexicon

HATE = Question("hate", (Label("not hateful"), Label("hateful")), positive="hateful")
TYPE = Question("type", (Label("threat"), Label("derogation"), Label("animosity")), under=("hate", ("hateful",)))
TARGETS = Question("targets", (Label("a"), Label("b")), kind="many", under=("hate", ("hateful",)))
QUESTIONS = (HATE, TYPE, TARGETS)


def posts(*texts, **columns):
    return pl.DataFrame({"text": list(texts), **columns}, schema_overrides={"text": pl.String})


def test_an_unfitted_majority_says_no_and_takes_first_labels():
    scores = Majority(QUESTIONS).score(posts("x", "y"))
    assert scores.chosen("hate") == [("not hateful",)] * 2
    assert scores.chosen("type") == [("threat",)] * 2
    assert scores.chosen("targets") == [()] * 2


def test_a_fitted_majority_gives_what_the_file_has_most_and_survives_saving(tmp_path):
    frame = posts(
        "a", "b", "c", **{"hate.gold": ["hateful", "hateful", "not hateful"], "targets.gold": ["a|b", "a|b", None]}
    )
    fitted = Majority(QUESTIONS).fit(frame, seed=1)
    assert [q.name for q in fitted.questions] == ["hate", "targets"]
    fitted.save(tmp_path / "m")
    loaded = open_folder(tmp_path / "m")
    assert loaded.score(posts("z")).columns() == fitted.score(posts("z")).columns()
    assert loaded.score(posts("z")).verdicts() == ["hateful > a|b"]


def test_fitting_without_gold_columns_lists_what_was_seen():
    with pytest.raises(UserError, match=r"hate\.gold.*columns are text"):
        Majority(QUESTIONS).fit(posts("a"), seed=0)


def test_chance_gives_a_text_the_same_score_wherever_it_stands():
    one = Uniform(QUESTIONS, seed=4).score(posts("x", "y", "z"))
    two = Uniform(QUESTIONS, seed=4).score(posts("z", "q", "y"))
    for name in ("hate", "type", "targets"):
        assert np.array_equal(one.probabilities[name][[1, 2]], two.probabilities[name][[2, 0]])
    assert not np.array_equal(
        one.probabilities["hate"], Uniform(QUESTIONS, seed=5).score(posts("x", "y", "z")).probabilities["hate"]
    )


def test_chance_is_even():
    """Kolmogorov–Smirnov against the uniform law, from scipy, and all three labels a third of the time."""
    from scipy.stats import chisquare, kstest

    scores = Uniform(QUESTIONS, seed=1).score(posts(*(f"text {i}" for i in range(4000))))
    assert kstest(scores.positive("hate"), "uniform").pvalue > 0.01
    assert kstest(scores.probabilities["targets"][:, 1], "uniform").pvalue > 0.01
    counts = np.bincount(scores.probabilities["type"].argmax(axis=1), minlength=3)
    assert chisquare(counts).pvalue > 0.01
    assert np.allclose(scores.probabilities["type"].sum(axis=1), 1)


def test_versions_follow_the_content():
    assert Uniform(QUESTIONS, seed=1).version != Uniform(QUESTIONS, seed=2).version
    assert Keywords(Lexicon.of("grumblefop"), HATE).version == Keywords(Lexicon.of("Grumblefop"), HATE).version
    assert Keywords(Lexicon.of("grumblefop"), HATE).version != Keywords(Lexicon.of("zworp"), HATE).version


WORDS = Keywords(
    Lexicon.of(
        "grumblefop", "zworp snib", "flöß", "🦞", LexiconEntry("meel", weight=0.6), LexiconEntry("mel", weight=0.7)
    ),
    HATE,
)


@pytest.mark.parametrize(
    ("text", "probability"),
    [
        ("you GRUMBLEFOP!", 1),
        ("grumblefops", 0),
        ("ungrumblefop", 0),
        ("#grumblefop", 1),
        ("a zworp  \n snib", 1),
        ("zworp, snib", 0),
        ("floess", 1),
        ("FLÖSS", 1),
        ("grumblefoooop", 1),
        ("gruuumblefop", 1),
        ("hi🦞there", 1),
        ("🦞\ufe0f", 1),
        ("meeeel", 0.7),
        ("meel", 0.6),
        ("ｇrumblefop", 1),
        ("gru\u200bmblefop", 1),
        ("", 0),
        ("\u202egrumblefop\u202c", 1),
        ("a\x00grumblefop", 1),
    ],
)
def test_a_term_matches_whole_words_in_any_spelling(text, probability):
    assert WORDS.score(posts(text)).positive("hate").tolist() == [probability]


def test_null_texts_hold_no_terms():
    assert WORDS.score(posts(None, "grumblefop")).positive("hate").tolist() == [0, 1]


def test_a_word_list_takes_weights_and_comments(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("\ufeff# mine\ngrumblefop\nzworp snib\t0.4\n\n", encoding="utf-8")
    scorer = Keywords(load_lexicon(path), HATE)
    assert scorer.score(posts("grumblefop", "zworp snib", "mine")).positive("hate").tolist() == [1, 0.4, 0]


def test_a_weight_above_one_is_no_probability(tmp_path):
    with pytest.raises(UserError, match="weight of 7"):
        Keywords(Lexicon.of(LexiconEntry("grumblefop", weight=7.0)), HATE)
