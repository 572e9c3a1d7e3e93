"""Settled answers: what a cell says, which questions apply, the no that follows, and the same for whole columns."""

import polars as pl
import pytest

from davy.core import Label, Question, Scheme, UserError
from davy.core.answers import UnknownLabel, applies_mask, imply_no, parse_cell, parse_column, split_cell
from davy.core.gold import fill_implied_no, gold_questions, parse_gold, right_answers, targets
from davy.core.scheme import applicable_questions

SEXIST = Question("sexist", (Label("no"), Label("yes", aliases=("1",))), positive="yes")
CATEGORY = Question("category", (Label("a"), Label("b")), under=("sexist", ("yes",)), absent=("none",))
VECTOR = Question("vector", (Label("a1", under=("a",)), Label("b1", under=("b",))), under=("category", ("a", "b")))
THREAT = Question("threat", (Label("no"), Label("yes")), positive="yes", under=("category", ("b",)))
TARGET = Question("target", (Label("women"), Label("men")), kind="many", open=True, absent=("none",))
GROUPS = Question("groups", (Label("women"), Label("men")), kind="many")
QUESTIONS = (SEXIST, CATEGORY, VECTOR, THREAT)


@pytest.mark.parametrize(
    ("cell", "question", "labels"),
    [
        (None, SEXIST, None),
        ("", SEXIST, None),
        (" YES ", SEXIST, ("yes",)),
        ("1", SEXIST, ("yes",)),
        ("None", CATEGORY, None),
        (None, TARGET, None),
        ("", TARGET, ()),
        ("none", TARGET, None),
        ("men | women|men", TARGET, ("men", "women")),
        ("women|none", TARGET, ("women",)),
        ("women|robots", TARGET, ("women",)),
        ("robots", TARGET, ()),
        ("none", GROUPS, ()),
    ],
)
def test_a_cell_is_its_labels_in_the_schemes_names(cell, question, labels):
    assert parse_cell(cell, question) == labels


def test_labels_that_an_open_question_does_not_list_can_be_kept():
    assert parse_cell("women|robots", TARGET, keep_unlisted=True) == ("women", "robots")


def test_a_spelling_that_is_no_label_is_an_error_with_its_row_and_the_labels_there_are():
    with pytest.raises(UnknownLabel, match=r"'yess', which is no label of 'sexist'; it has no, yes. Did you") as caught:
        parse_column(["yes", None, "yess"], SEXIST)
    assert caught.value.row == 2


def test_a_cell_is_cut_at_its_bars():
    assert split_cell(" a| b ||a") == ("a", "b")
    assert split_cell(None) == ()


def test_a_post_is_led_to_children_of_what_was_answered_and_not_to_theirs_where_a_parent_was_passed_over():
    said = {"sexist": ("yes",), "category": ("a",), "vector": ("a1",)}
    assert applicable_questions(QUESTIONS, said) == ["sexist", "category", "vector"]
    assert applicable_questions(QUESTIONS, {**said, "sexist": ("no",)}) == ["sexist"]
    # A detector that answers a child question alone is heard.
    assert applicable_questions((CATEGORY, VECTOR), {"category": ("b",)}) == ["category", "vector"]


COLUMNS = {
    "sexist": [("yes",), ("no",), None, ("yes",), ("no",)],
    "category": [("b",), None, ("a",), None, ("b",)],
    "threat": [None, None, None, None, ("yes",)],
}


def test_a_question_applies_is_passed_over_or_is_not_known_to_apply_up_to_the_root():
    assert applies_mask(CATEGORY, QUESTIONS, COLUMNS, 5) == [True, False, None, True, False]
    assert applies_mask(THREAT, QUESTIONS, COLUMNS, 5) == [True, False, False, None, False]
    assert applies_mask(VECTOR, QUESTIONS, COLUMNS, 5) == [True, False, None, None, False]


