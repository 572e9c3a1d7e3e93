"""A model folder of `davy train` is there whole or not at all, and one that is not whole is refused in one line."""

from pathlib import Path

import pytest

from davy.detectors import folder as folders
from davy.detectors.load import load
from davy.shell.app import run
from davy.training import run_record

KINDS = ("tfidf", "xgboost", "transformer")


@pytest.fixture
def train(posts, tiny, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    posts.write_csv("posts.csv")

    def command(kind, *more):
        chosen = ["--encoder", str(tiny), "--set", "epochs=1"] if kind == "transformer" else ["--kind", kind]
        return run(["train", "posts.csv", "--scheme", "hatemoji", *chosen, *more, "--out", "run"])

    return command


def kill(*_, **__):
    raise KeyboardInterrupt


@pytest.mark.parametrize("kind", KINDS)
def test_a_training_that_is_killed_leaves_no_model_and_an_earlier_one_as_it_was(kind, train, tmp_path, capsys):
    model = tmp_path / "run/seed-1/model"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_record, "write_run", kill)  # after the weights were written, before the card
        assert train(kind) != 0
    assert not model.exists()
    capsys.readouterr()
    assert run(["calibrate", "run/seed-1/model", "posts.csv", "--out", "better"]) == 2
    assert "There is no model folder run/seed-1/model" in capsys.readouterr().err
    assert train(kind) == 0
    assert (model / "card.md").is_file()
    before = {path.name: path.read_bytes() for path in model.iterdir()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_record, "model_card", kill)
        assert train(kind, "--replace") != 0
    assert {path.name: path.read_bytes() for path in model.iterdir()} == before
    assert train(kind, "--replace") == 0
    assert [path.name for path in model.parent.iterdir() if path.name.startswith(".")] == []


def test_a_folder_that_is_no_whole_model_is_refused_and_says_what_to_name(train, tmp_path, capsys):
    assert train("tfidf") == 0
    for name, said in (("run", "Name the one in it: run/seed-1/model"), ("run/seed-1", "Name the one in it")):
        assert run(["score", "posts.csv", "--model", name, "--out", "scored.csv"]) == 2
        assert said in " ".join(capsys.readouterr().err.split())
    (tmp_path / "run/seed-1/model/manifest.json").unlink()
    for command in (["score", "posts.csv", "--out", "x.csv", "--model"], ["calibrate", "--out", "better"]):
        rest = ["posts.csv"] if command[0] == "calibrate" else []
        assert run([*command, "run/seed-1/model", *rest]) == 2
        told = capsys.readouterr().err
        assert "It is not whole" in " ".join(told.split())
        assert told.count("\n") == 1
    (tmp_path / "half/seed-1/checkpoint").mkdir(parents=True)
    assert run(["score", "posts.csv", "--model", "half", "--out", "x.csv"]) == 2
    assert "a training that has not ended" in " ".join(capsys.readouterr().err.split())


def test_a_calibration_is_written_to_a_folder_of_its_own(train, tmp_path, capsys):
    assert train("tfidf") == 0
    for out in ("run", "run/seed-1/model"):
        assert run(["calibrate", "run/seed-1/model", "posts.csv", "--out", out]) == 2
        assert "exists. Write over it with --replace" in capsys.readouterr().err
    assert (tmp_path / "run/run.json").is_file()
    assert load("run/seed-1/model").abilities.calibrated is None


def test_what_was_calibrated_is_kept_by_an_export(train, tmp_path):
    assert train("transformer") == 0
    assert run(["calibrate", "run/seed-1/model", "posts.csv", "--threshold-rule", "recall=1.0", "--out", "better"]) == 0
    assert run(["export", "better", "--exact", "--out", "small"]) == 0
    before, after = folders.read(Path("better")), load("small")
    assert before.thresholds
    assert (after.manifest.thresholds, after.manifest.temperatures) == (before.thresholds, before.temperatures)
    assert after.abilities.calibrated(["bad grumblefops", "never seen"]).tolist() == [True, False]


def test_the_end_of_a_training_names_its_models_as_other_commands_take_them(train, capsys):
    assert train("tfidf", "--seed", "1", "--seed", "2") == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "run/seed-1/model, run/seed-2/model" in said
    assert "davy evaluate FILE --model run/seed-1/model" in said
