"""Figures of a run, each held against a published figure, a worked example or another library."""

import numpy as np
import pytest
from interval_by_hand import clustered_interval

from davy.measure.clusters import clustered_difference
from davy.measure.intervals import Bootstrap
from davy.testing import metrics, suites
from davy.testing.metrics import measure_fairness
from davy.testing.run import SuiteRun, run_suite
from davy.testing.suite import Case, Outcome, Suite
from fake_detectors import Rule


def angry(text):
    return 0.9 if "Away" in text or "😡" in text else 0.2


@pytest.fixture(scope="module")
def emoji():
    return suites.load("emoji-en")


def test_newcombe_s_own_example_comes_out():
    # Newcombe (1998), Table II, (a): 56/70 and 48/80 differ by 0.2000; method 10 gives 0.0524 to 0.3339.
    first, second = ([True] * hits + [False] * (n - hits) for hits, n in ((56, 70), (48, 80)))
    found = clustered_difference("d", (first, range(70)), (second, range(70, 150)))
    assert found.value == pytest.approx(0.2)
    assert (found.low, found.high) == (pytest.approx(0.0524, abs=5e-5), pytest.approx(0.3339, abs=5e-5))


@pytest.mark.parametrize(
    ("originals", "without", "published"),
    # Kirk and others (2022), Table 3: accuracy on 2,126 originals and 588 cases without emoji, and their difference.
    [
        (0.664, 0.823, -0.159),
        (0.717, 0.934, -0.217),
        (0.887, 0.925, -0.038),
        (0.850, 0.925, -0.075),
        (0.877, 0.910, -0.033),
    ],
)
def test_the_emoji_difference_is_the_papers(emoji, originals, without, published):
    seen = {"original": 0, "no emoji": 0}
    limits = {"original": round(originals * 2126), "no emoji": round(without * 588)}
    outcomes = []
    for case in emoji.cases:
        right = case.set not in seen or seen[case.set] < limits[case.set]
        if case.set in seen:
            seen[case.set] += 1
        label = case.expected if right else next(each for each in emoji.labels if each != case.expected)
        outcomes.append(Outcome(case.id, label, 0.5, right))
    found = metrics.emoji_difference(emoji, SuiteRun("m", "1", tuple(outcomes)))
    assert found.value == pytest.approx(published, abs=1e-3)
    assert found.low < found.value < found.high


def test_the_emoji_difference_is_not_defined_where_the_label_flips(small):
    found = run_suite(small, Rule(angry))
    flipped = metrics.emoji_difference(small, found, "append")
    assert flipped.value is None
    assert "other label" in flipped.note
    assert metrics.emoji_difference(small, found, "swap").value == 0.0


def test_cells_add_up_over_every_part(small):
    found = list(metrics.cells(small, run_suite(small, Rule(angry))))
    whole = found[0]
    assert (whole.functionality, whole.set, whole.label, whole.target) == ("all", "all", "all", "all")
    assert whole.accuracy.n == len(small.cases) == 17
    by_set = [c for c in found if c.set != "all" and c.functionality == c.label == c.target == "all"]
    assert sum(c.accuracy.n for c in by_set) == 17
    leaves = [c for c in found if "all" not in (c.functionality, c.set, c.label, c.target)]
    assert sum(c.accuracy.n for c in leaves) == 17
    right = sum(round(c.accuracy.value * c.accuracy.n) for c in leaves)
    assert whole.accuracy.value == pytest.approx(right / 17)


def test_pairs_count_only_where_both_sides_are_right(small):
    found = metrics.pairs_right(small, run_suite(small, Rule(angry)), lambda case: case.set)
    # append: 4 originals, the two with 😡 right. Their polarity twins are right, so are those without emoji; of the
    # identity twins the one with 😡 is wrong. swap: both originals right; identity wrong, the others right.
    assert {key: (round(m.value * m.n), m.n) for key, m in found.items()} == {
        "identity": (0, 6),
        "polarity": (4, 6),
        "no emoji": (4, 6),
        "all": (8, 18),
    }


