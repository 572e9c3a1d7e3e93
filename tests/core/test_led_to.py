"""Which questions one post's answers lead to."""

from davy.core import Label, Question
from davy.core.scorer import applicable_questions


def test_a_post_is_led_to_children_of_what_was_answered_and_not_to_theirs_where_a_parent_was_passed_over():
    sexist = Question("sexist", (Label("no"), Label("yes")), positive="yes")
    category = Question("category", (Label("a"), Label("b")), under=("sexist", ("yes",)))
    vector = Question("vector", (Label("a1"), Label("b1")), under=("category", ("a", "b")))
    questions = (sexist, category, vector)
    said = {"sexist": ("yes",), "category": ("a",), "vector": ("a1",)}
    assert applicable_questions(questions, said) == ["sexist", "category", "vector"]
    assert applicable_questions(questions, {**said, "sexist": ("no",)}) == ["sexist"]
    # A detector that answers a child question alone is heard.
    assert applicable_questions((category, vector), {"category": ("b",), "vector": ("b1",)}) == ["category", "vector"]
