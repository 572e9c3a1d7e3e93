"""`davy calibrate`: a detector's numbers set on posts, its figures before and after, and a folder that keeps them."""

import json
from dataclasses import dataclass, field

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import f1_score, recall_score

from davy.core.scheme import Question
from davy.core.scorer import Abilities, Scores
from davy.detectors import folder as folders
from davy.measure.calibration import choose_threshold
from davy.schemes import load as load_scheme
from davy.scoring.scorers import load_scorer
from davy.shell.app import run
from davy.training.calibrate import calibrate


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
    assert run(["calibrate", "mine", "posts.csv", "--out", "again", "--threshold-rule", "precision=0.9"]) == 0
    printed = capsys.readouterr()
    assert all(word in printed.out for word in ("temperature", "threshold", "precision", "recall"))
    # All 60 posts were learnt by heart, so that they ask for certainty: the bound is told.
    assert "stopped at its bound, 0.25" in printed.err


def test_posts_that_the_detector_learnt_from_are_counted_and_others_are_not(trained, capsys):
    new = pl.DataFrame({"text": ["you grumblefop there", "nice day"], "hate.gold": ["hateful", "not hateful"]})
    new.write_csv("new.csv")
    assert run(["calibrate", "mine", "posts.csv", "new.csv", "--out", "better"]) == 0
    assert "learnt from 60 of these 62 posts" in " ".join(capsys.readouterr().err.split())
    assert run(["calibrate", "mine", "new.csv", "--out", "fair"]) == 0
    assert "learnt from" not in capsys.readouterr().err


def test_the_saved_folder_is_the_detector_whose_figures_were_printed(tmp_path, monkeypatch, capsys):
    """Answers of shipped detectors are decoded together after temperatures, so tempering them later is not the same."""
    monkeypatch.chdir(tmp_path)
    texts = ["I hate women", "women are lovely", "you are all idiots", "what a day", "kill them all",
             "my wife is a nurse", "women belong in the kitchen", "nice weather", "girls are stupid",
             "she won the race"]  # fmt: skip
    gold = ["sexist", "not sexist", "not sexist", "not sexist", "sexist", "not sexist", "sexist", "sexist", "sexist",
            "not sexist"]  # fmt: skip
    frame = pl.DataFrame({"text": texts, "sexist.gold": gold})
    scorer, found = calibrate(load_scorer("embedded-en"), frame)
    scorer.save(tmp_path / "mine")
    saved = load_scorer("mine").score(frame)
    for name, block in scorer.score(frame).probabilities.items():
        np.testing.assert_allclose(block, saved.probabilities[name], atol=1e-6)
    said = [labels == ("sexist",) for labels in saved.chosen("sexist")]
    right = [label == "sexist" for label in gold]
    assert found.after["sexist"]["recall"] == pytest.approx(recall_score(right, said), abs=1e-6)
    assert found.after["sexist"]["macro-F1"] == pytest.approx(f1_score(right, said, average="macro"), abs=1e-6)


def test_posts_that_the_detector_did_not_judge_set_no_numbers():
    english = [("I hate women", "hateful"), ("what a day", "not hateful"), ("kill all muslims", "hateful"),
               ("we went for a walk", "not hateful")]  # fmt: skip
    russian = [("Сегодня хорошая погода, мы гуляли в парке", "hateful"), ("Мы пили чай и читали книгу", "not hateful")]
    frames = [pl.DataFrame(rows, schema=["text", "hate.gold"], orient="row") for rows in (english, english + russian)]
    alone, mixed = (calibrate(load_scorer("embedded"), frame)[1] for frame in frames)
    assert mixed.posts == alone.posts
    assert mixed.thresholds == pytest.approx(alone.thresholds)
    assert mixed.after["hate"] == pytest.approx(alone.after["hate"])


