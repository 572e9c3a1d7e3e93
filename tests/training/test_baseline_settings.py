"""Settings of the kinds that need no encoder, given in the shell, and a trained folder that is not written over."""

import json

import polars as pl
import pytest

from davy.shell.app import run


@pytest.fixture
def posts(tmp_path):
    words = ["calm", "loud"] * 10
    frame = pl.DataFrame({"text": [f"a {word} day {n}" for n, word in enumerate(words)], "label": words})
    frame.write_csv(tmp_path / "posts.csv")
    return tmp_path / "posts.csv"


def train(posts, out, *more):
    return run(["train", str(posts), "--gold", "kind=label", "--out", str(out), *more])


def test_strength_reaches_the_regression(posts, tmp_path):
    assert train(posts, tmp_path / "run", "--kind", "tfidf", "--set", "strength=9") == 0
    manifest = json.loads((tmp_path / "run" / "seed-1" / "model" / "manifest.json").read_text())
    assert manifest["settings"]["strength"] == 9


@pytest.mark.parametrize(
    ("kind", "change", "says"),
    [
        ("tfidf", "epochs=3", "tfidf has no such setting; its settings are strength."),
        ("tfidf", "strength=much", "strength is a number, such as 4.0."),
        ("tfidf", "strength=nan", "strength is above 0."),
        ("xgboost", "deepth=3", "Did you mean 'depth'?"),
        ("xgboost", "balanced=perhaps", "balanced is true or false."),
    ],
)
def test_a_wrong_setting_is_one_line_that_names_the_kinds_own(kind, change, says, posts, tmp_path, capsys):
    assert train(posts, tmp_path / "run", "--kind", kind, "--set", change) == 2
    assert says in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_trained_folder_is_replaced_only_where_that_is_asked_for(posts, tmp_path, capsys):
    out = tmp_path / "run"
    assert train(posts, out, "--kind", "tfidf", "--seed", "1", "--seed", "2") == 0
    before = (out / "run.json").read_bytes()
    assert train(posts, out, "--kind", "tfidf", "--seed", "3") == 2
    assert "exists. Write over it with --replace, or give another --out." in capsys.readouterr().err
    assert (out / "run.json").read_bytes() == before
    assert train(posts, out, "--kind", "tfidf", "--seed", "3", "--replace") == 0
    assert sorted(each.name for each in out.glob("seed-*")) == ["seed-3"]


def test_an_empty_folder_of_predictions_is_named_as_such(posts, tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    assert run(["compare", str(posts), "-p", str(tmp_path / "empty"), "--out", str(tmp_path / "report")]) == 2
    assert "is empty. Name a file of predictions, or a folder of them." in capsys.readouterr().err
