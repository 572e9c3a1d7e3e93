"""Several detectors as one: means, votes, ties, missing answers, and what the members must share."""

from dataclasses import dataclass, field

import numpy as np
import polars as pl
import pytest

from davy import schemes
from davy.core import Abilities, Label, Question, Scores, UserError
from davy.core.scorer import PLAIN
from davy.detectors.ensemble import combine
from davy.detectors.load import load

HATE = schemes.load("hate").question("hate")
TYPE = Question("type", (Label("a"), Label("b"), Label("c")))
GROUPS = Question("groups", (Label("x"), Label("y")), kind="many")
POSTS = pl.DataFrame({"text": ["one", "two"]})


@dataclass(frozen=True)
class Fixed:
    """A detector that always gives the same probabilities."""

    name: str
    blocks: dict
    questions: tuple = (HATE,)
    thresholds: dict = field(default_factory=dict)
    answered: dict = field(default_factory=dict)
    version: str = "1"
    abilities: Abilities = PLAIN

    def score(self, posts):
        blocks = {name: np.array(block) for name, block in self.blocks.items()}
        return Scores(self.questions, blocks, self.thresholds, answered=self.answered)


def hate(name, first, second, **options):
    return Fixed(name, {"hate": [[1 - first, first], [1 - second, second]]}, **options)


def test_the_mean_of_probabilities_equals_numpys():
    members = [hate("a", 0.9, 0.1), hate("b", 0.4, 0.2), hate("c", 0.8, 0.6)]
    scores = combine(members, "mean", "m").score(POSTS)
    assert scores.positive("hate").tolist() == pytest.approx([np.mean([0.9, 0.4, 0.8]), np.mean([0.1, 0.2, 0.6])])
    assert scores.chosen("hate") == [("hateful",), ("not hateful",)]


def test_a_mean_decides_at_the_mean_of_the_members_thresholds():
    members = [hate("a", 0.3, 0.3, thresholds={"hate": 0.2}), hate("b", 0.3, 0.1, thresholds={"hate": 0.3})]
    scores = combine(members, "mean", "m").score(POSTS)
    assert scores.thresholds["hate"] == pytest.approx(0.25)
    assert scores.chosen("hate") == [("hateful",), ("not hateful",)]


def test_a_vote_counts_labels_not_probabilities():
    members = [hate("a", 0.51, 0.99), hate("b", 0.51, 0.01), hate("c", 0.01, 0.01)]
    scores = combine(members, "vote", "v").score(POSTS)
    assert scores.chosen("hate") == [("hateful",), ("not hateful",)]
    assert scores.positive("hate") == pytest.approx([2 / 3, 1 / 3], abs=0.001)


def test_a_tied_vote_goes_to_the_surer_side():
    members = [hate("a", 0.9, 0.6), hate("b", 0.4, 0.1)]
    assert combine(members, "vote", "v").score(POSTS).chosen("hate") == [("hateful",), ("not hateful",)]


def test_a_vote_is_taken_at_each_members_own_threshold():
    members = [hate("a", 0.3, 0.1, thresholds={"hate": 0.2}), hate("b", 0.9, 0.1), hate("c", 0.1, 0.1)]
    assert combine(members, "vote", "v").score(POSTS).chosen("hate")[0] == ("hateful",)


def test_several_labels_and_several_answers_are_joined_too():
    one = Fixed("a", {"type": [[0.6, 0.3, 0.1]] * 2, "groups": [[0.9, 0.2]] * 2}, (TYPE, GROUPS))
    two = Fixed("b", {"type": [[0.1, 0.7, 0.2]] * 2, "groups": [[0.8, 0.9]] * 2}, (TYPE, GROUPS))
    scores = combine([one, two], "mean", "m").score(POSTS)
    assert scores.chosen("type")[0] == ("b",)
    assert scores.chosen("groups")[0] == ("x", "y")


def test_labels_in_another_order_are_put_in_order():
    turned = Question("type", (Label("c"), Label("a"), Label("b")))
    one = Fixed("a", {"type": [[0.6, 0.3, 0.1]] * 2}, (TYPE,))
    two = Fixed("b", {"type": [[0.1, 0.6, 0.3]] * 2}, (turned,))
    assert combine([one, two], "mean", "m").score(POSTS).probabilities["type"][0] == pytest.approx([0.6, 0.3, 0.1])


def test_a_member_without_an_answer_is_left_out_and_none_at_all_is_no_answer():
    silent = {"hate": np.array([False, False])}
    half = {"hate": np.array([True, False])}
    scores = combine([hate("a", 0.9, 0.9, answered=silent), hate("b", 0.2, 0.2, answered=half)], "mean", "m").score(
        POSTS
    )
    assert scores.positive("hate")[0] == pytest.approx(0.2)
    assert scores.chosen("hate") == [("not hateful",), ()]


def test_only_questions_that_all_members_answer_are_kept():
    wide = Fixed("a", {"hate": [[0.5, 0.5]] * 2, "type": [[1, 0, 0]] * 2}, (HATE, TYPE))
    assert [q.name for q in combine([wide, hate("b", 0.1, 0.1)], "mean", "m").questions] == ["hate"]


def test_members_with_other_labels_or_nothing_in_common_are_refused():
    other = Fixed("b", {"hate": [[0.5, 0.5]] * 2}, (Question("hate", (Label("yes"), Label("no"))),))
    with pytest.raises(UserError, match="labels for 'hate' differ"):
        combine([hate("a", 0.1, 0.1), other], "mean", "m")
    with pytest.raises(UserError, match="a answers hate; b answers type"):
        combine([hate("a", 0.1, 0.1), Fixed("b", {"type": [[1, 0, 0]] * 2}, (TYPE,))], "mean", "m")


def test_an_ensemble_is_loaded_by_name_and_its_version_follows_its_members(tmp_path):
    (tmp_path / "words.txt").write_text("grumblefop\n")
    name = f"ensemble:mean:keywords:{tmp_path}/words.txt@edos+uniform:1@edos+majority@edos"
    scorer = load(name)
    assert [q.name for q in scorer.questions][:1] == ["sexist"]
    assert scorer.name == name
    assert load(name).version == scorer.version
    assert load(name.replace("uniform:1", "uniform:2")).version != scorer.version
    assert load(name.replace("mean", "vote")).version != scorer.version
    assert scorer.score(pl.DataFrame({"text": ["a grumblefop"]})).verdicts() != []


@pytest.mark.parametrize(
    "name",
    ["ensemble", "ensemble:mean", "ensemble:mean:majority", "ensemble:median:majority+uniform",
     "ensemble:mean:uniform+", "ensemble:mean:uniform+uniform", "ensemble:mean:ensemble:vote:a+b"],
)  # fmt: skip
def test_a_name_that_is_no_ensemble_is_refused_in_one_line(name):
    with pytest.raises(UserError) as caught:
        load(name)
    assert "ensemble" in caught.value.message
    assert "\n" not in caught.value.message
