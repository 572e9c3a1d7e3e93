"""Probabilities moved to another share of yes: by hand, on posts that were drawn so, in a folder and in a server."""

import json

import numpy as np
import polars as pl
import pytest

from davy.core.errors import UserError
from davy.detectors import folder as folders
from davy.detectors.prevalence import at_prevalence, moved, read_prevalence, shifts_to
from davy.measure.calibration import choose_threshold, fit_shift
from davy.scoring.scorers import load_scorer as load
from davy.shell.app import run


def test_nine_in_ten_among_half_is_a_sixth_among_two_in_a_hundred():
    """By hand: odds 0.9 / 0.1 = 9, times (0.02 / 0.98) / (0.5 / 0.5) = 9 / 49, and 9 / (9 + 49) = 0.1552."""
    shift = shifts_to(0.02, {"hate": 0.5})["hate"]
    new = moved(np.array([[0.1, 0.9], [0.5, 0.5]]), shift, 1)
    np.testing.assert_allclose(new[:, 1], [9 / 58, 0.02])
    np.testing.assert_allclose(new.sum(axis=1), 1)


def test_probabilities_that_hold_at_half_hold_at_two_in_a_hundred_once_they_are_moved():
    """Two kinds of posts whose scores are normal: the moved probability is the share of yes in every tenth."""
    rng = np.random.default_rng(3)
    yes = rng.random(400_000) < 0.02
    seen = rng.normal(np.where(yes, 1.0, -1.0), 1.0)
    at_half = 1 / (1 + np.exp(-2 * seen))  # Bayes' rule for these two normals at equal shares
    new = moved(np.stack([1 - at_half, at_half], axis=1), shifts_to(0.02, {"q": 0.5})["q"], 1)[:, 1]
    for low, high in ((0.001, 0.01), (0.01, 0.05), (0.05, 0.2), (0.2, 0.5), (0.5, 1.0)):
        inside = (new >= low) & (new < high)
        assert yes[inside].mean() == pytest.approx(new[inside].mean(), rel=0.12)
    assert at_half.mean() > 5 * yes.mean() > 4.5 * new.mean()


def test_a_shift_makes_the_mean_probability_the_share_of_yes():
    rng = np.random.default_rng(1)
    odds, yes = rng.normal(3, 2, 5000), rng.random(5000) < 0.3
    shift = fit_shift(odds, yes)
    assert (1 / (1 + np.exp(-odds - shift))).mean() == pytest.approx(yes.mean(), abs=1e-6)


def test_a_threshold_for_another_share_is_that_of_posts_which_have_it():
    rng = np.random.default_rng(2)
    yes = np.arange(4000) % 2 == 0
    chance = 1 / (1 + np.exp(-2 * rng.normal(np.where(yes, 1.0, -1.0), 1.0)))
    many = np.concatenate([np.flatnonzero(yes), np.repeat(np.flatnonzero(~yes), 49)])
    for rule in ("macro-f1", "precision=0.5", "cost=5"):
        weighed = choose_threshold(chance, yes, rule, prior=0.02)
        assert weighed == pytest.approx(choose_threshold(chance[many], yes[many], rule))
    assert weighed > choose_threshold(chance, yes, "macro-f1")


