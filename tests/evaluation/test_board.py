"""The board of many systems, held against numpy, scipy, statsmodels and scikit-learn."""

from __future__ import annotations

import json
import time
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from scipy import stats
from sklearn import metrics as reference

from davy.challenges.boards import ladder
from davy.core import UserError
from davy.evaluation.board import rank_matrix, rank_systems, summarise_scores
from davy.evaluation.prediction_matrix import NONE, PredictionMatrix, pack_predictions
from davy.evaluation.tasks import Task
from davy.measure.paired_tests import holm

LABELS = ("threats", "derogation", "animosity", "discussion")
TASK = Task("B", "category", LABELS)
YES_NO = Task("A", "sexist", ("not sexist", "sexist"), positive="sexist")


def simulated(systems: int, items: int, task: Task, seed: int = 0) -> PredictionMatrix:
    """Systems that copy gold with a chance between 0.5 and 0.9, else guess."""
    rng = np.random.default_rng(seed)
    gold = rng.integers(0, len(task.labels), items).astype(np.int16)
    skill = rng.uniform(0.5, 0.9, systems)[:, None]
    guesses = rng.integers(0, len(task.labels), (systems, items))
    values = np.where(rng.random((systems, items)) < skill, gold, guesses).astype(np.int16)
    names = tuple(f"system {i:02}" for i in range(systems))
    return PredictionMatrix(task, tuple(f"p{i}" for i in range(items)), gold, names, values)


def frames(matrix: PredictionMatrix) -> tuple[pl.DataFrame, dict[str, pl.DataFrame]]:
    labels = matrix.task.labels
    gold = pl.DataFrame({"id": matrix.ids, "label": [labels[code] for code in matrix.gold]})
    said = {
        name: pl.DataFrame({"id": matrix.ids, "label": [labels[code] for code in row]})
        for name, row in zip(matrix.systems, matrix.values, strict=True)
    }
    return gold, said


def plain_draws(matrix: PredictionMatrix, seed: int, resamples: int, metric) -> np.ndarray:
    """The oracle: every resample as a list of items, every figure by scikit-learn."""
    rng, n = np.random.default_rng(seed), len(matrix.gold)
    found = []
    for _ in range(resamples):
        items = rng.integers(0, n, n)
        found.append([metric(matrix.gold[items], row[items]) for row in matrix.values])
    return np.array(found)


def macro_f1(gold, predicted):
    return reference.f1_score(gold, predicted, average="macro")


def test_figures_intervals_and_paired_p_are_those_of_a_plain_loop_over_scikit_learn():
    matrix = simulated(5, 300, TASK)
    board = rank_matrix(matrix, seed=3, resamples=60)
    draws = plain_draws(matrix, 3, 60, macro_f1)
    values = [macro_f1(matrix.gold, row) for row in matrix.values]
    order = np.argsort(values)[::-1]
    assert [row.system for row in board.rows] == [matrix.systems[i] for i in order]
    for row, i in zip(board.rows, order, strict=True):
        low, high = np.quantile(draws[:, i], [0.025, 0.975])
        assert [row.figure.value, row.figure.low, row.figure.high] == pytest.approx([values[i], low, high], abs=1e-9)
    chances = []
    for row, (i, j) in zip(board.rows, pairwise(order), strict=False):
        gaps = draws[:, i] - draws[:, j]
        chances.append(min(1, 2 * (min((gaps <= 0).sum(), (gaps >= 0).sum()) + 1) / 61))
        assert row.next_p == pytest.approx(chances[-1], abs=1e-9)
        assert row.next_difference.value == pytest.approx(values[i] - values[j], abs=1e-9)
        assert row.next_difference.low == pytest.approx(np.quantile(gaps, 0.025), abs=1e-9)
    assert [row.next_p_holm for row in board.rows[:-1]] == pytest.approx(holm(chances), abs=1e-9)
    assert board.rows[-1].next_p is None
    ranks = np.array([stats.rankdata(-row, method="min") for row in draws])
    assert board.rows[0].first_share == pytest.approx((ranks[:, order[0]] == 1).mean())
    tau = np.mean([stats.kendalltau(values, row).statistic for row in draws])
    assert board.rank_stability == pytest.approx(tau, abs=1e-9)


