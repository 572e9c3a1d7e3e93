"""Calibration against scipy's optimiser, scikit-learn's curve and losses, and a worked example."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss
from sklearn.metrics import log_loss as their_log_loss

from davy.core import UserError
from davy.measure.calibration import (
    brier,
    calibration_error,
    fit_temperature,
    log_loss,
    probabilities,
    reliability,
    risk_by_coverage,
)
from davy.measure.intervals import Bootstrap

NONE = Bootstrap(resamples=0)


def test_temperature_is_the_one_that_scipy_finds_and_the_one_that_was_put_in():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=4000) * 2
    yes = rng.random(4000) < probabilities(logits)
    fitted = fit_temperature(logits * 3, yes)
    theirs = minimize_scalar(
        lambda t: log_loss(logits * 3, yes, t), bounds=(0.5, 10), method="bounded", options={"xatol": 1e-9}
    )
    assert fitted == pytest.approx(theirs.x, abs=1e-5)
    assert fitted == pytest.approx(3, abs=0.3)


def test_temperature_of_several_labels_too():
    rng = np.random.default_rng(1)
    logits = rng.normal(size=(3000, 4)) * 1.5
    gold = np.array([rng.choice(4, p=row) for row in probabilities(logits)])
    assert fit_temperature(logits / 2, gold) == pytest.approx(0.5, abs=0.05)


def test_losses_equal_scikit_learn():
    rng = np.random.default_rng(2)
    logits, yes = rng.normal(size=100) * 3, rng.random(100) < 0.5
    assert log_loss(logits, yes) == pytest.approx(their_log_loss(yes, probabilities(logits)), abs=1e-9)
    assert brier(probabilities(logits), yes) == pytest.approx(brier_score_loss(yes, probabilities(logits)), abs=1e-12)
    table, gold = rng.normal(size=(100, 3)), rng.integers(0, 3, 100)
    assert log_loss(table, gold) == pytest.approx(their_log_loss(gold, probabilities(table)), abs=1e-9)


def test_extreme_logits_stay_finite():
    assert probabilities([-1e4, 0, 1e4]).tolist() == [0, 0.5, 1]
    assert log_loss([1e4, -1e4], [False, True]) == 1e4


@pytest.mark.parametrize(("equal_mass", "strategy"), [(False, "uniform"), (True, "quantile")])
def test_reliability_table_equals_scikit_learns_curve(equal_mass, strategy):
    rng = np.random.default_rng(3)
    sure = rng.random(500)
    yes = rng.random(500) < sure**2
    right, confidence = calibration_curve(yes, sure, n_bins=8, strategy=strategy)
    ours = reliability(sure, yes, bins=8, equal_mass=equal_mass)
    assert [b.right for b in ours] == pytest.approx(right.tolist(), abs=0.02)
    assert [b.confidence for b in ours] == pytest.approx(confidence.tolist(), abs=0.02)
    assert sum(b.n for b in ours) == 500


def test_calibration_error_worked_by_hand():
    """Two bins. [0, .5): .1 and .3 with answers 0, 1: confidence .2, right .5, gap .3. [.5, 1]: .6, .8, 1.0 with
    1, 1, 0: confidence .8, right 2/3, gap .1333. ECE = 2/5 × .3 + 3/5 × .13333 = .2; the largest gap is .3."""
    ece, mce = calibration_error([0.1, 0.3, 0.6, 0.8, 1.0], [0, 1, 1, 1, 0], bins=2, bootstrap=NONE)
    assert (ece.value, mce.value) == pytest.approx((0.2, 0.3))


def test_a_calibrated_detector_has_a_small_error_and_an_interval():
    rng = np.random.default_rng(4)
    sure = rng.random(20_000)
    ece, _ = calibration_error(sure, rng.random(20_000) < sure, bootstrap=Bootstrap(200))
    assert ece.value < 0.02
    assert ece.low < ece.high


def test_numbers_that_are_no_probabilities_are_refused():
    with pytest.raises(UserError, match="2 of 3 values are not probabilities"):
        reliability([0.5, 1.5, float("nan")], [1, 0, 1])
    with pytest.raises(UserError, match="0 bins"):
        calibration_error([0.5], [1], bins=0)
    with pytest.raises(UserError, match="not finite"):
        fit_temperature([float("inf")], [1])
    with pytest.raises(UserError, match="codes from 0 to 1; got 0 to 5"):
        log_loss(np.zeros((2, 2)), [0, 5])


def test_risk_by_coverage_counts_wrong_answers_among_the_surest():
    # By hand, surest first: right, wrong, then two of one confidence that come together, one of them right.
    coverage, risk = risk_by_coverage([0.6, 0.9, 0.8, 0.6], [1, 1, 0, 0])
    assert coverage.tolist() == [0.25, 0.5, 1.0]
    assert risk.tolist() == [0.0, 0.5, 0.5]
    with pytest.raises(UserError, match="nothing to answer"):
        risk_by_coverage([], [])
