"""Paired tests between systems, held against statsmodels and plain loops with the same seeds."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics as reference
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar
from statsmodels.stats.multitest import multipletests

from davy.core import UserError
from davy.evaluation.board import rank_matrix
from davy.evaluation.pair_tests import choose_pairs, compare_pairs, pairs_table
from davy.evaluation.prediction_matrix import PredictionMatrix
from davy.evaluation.tasks import Task
from davy.measure.intervals import Bootstrap

TASK = Task("A", "sexist", ("not sexist", "sexist"), positive="sexist")


@pytest.fixture(scope="module")
def eighty() -> PredictionMatrix:
    rng = np.random.default_rng(80)
    gold = (rng.random(400) < 0.3).astype(np.int16)
    skill = np.linspace(0.6, 0.9, 80)[:, None]
    values = np.where(rng.random((80, 400)) < skill, gold, 1 - gold).astype(np.int16)
    return PredictionMatrix(TASK, tuple(map(str, range(400))), gold, tuple(f"s{i:02}" for i in range(80)), values)


def macro_f1(gold, predicted):
    return reference.f1_score(gold, predicted, average="macro", zero_division=0)


def test_mcnemars_p_and_holms_correction_of_eighty_systems_are_those_of_statsmodels(eighty):
    order = [row.system for row in rank_matrix(eighty, resamples=0).rows]
    tests = compare_pairs(eighty, choose_pairs(order, "neighbours"), "mcnemar", bootstrap=Bootstrap())
    assert len(tests) == 79
    expected = []
    for test in tests:
        a, b = (eighty.values[eighty.systems.index(name)] == eighty.gold for name in (test.first, test.second))
        table = [[(a & b).sum(), (a & ~b).sum()], [(~a & b).sum(), (~a & ~b).sum()]]
        expected.append(statsmodels_mcnemar(table, exact=True).pvalue)
    assert [test.comparison.p for test in tests] == pytest.approx(expected, abs=1e-9)
    adjusted = multipletests(expected, method="holm")[1]
    assert [test.adjusted for test in tests] == pytest.approx(adjusted, abs=1e-9)
    assert "Holm" in pairs_table(tests, "A").markdown()


def test_the_paired_bootstrap_is_a_plain_loop_with_the_same_seed(eighty):
    pairs = [("s10", "s11"), ("s79", "s00"), ("s40", "s70")]
    tests = compare_pairs(eighty, pairs, "bootstrap", bootstrap=Bootstrap(resamples=50, seed=7))
    for test in tests:
        a, b = (eighty.values[eighty.systems.index(name)] for name in (test.first, test.second))
        rng = np.random.default_rng(7)
        drawn = [rng.integers(0, 400, 400) for _ in range(50)]
        gaps = np.array([macro_f1(eighty.gold[i], a[i]) - macro_f1(eighty.gold[i], b[i]) for i in drawn])
        p = min(1, 2 * (min((gaps <= 0).sum(), (gaps >= 0).sum()) + 1) / 51)
        assert test.comparison.p == pytest.approx(p, abs=1e-9)
        ends = [test.comparison.difference.low, test.comparison.difference.high]
        assert ends == pytest.approx(np.quantile(gaps, [0.025, 0.975]), abs=1e-9)


def test_approximate_randomisation_is_a_plain_loop_of_swaps_with_the_same_seed(eighty):
    (test,) = compare_pairs(eighty, [("s30", "s36")], "randomisation", bootstrap=Bootstrap(resamples=99, seed=5))
    a, b = eighty.values[30], eighty.values[36]
    differing = np.flatnonzero(a != b)
    observed = abs(macro_f1(eighty.gold, a) - macro_f1(eighty.gold, b))
    rng, as_large = np.random.default_rng(5), 0
    for _ in range(99):
        swap = differing[rng.random(len(differing)) < 0.5]
        first, second = a.copy(), b.copy()
        first[swap], second[swap] = b[swap], a[swap]
        as_large += abs(macro_f1(eighty.gold, first) - macro_f1(eighty.gold, second)) >= observed - 1e-12
    assert test.comparison.p == pytest.approx((as_large + 1) / 100, abs=1e-9)
    assert 0.01 < test.comparison.p < 1


def test_all_pairs_are_tested_once_and_a_test_that_does_not_fit_is_refused(eighty):
    assert len(choose_pairs(eighty.systems, "all")) == 80 * 79 // 2
    with pytest.raises(UserError, match="no paired test"):
        compare_pairs(eighty, [], "t", bootstrap=Bootstrap())
    scores = Task("A", "sexist", TASK.labels, "auroc", "score", "sexist")
    ranked = PredictionMatrix(scores, eighty.ids, eighty.gold, eighty.systems, eighty.values.astype(float))
    with pytest.raises(UserError, match="neither right nor wrong"):
        compare_pairs(ranked, [("s00", "s01")], "mcnemar", bootstrap=Bootstrap())