def test_confusions_and_worst_cases(small):
    found = run_suite(small, Rule(lambda text: 0.97 if "😊" in text else angry(text)))
    assert metrics.confusions(small, found) == {
        ("hateful", "hateful"): 6,
        ("hateful", "not hateful"): 2,
        ("not hateful", "hateful"): 4,
        ("not hateful", "not hateful"): 5,
    }
    worst = metrics.worst_cases(small, found)
    assert len(worst) == 6
    assert {case.text for case, _ in worst[:2]} == {"Bakers came by 😊", "Cooks came by 😊"}


def test_fairness_by_target_is_fairlearn_s(emoji):
    from fairlearn.metrics import (
        MetricFrame,
        demographic_parity_ratio,
        equalized_odds_ratio,
        false_negative_rate,
        false_positive_rate,
        selection_rate,
    )
    from sklearn.metrics import accuracy_score, precision_score, recall_score, roc_auc_score

    chance = np.random.default_rng(4)
    drawn = {case.id: float(chance.random() ** (2 if case.target == "women" else 1)) for case in emoji.cases}
    texts = {case.text: case.id for case in emoji.cases}
    found = run_suite(emoji, Rule(lambda text: drawn[texts[text]]))
    fair = measure_fairness(emoji, found, bootstrap=Bootstrap(50))
    aimed = [(c, o) for c, o in zip(emoji.cases, found.outcomes, strict=True) if c.target]
    gold = np.array([c.expected == "hateful" for c, _ in aimed])
    said = np.array([o.label == "hateful" for _, o in aimed])
    groups = np.array([c.target for c, _ in aimed])
    theirs = MetricFrame(
        metrics={
            "accuracy": accuracy_score,
            "precision": precision_score,
            "recall": recall_score,
            "fpr": false_positive_rate,
            "fnr": false_negative_rate,
            "selection_rate": selection_rate,
        },
        y_true=gold,
        y_pred=said,
        sensitive_features=groups,
    ).by_group
    for target, rates in fair.by_target.items():
        for name in theirs.columns:
            assert rates[name].value == pytest.approx(theirs.loc[target, name], abs=1e-12)
    between = fair.between
    assert between["demographic_parity_ratio"].value == pytest.approx(
        demographic_parity_ratio(gold, said, sensitive_features=groups)
    )
    assert between["equalised_odds_ratio"].value == pytest.approx(
        equalized_odds_ratio(gold, said, sensitive_features=groups)
    )
    scores = np.array([drawn[c.id] for c in emoji.cases])
    every = np.array([c.expected == "hateful" for c in emoji.cases])
    women = np.array([c.target == "women" for c in emoji.cases])
    parts = {
        "subgroup_auc": women,
        "bpsn_auc": (women & ~every) | (~women & every),
        "bnsp_auc": (women & every) | (~women & ~every),
    }
    for name, part in parts.items():
        assert fair.auc["women"][name].value == pytest.approx(roc_auc_score(every[part], scores[part]), abs=1e-9)


def test_intervals_of_a_check_are_by_template(emoji):
    found = run_suite(emoji, Rule(lambda text: sum(map(ord, text.split()[0])) % 10 / 10))
    right = {out.case: out.correct for out in found.outcomes}
    cells = {(c.functionality, c.set, c.label, c.target): c.accuracy for c in metrics.cells(emoji, found)}
    for functionality, set_ in (("all", "all"), ("append", "all"), ("all", "polarity"), ("verb_swap", "original")):
        cases = [c for c in emoji.cases if functionality in ("all", c.functionality) and set_ in ("all", c.set)]
        low, high = clustered_interval([right[c.id] for c in cases], [c.template for c in cases])
        metric = cells[functionality, set_, "all", "all"]
        assert (metric.low, metric.high) == (pytest.approx(low, abs=1e-5), pytest.approx(high, abs=1e-5))
        assert metric.clusters == len({c.template for c in cases})
    template = {case.id: case.template for case in emoji.cases}
    both = [right[one] and right[two] for one, two in emoji.links]
    low, high = clustered_interval(both, [template[one] for one, _ in emoji.links])
    pairs = metrics.pairs_right(emoji, found)["all"]
    assert (pairs.low, pairs.high) == (pytest.approx(low, abs=1e-5), pytest.approx(high, abs=1e-5))


