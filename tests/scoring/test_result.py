"""One post's record: what `--json` prints, the library and HTTP return."""

import numpy as np

from davy.core import Label, Question
from davy.core.scorer import Scores
from davy.scoring.result import records

HATE = Question("hate", (Label("no"), Label("yes")), positive="yes")
TYPE = Question("type", (Label("threat"), Label("slight")), under=("hate", ("yes",)))


def test_a_harmless_post_has_no_type_and_a_hateful_one_has_its_path():
    blocks = {"hate": np.array([[0.9, 0.1], [0.2, 0.8]]), "type": np.array([[0.7, 0.3], [0.4, 0.6]])}
    harmless, hateful = records(Scores((HATE, TYPE), blocks))
    assert (harmless["verdict"], harmless["path"], list(harmless["questions"])) == ("none", [], ["hate"])
    assert (hateful["path"], list(hateful["questions"])) == ([["yes", "slight"]], ["hate", "type"])
    assert [list(it["questions"]) for it in records(Scores((HATE, TYPE), blocks), ["type"])] == [[], ["type"]]


def test_single_posts_are_chosen_as_arrays_choose_them():
    kinds = (
        HATE,
        Question("type", (Label("threat"), Label("slight"), Label("both", under=("yes",))), under=("hate", ("yes",))),
        Question("detail", (Label("a", under=("threat",)), Label("b", under=("slight",))), under=("type", ("threat",))),
        Question("target", (Label("women"), Label("men")), kind="many"),
        Question("calm", (Label("yes"), Label("no"), Label("so so")), positive="yes"),
    )
    chance = np.random.default_rng(7)
    n = 300
    for kind in (np.float32, np.float64):
        blocks = {q.name: chance.random((n, len(q.labels))).round(1).astype(kind) for q in kinds}
        for more in (
            {},
            {"read": chance.random(n) < 0.5},
            {"answered": {"hate": chance.random(n) < 0.7, "target": chance.random(n) < 0.2}},
            {"thresholds": {"hate": 0.7, "target": 0.3}},
            {"thresholds": {"hate": chance.random(n).round(1), "target": np.full(n, 0.7)}},
        ):
            scores = Scores(kinds, blocks, **more)
            found = records(scores)
            assert [it["verdict"] for it in found] == scores.verdicts()
            for question in kinds:
                answered = scores.has_answer(question)
                for row, labels in enumerate(scores.chosen(question.name)):
                    if question.name in found[row]["questions"]:
                        assert answered is None or answered[row]
                        assert found[row]["questions"][question.name]["label"] == "|".join(labels)