@pytest.mark.parametrize(
    ("metric", "other"),
    [
        ("accuracy", reference.accuracy_score),
        ("balanced_accuracy", reference.balanced_accuracy_score),
        ("mcc", reference.matthews_corrcoef),
        ("weighted_f1", lambda g, p: reference.f1_score(g, p, average="weighted")),
        ("f1_micro", lambda g, p: reference.f1_score(g, p, average="micro")),
        ("jaccard_macro", lambda g, p: reference.jaccard_score(g, p, average="macro")),
        ("cohen_kappa_score", reference.cohen_kappa_score),
    ],
)
def test_any_metric_of_labels_is_the_one_that_scikit_learn_computes(metric, other):
    matrix = simulated(3, 120, Task("B", "category", LABELS, metric))
    board = rank_matrix(matrix, seed=1, resamples=20)
    draws = plain_draws(matrix, 1, 20, other)
    for row in board.rows:
        i = matrix.systems.index(row.system)
        assert row.figure.value == pytest.approx(other(matrix.gold, matrix.values[i]), abs=1e-9)
        assert row.figure.high == pytest.approx(np.quantile(draws[:, i], 0.975), abs=1e-9)


@pytest.mark.parametrize(
    ("metric", "other"),
    [
        ("auroc", reference.roc_auc_score),
        ("average_precision", reference.average_precision_score),
        ("roc_auc", reference.roc_auc_score),
    ],
)
def test_metrics_of_scores_are_those_of_scikit_learn_with_ties(metric, other):
    task = Task("memes", "hateful", ("no", "yes"), metric, "score", "yes")
    rng = np.random.default_rng(5)
    gold = rng.integers(0, 2, 200).astype(np.int16)
    scores = np.round(rng.random((4, 200)) + gold * rng.uniform(0, 0.8, (4, 1)), 1)
    matrix = PredictionMatrix(task, tuple(map(str, range(200))), gold, tuple("abcd"), scores)
    board = rank_matrix(matrix, seed=2, resamples=30)
    draws = plain_draws(matrix, 2, 30, other)
    for row in board.rows:
        i = matrix.systems.index(row.system)
        assert row.figure.value == pytest.approx(other(gold, scores[i]), abs=1e-9)
        assert row.figure.low == pytest.approx(np.quantile(draws[:, i], 0.025), abs=1e-9)


def test_eighty_systems_have_the_quartiles_and_spread_that_numpy_gives_and_marked_rows_have_no_rank():
    matrix = simulated(80, 500, YES_NO, seed=8)
    marks = {"system 03": "baseline", "system 40": "baseline", "system 77": "human"}
    board = rank_matrix(matrix, seed=0, resamples=100, marks=marks)
    values = {name: macro_f1(matrix.gold, row) for name, row in zip(matrix.systems, matrix.values, strict=True)}
    kept = np.array([value for name, value in values.items() if name not in marks])
    q1, median, q3 = np.percentile(kept, [25, 50, 75])
    s = board.summary
    assert s.count == 77 == len(board.ranked)
    assert [s.q1, s.mean, s.median, s.sd, s.q3] == pytest.approx(
        [q1, kept.mean(), median, kept.std(ddof=1), q3], abs=1e-9
    )
    assert s.beats["system 40"] == pytest.approx((kept > values["system 40"]).mean())
    assert {row.system: row.mark for row in board.rows if row.rank is None} == marks
    assert [row.rank for row in board.ranked] == sorted(row.rank for row in board.ranked)
    json.dumps(board.to_dict(), allow_nan=False)
    assert "system 40" in board.table().markdown()


