"""Figures for detectors against scikit-learn, scipy and statsmodels."""

import numpy as np
import pandas as pd
import pytest
import sklearn.metrics as sk
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as their_mcnemar
from statsmodels.stats.proportion import proportion_confint

from davy.core import UserError
from davy.measure.classification import Confusion, classify, confusion, indicator, metric_with_interval, multilabel
from davy.measure.fairness import group_rates
from davy.measure.intervals import Bootstrap, distinct_rows, proportion, wilson
from davy.measure.paired_tests import mcnemar, paired_auroc, paired_bootstrap
from davy.measure.ranking import (
    auroc,
    average_precision,
    macro_auroc,
    precision_recall_curve,
    ranking,
    roc_curve,
)
from davy.measure.ratings import split_labels

NONE = Bootstrap(resamples=0)


def guesses(seed: int, n: int = 200, labels: tuple[str, ...] = ("a", "b", "c")) -> tuple[list[str], list[str]]:
    rng = np.random.default_rng(seed)
    gold = rng.choice(labels, n)
    return gold.tolist(), np.where(rng.random(n) < 0.6, gold, rng.choice(labels, n)).tolist()


def by_name(metrics):
    return {metric.name: metric.value for metric in metrics}


@pytest.mark.parametrize("seed", range(6))
def test_figures_of_the_confusion_matrix_equal_scikit_learn(seed):
    gold, predicted = guesses(seed)
    table = confusion(gold, predicted)
    assert (table.matrix == sk.confusion_matrix(gold, predicted)).all()
    ours = by_name(classify(table, bootstrap=NONE))
    theirs = {
        "accuracy": sk.accuracy_score(gold, predicted),
        "macro_f1": sk.f1_score(gold, predicted, average="macro"),
        "weighted_f1": sk.f1_score(gold, predicted, average="weighted"),
        "balanced_accuracy": sk.balanced_accuracy_score(gold, predicted),
        "mcc": sk.matthews_corrcoef(gold, predicted),
    }
    for name, values in zip(
        ("precision", "recall", "f1"), sk.precision_recall_fscore_support(gold, predicted), strict=False
    ):
        theirs |= {f"{name}.{label}": value for label, value in zip("abc", values, strict=True)}
    assert ours == pytest.approx(theirs, abs=1e-12)


def test_a_class_that_is_never_predicted_has_f1_zero_and_no_precision():
    gold, predicted = ["a", "a", "b", "c"], ["a", "b", "b", "b"]
    found = {metric.name: metric for metric in classify(confusion(gold, predicted), bootstrap=NONE)}
    assert found["f1.c"].value == 0
    assert found["precision.c"].value is None
    assert "never predicted" in found["precision.c"].note
    assert found["macro_f1"].value == pytest.approx(sk.f1_score(gold, predicted, average="macro"))


def test_a_listed_class_that_does_not_occur_is_outside_the_macro_average():
    gold, predicted = ["a", "b", "b"], ["a", "b", "a"]
    table = confusion(gold, predicted, labels=("a", "b", "z"))
    found = {metric.name: metric for metric in classify(table, bootstrap=NONE)}
    assert found["macro_f1"].value == pytest.approx(sk.f1_score(gold, predicted, average="macro"))
    assert found["f1.z"].value is None
    assert found["recall.z"].note == "not defined: 'z' does not occur in gold"


def test_false_positive_and_negative_rates_read_off_a_small_table():
    table = Confusion(np.array([[90, 10], [4, 6]]), ("no", "yes"))
    found = by_name(classify(table, positive="yes", bootstrap=NONE))
    assert (found["fpr"], found["fnr"], found["selection_rate"]) == (0.1, 0.4, 16 / 110)


@pytest.mark.parametrize(("k", "n"), [(0, 5), (5, 5), (1, 2), (37, 50), (99_991, 100_000)])
def test_wilson_equals_statsmodels(k, n):
    assert wilson(k, n) == pytest.approx(proportion_confint(k, n, method="wilson"), abs=1e-9)
    assert wilson(k, n, 0.9) == pytest.approx(proportion_confint(k, n, alpha=0.1, method="wilson"), abs=1e-9)


def test_a_share_of_nothing_is_not_defined():
    assert proportion("recall", 0, 0).note == "not defined: no items"


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_bootstrap_intervals_agree_with_scipys(method):
    rng = np.random.default_rng(4)
    sample = rng.exponential(size=60)
    ours = Bootstrap(8000, 3, method=method).metrics(
        ["mean"], np.stack([sample, np.ones(60)], axis=1), lambda s: s[..., :1] / s[..., 1:]
    )[0]
    theirs = stats.bootstrap(
        (sample,), np.mean, n_resamples=8000, method={"bca": "BCa"}.get(method, method), rng=np.random.default_rng(5)
    ).confidence_interval
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.02)
    assert ours.value == pytest.approx(sample.mean())


