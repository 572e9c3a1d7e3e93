"""Answers of one detector that contradict each other, and what becomes of them."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from davy.core.errors import UserError
from davy.detectors import folder as folders
from davy.detectors.embedded import weights_folder
from davy.detectors.joint_answers import JointAnswers
from davy.detectors.load import load

MANIFEST = folders.read(weights_folder("embedded-en"), check=False)
QUESTIONS = {question.name: question for question in MANIFEST.questions}
TARGETS = QUESTIONS["target"].label_names


def decoded(text: str = "", **yes: float) -> dict[str, np.ndarray]:
    """Return one post's probabilities after the rules; `yes` gives those of yes/no questions and of targets."""
    blocks = {name: np.full((1, len(it.labels)), 1 / len(it.labels)) for name, it in QUESTIONS.items()}
    blocks["target"] = np.zeros((1, len(TARGETS)))
    for name, chance in yes.items():
        if name in QUESTIONS:
            blocks[name] = np.array([[1 - chance, chance]])
        else:
            blocks["target"][0, TARGETS.index(name.replace("_", " "))] = chance
    joint = JointAnswers.of(weights_folder("embedded-en"), MANIFEST)
    return joint.decode([text], blocks, np.array([True]))


def says(found: dict[str, np.ndarray], name: str) -> bool:
    return bool(found[name][0, 1] >= MANIFEST.thresholds[name])


def named(found: dict[str, np.ndarray]) -> list[str]:
    return [label for label, p in zip(TARGETS, found["target"][0], strict=True) if p >= MANIFEST.thresholds["target"]]


def test_what_is_hateful_is_offensive():
    assert says(decoded(hate=0.51, offensive=0.1), "offensive")
    assert not says(decoded(hate=0.49, offensive=0.1), "offensive")


def test_hate_about_others_is_not_sexist_unless_that_is_nearly_sure():
    assert not says(decoded(hate=0.9, sexist=0.6, muslims=0.5), "sexist")
    sure = decoded(hate=0.9, sexist=0.9, muslims=0.5)
    assert says(sure, "sexist")
    assert named(sure) == ["muslims", "women"]


def test_hate_about_women_is_sexist_unless_that_is_denied():
    assert says(decoded(hate=0.9, sexist=0.3, women=0.6), "sexist")
    denied = decoded(hate=0.9, sexist=0.05, women=0.6)
    assert not says(denied, "sexist")
    assert named(denied) == []


def test_few_targets_are_named_and_the_likeliest_below_the_threshold_too():
    many = decoded(hate=0.9, muslims=0.9, arabs=0.8, refugees=0.7, immigrants=0.6)
    assert named(many) == ["muslims", "arabs", "refugees"]
    assert named(decoded(hate=0.9, muslims=0.12)) == ["muslims"]
    assert named(decoded(hate=0.9, muslims=0.05)) == []


def test_both_taxonomies_agree_on_threats_where_both_are_answered():
    for text in ("", "they should be killed"):
        found = decoded(text, hate=0.9, sexist=0.9, women=0.9)
        threat = [
            QUESTIONS[n].label_names[int(found[n][0].argmax())].startswith("threat") for n in ("type", "category")
        ]
        assert threat[0] == threat[1]
        assert found["type"].sum() == pytest.approx(1)


def test_a_threat_of_killing_is_a_threat_and_about_whom_it_is():
    verdict = load("embedded-en").score(pl.DataFrame({"text": ["kill all muslims"]})).verdicts()[0]
    assert verdict == "hateful > threatening language; hateful > muslims; offensive"


def test_posts_that_a_screen_cleared_stay_as_they_are():
    joint = JointAnswers.of(weights_folder("embedded-en"), MANIFEST)
    blocks = {name: np.zeros((1, len(it.labels))) for name, it in QUESTIONS.items()}
    assert all((block == 0).all() for block in joint.decode(["x"], blocks, np.array([False])).values())


def test_rules_that_do_not_fit_a_folder_are_refused(tmp_path):
    with pytest.raises(UserError, match=r"settings\.joint does not fit"):
        JointAnswers.of(tmp_path, replace(MANIFEST, settings={"joint": {"no_such_rule": 1}}))
    no_women = tuple(question for question in MANIFEST.questions if question.name != "sexist")
    with pytest.raises(UserError, match="no question 'sexist'"):
        JointAnswers.of(tmp_path, replace(MANIFEST, questions=no_women, settings={"joint": {}}))


def test_german_answers_fit_together_and_misogyny_stays_as_its_head_has_it():
    german = folders.read(weights_folder("embedded-de"), check=False)
    joint = JointAnswers.of(weights_folder("embedded-de"), german)
    names = {question.name: question for question in german.questions}
    targets = names["target"].label_names
    blocks = {name: np.full((3, len(it.labels)), 1 / len(it.labels)) for name, it in names.items()}
    blocks["hate"][:] = [0.1, 0.9]
    blocks["offensive"][:] = [0.9, 0.1]
    blocks["misogynistic"][:] = [[0.4, 0.6], [0.9, 0.1], [0.9, 0.1]]
    blocks["target"][:] = 0
    blocks["target"][[0, 1, 2], [targets.index(it) for it in ("muslims", "women", "muslims")]] = 0.5
    found = joint.decode(["a", "b", "c"], blocks, np.ones(3, dtype=bool))
    assert (found["offensive"][:, 1] >= german.thresholds["offensive"]).all()
    assert (found["misogynistic"] == blocks["misogynistic"]).all()
    named = found["target"] >= german.thresholds["target"]
    assert [[targets[i] for i in np.flatnonzero(row)] for row in named] == [["muslims", "women"], [], ["muslims"]]
    assert (found["type"] == blocks["type"]).all()