def test_equal_predictions_share_a_rank_and_are_tied_and_the_next_rank_is_left_out():
    matrix = simulated(3, 200, YES_NO)
    twin = matrix.values[[0, 0, 1, 2]]
    named = PredictionMatrix(YES_NO, matrix.ids, matrix.gold, ("a", "twin of a", "b", "c"), twin)
    board = rank_matrix(named, resamples=50)
    rows = {row.system: row for row in board.rows}
    assert rows["a"].rank == rows["twin of a"].rank
    assert "twin of a" in rows["a"].tied_with
    assert sorted(row.rank for row in board.rows) in ([1, 1, 3, 4], [1, 2, 2, 4], [1, 2, 3, 3])
    first = next(row for row in board.rows if row.system in ("a", "twin of a"))
    assert first.next_p == 1.0
    assert first.next_difference.value == 0


def test_an_item_without_a_label_counts_as_an_error_and_enters_no_precision():
    matrix = simulated(1, 100, TASK)
    gaps = matrix.values.copy()
    gaps[0, :30] = NONE
    board = rank_matrix(PredictionMatrix(TASK, matrix.ids, matrix.gold, ("gaps",), gaps), resamples=0)
    said = np.where(gaps[0] == NONE, 99, gaps[0])
    expected = reference.f1_score(matrix.gold, said, labels=range(4), average="macro")
    assert board.rows[0].figure.value == pytest.approx(expected, abs=1e-12)


def test_frames_and_the_matrix_give_the_same_board_in_any_row_order():
    matrix = simulated(4, 80, TASK)
    gold, said = frames(matrix)
    shuffled = {name: frame.sample(fraction=1, shuffle=True, seed=4) for name, frame in said.items()}
    assert rank_systems(gold, shuffled, TASK, seed=1, resamples=40) == rank_matrix(matrix, seed=1, resamples=40)


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (pl.DataFrame({"id": ["p0", "p0"], "label": ["threats"] * 2}), "more than once"),
        (pl.DataFrame({"id": ["p0", "x"], "label": ["threats"] * 2}), "does not have"),
        (pl.DataFrame({"id": ["p0", "p1"], "label": ["threats", "treats"]}), "'treats'"),
        (pl.DataFrame({"id": ["p0", None], "label": ["threats"] * 2}), "no id"),
        (pl.DataFrame({"id": ["p0"], "answer": ["threats"]}), "no column 'label'"),
    ],
)
def test_a_bad_file_of_predictions_is_refused_with_its_reason(frame, words):
    gold = pl.DataFrame({"id": ["p0", "p1"], "label": ["threats", "animosity"]})
    with pytest.raises(UserError, match=words):
        pack_predictions(gold, {"mine.csv": frame}, TASK)


def test_scores_must_be_finite_and_there_for_every_item():
    task = Task("memes", "hateful", ("no", "yes"), "auroc", "score", "yes")
    gold = pl.DataFrame({"id": ["a", "b"], "label": ["no", "yes"]})
    for scores in ([0.1, float("nan")], [0.1, float("inf")], [0.1, None]):
        with pytest.raises(UserError, match="finite score for 1 of 2"):
            pack_predictions(gold, {"mine": pl.DataFrame({"id": ["a", "b"], "score": scores})}, task)


def test_a_metric_nobody_knows_or_that_wants_other_predictions_is_refused():
    with pytest.raises(UserError, match="macro_f1"):
        Task("B", "category", LABELS, "macrof1")
    with pytest.raises(UserError, match="one of scores"):
        Task("B", "category", LABELS, "auroc")


def test_the_summary_of_a_finished_board_knows_its_baselines():
    summary = summarise_scores([0.8, 0.7, 0.9, 0.6], {"B0": 0.43, "B6": 0.75})
    assert summary.beats == {"B0": 1.0, "B6": 0.5}
    with pytest.raises(UserError, match="not finite"):
        summarise_scores([0.1, float("nan")])


def test_a_ladder_moves_only_for_a_clear_gain():
    assert ladder([0.70, 0.705, 0.72, 0.71, 0.729], step=0.01) == [0.70, 0.70, 0.72, 0.72, 0.72]


def test_two_hundred_systems_on_four_thousand_items_are_ranked_within_seconds():
    matrix = simulated(200, 4000, YES_NO)
    began = time.process_time()
    board = rank_matrix(matrix, resamples=1000)
    assert time.process_time() - began < 20
    assert len(board.rows) == 200
