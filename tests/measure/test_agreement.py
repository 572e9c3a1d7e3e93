"""Agreement coefficients against other libraries, and against worked examples from the literature."""

import time
from itertools import combinations

import krippendorff
import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import fleiss_kappa

from davy.core import UserError
from davy.measure.agreement import agreement, by_label, coefficient, pairwise, verbal_labels
from davy.measure.agreement_study import leave_one_out, subsets
from davy.measure.intervals import Bootstrap
from davy.measure.ratings import Ratings

NONE = Bootstrap(resamples=0)

# Fleiss 1971, Table 1: 30 patients, six psychiatrists each, five diagnoses.
FLEISS_1971 = np.array(
    [
        [0, 0, 0, 6, 0], [0, 3, 0, 0, 3], [0, 1, 4, 0, 1], [0, 0, 0, 0, 6], [0, 3, 0, 3, 0],
        [2, 0, 4, 0, 0], [0, 0, 4, 0, 2], [2, 0, 3, 1, 0], [2, 0, 0, 4, 0], [0, 0, 0, 0, 6],
        [1, 0, 0, 5, 0], [1, 1, 0, 4, 0], [0, 3, 3, 0, 0], [1, 0, 0, 5, 0], [0, 2, 0, 3, 1],
        [0, 0, 5, 0, 1], [3, 0, 0, 1, 2], [5, 1, 0, 0, 0], [0, 2, 0, 4, 0], [1, 0, 2, 0, 3],
        [0, 0, 0, 0, 6], [0, 1, 0, 5, 0], [0, 2, 0, 1, 3], [2, 0, 0, 4, 0], [1, 0, 0, 4, 1],
        [0, 5, 0, 1, 0], [4, 0, 0, 0, 2], [0, 2, 0, 4, 0], [1, 0, 5, 0, 0], [0, 0, 0, 0, 6],
    ]
)  # fmt: skip

# Krippendorff 2011, example C: four observers, twelve units, missing answers. Gwet uses the same table.
KRIPPENDORFF_2011 = (
    np.array(
        [
            [1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0],
            [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3],
            [0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0],
            [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0],
        ]
    ).T
    - 1
)