@pytest.fixture
def posts(tmp_path, monkeypatch):
    """A detector of words and 400 posts, half of them hateful; a tenth of the words mislead."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    gold = np.arange(400) % 2 == 0
    word = gold ^ (rng.random(400) < 0.1)
    rows = [f"{'you grumblefop' if it else 'nice one'} {i}" for i, it in enumerate(word)]
    frame = pl.DataFrame({"text": rows, "hate.gold": np.where(gold, "hateful", "not hateful")})
    frame[:200].write_csv("train.csv")
    frame[200:].write_csv("dev.csv")
    load("tfidf:train.csv").save(tmp_path / "mine")
    return frame[200:]


def test_calibrating_with_a_prior_saves_probabilities_that_have_its_mean(posts, tmp_path, capsys):
    assert run(["calibrate", "mine", "dev.csv", "--out", "half", "--json"]) == 0
    assert run(["calibrate", "mine", "dev.csv", "--prevalence", "0.02", "--out", "rare", "--json"]) == 0
    half, rare = (json.loads(line) for line in capsys.readouterr().out.replace("}\n{", "}\0{").split("\0"))
    assert rare["after"]["hate"]["share of yes"] == pytest.approx(0.02, rel=0.05)
    assert rare["after"]["hate"]["log loss"] < rare["before"]["hate"]["log loss"] / 2
    assert folders.read(tmp_path / "rare").prevalence == {"hate": 0.02}
    assert folders.read(tmp_path / "half").prevalence == {"hate": 0.5}
    usual, moved_ = (load(name).score(posts).positive("hate") for name in ("half", "rare"))
    assert usual.mean() == pytest.approx(0.5, abs=0.05)
    assert np.array_equal(np.argsort(usual, kind="stable"), np.argsort(moved_, kind="stable"))
    # A tenth of the words mislead: a yes at 0.9 among half is a yes at 9 / 58 among two in a hundred.
    with_word = posts["text"].str.contains("grumblefop").to_numpy()
    assert moved_[with_word].mean() == pytest.approx(9 / 58, abs=0.06)
    assert half["thresholds"] != rare["thresholds"]


def test_a_folder_keeps_its_version_where_only_the_share_is_noted(posts, tmp_path):
    manifest = folders.read(tmp_path / "mine")
    from dataclasses import replace

    assert folders.write(tmp_path / "mine", replace(manifest, prevalence={"hate": 0.5})).version == manifest.version
    assert folders.write(tmp_path / "mine", replace(manifest, shifts={"hate": 1.0})).version != manifest.version


def test_a_detector_is_moved_where_it_knows_its_share_and_refused_where_not(posts):
    assert run(["calibrate", "mine", "dev.csv", "--out", "half"]) == 0
    known = load("half")
    there = at_prevalence(known, 0.02)
    assert there.version != known.version
    assert there.score(posts).positive("hate").mean() < 0.15
    assert there.score(posts).thresholds == known.score(posts).thresholds
    back = at_prevalence(at_prevalence(known, {"hate": 0.5}), None)
    np.testing.assert_allclose(back.score(posts).positive("hate"), known.score(posts).positive("hate"), atol=1e-9)
    with pytest.raises(UserError, match="--prevalence"):
        at_prevalence(load("mine"), 0.02)
    with pytest.raises(UserError, match="no yes/no question 'spam'"):
        at_prevalence(known, {"spam": 0.1})


@pytest.mark.parametrize(
    ("given", "found"),
    [(None, None), ("0.02", 0.02), (" hate=0.01, offensive=0.05 ", {"hate": 0.01, "offensive": 0.05})],
)
def test_a_share_is_read(given, found):
    assert read_prevalence(given) == found


@pytest.mark.parametrize("given", ["2", "0", "many", "hate=", "0.1,hate=0.2", "hate=0.1,hate=0.2"])
def test_what_is_no_share_is_refused(given):
    with pytest.raises(UserError, match="share"):
        read_prevalence(given)


def test_the_shipped_detector_is_moved_before_its_answers_are_decoded_together():
    scorer = load("embedded")
    posts = pl.DataFrame({"text": ["I hate women", "what a day", "you are an idiot", "Ich hasse Frauen", "Guten Tag"]})
    there, here = at_prevalence(scorer, 0.02).score(posts), scorer.score(posts)
    assert (there.positive("hate") < here.positive("hate")).all()
    assert (there.positive("offensive")[there.positive("hate") >= 0.5] >= 0.5).all()
    assert at_prevalence(scorer, 0.02).version != scorer.version