def test_a_parent_without_a_column_is_not_looked_at():
    assert applies_mask(CATEGORY, QUESTIONS, {"category": [("a",)]}, 1) == [True]


def test_what_was_passed_over_is_a_no_and_an_answer_stays():
    mask = applies_mask(THREAT, QUESTIONS, COLUMNS, 5)
    assert imply_no(THREAT, COLUMNS["threat"], mask) == [None, ("no",), ("no",), None, ("yes",)]
    assert imply_no(CATEGORY, COLUMNS["category"], [False] * 5) == COLUMNS["category"]


def test_one_posts_answers_imply_the_same_noes_as_columns_do():
    scheme = Scheme("s", 1, QUESTIONS)
    assert scheme.implied({"sexist": ("no",)}) == {"sexist": ("no",), "threat": ("no",)}
    assert scheme.implied({"sexist": ("yes",), "category": ("b",)}) == {"sexist": ("yes",), "category": ("b",)}
    assert scheme.implied({"sexist": ("yes",)}) == {"sexist": ("yes",)}


POSTS = pl.DataFrame(
    {
        "id": ["p", "q", "r", "s"],
        "sexist.gold": ["1", "no", None, "yes"],
        "category.gold": ["b", "none", None, "A"],
        "threat.gold": ["yes", None, None, None],
        "target.gold": ["women|men", None, "", "none"],
    }
)


def test_columns_of_a_frame_are_read_in_the_schemes_names():
    assert parse_gold(POSTS, [CATEGORY]) == {
        "category": [("b",), None, None, ("a",)],
        "sexist": [("1",), ("no",), None, ("yes",)],
    }


def test_implied_noes_are_written_into_a_frame():
    filled = fill_implied_no(POSTS, QUESTIONS)
    assert filled["threat.gold"].to_list() == ["yes", "no", None, "no"]
    assert filled.drop("threat.gold").equals(POSTS.drop("threat.gold"))


def test_answers_become_tables_to_learn_from_and_what_has_none_is_left_out():
    found = {
        question.name: (rows.tolist(), table.tolist()) for question, rows, table in targets((SEXIST, TARGET), POSTS)
    }
    assert found == {
        "sexist": ([0, 1, 3], [[0, 1], [1, 0], [0, 1]]),
        "target": ([0, 2], [[1, 1], [0, 0]]),
    }


def test_frames_without_settled_answers_and_with_unknown_labels_are_refused():
    with pytest.raises(UserError, match=r"No settled answers to learn from: wanted vector.gold"):
        gold_questions((VECTOR,), POSTS)
    with pytest.raises(UserError, match=r"Row 2 of sexist.gold has 'perhaps', which is no label of 'sexist'"):
        parse_gold(pl.DataFrame({"sexist.gold": ["yes", "perhaps"]}), (SEXIST,))


def test_right_answers_of_posts_fit_their_scheme_or_are_refused_by_post_id():
    scheme = Scheme("s", 1, (SEXIST, CATEGORY, TARGET))
    posts = POSTS.drop("threat.gold").with_columns(pl.Series("target.gold", ["women|robots", None, None, ""]))
    assert right_answers(posts, scheme) == [
        {"sexist": ("yes",), "category": ("b",), "target": ("women", "robots")},
        {"sexist": ("no",)},
        None,
        {"sexist": ("yes",), "category": ("a",)},
    ]
    with pytest.raises(UserError, match="Post 'q' has right answers that don't fit"):
        right_answers(posts.with_columns(pl.lit("a").alias("category.gold")), scheme)
    with pytest.raises(UserError, match=r"Column 'hate.gold' holds right answers, but scheme 's' asks"):
        right_answers(posts.with_columns(pl.lit("yes").alias("hate.gold")), scheme)
    with pytest.raises(UserError, match="Post 'p' has 'maybe', which is no label of 'sexist'"):
        right_answers(posts.with_columns(pl.lit("maybe").alias("sexist.gold")), scheme)
