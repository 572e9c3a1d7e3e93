"""Candidates and the choice among them, worked by hand."""

from __future__ import annotations

import pytest

from davy.core.errors import UserError
from davy.rounds.candidates import (
    Candidate,
    CandidateResult,
    YesNoCounts,
    choice_table,
    choose,
    make_grid,
    pooled,
    target_table,
    weighted_accuracy,
)


def counts(right: int, n: int) -> YesNoCounts:
    return YesNoCounts(right, n - right, 0, 0)


def result(name: str, dev: dict[str, YesNoCounts], test: dict[str, YesNoCounts] | None = None) -> CandidateResult:
    measured = {"dev": dev, **({"test": test} if test else {})}
    return CandidateResult(Candidate(name, "leave", 1), measured=measured)


def test_the_papers_grid_is_two_architectures_by_four_factors_and_here_by_ways_to_read_emoji():
    assert len(make_grid(["deberta", "bertweet"], ["leave"])) == 8
    assert len(make_grid(["deberta", "bertweet"])) == 24
    assert [it.times for it in make_grid(["tfidf"])] == [1, 5, 10, 100]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["a"], ["glyphs"]), "not as 'glyphs'"),
        ((["a"], ["leave"], [0]), "1 to 1000 times, not 0"),
        (([],), "one candidate at least"),
        ((["x/one", "y/one"], ["leave"]), "same last name"),
    ],
)
def test_a_grid_that_makes_no_sense_is_refused(arguments, message):
    with pytest.raises(UserError, match=message):
        make_grid(*arguments)


def test_half_the_weight_is_on_this_round_and_half_on_all_prior_rounds_pooled():
    # This round 8 of 10; prior rounds 90 of 100 and 5 of 20, pooled 95 of 120: (0.8 + 0.791666…) / 2.
    parts = {"R5": counts(90, 100), "R6": counts(5, 20), "R7": counts(8, 10)}
    assert weighted_accuracy(parts, "R7") == pytest.approx((0.8 + 95 / 120) / 2)
    assert weighted_accuracy({"R1": counts(7, 10)}, "R1") == 0.7


def test_dev_chooses_and_what_test_would_choose_stands_beside_it():
    steady = result("steady", {"R6": counts(7, 10), "R5": counts(9, 10)}, {"R6": counts(9, 10), "R5": counts(9, 10)})
    forgetful = result("new", {"R6": counts(10, 10), "R5": counts(5, 10)}, {"R6": counts(9, 10), "R5": counts(2, 10)})
    lucky = result("lucky", {"R6": counts(6, 10), "R5": counts(9, 10)}, {"R6": counts(10, 10), "R5": counts(10, 10)})
    failed = CandidateResult(Candidate("broken", "leave", 1), error="no memory")
    every = [failed, forgetful, steady, lucky]
    assert choose(every, "R6") is steady
    assert choose(every, "R6", by="test") is lucky
    table = choice_table(every, "R6")
    assert [row[-1] for row in table.rows] == ["failed: no memory", "", "dev", "test"]
    assert choose([failed], "R6") is None


def test_of_two_equal_candidates_the_first_wins():
    one, other = (result(name, {"R1": counts(7, 10)}) for name in "ab")
    assert choose([one, other], "R1") is one


def test_accuracy_and_f1_come_from_the_four_counts():
    each = YesNoCounts(true_yes=6, false_yes=2, false_no=4, true_no=8)
    assert each.accuracy.value == 0.7
    assert each.f1 == pytest.approx(2 * 6 / (2 * 6 + 2 + 4))
    assert YesNoCounts().f1 is None
    assert pooled({"a": each, "b": each}).n == 40


def test_a_target_that_was_not_measured_on_a_set_has_no_figures_there():
    targets = {"R5-T": {"dev": {"R5": counts(5, 10)}}, "R6-T": {"dev": {"R5": counts(6, 10), "R6": counts(3, 4)}}}
    table = target_table(targets, {"R5": ["R5"], "both": ["R5", "R6"]}, split="dev")
    assert table.rows[0][4] is None
    assert (table.rows[1][4].value, table.rows[1][6]) == (pytest.approx(9 / 14), 14)
