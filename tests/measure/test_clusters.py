"""Shares of clustered items: equal to a computation written out here, and right as often as they say."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from davy.measure.clusters import (
    cluster_numbers,
    clustered_difference,
    clustered_share,
    sign_flip_p,
    t_quantile,
)
from davy.measure.fairness import auc_by_group, between_groups, group_rates
from davy.measure.intervals import Bootstrap, wilson
from davy.measure.paired_tests import mcnemar


def drawn(seed, clusters=30, size=10, share=0.8, correlation=0.7):
    """Return right or wrong for each item, and its cluster: shares of clusters are beta, items follow them."""
    chance = np.random.default_rng(seed)
    scale = (1 - correlation) / correlation
    each = chance.beta(share * scale, (1 - share) * scale, clusters)
    numbers = np.repeat(np.arange(clusters), size)
    return chance.random(len(numbers)) < each[numbers], numbers


def by_hand(right, clusters):
    """Return share, bounds and each cluster's pull on the share, step by step."""
    n, names = len(right), sorted(set(clusters.tolist()))
    p = right.mean()
    hits = np.array([right[clusters == name].sum() for name in names])
    sizes = np.array([(clusters == name).sum() for name in names])
    pulls = np.array([(h - p * m) / n for h, m in zip(hits, sizes, strict=True)])
    full = (sizes**2).sum() / n
    mixed = min((hits > 0).sum(), (hits < sizes).sum())
    if mixed and len(names) > 1:
        variance = len(names) / (len(names) - 1) * (pulls**2).sum()
        effect = (mixed * variance / (p * (1 - p) / n) + 2 * full) / (mixed + 2)
    else:
        effect = full
    z = stats.norm.ppf(0.975)
    few = (z / stats.t.ppf(0.975, len(names) - 1)) ** 2 if len(names) > 1 else 1
    items = min(n, max(1, n / effect * few))
    middle = (p + z**2 / (2 * items)) / (1 + z**2 / items)
    half = z / (1 + z**2 / items) * np.sqrt(p * (1 - p) / items + z**2 / (4 * items**2))
    return p, min(p, middle - half), max(p, middle + half), pulls


@pytest.mark.parametrize(("seed", "clusters", "size"), [(0, 30, 10), (1, 8, 25), (2, 150, 4), (3, 3, 40)])
def test_a_share_and_its_interval_equal_the_computation_by_hand(seed, clusters, size):
    right, numbers = drawn(seed, clusters, size)
    keep = np.random.default_rng(seed).random(len(right)) < 0.8  # clusters of different sizes
    found = clustered_share("accuracy", right[keep], numbers[keep])
    value, low, high, _ = by_hand(right[keep], numbers[keep])
    assert found.value == pytest.approx(value, abs=1e-12)
    assert (found.low, found.high) == (pytest.approx(low, abs=1e-3), pytest.approx(high, abs=1e-3))
    assert found.clusters == len(set(numbers[keep].tolist()))


def test_a_difference_equals_the_computation_by_hand():
    right, numbers = drawn(4, 40, 12)
    first = np.arange(len(right)) % 3 > 0
    a, b = (right[first], numbers[first]), (right[~first], numbers[~first])
    (p, low1, high1, mine), (q, low2, high2, theirs) = by_hand(*a), by_hand(*b)
    together = (mine * theirs).sum() / np.sqrt((mine**2).sum() * (theirs**2).sum())
    found = clustered_difference("difference", a, b)
    left, right_ = (p - low1, high2 - q), (high1 - p, q - low2)
    low = p - q - np.sqrt(left[0] ** 2 - 2 * together * left[0] * left[1] + left[1] ** 2)
    high = p - q + np.sqrt(right_[0] ** 2 - 2 * together * right_[0] * right_[1] + right_[1] ** 2)
    assert together > 0.5, "both sides rest on the same templates"
    assert found.value == pytest.approx(p - q)
    assert (found.low, found.high) == (pytest.approx(low, abs=1e-6), pytest.approx(high, abs=1e-6))
    assert (found.n, found.clusters) == (480, 40)


@pytest.mark.parametrize(("clusters", "size", "share", "correlation"), [(30, 10, 0.8, 0.7), (60, 15, 0.6, 0.9)])
def test_of_a_thousand_intervals_about_95_in_100_hold_the_truth(clusters, size, share, correlation):
    held = plain = 0
    for seed in range(1000):
        right, numbers = drawn(seed, clusters, size, share, correlation)
        found = clustered_share("accuracy", right, numbers)
        low, high = wilson(int(right.sum()), len(right))
        held += found.low <= share <= found.high
        plain += low <= share <= high
    assert 920 <= held <= 970
    assert plain < 600, "as if cases were independent, the interval misses the truth far too often"


def test_of_a_thousand_differences_about_95_in_100_hold_the_truth():
    held = 0
    for seed in range(1000):
        right, numbers = drawn(seed, 40, 12, 0.75, 0.6)
        first = np.arange(len(right)) % 3 > 0
        kept = right & (first | (np.random.default_rng(seed + 5000).random(len(right)) < 0.8))
        found = clustered_difference("difference", (kept[first], numbers[first]), (kept[~first], numbers[~first]))
        held += found.low <= 0.75 - 0.75 * 0.8 <= found.high
    assert 920 <= held <= 975


def test_items_without_companions_have_wilson_s_interval():
    right = np.arange(50) % 5 > 0
    found = clustered_share("accuracy", right, np.arange(50))
    assert (found.low, found.high) == wilson(40, 50)
    assert found.clusters is None
    assert "clusters" not in found.to_dict()


