"""What the best systems still miss."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics as reference

from davy.core import UserError
from davy.evaluation.error_analysis import analyse_errors, error_pairs, spearman
from davy.evaluation.prediction_matrix import NONE, PredictionMatrix
from davy.evaluation.tasks import Task

TASK = Task("A", "sexist", ("not sexist", "sexist"), positive="sexist")
GOLD = [1, 1, 1, 1, 0, 0]
SAID = [
    [0, 1, 0, 0, 1, 0],
    [0, 1, 1, 0, 1, 0],
    [0, 1, 1, 0, 1, 1],
]


@pytest.fixture
def matrix() -> PredictionMatrix:
    ids = tuple(f"p{i}" for i in range(6))
    return PredictionMatrix(TASK, ids, np.array(GOLD, np.int16), ("a", "b", "c"), np.array(SAID, np.int16))


def test_a_worked_example_of_what_all_most_few_and_none_get_right(matrix):
    category = ["animosity", "derogation", "derogation", "threats", None, None]
    found = analyse_errors(matrix, groups={"category": category})
    assert found.levels == {"all": 1, "most": 2, "few": 0, "none": 3}
    assert found.missed == ("p0", "p3", "p4")
    assert (found.false_negatives, found.false_positives) == (2, 1)
    assert found.confusion.tolist() == [[2, 4], [7, 5]]
    assert found.confusion_shares[1].tolist() == pytest.approx([7 / 12, 5 / 12])
    by_name = {group.group: group for group in found.groups["category"]}
    assert by_name["animosity"].share_of_missed == 0.5
    assert by_name["derogation"].missed_by_all.value == 0
    assert by_name["derogation"].error_rate == pytest.approx(1 / 6)
    json.dumps(found.to_dict(), allow_nan=False)


def test_only_the_named_systems_count(matrix):
    found = analyse_errors(matrix, ["a"])
    assert found.levels["none"] == 4
    assert found.pairs == ()


def test_kappa_and_phi_of_errors_are_scikit_learns(matrix):
    rng = np.random.default_rng(0)
    values = rng.integers(0, 2, (6, 300)).astype(np.int16)
    gold = rng.integers(0, 2, 300).astype(np.int16)
    many = PredictionMatrix(TASK, tuple(map(str, range(300))), gold, tuple("abcdef"), values)
    pairs = error_pairs(many)
    assert len(pairs) == 15
    for pair in pairs:
        wrong = [many.values[many.systems.index(name)] != gold for name in (pair.first, pair.second)]
        assert pair.kappa == pytest.approx(reference.cohen_kappa_score(*wrong), abs=1e-9)
        assert pair.phi == pytest.approx(reference.matthews_corrcoef(*wrong), abs=1e-6)
        assert pair.both_wrong == (wrong[0] & wrong[1]).sum()
    assert [pair.kappa for pair in pairs] == sorted((pair.kappa for pair in pairs), reverse=True)


def test_a_system_that_never_errs_has_no_kappa(matrix):
    values = matrix.values.copy()
    values[0] = matrix.gold
    found = error_pairs(PredictionMatrix(TASK, matrix.ids, matrix.gold, matrix.systems, values))
    assert found[-1].kappa is None


def test_difficulty_against_agreement_is_spearmans_rho_with_ties(matrix):
    agreement = [2 / 3, 1.0, 1.0, 2 / 3, None, 1.0]
    found = analyse_errors(matrix, agreement=agreement)
    assert [(n, share) for _, n, share in found.agreement] == [(2, 0.0), (3, pytest.approx((1 + 2 / 3 + 2 / 3) / 3))]
    shares = np.array([0, 1, 2 / 3, 0, 2 / 3])
    expected = stats.spearmanr([2 / 3, 1, 1, 2 / 3, 1], shares).statistic
    assert found.agreement_correlation == pytest.approx(expected, abs=1e-9)
    assert spearman(np.ones(4), np.arange(4.0)) is None
    with pytest.raises(UserError, match="can't be laid over"):
        analyse_errors(matrix, agreement=[1.0])


def test_items_without_a_prediction_have_a_column_of_their_own(matrix):
    values = matrix.values.copy()
    values[0, 0] = NONE
    found = analyse_errors(PredictionMatrix(TASK, matrix.ids, matrix.gold, matrix.systems, values))
    assert found.confusion.tolist() == [[2, 4, 0], [6, 5, 1]]


def test_two_hundred_systems_on_four_thousand_items_are_analysed_well_below_the_time_of_a_page():
    rng = np.random.default_rng(1)
    values = rng.integers(0, 2, (200, 4000)).astype(np.int16)
    gold = rng.integers(0, 2, 4000).astype(np.int16)
    names = tuple(f"s{i}" for i in range(200))
    matrix = PredictionMatrix(TASK, tuple(map(str, range(4000))), gold, names, values)
    category = [["a", "b", "c", None][i % 4] for i in range(4000)]
    analyse_errors(matrix, names[:2])
    times = []
    for _ in range(3):
        began = time.process_time()
        analyse_errors(matrix, groups={"category": category}, agreement=[0.5] * 4000)
        times.append(time.process_time() - began)
    assert min(times) < 0.3
