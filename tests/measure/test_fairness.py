"""Fairness figures against fairlearn; the bias AUCs against their definition, item pair by item pair."""

import fairlearn.metrics as fl
import numpy as np
import polars as pl
import pytest

from davy.core import UserError
from davy.measure.classification import metric_with_interval
from davy.measure.fairness import (
    auc_by_group,
    between_groups,
    by_group,
    counterfactual_gap,
    gap,
    group_rates,
    memberships,
)
from davy.measure.intervals import Bootstrap

NONE = Bootstrap(resamples=0)


def answers(seed: int, n: int = 240):
    rng = np.random.default_rng(seed)
    groups = rng.choice(["g", "h", "k"], n, p=[0.5, 0.3, 0.2])
    gold = rng.random(n) < 0.4
    wrong = rng.random(n) < np.where(groups == "k", 0.4, 0.15)
    return gold, gold ^ wrong, groups, rng


@pytest.mark.parametrize("seed", range(5))
def test_parity_and_odds_equal_fairlearn(seed):
    gold, said, groups, _ = answers(seed)
    ours = {metric.name: metric.value for metric in between_groups(gold, said, groups.tolist(), bootstrap=NONE)}
    theirs = {
        "demographic_parity_ratio": fl.demographic_parity_ratio,
        "demographic_parity_difference": fl.demographic_parity_difference,
        "equalised_odds_ratio": fl.equalized_odds_ratio,
        "equalised_odds_difference": fl.equalized_odds_difference,
    }
    expected = {name: measure(gold, said, sensitive_features=groups) for name, measure in theirs.items()}
    assert ours == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_rates_of_each_group_equal_fairlearns_frame(seed):
    gold, said, groups, _ = answers(seed)
    measures = {
        "recall": fl.true_positive_rate,
        "fpr": fl.false_positive_rate,
        "fnr": fl.false_negative_rate,
        "selection_rate": fl.selection_rate,
    }
    theirs = fl.MetricFrame(metrics=measures, y_true=gold, y_pred=said, sensitive_features=groups).by_group
    for name, metrics in group_rates(gold, said, groups.tolist()).items():
        ours = {metric.name: metric.value for metric in metrics}
        assert {key: ours[key] for key in measures} == pytest.approx(theirs.loc[name].to_dict(), abs=1e-12)


def test_between_group_intervals_hold_the_value_and_come_from_the_seed():
    gold, said, groups, _ = answers(1)
    first, again = (between_groups(gold, said, groups.tolist(), bootstrap=Bootstrap(300, 4)) for _ in range(2))
    assert first == again
    assert all(0 <= metric.low < metric.high <= 1 for metric in first)


def pairwise_auc(positives: np.ndarray, negatives: np.ndarray) -> float:
    """The definition: the share of pairs in which the positive scores higher, ties counting half."""
    above = positives[:, None] > negatives[None, :]
    return float((above + 0.5 * (positives[:, None] == negatives[None, :])).mean())


def test_subgroup_bpsn_and_bnsp_auc_follow_borkans_definitions():
    gold, _, groups, rng = answers(2)
    scores = (rng.random(len(gold)) + 0.5 * gold + 0.2 * (groups == "k")).round(2)
    found = auc_by_group(gold, scores, groups.tolist(), bootstrap=NONE)
    for name in "ghk":
        inside = groups == name
        ours = [metric.value for metric in found[name]]
        assert ours == pytest.approx(
            [
                pairwise_auc(scores[inside & gold], scores[inside & ~gold]),
                pairwise_auc(scores[~inside & gold], scores[inside & ~gold]),
                pairwise_auc(scores[inside & gold], scores[~inside & ~gold]),
            ],
            abs=1e-12,
        )


def test_a_post_about_two_groups_counts_in_both_and_one_about_none_in_none():
    masks = memberships(["women|trans people", None, "women", ""])
    assert {name: mask.tolist() for name, mask in masks.items()} == {
        "trans people": [True, False, False, False],
        "women": [True, False, True, False],
    }


def test_a_group_without_negatives_has_no_false_positive_rate():
    rates = group_rates([True, True, False], [True, False, True], ["a", "a", "b"])
    found = {metric.name: metric for metric in rates["a"]}
    assert found["fpr"].value is None
    assert found["fpr"].note == "not defined: no gold negatives"


def test_one_group_alone_can_not_be_compared():
    notes = {metric.note for metric in between_groups([True, False], [True, False], ["a", "a"])}
    assert notes == {"not defined: 1 groups, and two are needed"}


def test_groups_of_another_length_are_refused():
    with pytest.raises(UserError, match="Groups are given for 1 items, gold labels for 2"):
        group_rates([True, False], [True, False], ["a"])


def test_any_metric_splits_by_a_column_of_a_frame():
    frame = pl.DataFrame({"target": ["a", "a", "b", "a|b"], "gold": ["y", "n", "y", "n"], "said": ["y", "y", "y", "n"]})
    found = by_group(frame, "target", lambda gold, said: metric_with_interval("accuracy", gold, said), "gold", "said")
    assert found.select("target", "value", "n").rows() == [("all", 0.75, 4), ("a", 2 / 3, 3), ("b", 1.0, 2)]
    assert gap(dict(found.select("target", "value").rows()[1:])) == ("b", "a", pytest.approx(1 / 3))
    with pytest.raises(UserError, match=r"There is no column 'targets'; .* Did you mean 'target'"):
        by_group(frame, "targets", lambda gold: gold, "gold")


def test_the_counterfactual_gap_is_the_mean_difference_of_two_versions_of_a_sentence():
    # By hand: 0.1, 0.2 and 0.6 differ by 0.1, 0.4 and 0.5, on average by 1/3; 0.5 and 0.5 by nothing; 0.9 is alone.
    scores, flagged = [0.1, 0.2, 0.6, 0.5, 0.5, 0.9], [False, False, True, True, True, True]
    gap_, flips = counterfactual_gap(scores, flagged, np.array([0, 0, 0, 1, 1, 2]), bootstrap=NONE)
    assert gap_.value == pytest.approx((1 / 3 + 0) / 2)
    assert flips.value == pytest.approx((2 / 3 + 0) / 2), "of three pairs of the first sentence, two have two answers"
    assert gap_.n == 2, "sentences, not items"


def test_a_sentence_in_one_version_has_no_counterfactual_gap():
    assert [m.note for m in counterfactual_gap([0.3], [True], np.array([0]))] == ["not defined: no sentence twice"] * 2
