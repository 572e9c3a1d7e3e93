"""Running a suite: one pass, a cache, and a detector that fails on one case."""

import pytest

from davy.core import UserError
from davy.testing.run import AnswerCache, run_suite
from davy.testing.suite import Case, Outcome, Suite
from fake_detectors import FailsOn, Rule


def angry(text):
    return 0.9 if "Away" in text or "😡" in text else 0.2


def test_every_case_gets_an_outcome_in_one_pass(small):
    detector = Rule(angry)
    found = run_suite(small, detector)
    assert detector.asked == len(small.cases)
    assert [outcome.case for outcome in found.outcomes] == [case.id for case in small.cases]
    right = {case.text: out.correct for case, out in zip(small.cases, found.outcomes, strict=True)}
    assert right["Bakers came by 😡"] is True
    assert right["Bakers came by 🤮"] is False
    assert right["The post came by 😡"] is False
    assert right["Hooray for 🍳"] is True


def test_answers_are_kept_by_model_version_and_suite_hash(small, tmp_path):
    cache = AnswerCache(tmp_path / "cache")
    first = run_suite(small, Rule(angry), cache=cache)
    again = Rule(angry)
    second = run_suite(small, again, cache=cache)
    assert again.asked == 0
    assert second.cached == len(small.cases)
    assert second.outcomes == first.outcomes
    newer = Rule(lambda _: 0.1, version="2")
    assert run_suite(small, newer, cache=cache).outcomes != first.outcomes
    assert newer.asked == len(small.cases), "another version is asked anew"
    assert "came by" not in "".join(file.read_text() for file in (tmp_path / "cache").iterdir()), "no texts are kept"


def test_a_spoilt_cache_file_counts_as_empty(small, tmp_path):
    cache = AnswerCache(tmp_path / "cache")
    run_suite(small, Rule(angry), cache=cache)
    for file in (tmp_path / "cache").iterdir():
        file.write_text('{"answers": [')
    detector = Rule(angry)
    run_suite(small, detector, cache=cache)
    assert detector.asked == len(small.cases)


def test_a_detector_that_fails_on_one_case_answers_the_rest(small):
    found = run_suite(small, FailsOn(angry, bad=lambda text: "Hooray for 🍳" in text), batch=4)
    (failed,) = found.failed
    assert failed.note == "the detector failed (RuntimeError)", "the text of the case is not quoted"
    assert not failed.applies
    assert sum(outcome.applies for outcome in found.outcomes) == len(small.cases) - 1


def test_a_failed_case_is_asked_again_next_time(small, tmp_path):
    cache = AnswerCache(tmp_path / "cache")
    run_suite(small, FailsOn(angry, bad=lambda text: "Hooray for 🍳" in text), cache=cache)
    better = Rule(angry, name="fragile")
    found = run_suite(small, better, cache=cache)
    assert better.asked == 1
    assert not found.failed


def test_a_detector_that_answers_nothing_is_one_clear_error(small):
    with pytest.raises(UserError, match=r"fragile answered none of the \d+ cases|failed on the first"):
        run_suite(small, FailsOn(angry, bad=lambda _: True))


def test_a_detector_that_does_not_know_the_question_says_what_it_knows(small):
    detector = Rule(angry)
    with pytest.raises(UserError, match=r"does not answer 'sexist'.*it answers hate.*--question"):
        run_suite(small, detector, question="sexist")


def test_invariance_and_direction_are_judged_against_the_pair():
    def case(name, text, **more):
        return Case(name, text, "f", **more)

    cases = (
        case("o", "bad thing", expected="hateful"),
        case("i1", "bda thing", expected="same", test="INV", pair="o", set="typo"),
        case("i2", "good thing", expected="same", test="INV", pair="o", set="typo"),
        case("d1", "very bad thing", expected="higher", test="DIR", pair="o", set="more"),
        case("d2", "bad thing too", expected="higher", test="DIR", pair="o", set="more"),
        case("d3", "thing", expected="not higher", test="DIR", pair="o", set="more"),
    )
    suite = Suite("s", "1", "hate", "en", cases)
    scores = {
        "bad thing": 0.8,
        "bda thing": 0.6,
        "good thing": 0.1,
        "very bad thing": 0.9,
        "bad thing too": 0.8,
        "thing": 0.3,
    }
    found = run_suite(suite, Rule(lambda text: scores[text]))
    assert [outcome.correct for outcome in found.outcomes] == [True, True, False, True, False, True]


def test_a_comparison_whose_other_side_has_no_answer_does_not_apply():
    cases = (
        Case("o", "bad thing", "f", "hateful"),
        Case("i", "bda thing", "f", "same", set="typo", test="INV", pair="o"),
        Case("m", "fine", "f", "not hateful"),
    )
    found = run_suite(
        Suite("s", "1", "hate", "en", cases), FailsOn(lambda _: 0.1, bad=lambda text: text == "bad thing")
    )
    assert found.outcomes[1] == Outcome(
        "i", "not hateful", 0.1, None, applies=False, note="the case it is compared with has no answer"
    )


def test_a_case_in_a_language_that_the_detector_does_not_answer_does_not_count(small):
    from dataclasses import replace

    import numpy as np

    class OnlySome(Rule):
        def score(self, posts):
            scores = super().score(posts)
            return replace(scores, answered={"hate": np.array(["Hooray" not in text for text in posts["text"]])})

    found = run_suite(small, OnlySome(angry))
    assert {outcome.note for outcome in found.failed} == {"the detector does not answer 'hate' in this language"}
    assert len(found.failed) == 2