def test_all_right_is_as_much_evidence_as_there_are_clusters():
    found = clustered_share("accuracy", [True] * 300, np.repeat(np.arange(30), 10))
    few = (stats.norm.ppf(0.975) / stats.t.ppf(0.975, 29)) ** 2
    assert found.high == 1.0
    assert found.low == pytest.approx(30 * few / (30 * few + stats.norm.ppf(0.975) ** 2), abs=1e-6)
    one = clustered_share("accuracy", [True] * 300, [7] * 300)
    assert one.low == pytest.approx(wilson(1, 1)[0]), "one template is one observation"


def test_student_s_quantiles_are_scipy_s():
    for freedom in (1, 2, 3, 4, 5, 8, 20, 300):
        assert t_quantile(0.975, freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=5e-3)


def test_sign_flips_of_few_clusters_are_all_tried():
    gains = [3, -1, 2, 4, 0]
    sums = [abs(np.dot(signs, [3, -1, 2, 4])) for signs in product((-1, 1), repeat=4)]
    assert sign_flip_p(gains) == np.mean(np.array(sums) >= 8)
    assert sign_flip_p([0, 0]) == 1.0


def test_a_change_is_tested_by_cluster():
    # One template of forty broke, all of its 20 cases: by cases overwhelming, by templates nothing.
    before = np.ones(800, dtype=bool)
    numbers = np.repeat(np.arange(40), 20)
    now = numbers > 0
    assert mcnemar(now, before).p < 1e-5
    found = mcnemar(now, before, clusters=numbers)
    assert found.p == 1.0
    assert found.test == "sign flips of clusters"
    assert found.difference.value == pytest.approx(-20 / 800)
    assert found.difference.low < found.difference.value < found.difference.high
    many = mcnemar(numbers % 2 == 0, before, clusters=numbers)
    assert many.p < 0.001


def test_rates_of_groups_know_the_clusters():
    gold, numbers = drawn(6, 50, 12, 0.6, 0.3)
    said, _ = drawn(7, 50, 12, 0.7, 0.8)
    groups = np.array(["a", "b", "c"])[np.arange(len(gold)) % 3]
    found = {m.name: m for m in group_rates(gold, said, groups.tolist(), clusters=numbers)["b"]}
    inside = groups == "b"
    for name, counted, within in (
        ("accuracy", gold == said, inside),
        ("recall", said, inside & gold),
        ("fpr", said, inside & ~gold),
        ("fnr", ~said, inside & gold),
        ("precision", gold, inside & said),
        ("selection_rate", said, inside),
    ):
        value, low, high, _ = by_hand(counted[within], numbers[within])
        assert found[name].value == pytest.approx(value)
        assert (found[name].low, found[name].high) == (pytest.approx(low, abs=1e-5), pytest.approx(high, abs=1e-5))


def test_ratios_between_groups_resample_clusters_and_correct_for_bias_and_skew():
    gold, numbers = drawn(8, 40, 12, 0.6, 0.3)
    said, _ = drawn(9, 40, 12, 0.7, 0.8)
    groups = np.array(["a", "b"])[np.arange(len(gold)) % 2]

    def ratio(rows):
        rates = sorted(said[rows][groups[rows] == name].mean() for name in ("a", "b"))
        return rates[0] / rates[1]

    everyone = np.arange(len(gold))
    of = [everyone[numbers == i] for i in range(40)]
    chance = np.random.default_rng(0)
    draws = np.sort([ratio(np.concatenate([of[i] for i in chance.integers(0, 40, 40)])) for _ in range(2000)])
    value = ratio(everyone)
    left_out = np.array([ratio(everyone[numbers != i]) for i in range(40)])
    gaps = left_out.mean() - left_out
    skew = (gaps**3).sum() / (6 * (gaps**2).sum() ** 1.5)
    bias = stats.norm.ppf(((draws < value).mean() + (draws <= value).mean()) / 2)
    z = bias + stats.norm.ppf([0.025, 0.975])
    low, high = np.quantile(draws, stats.norm.cdf(bias + z / (1 - skew * z)))
    found = between_groups(gold, said, groups.tolist(), bootstrap=Bootstrap(2000, 1, method="bca"), clusters=numbers)[0]
    assert found.value == pytest.approx(value)
    assert found.clusters == 40
    assert (found.low, found.high) == (pytest.approx(low, abs=0.015), pytest.approx(high, abs=0.015))
    alone = between_groups(gold, said, groups.tolist(), bootstrap=Bootstrap(2000, 1, method="bca"))[0]
    assert alone.clusters is None


def test_auc_of_groups_resamples_clusters():
    from sklearn.metrics import roc_auc_score

    gold, numbers = drawn(10, 30, 20, 0.5, 0.1)
    chance = np.random.default_rng(11)
    scores = np.round(gold * 0.2 + chance.normal(size=30)[numbers] + 0.3 * chance.random(len(gold)), 2)
    groups = np.array(["a", "b"])[np.arange(len(gold)) % 2]
    inside = np.flatnonzero(groups == "a")
    of = [inside[numbers[inside] == i] for i in range(30)]
    draws = []
    for _ in range(1000):
        rows = np.concatenate([of[i] for i in chance.integers(0, 30, 30)])
        draws.append(roc_auc_score(gold[rows], scores[rows]))
    low, high = np.quantile(draws, [0.025, 0.975])
    found = auc_by_group(gold, scores, groups.tolist(), bootstrap=Bootstrap(2000), clusters=numbers)["a"][0]
    assert found.value == pytest.approx(roc_auc_score(gold[inside], scores[inside]))
    assert (found.low, found.high) == (pytest.approx(low, abs=0.02), pytest.approx(high, abs=0.02))
    assert found.clusters == 30


def test_clusters_are_numbered_by_first_occurrence():
    assert cluster_numbers(["b", "a", "b", "c"]).tolist() == [0, 1, 0, 2]