def test_a_constant_answer_is_measured_and_a_detector_that_does_not_beat_it_is_named(emoji):
    found = run_suite(emoji, Rule(lambda text: 0.9))
    constant = metrics.best_constant(emoji, found)
    assert (constant.label, constant.accuracy) == ("hateful", pytest.approx(2654 / 3930))
    overall = next(metrics.cells(emoji, found, ())).accuracy
    assert overall.value == pytest.approx(constant.accuracy)
    said = metrics.constant_warning("always", overall, constant)
    assert said.startswith("always is no better than always saying 'hateful'")
    gold = {case.text: case.expected for case in emoji.cases}
    perfect = run_suite(emoji, Rule(lambda text: float(gold[text] == "hateful")))
    assert metrics.constant_warning("p", next(metrics.cells(emoji, perfect, ())).accuracy, constant) is None
    nearly = run_suite(emoji, Rule(lambda text: float(gold[text] == "hateful" or "e" in text)))
    better = next(metrics.cells(emoji, nearly, ())).accuracy
    assert constant.accuracy < better.value
    assert "not clearly better" in metrics.constant_warning("n", better, constant)


def test_accuracy_invariance_and_direction_are_kept_apart():
    cases = (
        Case("a", "x", "f", "hateful"),
        Case("b", "y", "f", "same", pair="a", test="INV"),
        Case("c", "z", "f", "not higher", pair="a", test="DIR"),
        Case("d", "w", "f", "higher", pair="a", test="DIR"),
    )
    suite = Suite("s", "1", "hate", "en", cases)
    run = run_suite(suite, Rule(lambda text: 0.8))
    assert [out.correct for out in run.outcomes] == [True, True, True, False]
    assert metrics.best_constant(suite, run) == metrics.Constant("hateful", 1.0)
    assert next(metrics.cells(suite, run, ())).accuracy.n == 1, "an unchanged answer is no right label"
    passed = metrics.passed_by_test(suite, run)
    assert {key: (one.value, one.n) for key, one in passed.items()} == {
        ("all", "MFT"): (1.0, 1),
        ("all", "INV"): (1.0, 1),
        ("all", "DIR"): (0.5, 2),
    }
    assert metrics.failure_rate(passed["all", "DIR"]).value == 0.5


def test_a_detector_that_is_wrong_before_and_after_a_change_has_not_moved_but_is_wrong():
    cases = (
        Case("a", "x", "as written", "hateful"),
        Case("a2", "x!", "change", "same", pair="a", test="INV"),
        Case("b", "y", "as written", "not hateful"),
        Case("b2", "y!", "change", "same", pair="b", test="INV"),
    )
    suite = Suite("s", "1", "hate", "en", cases)
    never = run_suite(suite, Rule(lambda text: 0.1))
    assert metrics.passed_by_test(suite, never)["all", "INV"].value == 1.0
    assert metrics.accuracy_after_change(suite, never).value == 0.5
    moves = run_suite(suite, Rule(lambda text: 0.9 if text in ("x", "y!") else 0.1))
    assert metrics.passed_by_test(suite, moves)["all", "INV"].value == 0.0
    assert metrics.accuracy_after_change(suite, moves, "change").value == 0.0


def test_fairness_needs_two_targets():
    cases = (Case("a", "x", "f", "hateful", target="bakers"), Case("b", "y", "f", "not hateful"))
    suite = Suite("s", "1", "hate", "en", cases)
    assert measure_fairness(suite, run_suite(suite, Rule(angry))) is None
