"""A model knows which posts it learnt from, and figures on those are marked."""

import json

import numpy as np
import polars as pl
import pytest

from davy.detectors import folder as folders
from davy.detectors.load import load
from davy.detectors.training_text_index import CALIBRATED, FILE, keep_learnt, text_keys
from davy.shell.app import run

TEXTS = [f"{'grumblefop' if i % 2 else 'a quiet'} number {i}" for i in range(60)]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    gold = ["hateful" if i % 2 else "not hateful" for i in range(60)]
    split = ["train" if i < 40 else "test" for i in range(60)]
    pl.DataFrame({"text": TEXTS, "hate.gold": gold, "split": split}).write_csv("posts.csv")
    assert run(["train", "posts.csv", "--split", "train", "--kind", "tfidf", "--scheme", "hate", "--out", "run"]) == 0
    return tmp_path


def evaluated(capsys, *arguments):
    capsys.readouterr()
    assert run(["evaluate", "posts.csv", *arguments, "--json", "--resamples", "0"]) == 0
    return json.loads(capsys.readouterr().out)["questions"]["hate"]


def test_keys_are_those_of_the_hash_function_and_forget_case_and_spaces():
    # python -c 'import hashlib; print(hashlib.blake2b(b"hello there", digest_size=4).hexdigest())'
    assert text_keys(["Hello   there "]).tobytes().hex() == "22e2d63d"
    assert keep_learnt(["Hello there"])(["hello there", "hello", None]).tolist() == [True, False, False]


def test_figures_on_posts_that_a_model_learnt_from_are_marked(folder, capsys):
    model = "run/seed-1/model"
    assert evaluated(capsys, "--split", "test", "-m", model)["models"][model]["learnt_from"] == 0
    assert evaluated(capsys, "--split", "train", "-m", model)["models"][model]["learnt_from"] == 40
    assert evaluated(capsys, "-m", "majority")["models"]["majority"]["learnt_from"] is None
    assert run(["evaluate", "posts.csv", "-m", model, "--out", "report", "--resamples", "0"]) == 0
    shown = capsys.readouterr()
    assert "learnt from 40 of these 60 posts: its figures are memory" in " ".join(shown.err.split())
    assert "figures are memory" in (folder / "report/report.html").read_text()
    assert "learnt from" in (folder / "report/figures.csv").read_text()


def test_posts_that_a_model_learnt_from_are_left_out_when_asked(folder, capsys):
    model = "run/seed-1/model"
    assert evaluated(capsys, "-m", model, "--unseen")["n"] == 20
    assert run(["evaluate", "posts.csv", "--split", "train", "-m", model, "--unseen"]) == 2
    assert "learnt from all 40 posts" in capsys.readouterr().err
    assert run(["evaluate", "posts.csv", "-m", "majority", "--unseen"]) == 2
    assert "keeps what it learnt from" in capsys.readouterr().err


def test_a_model_fitted_for_the_moment_and_one_made_of_others_know_it_too(folder, capsys):
    for model in ("tfidf:posts.csv", "ensemble:mean:run/seed-1/model+majority"):
        assert evaluated(capsys, "--split", "train", "-m", model)["models"][model]["learnt_from"] == 40


def test_the_list_of_what_was_learnt_does_not_change_a_models_version(folder):
    model = folder / "run/seed-1/model"
    before = folders.read(model)
    np.save(model / FILE, np.zeros(3, dtype="<u4"))
    assert folders.write(model, before).version == before.version


def test_a_suite_says_how_many_of_its_cases_were_learnt(folder, capsys):
    assert run(["check", "robustness:posts.csv", "-m", "run/seed-1/model", "--most", "60", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["models"][0]
    assert found["learnt_from"] >= 40
    assert "may remember" in found["warning"]


@pytest.mark.parametrize("name", ["embedded-en", "embedded-de"])
def test_the_shipped_detectors_keep_what_they_learnt_from(name):
    learnt = load(name).abilities.learnt
    assert learnt is not None
    assert not learnt(["a sentence that nobody has written before this test"]).any()


def test_a_detector_that_python_saved_knows_its_posts_too(folder, capsys):
    import davy

    posts = davy.read("posts.csv")
    train, _ = davy.split(posts.drop("split"), "60/40")
    davy.train(train, gold={"hate": "hate.gold"}, kind="tfidf").save("saved")
    davy.calibrate("saved", train, gold={"hate": "hate.gold"}).save("numbers")
    for name in ("saved", "numbers"):
        assert evaluated(capsys, "-m", name)["models"][name]["learnt_from"] == len(train)


def test_figures_on_posts_that_a_model_was_calibrated_on_are_marked(folder, capsys):
    calibrate = ["calibrate", "run/seed-1/model", "posts.csv", "--split", "test", "--out"]
    assert run([*calibrate, "better"]) == 0
    found = evaluated(capsys, "--split", "test", "-m", "better")["models"]["better"]
    assert (found["learnt_from"], found["calibrated_on"]) == (0, 20)
    assert evaluated(capsys, "--split", "train", "-m", "better")["models"]["better"]["calibrated_on"] == 0
    assert evaluated(capsys, "-m", "run/seed-1/model")["models"]["run/seed-1/model"]["calibrated_on"] is None
    ensemble = "ensemble:mean:better+majority"
    assert evaluated(capsys, "-m", ensemble)["models"][ensemble]["calibrated_on"] == 20
    arguments = ["evaluate", "posts.csv", "--split", "test", "-m", "better", "--resamples", "0"]
    assert run([*arguments, "--out", "report"]) == 0
    assert "calibrated on 20 of these 20 posts: its figures are kind to it" in " ".join(capsys.readouterr().err.split())
    assert "was calibrated on" in (folder / "report/report.html").read_text()
    assert run([*arguments, "--unseen"]) == 2
    assert "or was calibrated on them" in capsys.readouterr().err


def test_posts_of_two_calibrations_are_kept_and_the_list_changes_no_version(folder):
    assert run(["calibrate", "run/seed-1/model", "posts.csv", "--split", "test", "--out", "one"]) == 0
    assert run(["calibrate", "one", "posts.csv", "--split", "train", "--out", "two"]) == 0
    assert load("one").abilities.calibrated(TEXTS).sum() == 20
    assert load("two").abilities.calibrated(TEXTS).sum() == 60
    before = folders.read(folder / "one")
    (folder / "one" / CALIBRATED).unlink()
    assert folders.write(folder / "one", before).version == before.version


def test_python_is_told_when_a_detector_is_measured_on_its_own_posts(folder):
    import davy

    posts = davy.read("posts.csv")
    held = posts.filter(posts["split"] == "test")
    gold = {"hate": "hate.gold"}
    better = davy.calibrate("run/seed-1/model", held, gold=gold)
    (told,) = davy.evaluate({"better": better}, held, gold=gold, resamples=0).warnings
    assert told.startswith("better was calibrated on 20 of these 20 posts")
    assert told in repr(davy.evaluate({"better": better}, held, gold=gold, resamples=0))
    assert davy.evaluate("run/seed-1/model", held, gold=gold, resamples=0).warnings == []