def random_codes(seed: int, *, items: int = 60, people: int = 5, labels: int = 4, missing: float = 0.25) -> np.ndarray:
    """Label codes with some agreement in them, and holes."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, labels, (items, 1))
    codes = np.where(rng.random((items, people)) < 0.6, truth, rng.integers(0, labels, (items, people)))
    return np.where(rng.random((items, people)) < missing, -1, codes)


def counts_of(codes: np.ndarray, labels: int) -> np.ndarray:
    return np.stack([(codes == label).sum(axis=1) for label in range(labels)], axis=1)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("labels", [2, 3, 7])
def test_fleiss_and_randolph_equal_statsmodels(seed, labels):
    counts = counts_of(random_codes(seed, labels=labels, missing=0), labels)
    assert coefficient("fleiss", counts) == pytest.approx(fleiss_kappa(counts, "fleiss"), abs=1e-9)
    assert coefficient("randolph", counts) == pytest.approx(fleiss_kappa(counts, "randolph"), abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    ("name", "level"), [("alpha", "nominal"), ("alpha.ordinal", "ordinal"), ("alpha.interval", "interval")]
)
def test_alpha_equals_the_krippendorff_package_with_missing_answers(seed, name, level):
    values = np.array([-3.0, 0.5, 1.0, 10.0, 2001.0])
    codes = random_codes(seed, labels=5)
    data = np.where(codes < 0, np.nan, values[codes]).T
    theirs = krippendorff.alpha(reliability_data=data, level_of_measurement=level)
    assert coefficient(name, counts_of(codes, 5), values) == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_cohen_equals_scikit_learn_on_the_items_both_answered(seed):
    ratings = Ratings.from_matrix(random_codes(seed, labels=3))
    matrix = ratings.matrix()
    theirs = {}
    for a, b in combinations(range(5), 2):
        both = (matrix[:, a] >= 0) & (matrix[:, b] >= 0)
        theirs[str(a + 1), str(b + 1)] = cohen_kappa_score(matrix[both, a], matrix[both, b])
    ours = pairwise(ratings, bootstrap=NONE)
    assert {pair: metric.value for pair, metric in ours.pairs.items()} == pytest.approx(theirs, abs=1e-9)
    assert ours.mean.value == pytest.approx(np.mean(list(theirs.values())), abs=1e-9)


def test_a_crowd_of_many_people_has_the_same_pairs_as_a_small_table():
    codes = np.full((300, 90), -1)
    rng = np.random.default_rng(0)
    for row in codes:
        row[rng.choice(90, 3, replace=False)] = rng.integers(0, 2, 3)
    crowd = pairwise(Ratings.from_matrix(codes), bootstrap=NONE)
    some = tuple(crowd.pairs)[:40]
    assert len(crowd.pairs) > 500
    for a, b in some:
        first, second = codes[:, int(a) - 1], codes[:, int(b) - 1]
        both = (first >= 0) & (second >= 0)
        alone = pairwise(Ratings.from_matrix(np.stack([first, second], axis=1), labels=["0", "1"]), bootstrap=NONE).mean
        assert (crowd.pairs[a, b].value, crowd.pairs[a, b].n) == (alone.value, both.sum())


def test_the_mean_kappa_interval_matches_a_loop_over_scikit_learn():
    codes = random_codes(4, items=120, people=3, labels=2, missing=0.1)
    ours = pairwise(Ratings.from_matrix(codes), bootstrap=Bootstrap(2000)).mean
    rng = np.random.default_rng(1)
    kept = codes[(codes >= 0).sum(axis=1) > 1]
    draws = []
    for _ in range(120):
        drawn = kept[rng.integers(0, len(kept), len(kept))]
        each = []
        for a, b in combinations(range(3), 2):
            both = (drawn[:, a] >= 0) & (drawn[:, b] >= 0)
            each.append(cohen_kappa_score(drawn[both, a], drawn[both, b]))
        draws.append(np.mean(each))
    assert (ours.low, ours.high) == pytest.approx(tuple(np.quantile(draws, [0.025, 0.975])), abs=0.05)


def test_fleiss_own_example_gives_his_figures():
    # Fleiss 1971: overall κ = .430; by category .245, .245, .520, .471, .566.
    assert coefficient("fleiss", FLEISS_1971) == pytest.approx(0.430, abs=0.0005)
    labels = ("depression", "personality", "schizophrenia", "neurosis", "other")
    codes = np.array([np.repeat(np.arange(5), row) for row in FLEISS_1971])
    each = by_label(Ratings.from_matrix(codes, labels=labels), bootstrap=NONE)
    kappas = [next(m.value for m in each[label] if m.name == "fleiss") for label in labels]
    assert kappas == pytest.approx([0.245, 0.245, 0.520, 0.471, 0.566], abs=0.0006)


def test_krippendorffs_own_example_gives_his_figures():
    # Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability": .743 nominal, .815 ordinal, .849 interval.
    counts = counts_of(KRIPPENDORFF_2011, 5)
    assert coefficient("alpha", counts) == pytest.approx(0.743, abs=0.0005)
    assert coefficient("alpha.ordinal", counts) == pytest.approx(0.815, abs=0.0005)
    assert coefficient("alpha.interval", counts, range(1, 6)) == pytest.approx(0.849, abs=0.0005)


def test_ac1_fleiss_and_randolph_with_missing_answers_follow_gwets_worked_example():
    """The working, on Krippendorff's table, with the formulas of Gwet's handbook (2014), chapter 2.

    Eleven units have two or more answers. Units 2 and 8 have 3 of their 6 pairs alike, unit 6 none, the other eight
    all: pa = (8 + .5 + 0 + .5) / 11 = 9/11 = .81818.
    Label shares, each of the 12 units weighing the same:
      1: (1 + 1/4 + 3/4 + 1)/12 = 3/12;  2: (3/4 + 1 + 1/4 + 1/4 + 1)/12 = 3.25/12;
      3: (1/4 + 1 + 1 + 1/4 + 1)/12 = 3.5/12;  4: (1/4 + 1)/12 = 1.25/12;  5: 1/12.
    Σπ² = (9 + 10.5625 + 12.25 + 1.5625 + 1)/144 = 34.375/144 = .23872.
    AC1: pe = (1 − .23872)/4 = .19032, so (.81818 − .19032)/(1 − .19032) = .77544.
    Fleiss: (.81818 − .23872)/(1 − .23872) = .76117. Five labels to choose from: (.81818 − .2)/.8 = .77273.
    """
    counts = counts_of(KRIPPENDORFF_2011, 5)
    assert coefficient("percent", counts) == pytest.approx(9 / 11)
    assert coefficient("ac1", counts) == pytest.approx(0.77544, abs=5e-6)
    assert coefficient("fleiss", counts) == pytest.approx(0.76117, abs=5e-6)
    assert coefficient("randolph", counts) == pytest.approx(0.77273, abs=5e-6)


@pytest.mark.parametrize(
    ("seed", "fleiss", "ac1", "randolph", "alpha"),
    [
        (0, 0.31750591087, 0.323511724113, 0.32202020202, 0.340509399636),
        (1, 0.44512107578, 0.457616172859, 0.454545454545, 0.456752090961),
        (2, 0.380903372318, 0.384139086933, 0.383333333333, 0.372593273705),
    ],
)
def test_coefficients_equal_irrcacs_where_answers_are_missing(seed, fleiss, ac1, randolph, alpha):
    """The figures are those of irrCAC 0.4.4, which pins an old scipy and so can't be installed beside us:

    CAC(table, categories=[1.0, 2.0, 3.0, 4.0], digits=12), its `fleiss`, `gwet`, `bp` (Brennan and Prediger's κ is
    Randolph's) and `krippendorff`; the table is `random_codes(seed, missing=0.4)` + 1 with nan for -1, without the
    items that nobody answered.
    """
    counts = counts_of(random_codes(seed, missing=0.4), 4)
    ours = [coefficient(name, counts) for name in ("fleiss", "ac1", "randolph", "alpha")]
    assert ours == pytest.approx([fleiss, ac1, randolph, alpha], abs=1e-9)


def test_ac1_stays_high_where_kappa_collapses():
    """Gwet 2008's point, worked by hand: 125 items, 118 both yes, 5 + 2 split, none both no.

    pa = .944. Shares of yes: (123 + 120)/250 = .972, so AC1's pe = 2 × .972 × .028 = .054432 and
    AC1 = (.944 − .054432)/.945568 = .94078. Fleiss' pe = 1 − .054432, so κ = (.944 − .945568)/.054432 = −.02881.
    """
    counts = np.repeat([[2, 0], [1, 1]], [118, 7], axis=0)
    assert coefficient("ac1", counts) == pytest.approx(0.889568 / 0.945568, abs=1e-12)
    assert coefficient("fleiss", counts) == pytest.approx(-0.001568 / 0.054432, abs=1e-12)


def test_everybody_saying_the_same_leaves_kappa_undefined_with_a_reason():
    found = {metric.name: metric for metric in agreement(np.array([[3, 0], [3, 0], [2, 0]]))}
    for name in ("fleiss", "alpha"):
        assert found[name].value is None
        assert "every answer is the same label" in found[name].note
    assert found["percent"].value == found["ac1"].value == found["randolph"].value == 1
    assert pairwise(Ratings.from_matrix(np.zeros((5, 2), dtype=np.int64))).mean.value is None


@pytest.mark.parametrize("counts", [np.zeros((0, 2), int), np.zeros((4, 2), int), np.array([[1, 0], [0, 1]])])
def test_nothing_to_compare_is_said_and_is_no_crash(counts):
    assert {(m.value, m.note, m.n) for m in agreement(counts)} == {(None, "not defined: no item has two answers", 0)}


def test_one_label_alone_leaves_everything_but_percent_undefined():
    found = {metric.name: metric.value for metric in agreement(np.full((6, 1), 3))}
    assert found == {"percent": 1.0, "fleiss": None, "randolph": None, "alpha": None, "ac1": None}


def test_rows_with_their_number_give_what_the_full_table_gives():
    counts = counts_of(random_codes(2), 4)
    rows, copies = np.unique(counts, axis=0, return_counts=True)
    assert agreement(rows, copies=copies, bootstrap=NONE) == agreement(counts, bootstrap=NONE)


def test_subsets_and_one_out_are_the_coefficients_of_the_people_left():
    codes = random_codes(3, people=4, labels=2, missing=0)
    ratings = Ratings.from_matrix(codes, annotators=["ada", "ben", "cay", "dan"])
    without = {panel.without: panel["fleiss"].value for panel in leave_one_out(ratings, bootstrap=NONE)}
    for i, name in enumerate(ratings.annotators):
        expected = fleiss_kappa(counts_of(np.delete(codes, i, axis=1), 2))
        assert without[name,] == pytest.approx(expected, abs=1e-9)
    every = list(subsets(ratings, bootstrap=NONE))
    assert len(every) == 2**4 - 4 - 1
    assert every[0].annotators == ratings.annotators
    two = next(panel for panel in every if panel.annotators == ("ben", "dan"))
    assert two["fleiss"].value == pytest.approx(fleiss_kappa(counts_of(codes[:, [1, 3]], 2)), abs=1e-9)


def test_too_many_people_for_subsets_is_refused():
    with pytest.raises(UserError, match="12 annotators have 4,083 subsets"):
        list(subsets(Ratings.from_matrix(random_codes(1, people=12))))


def test_two_answers_of_one_person_to_one_item_are_refused():
    with pytest.raises(
        UserError, match=r"1 of 2 answers are given twice by one person, first annotator 'ann' on item 'p1'"
    ):
        Ratings.from_rows(["p1", "p1", "p2"], ["ann", "ann", "bob"], ["yes", "no", "yes"])


def test_labels_that_could_have_been_given_count_for_chance():
    rows = (["1", "1", "2", "2"], ["a", "b", "a", "b"], ["x", "x", "y", "x"])
    seen, known = Ratings.from_rows(*rows), Ratings.from_rows(*rows, among=("x", "y", "z"))
    assert coefficient("randolph", seen.counts()) == pytest.approx(0)
    assert coefficient("randolph", known.counts()) == pytest.approx((1 / 2 - 1 / 3) / (2 / 3))
    with pytest.raises(UserError, match="Label 'y' is not among the labels given: x, z"):
        Ratings.from_rows(*rows, among=("x", "z"))


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_intervals_match_a_loop_over_statsmodels(method):
    counts = counts_of(random_codes(5, items=150, labels=3, missing=0), 3)
    ours = next(m for m in agreement(counts, bootstrap=Bootstrap(4000, 1, method=method)) if m.name == "fleiss")
    rng = np.random.default_rng(2)
    draws = np.array([fleiss_kappa(counts[rng.integers(0, 150, 150)]) for _ in range(2000)])
    low, high = np.quantile(draws, [0.025, 0.975])
    assert (ours.low, ours.high) == pytest.approx((low, high), abs=0.02)


def test_the_same_seed_gives_the_same_interval_and_another_does_not():
    counts = counts_of(random_codes(6), 4)
    first, again, other = (agreement(counts, bootstrap=Bootstrap(200, seed)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_intervals_cover_the_true_value_about_as_often_as_they_say():
    rng = np.random.default_rng(8)
    truth = coefficient("fleiss", draw_counts(rng, 400_000))
    hits = 0
    for seed in range(200):
        metrics = agreement(draw_counts(rng, 120), bootstrap=Bootstrap(300, seed))
        low, high = next((m.low, m.high) for m in metrics if m.name == "fleiss")
        hits += low <= truth <= high
    assert 0.89 <= hits / 200 <= 0.99


def draw_counts(rng: np.random.Generator, items: int) -> np.ndarray:
    hard = rng.random(items) < 0.3
    yes = rng.binomial(3, np.where(hard, 0.5, np.where(rng.random(items) < 0.4, 0.95, 0.05)))
    return np.stack([yes, 3 - yes], axis=1)


def test_twenty_thousand_items_resample_a_thousand_times_in_under_five_seconds():
    ratings = Ratings.from_matrix(random_codes(9, items=20_000, people=3, labels=4, missing=0.1))
    start = time.process_time()
    agreement(ratings.counts(), bootstrap=Bootstrap(1000))
    pairwise(ratings, bootstrap=Bootstrap(1000))
    by_label(ratings, bootstrap=Bootstrap(1000))
    leave_one_out(ratings, bootstrap=Bootstrap(1000))
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    ("kappa", "landis_koch", "mchugh"),
    [
        (-0.1, "poor", "none"),
        (0.0, "slight", "none"),
        (0.2, "slight", "none"),
        (0.21, "fair", "minimal"),
        (0.4349, "moderate", "weak"),
        (0.60, "moderate", "moderate"),
        (0.61, "substantial", "moderate"),
        (0.80, "substantial", "strong"),
        (0.8258, "almost perfect", "strong"),
        (0.91, "almost perfect", "almost perfect"),
        (1.0, "almost perfect", "almost perfect"),
    ],
)
def test_words_are_those_of_the_published_scales(kappa, landis_koch, mchugh):
    assert verbal_labels(kappa) == {"landis-koch": landis_koch, "mchugh": mchugh}


@pytest.mark.parametrize(
    ("kappa", "scale", "word"),
    [
        (0.5904, "landis-koch", "moderate"),  # GMHP7k, phase 2a, hate speech
        (0.7655, "landis-koch", "substantial"),  # GMHP7k, phase 2b, hate speech
        (0.8258, "landis-koch", "almost perfect"),  # GMHP7k, phase 2c, misogynistic
        (0.85, "landis-koch", "almost perfect"),  # Hatemoji, §2.4
        (0.684, "mchugh", "moderate"),  # Hateful Memes, §2.4
    ],
)
def test_the_papers_use_the_words_that_we_give(kappa, scale, word):
    assert verbal_labels(kappa)[scale] == word


def test_an_interval_ends_at_minus_one_where_resamples_of_few_items_go_beyond():
    counts = np.array([[0, 1], [1, 1], [1, 1], [1, 1], [1, 0]])
    fleiss = next(metric for metric in agreement(counts) if metric.name == "fleiss")
    assert fleiss.value == pytest.approx(-1)
    assert fleiss.low == -1
    assert fleiss.high <= 1
