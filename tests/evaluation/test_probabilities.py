"""What `evaluate` says of probabilities, against scikit-learn; and its list of errors, the surest first."""

import json

import numpy as np
import polars as pl
import pytest
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, precision_recall_curve

import davy
from davy.core import Label, Question
from davy.core.scorer import PLAIN, Scores
from davy.shell.app import run

HATE = Question("hate", (Label("not hateful"), Label("hateful")), positive="hateful")
MOOD = Question("mood", tuple(Label(name) for name in ("joy", "anger", "fear")))


class Told:
    """A detector that says the probabilities which stand in the texts."""

    name, version, questions, abilities = "told", "1", (HATE, MOOD), PLAIN

    def score(self, posts):
        rows = np.array([json.loads(text) for text in posts["text"]])
        return Scores(self.questions, {"hate": np.stack([1 - rows[:, 0], rows[:, 0]], axis=1), "mood": rows[:, 1:]})


@pytest.fixture(scope="module")
def posts():
    rng = np.random.default_rng(5)
    yes = rng.beta(1.2, 2, 400).round(6)
    moods = rng.dirichlet([1, 2, 1], 400).round(6)
    moods[:, 2] = 1 - moods[:, :2].sum(axis=1)
    gold = rng.random(400) < yes**1.5
    feeling = [MOOD.label_names[rng.choice(3, p=np.abs(row) / np.abs(row).sum())] for row in moods]
    texts = [json.dumps([float(y), *(float(x) for x in row)]) for y, row in zip(yes, moods, strict=True)]
    return pl.DataFrame({"text": texts, "hate.gold": gold.astype(int), "mood.gold": feeling}), yes, gold, moods, feeling


@pytest.fixture(scope="module")
def result(posts):
    return davy.evaluate({"told": davy.load(Told())}, posts[0], resamples=50)


def figure(result, question, name):
    return result.frame.filter((pl.col("question") == question) & (pl.col("figure") == name)).row(0, named=True)


def test_brier_score_and_calibration_error_are_scikit_learn_s(result, posts):
    _, yes, gold, _, _ = posts
    brier = figure(result, "hate", "brier")
    assert brier["value"] == pytest.approx(brier_score_loss(gold, yes), abs=1e-6)
    assert brier["low"] < brier["value"] < brier["high"]
    right, sure = calibration_curve(gold, yes, n_bins=10)
    filled = np.bincount(np.minimum((yes * 10).astype(int), 9), minlength=10)
    expected = (filled[filled > 0] * np.abs(right - sure)).sum() / len(yes)
    assert figure(result, "hate", "ece")["value"] == pytest.approx(expected, abs=1e-6)
    table = result.reliability("hate")
    assert table["share_of_yes"].to_list() == pytest.approx(right.tolist())


def test_the_precision_recall_curve_is_scikit_learn_s(result, posts):
    _, yes, gold, _, _ = posts
    precision, recall, thresholds = precision_recall_curve(gold, yes)
    curve = result.precision_recall("hate").sort("threshold")
    assert curve["threshold"].to_list() == pytest.approx(thresholds.tolist())
    assert curve["precision"].to_list() == pytest.approx(precision[:-1].tolist())
    assert curve["recall"].to_list() == pytest.approx(recall[:-1].tolist())


def test_several_classes_have_a_brier_score_and_a_calibration_error_too(result, posts):
    _, _, _, moods, feeling = posts
    truth = np.array([[name == label for name in MOOD.label_names] for label in feeling], dtype=float)
    assert figure(result, "mood", "brier")["value"] == pytest.approx(
        ((moods - truth) ** 2).sum(axis=1).mean(), abs=1e-5
    )
    right = moods.argmax(axis=1) == truth.argmax(axis=1)
    share, sure = calibration_curve(right, moods.max(axis=1), n_bins=10)
    filled = np.bincount(np.minimum((moods.max(axis=1) * 10).astype(int), 9), minlength=10)
    expected = (filled[filled > 0] * np.abs(share - sure)).sum() / len(right)
    assert figure(result, "mood", "ece")["value"] == pytest.approx(expected, abs=1e-5)


def test_errors_come_with_their_texts_the_surest_first(result, posts):
    _, yes, gold, _, _ = posts
    errors = result.errors("hate")
    assert len(errors) == ((yes >= 0.5) != gold).sum()
    assert errors["confidence"].is_sorted(descending=True)
    first = errors.row(0, named=True)
    chance = json.loads(first["text"])[0]
    assert first["confidence"] == pytest.approx(max(chance, 1 - chance), abs=1e-6)
    assert first["gold"] != first["predicted"]


def test_the_shell_masks_the_texts_of_errors_and_leaves_them_out_when_asked(tmp_path, capsys):
    (tmp_path / "words.txt").write_text("grumblefop\n", encoding="utf-8")
    slur = "f" + "aggot"  # a word that masking knows, never whole in code
    pl.DataFrame(
        {"text": ["nice day", f"you {slur}", "grumblefop"], "hate.gold": ["not hateful", "hateful", "hateful"]}
    ).write_csv(tmp_path / "posts.csv")
    command = ["evaluate", f"{tmp_path}/posts.csv", "-m", f"keywords:{tmp_path}/words.txt", "--resamples", "20"]
    assert run([*command, "--out", f"{tmp_path}/report"]) == 0
    shown = capsys.readouterr().out
    assert "the surest first" in shown
    assert slur not in shown
    page = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert "Reliability" in page
    assert "Precision-recall" in page
    assert slur in (tmp_path / "report" / "errors.csv").read_text(encoding="utf-8")
    assert run([*command, "--errors", "0", "--out", f"{tmp_path}/bare"]) == 0
    assert "the surest first" not in capsys.readouterr().out
    assert not (tmp_path / "bare" / "errors.csv").exists()
