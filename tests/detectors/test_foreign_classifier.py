"""A classifier of the Hugging Face hub with five labels of its own, beside ours in `check`, `evaluate` and `sample`."""

import json

import polars as pl
import pytest

from davy.shell.app import run
from tiny_encoder import make_tiny_classifier

LABELS = ["joy", "anger", "fear", "spite", "calm"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hub")
    make_tiny_classifier(folder / "five", LABELS)
    words = ["lovely garden", "they are bad", "nice people", "the wuzzle", "bad lobster"]
    texts = [f"{words[i % 5]} {words[i * 3 % 5]} {i}" for i in range(60)]
    gold = ["1" if "bad" in text else "0" for text in texts]
    feelings = [LABELS[i % 5] for i in range(60)]
    pl.DataFrame({"text": texts, "label": gold, "label.gold": feelings}).write_csv(folder / "posts.csv")
    return folder


def printed(capsys, *arguments):
    code = run([*arguments, "--json"])
    out, err = capsys.readouterr()
    assert code == 0, err
    return json.loads(out)


def test_a_scored_file_holds_every_label_s_probability(folder, capsys):
    assert run(["score", f"{folder}/posts.csv", "-m", f"hf:{folder}/five", "--out", f"{folder}/scored.jsonl"]) == 0
    rows = [json.loads(line) for line in (folder / "scored.jsonl").read_text(encoding="utf-8").splitlines()]
    assert all(list(row["label.probabilities"]) == LABELS for row in rows)
    assert all(sum(row["label.probabilities"].values()) == pytest.approx(1, abs=1e-5) for row in rows)
    assert all(
        max(row["label.probabilities"], key=row["label.probabilities"].get) == row["label.label"] for row in rows
    )
    capsys.readouterr()


def test_its_labels_answer_our_question_beside_our_detector(folder, capsys):
    theirs = f"hf:{folder}/five@hate=spite,hate=anger"
    found = printed(capsys, "evaluate", f"{folder}/posts.csv", "--scheme", "hate", "--gold", "hate=label",
                    "-m", theirs, "-m", "uniform", "--resamples", "20")  # fmt: skip
    assert set(found["questions"]["hate"]["models"]) == {theirs, "uniform"}
    checked = printed(capsys, "check", "emoji-en", "-m", theirs, "-m", "uniform", "--resamples", "20", "--no-cache")
    assert [model["name"] for model in checked["models"]] == [theirs, "uniform"]
    (folder / "plan.yaml").write_text("name: two\nsamplers:\n  - uncertainty: {name: t, judge: one, n: 20}\n", "utf-8")
    plan = ["--plan", f"{folder}/plan.yaml", "--judge", f"one={theirs}#hate", "--out", f"{folder}/taken.csv"]
    assert run(["sample", f"{folder}/posts.csv", *plan]) == 0
    assert len(pl.read_csv(folder / "taken.csv")) == 20


def test_it_is_measured_by_its_own_labels_too(folder, capsys):
    model = f"hf:{folder}/five"
    found = printed(capsys, "evaluate", f"{folder}/posts.csv", "-m", model, "--resamples", "20")
    assert list(found["questions"]) == ["label"]
    assert found["questions"]["label"]["models"][model]["confusion"]["labels"] == LABELS


def test_without_a_meaning_the_error_says_how_to_give_one(folder, capsys):
    model = f"hf:{folder}/five"
    for arguments in (
        ["check", "emoji-en", "-m", model, "--question", "label"],
        ["check", "emoji-en", "-m", model],
        ["evaluate", f"{folder}/posts.csv", "--scheme", "hate", "--gold", "hate=label", "-m", model],
    ):
        assert run(arguments) == 2
        assert f"joy, anger, fear, spite, calm) is a yes: {model}@hate=calm" in capsys.readouterr().err
    for wrong, message in (
        ("@hate", "is a spelling of 'hateful'"),
        ("@hate=glee", "has no label 'glee'"),
        ("@=joy", "QUESTION=LABEL"),
    ):
        assert run(["score", "--text", "a", "-m", model + wrong]) == 2
        assert message in capsys.readouterr().err
    assert run(["score", "--text", "a", "-m", str(folder / "five")]) == 2
    assert f"hf:{folder}/five" in capsys.readouterr().err


def test_a_label_is_found_by_its_spelling(tmp_path, capsys):
    make_tiny_classifier(tmp_path / "spelt", ["NOTHATE", "hateful"])
    record = printed(capsys, "score", "--text", "a", "-m", f"hf:{tmp_path}/spelt@hate")
    assert list(record["questions"]["hate"]["labels"]) == ["not hateful", "hateful"]
    make_tiny_classifier(tmp_path / "bare", ["LABEL_0", "LABEL_1"])
    pl.DataFrame({"text": ["a", "b"], "label.gold": ["0", "1"]}).write_csv(tmp_path / "posts.csv")
    found = printed(capsys, "evaluate", f"{tmp_path}/posts.csv", "-m", f"hf:{tmp_path}/bare", "--resamples", "20")
    assert found["questions"]["label"]["gold"] == {"LABEL_0": 1, "LABEL_1": 1}