def test_resampling_kinds_of_items_is_resampling_items():
    gold, predicted = guesses(1, n=80)
    ours = metric_with_interval("macro_f1", gold, predicted, bootstrap=Bootstrap(4000))
    rng = np.random.default_rng(1)
    g, p = (np.array([ord(label) for label in column]) for column in (gold, predicted))
    draws = [sk.f1_score(g[i], p[i], average="macro") for i in (rng.integers(0, 80, 80) for _ in range(200))]
    assert (ours.low, ours.high) == pytest.approx(tuple(np.quantile(draws, [0.025, 0.975])), abs=0.04)


def test_distinct_rows_come_with_their_number_also_where_no_integer_can_name_a_row():
    rng = np.random.default_rng(2)
    for width, top in ((3, 3), (40, 9)):
        table = rng.integers(-1, top, (200, width))[rng.integers(0, 50, 300)]
        rows, copies = distinct_rows(table)
        assert copies.sum() == 300
        assert len(np.unique(table, axis=0)) == len(rows)
        assert all((table == row).all(axis=1).sum() == n for row, n in zip(rows, copies, strict=True))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("decimals", [1, 12])
def test_ranking_figures_and_curves_equal_scikit_learn_ties_included(seed, decimals):
    rng = np.random.default_rng(seed)
    yes = rng.random(150) < 0.3
    scores = (rng.normal(size=150) + yes).round(decimals)
    assert auroc(yes, scores) == pytest.approx(sk.roc_auc_score(yes, scores), abs=1e-12)
    assert average_precision(yes, scores) == pytest.approx(sk.average_precision_score(yes, scores), abs=1e-12)
    assert by_name(ranking(yes, scores, bootstrap=NONE)) == {
        "auroc": auroc(yes, scores),
        "average_precision": average_precision(yes, scores),
    }
    for ours, theirs in zip(roc_curve(yes, scores), sk.roc_curve(yes, scores, drop_intermediate=False), strict=True):
        assert ours == pytest.approx(theirs)
    precision, recall, thresholds = precision_recall_curve(yes, scores)
    theirs = sk.precision_recall_curve(yes, scores)
    assert precision == pytest.approx(theirs[0][:-1][::-1])
    assert recall == pytest.approx(theirs[1][:-1][::-1])
    assert thresholds == pytest.approx(theirs[2][::-1])


def test_auroc_of_several_labels_equals_scikit_learn():
    rng = np.random.default_rng(0)
    gold = rng.choice(["a", "b", "c"], 120)
    probabilities = rng.dirichlet(np.ones(3), 120)
    theirs = sk.roc_auc_score(gold, probabilities, multi_class="ovr", average="macro")
    assert macro_auroc(gold, probabilities, ["a", "b", "c"]) == pytest.approx(theirs, abs=1e-12)


def test_auroc_interval_agrees_with_a_loop_over_scikit_learn():
    rng = np.random.default_rng(7)
    yes = rng.random(200) < 0.4
    scores = rng.normal(size=200) + yes
    ours = ranking(yes, scores, bootstrap=Bootstrap(2000))[0]
    draws = [sk.roc_auc_score(yes[i], scores[i]) for i in (rng.integers(0, 200, 200) for _ in range(200))]
    assert (ours.low, ours.high) == pytest.approx(tuple(np.quantile(draws, [0.025, 0.975])), abs=0.03)


def test_one_kind_of_gold_has_no_auroc_and_says_so():
    metric = ranking([True, True], [0.1, 0.2])[0]
    assert metric.value is None
    assert metric.note == "not defined: all items are positives, or none is"
    assert ranking([], [])[0].n == 0


@pytest.mark.parametrize("seed", range(3))
def test_sets_of_labels_are_measured_as_scikit_learn_does(seed):
    rng = np.random.default_rng(seed)
    gold, predicted = rng.random((80, 4)) < 0.35, rng.random((80, 4)) < 0.35
    ours = by_name(multilabel(gold, predicted, "wxyz", bootstrap=NONE))
    for kind in ("micro", "macro", "weighted"):
        assert ours[f"{kind}_f1"] == pytest.approx(sk.f1_score(gold, predicted, average=kind), abs=1e-12)
    assert ours["samples_f1"] == pytest.approx(
        sk.f1_score(gold, predicted, average="samples", zero_division=1), abs=1e-12
    )
    assert ours["exact_match"] == pytest.approx(sk.accuracy_score(gold, predicted))
    assert ours["hamming_loss"] == pytest.approx(sk.hamming_loss(gold, predicted))
    each = sk.precision_recall_fscore_support(gold, predicted)
    assert [ours[f"precision.{label}"] for label in "wxyz"] == pytest.approx(each[0].tolist())
    assert [ours[f"f1.{label}"] for label in "wxyz"] == pytest.approx(each[2].tolist())


def test_joined_labels_become_a_table():
    assert split_labels(" b|a||b ") == ("a", "b")
    assert indicator(["a|b", "", None, "b"], ["a", "b"]).tolist() == [[1, 1], [0, 0], [0, 0], [0, 1]]
    with pytest.raises(UserError, match="Label 'q' in row 2 is not one of a, b"):
        indicator(["a", "q"], ["a", "b"])