def test_what_can_not_be_calibrated_is_one_line(trained, capsys):
    for arguments, message in (
        (["embedded", "posts.csv", "--out", "x"], "can't be saved"),
        (["mine", "posts.csv", "--out", "x", "--threshold-rule", "best"], "is no rule for a threshold"),
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


def noisy_detector(n=600):
    """Return a detector that is too sure of itself, posts and gold: its logits are three times the honest ones."""
    rng = np.random.default_rng(7)
    honest = rng.normal(size=n) * 1.5
    yes = rng.random(n) < 1 / (1 + np.exp(-honest))
    chance = 1 / (1 + np.exp(-3 * honest))
    question = load_scheme("hate").questions[0]
    posts = pl.DataFrame({"text": [f"post {i}" for i in range(n)]}).with_columns(
        pl.Series("hate.gold", np.where(yes, "hateful", "not hateful"))
    )
    return FixedScorer(question, chance), posts, chance, yes


@dataclass(frozen=True)
class FixedScorer:
    question: Question
    chance: np.ndarray
    name: str = "fixed"
    version: str = "1"
    abilities: Abilities = field(default_factory=Abilities)

    @property
    def questions(self):
        return (self.question,)

    def score(self, posts):
        chance = self.chance[: len(posts)]
        return Scores(self.questions, {"hate": np.stack([1 - chance, chance], axis=1)})


def test_temperature_and_figures_are_scipys_and_scikit_learns():
    from scipy.optimize import minimize_scalar
    from sklearn.metrics import brier_score_loss, f1_score, log_loss, precision_score, recall_score

    scorer, posts, chance, yes = noisy_detector()
    calibrated, found = calibrate(scorer, posts)
    logits = np.log(chance / (1 - chance))

    def tempered(t):
        return 1 / (1 + np.exp(-logits / t))

    best = minimize_scalar(lambda t: log_loss(yes, tempered(t)), bounds=(0.25, 4), method="bounded").x
    assert found.temperatures["hate"] == pytest.approx(best, abs=1e-3)
    assert 2.5 < best < 3.6
    for figures, probability in ((found.before["hate"], chance), (found.after["hate"], tempered(best))):
        said = probability >= figures["threshold"]
        assert figures["log loss"] == pytest.approx(log_loss(yes, probability), abs=1e-4)
        assert figures["Brier score"] == pytest.approx(brier_score_loss(yes, probability), abs=1e-4)
        assert figures["macro-F1"] == pytest.approx(f1_score(yes, said, average="macro"), abs=1e-5)
        assert figures["precision"] == pytest.approx(precision_score(yes, said), abs=1e-5)
        assert figures["recall"] == pytest.approx(recall_score(yes, said), abs=1e-5)
    assert found.after["hate"]["calibration error"] < found.before["hate"]["calibration error"] / 2
    assert calibrated.score(posts).thresholds["hate"] == found.thresholds["hate"]
    assert found.warnings == []


def test_thresholds_are_those_that_scikit_learns_curves_give():
    from sklearn.metrics import f1_score, precision_recall_curve

    _, _, chance, yes = noisy_detector()
    precision, recall, cuts = precision_recall_curve(yes, chance)

    def reached(rule):
        said = chance >= choose_threshold(chance, yes, rule)
        return said, yes[said].mean(), said[yes].mean()

    _, exact, caught = reached("precision=0.8")
    assert exact >= 0.8
    assert caught == pytest.approx(recall[:-1][precision[:-1] >= 0.8].max())
    _, exact, caught = reached("recall=0.9")
    assert caught >= 0.9
    assert exact == pytest.approx(precision[:-1][recall[:-1] >= 0.9][-1])
    said, *_ = reached("macro-f1")
    assert f1_score(yes, said, average="macro") == pytest.approx(
        max(f1_score(yes, chance >= cut, average="macro") for cut in cuts)
    )
    said, *_ = reached("cost=4")
    costs = [(~yes & (chance >= cut)).sum() + 4 * (yes & (chance < cut)).sum() for cut in cuts]
    assert (~yes & said).sum() + 4 * (yes & ~said).sum() == min(costs)


def test_a_question_that_all_posts_answer_alike_keeps_its_threshold_and_says_so():
    scorer, posts, _, _ = noisy_detector(50)
    _, found = calibrate(scorer, posts.with_columns(pl.lit("not hateful").alias("hate.gold")))
    assert found.thresholds == {}
    assert any("one label" in warning for warning in found.warnings)


def test_the_cost_is_told_where_it_rules():
    scorer, posts, chance, yes = noisy_detector()
    _, found = calibrate(scorer, posts, threshold="cost=5")
    said = chance >= 0.5
    assert found.before["hate"]["cost a post"] == pytest.approx(((~yes & said).sum() + 5 * (yes & ~said).sum()) / 600)
    assert found.after["hate"]["cost a post"] <= found.before["hate"]["cost a post"]
