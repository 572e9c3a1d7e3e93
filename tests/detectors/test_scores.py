"""What scores turn into: labels, verdicts and columns."""

import time

import numpy as np
import pytest

from davy.core import Label, NotANumber, Question, Scores

SEXIST = Question("sexist", (Label("not sexist"), Label("sexist")), positive="sexist")
CATEGORY = Question("category", (Label("threats"), Label("derogation")), under=("sexist", ("sexist",)))
VECTOR = Question(
    "vector",
    (
        Label("harm", under=("threats",)),
        Label("descriptive", under=("derogation",)),
        Label("aggressive", under=("derogation",)),
    ),
    under=("category", ("threats", "derogation")),
)
TARGET = Question("target", (Label("women"), Label("girls"), Label("men")), kind="many")
ALL = (SEXIST, CATEGORY, VECTOR, TARGET)


def scores(**changes):
    blocks = {
        "sexist": np.array([[0.2, 0.8], [0.9, 0.1], [0.4, 0.6]]),
        "category": np.array([[0.1, 0.9], [0.7, 0.3], [0.8, 0.2]]),
        "vector": np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.8, 0.1]]),
        "target": np.array([[0.9, 0.6, 0.0], [0.0, 0.0, 0.0], [0.4, 0.5, 0.1]]),
    }
    return Scores(**{"questions": ALL, "probabilities": blocks, **changes})


def test_a_label_is_the_likeliest_and_ignores_the_hierarchy():
    assert scores().chosen("vector") == [("harm",), ("descriptive",), ("descriptive",)]


def test_a_many_question_takes_every_label_at_its_threshold_or_above():
    assert scores().chosen("target") == [("women", "girls"), (), ("girls",)]
    assert scores(thresholds={"target": 0.55}).chosen("target") == [("women", "girls"), (), ()]


def test_a_verdict_takes_only_labels_that_belong_beneath_the_parents_answer():
    assert scores().verdicts() == [
        "sexist > derogation > descriptive; women|girls",
        "none",
        "sexist > threats > harm; girls",
    ]


def test_a_threshold_can_differ_from_post_to_post():
    assert scores(thresholds={"sexist": np.array([0.9, 0.05, 0.5])}).chosen("sexist") == [
        ("not sexist",),
        ("sexist",),
        ("sexist",),
    ]


def test_posts_that_a_cascade_cleared_have_no_answer_to_child_questions_and_are_marked():
    columns = scores(read=np.array([True, False, True])).columns()
    assert columns["category.label"] == ["derogation", None, "threats"]
    assert columns["sexist.label"] == ["sexist", "not sexist", "sexist"]
    assert columns["cleared"] == [False, True, False]


def test_a_question_that_was_not_put_to_a_post_has_no_answer_there():
    columns = scores(answered={"sexist": np.array([False, True, True])}).columns()
    assert columns["sexist"] == [None, 0.1, 0.6]
    assert columns["verdict"][0] == "women|girls"


def test_a_post_without_any_answer_has_no_verdict():
    """A language model that refused a post did not find it harmless."""
    silent = {question.name: np.array([True, False, True]) for question in ALL}
    assert scores(answered=silent).verdicts()[1] is None
    assert scores(answered={**silent, "target": np.ones(3, dtype=bool)}).verdicts()[1] == "none"


def test_a_score_that_is_not_a_number_names_its_question_and_row():
    blocks = dict(scores().probabilities)
    blocks["category"] = np.array([[0.1, 0.9], [0.7, 0.3], [np.nan, 0.2]])
    with pytest.raises(NotANumber) as caught:
        scores(probabilities=blocks)
    assert (caught.value.question, caught.value.row) == ("category", 2)
    assert "post 3" in caught.value.message  # wherever it surfaces, it is one clear line


def test_parts_taken_and_joined_give_the_whole():
    whole = scores(
        read=np.array([True, False, True]),
        answered={"target": np.array([True, True, False])},
        thresholds={"sexist": np.array([0.9, 0.05, 0.5]), "target": 0.3},
    )
    joined = Scores.concat([whole.take(np.array([0])), whole.take(np.array([1, 2]))])
    assert joined.columns() == whole.columns()


def test_no_posts_give_empty_columns():
    none = scores().take(np.array([], dtype=int))
    assert set(map(len, none.columns().values())) == {0}


def test_columns_of_a_hundred_thousand_posts_are_cheap():
    rng = np.random.default_rng(3)
    blocks = {q.name: rng.dirichlet(np.ones(len(q.labels)), 100_000) for q in ALL}
    many = Scores(ALL, blocks)
    start = time.process_time()
    many.columns()
    assert time.process_time() - start < 2.0, "a loop over rows has crept in"
