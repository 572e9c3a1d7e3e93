"""`davy calibrate`: a detector's numbers set on posts, its figures before and after, and a folder that keeps them."""

import json

import polars as pl
import pytest

from davy.actions.scorers import load_scorer
from davy.cli.app import run
from davy.measure.thresholds import choose_threshold
from davy.models import folder as folders


@pytest.fixture
def trained(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = [f"{'you grumblefop' if i % 3 == 0 else 'nice one'} {i}" for i in range(60)]
    gold = ["hateful" if i % 3 == 0 else "not hateful" for i in range(60)]
    pl.DataFrame({"text": texts, "hate.gold": gold}).write_csv("posts.csv")
    load_scorer("tfidf:posts.csv").save(tmp_path / "mine")
    return tmp_path / "mine"


def test_the_new_folder_has_the_numbers_and_the_old_one_stays(trained, tmp_path, capsys):
    before = folders.read(trained)
    assert run(["calibrate", "mine", "posts.csv", "--out", "better", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["after"]["hate"]["log loss"] <= found["before"]["hate"]["log loss"]
    made = folders.read(tmp_path / "better")
    assert made.thresholds == pytest.approx(found["thresholds"])
    assert made.temperatures == pytest.approx(found["temperatures"])
    assert folders.read(trained) == before
    assert run(["calibrate", "mine", "posts.csv", "--out", "again", "--threshold", "precision=0.9"]) == 0
    assert "temperature" in capsys.readouterr().err


def test_what_can_not_be_calibrated_is_one_line(trained, capsys):
    for arguments, message in (
        (["embedded", "posts.csv", "--out", "x"], "can't be saved"),
        (["mine", "posts.csv", "--out", "x", "--threshold", "best"], "is no rule for a threshold"),
        (["mine", "gone.csv", "--out", "x"], "does not exist"),
    ):
        assert run(["calibrate", *arguments]) == 2
        assert message in capsys.readouterr().err


def test_thresholds_follow_their_rule():
    chances, yes = [0.1, 0.2, 0.4, 0.6, 0.7, 0.9], [False, False, True, False, True, True]
    assert choose_threshold(chances, yes, "recall=1.0") == pytest.approx(0.3)
    assert choose_threshold(chances, yes, "precision=1.0") == pytest.approx(0.65)
    assert choose_threshold(chances, yes, "cost=10") == pytest.approx(0.3)
    assert choose_threshold(chances, yes, "cost=0.1") == pytest.approx(0.65)
    assert choose_threshold(chances, yes) in (pytest.approx(0.3), pytest.approx(0.65))
