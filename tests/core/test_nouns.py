"""The rules that the nouns carry with them."""

import math
from datetime import UTC, datetime

import pytest

from davy.core import BASES, FLAGS, POST_COLUMNS, Annotation, Metric, Post, Report, UserError, Verdict
from davy.core.errors import nearest
from davy.testing.suite import Case, Outcome, Suite

NOW = datetime(2024, 5, 1, tzinfo=UTC)


def annotation(**changes):
    values = {
        "id": "a1",
        "post": "p1",
        "annotator": "ann",
        "scheme": "edos",
        "scheme_version": 1,
        "guideline_version": 2,
        "answers": {"sexist": ("not sexist",)},
        "at": NOW,
    }
    return Annotation(**{**values, **changes})


def test_an_annotation_names_the_scheme_and_the_guideline_it_was_given_under():
    given = annotation()
    assert (given.scheme_version, given.guideline_version) == (1, 2)
    assert not given.refused


@pytest.mark.parametrize("flag", FLAGS)
def test_an_annotation_takes_every_known_flag(flag):
    answers = {} if flag == "refused" else {"sexist": ("sexist",)}
    assert annotation(flags=(flag,), answers=answers).refused is (flag == "refused")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"flags": ("bored",)}, "unknown flag 'bored'"),
        ({"flags": ("refused",)}, "a refused post has no answers"),
        ({"seconds": -1.0}, "below zero"),
    ],
)
def test_an_annotation_refuses_what_makes_no_sense(changes, said):
    with pytest.raises(ValueError, match=said):
        annotation(**changes)


def test_an_annotation_never_changes():
    with pytest.raises(AttributeError):
        annotation().comment = "on second thoughts"


@pytest.mark.parametrize("basis", BASES)
def test_a_verdict_names_its_basis(basis):
    assert Verdict("p1", "hate", ("hateful",), basis, ("a1", "a2")).basis == basis


def test_a_verdict_without_a_known_basis_is_refused():
    with pytest.raises(ValueError, match="unknown basis 'guess'"):
        Verdict("p1", "hate", ("hateful",), "guess")


@pytest.mark.parametrize("basis", ["unanimous", "majority"])
@pytest.mark.parametrize("annotations", [(), ("a1",)])
def test_agreement_needs_at_least_two_annotations(basis, annotations):
    with pytest.raises(ValueError, match="needs the annotations it rests on"):
        Verdict("p1", "hate", ("hateful",), basis, annotations)


def test_a_metric_prints_with_its_interval_and_its_n():
    assert str(Metric("macro-F1", 0.81234, 2000, 0.79, 0.83)) == "0.812 [0.790, 0.830] (n=2000)"
    assert str(Metric("count", 3.0, 3, note="a count has no interval")) == "3.000 (n=3)"
    assert str(Metric("recall", None, 0, note="no positives")) == "no positives (n=0)"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"value": 0.5, "n": 10}, "needs a note"),
        ({"value": None, "n": 0}, "needs a note"),
        ({"value": 0.5, "n": 10, "low": 0.4}, "both ends"),
        ({"value": 0.5, "n": 10, "low": 0.6, "high": 0.4}, "upside down"),
        ({"value": 0.5, "n": -1, "low": 0.4, "high": 0.6}, "below zero"),
    ],
)
def test_a_metric_is_never_a_number_alone(values, said):
    with pytest.raises(ValueError, match=said):
        Metric("macro-F1", **values)


def test_a_report_gives_a_metric_by_its_name():
    report = Report("dev", (Metric("macro-F1", 0.8, 10, 0.7, 0.9),), data="sha", model="majority 1", made_at=NOW)
    assert math.isclose(report["macro-F1"].value, 0.8)
    with pytest.raises(KeyError):
        report["accuracy"]


def test_a_post_needs_an_id_and_is_not_its_own_parent():
    assert Post("p1", "").text == ""
    with pytest.raises(ValueError, match="needs an id"):
        Post("", "text")
    with pytest.raises(ValueError, match="names itself as its parent"):
        Post("p1", "text", parent="p1")


def test_the_columns_of_posts_are_fixed():
    assert len(set(POST_COLUMNS)) == len(POST_COLUMNS)
    assert {"id", "text", "lang", "image", "parent", "meta"} <= set(POST_COLUMNS)


def test_a_suite_has_no_two_cases_with_one_id():
    case = Case("c1", "I like [IDENTITY].", "positive", "not hateful")
    assert len(Suite("s", "1", "hate", "en", (case,)).cases) == 1
    with pytest.raises(ValueError, match="two cases with id 'c1'"):
        Suite("s", "1", "hate", "en", (case, case))


def test_an_outcome_that_does_not_apply_says_why_and_is_not_judged():
    assert Outcome("c1", None, None, None, applies=False, note="no emoji in this language").correct is None
    with pytest.raises(ValueError, match="say why"):
        Outcome("c1", None, None, None, applies=False)


def test_an_outcome_that_applies_has_a_label_and_a_judgement():
    with pytest.raises(ValueError, match="needs a label and a judgement"):
        Outcome("c1", "hateful", 0.9, None)


def test_a_user_error_carries_its_message_and_its_status():
    error = UserError("No such file. Give another.", status=404)
    assert (str(error), error.message, error.status) == (error.message, "No such file. Give another.", 404)
    assert UserError("x").status == 400


def test_the_nearest_known_word_is_offered_and_a_far_one_is_not():
    assert nearest("sexsit", ["sexist", "hate"]) == " Did you mean 'sexist'?"
    assert nearest("weather", ["sexist", "hate"]) == ""


@pytest.mark.parametrize(
    "metric",
    [Metric("f1", 1 / 3, 9, 0.1, 0.6), Metric("f1", None, 0, note="not defined"), Metric("f1", 0.5, 4, 0.2, 0.8, 0.9)],
)
def test_a_metric_comes_back_from_the_one_shape_that_files_hold(metric):
    record = metric.to_dict()
    assert list(record) == ["name", "value", "n", "low", "high", "level", "note"]
    assert Metric.from_dict(record) == metric


def test_a_metrics_numbers_are_rounded_on_request_and_older_records_are_read():
    assert Metric("f1", 1 / 3, 9, 0.1, 0.6).to_dict(2)["value"] == 0.33
    assert Metric.from_dict({"name": "f1", "value": 0.5, "n": 4, "low": 0.2, "high": 0.8}).level == 0.95