@pytest.mark.parametrize(("only_first", "only_second"), [(0, 0), (3, 11), (40, 22), (130, 90)])
@pytest.mark.parametrize("exact", [True, False])
def test_mcnemar_equals_statsmodels(only_first, only_second, exact):
    first = np.repeat([True, True, False, False], [50, only_first, only_second, 9])
    second = np.repeat([True, False, True, False], [50, only_first, only_second, 9])
    ours = mcnemar(first, second, exact=exact)
    if only_first or exact:
        table = [[50, only_first], [only_second, 9]]
        assert ours.p == pytest.approx(their_mcnemar(table, exact=exact).pvalue, abs=1e-12)
    assert ours.difference.value == pytest.approx(ours.first - ours.second)
    assert ours.difference.low <= ours.difference.value <= ours.difference.high


def test_paired_bootstrap_agrees_with_a_loop_over_scikit_learn():
    gold, first = guesses(1, n=150)
    _, other = guesses(2, n=150)
    second = [o if i % 3 == 0 else f for i, (o, f) in enumerate(zip(other, first, strict=True))]
    ours = paired_bootstrap(gold, first, second, bootstrap=Bootstrap(4000))

    def difference(g, a, b):
        return sk.f1_score(g, a, average="macro") - sk.f1_score(g, b, average="macro")

    columns = tuple(np.array([ord(label) for label in column]) for column in (gold, first, second))
    rng = np.random.default_rng(3)
    draws = [difference(*(c[i] for c in columns)) for i in (rng.integers(0, 150, 150) for _ in range(200))]
    low, high = np.quantile(draws, [0.025, 0.975])
    assert ours.difference.value == pytest.approx(difference(*columns), abs=1e-12)
    assert (ours.difference.low, ours.difference.high) == pytest.approx((low, high), abs=0.03)
    assert ours.p < 0.01


def test_a_detector_is_not_better_than_itself():
    gold, predicted = guesses(5)
    same = paired_bootstrap(gold, predicted, predicted, metric="accuracy")
    assert (same.difference.value, same.p) == (0, 1)
    yes = np.array(gold) == "a"
    scores = np.random.default_rng(0).random(len(yes))
    assert paired_auroc(yes, scores, scores).p == 1


def test_paired_auroc_gives_both_areas_and_a_sign():
    rng = np.random.default_rng(3)
    yes = rng.random(300) < 0.5
    good, bad = rng.normal(size=300) + 2 * yes, (rng.normal(size=300) + 0.3 * yes).round(1)
    found = paired_auroc(yes, good, bad, bootstrap=Bootstrap(500))
    assert found.first == pytest.approx(sk.roc_auc_score(yes, good), abs=1e-12)
    assert found.second == pytest.approx(sk.roc_auc_score(yes, bad), abs=1e-12)
    assert found.difference.low > 0
    assert found.p < 0.01


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: confusion(["a"], ["a", "b"]), "differ in number: 1, 2 rows"),
        (lambda: confusion(["a", None], ["a", "b"]), "1 labels are missing"),
        (lambda: confusion(["a"], ["b"], labels=("a",)), "Label 'b' is not one of a"),
        (lambda: metric_with_interval("f9", ["a"], ["a"]), "Metric 'f9' is unknown. Use one of: accuracy"),
        (lambda: auroc([True, False], [0.1, float("nan")]), "1 of 2 scores are not finite"),
        (lambda: auroc([True], [0.1, 0.2]), "1 gold labels and 2 scores"),
        (lambda: Bootstrap(method="jack"), "Interval method 'jack' is unknown. Use one of: percentile, bca"),
        (lambda: Bootstrap(resamples=-1), "-1 resamples"),
        (lambda: Bootstrap(level=95), "not at 95"),
        (lambda: mcnemar([], []), "0 and 0 items"),
        (lambda: paired_bootstrap([], [], []), "no items to compare"),
        (lambda: paired_auroc([True, True], [0.1, 0.2], [0.3, 0.4]), "one side has one label only"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(UserError, match=message):
        call()


def test_no_items_is_a_note_not_a_crash():
    assert {metric.note for metric in classify(confusion([], [], labels=("a", "b")))} == {
        "not defined: no items",
        "not defined: 'a' was never predicted",
        "not defined: 'a' does not occur in gold",
        "not defined: 'b' was never predicted",
        "not defined: 'b' does not occur in gold",
    }


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT])
def test_a_missing_label_is_named_whatever_stands_for_it(missing):
    with pytest.raises(UserError, match="1 labels are missing"):
        confusion(["a", missing], ["a", "b"])


def test_a_label_that_is_no_yes_is_named():
    table = confusion([0, 1, 1], [0, 1, 0])
    assert table.cells(1) == (1, 0, 1, 1)
    with pytest.raises(UserError, match="no label 2 to count as yes; the labels are 0, 1"):
        table.cells(2)


@pytest.mark.parametrize("yes", [[1, 0, float("nan")], ["yes", "no", "no"], [1, 2, 1]])
def test_what_is_neither_yes_nor_no_is_not_ranked(yes):
    with pytest.raises(UserError, match="neither yes nor no"):
        ranking(yes, [0.9, 0.1, 0.5])
    with pytest.raises(UserError, match="neither yes nor no"):
        group_rates(yes, [1, 0, 0], ["a", "b", "a"])
