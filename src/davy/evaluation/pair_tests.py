"""Paired tests between systems of a packed matrix, with Holm's correction, and the resamples that they rest on.

A matrix, pairs of systems and a test's name in; differences with p before and after the correction out. The one thing
to know: all systems see the same resamples, drawn item by item from one seed, so that intervals, paired tests and the
spread of ranks agree with each other, and a plain loop over `default_rng(seed).integers(0, n, n)` gives the same
numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from davy.core.errors import UserError
from davy.evaluation.evaluate import PairedTest
from davy.evaluation.prediction_matrix import NONE, PredictionMatrix
from davy.evaluation.tasks import sklearn_metric
from davy.measure.classification import MARGIN_FIGURES, Margins
from davy.measure.intervals import Bootstrap, Floats
from davy.measure.paired_tests import Comparison, approximate_randomisation, holm, mcnemar, resampled_p
from davy.measure.ranking import Ranked
from davy.report import Column, Table

Counts = NDArray[np.float32]


def figures_and_draws(matrix: PredictionMatrix, bootstrap: Bootstrap) -> tuple[Floats, Floats]:
    """Return each system's figure, and a row of figures for every resample; nan where a figure is not defined."""
    n = len(matrix.gold)
    once = np.ones((1, n))
    figures = _figures(matrix, once)[0]
    if n < 2 or not bootstrap.resamples:
        return figures, np.empty((0, len(matrix.systems)))
    ones = np.ones(n, dtype=np.int64)
    return figures, np.concatenate([_figures(matrix, weights) for weights in bootstrap.weights(ones)])


def _figures(matrix: PredictionMatrix, weights: Floats) -> Floats:
    """Return a row of figures for each row of weights over the items."""
    if not matrix.task.vectorised:
        return _by_sklearn(matrix, weights)
    if matrix.task.kind == "labels":
        return MARGIN_FIGURES[matrix.task.metric](_margins(matrix, weights))
    return _by_ranking(matrix, weights)


def _margins(matrix: PredictionMatrix, weights: Floats) -> Margins:
    """Return margins of shape (rows of weights, systems, labels), by one matrix product a label."""
    narrow = weights.astype(np.float32)  # counts below 2**24 are exact in 32 bits
    is_gold = matrix.gold[:, None] == np.arange(len(matrix.task.labels))[None, :]
    gold = narrow @ is_gold.astype(np.float32)
    shape = (len(weights), len(matrix.systems), len(matrix.task.labels))
    hits, predicted = np.empty(shape), np.empty(shape)
    for code in range(len(matrix.task.labels)):
        chosen = (matrix.values == code).T
        predicted[:, :, code] = narrow @ chosen.astype(np.float32)
        rows = np.flatnonzero(is_gold[:, code])
        hits[:, :, code] = narrow[:, rows] @ chosen[rows].astype(np.float32)
    return Margins(hits, np.broadcast_to(gold[:, None, :], shape).astype(np.float64), predicted)


def _by_ranking(matrix: PredictionMatrix, weights: Floats) -> Floats:
    yes = matrix.yes
    if matrix.task.metric == "auroc":
        sides = weights.T.astype(np.float32)  # counts, so exact
        negative, positive = sides[~yes], sides[yes]
        columns = [_auroc(negative, positive, row[~yes], row[yes]) for row in np.asarray(matrix.values, np.float64)]
        return np.stack(columns, axis=1)
    columns = []
    for row in np.asarray(matrix.values, np.float64):
        ranked = Ranked.of(yes, row)
        kinds = ranked.kind_of(yes, row)
        order = np.argsort(kinds, kind="stable")
        starts = np.searchsorted(kinds[order], np.arange(len(ranked.copies)))
        columns.append(ranked.average_precision(np.add.reduceat(weights[:, order], starts, axis=1)))
    return np.stack(columns, axis=1)


def _auroc(negative: Counts, positive: Counts, low: Floats, high: Floats) -> Floats:
    """Return the AUROC of each column of weights: of negatives (scores `low`) and positives (scores `high`)."""
    order = np.argsort(low, kind="stable")
    below = np.zeros((len(low) + 1, negative.shape[1]), dtype=np.float32)
    np.cumsum(negative[order], axis=0, out=below[1:])
    ranks = low[order]
    beaten = below[np.searchsorted(ranks, high, "left")]
    beaten += below[np.searchsorted(ranks, high, "right")]
    wins = np.einsum("ij,ij->j", positive, beaten, dtype=np.float64) / 2
    pairs = positive.sum(axis=0, dtype=np.float64) * below[-1]
    return np.where(pairs > 0, wins / np.where(pairs > 0, pairs, 1), np.nan)


def _by_sklearn(matrix: PredictionMatrix, weights: Floats) -> Floats:
    """Return figures by a metric of scikit-learn; items that look the same to a system are one weighted item."""
    value = sklearn_metric(matrix.task.metric, matrix.task.kind)
    names = np.array([*matrix.task.labels, "no answer"])
    positive = matrix.task.positive
    scores = np.full((len(weights), len(matrix.systems)), np.nan)
    for column, row in enumerate(matrix.values):
        if matrix.task.kind == "labels":
            codes = matrix.gold.astype(np.int64) * len(names) + np.where(row == NONE, len(names) - 1, row)
            kinds, place = np.unique(codes, return_inverse=True)
            gold, predicted = names[kinds // len(names)], names[kinds % len(names)]
            sums = np.stack([weights[:, place == kind].sum(axis=1) for kind in range(len(kinds))], axis=1)
        else:
            gold, predicted, sums = matrix.yes.astype(int), np.asarray(row, np.float64), weights
        for i, copies in enumerate(sums):
            drawn = copies > 0
            if len(set(gold[drawn].tolist())) > 1:
                scores[i, column] = value(
                    gold[drawn], predicted[drawn], copies[drawn], positive if matrix.task.kind == "labels" else 1
                )
    return scores


TESTS = ("bootstrap", "mcnemar", "randomisation")
RANDOMISATION = "approximate randomisation"


def choose_pairs(systems: Sequence[str], which: str) -> list[tuple[str, str]]:
    """Return the pairs to test, of systems from best to worst: `neighbours`, or `all`."""
    if which not in ("neighbours", "all"):
        raise UserError(f"Pairs are 'neighbours' or 'all', not {which!r}")
    return list(pairwise(systems)) if which == "neighbours" else list(combinations(systems, 2))


def compare_pairs(
    matrix: PredictionMatrix, pairs: Sequence[tuple[str, str]], test: str = "bootstrap", *, bootstrap: Bootstrap
) -> list[PairedTest]:
    """Return each pair's difference and p.

    The interval of a difference is the paired bootstrap's, from the resamples that the board uses. McNemar's test is
    of accuracy, whatever the task's metric.
    """
    if test not in TESTS:
        raise UserError(f"There is no paired test {test!r}. Use one of: {', '.join(TESTS)}")
    if test != "bootstrap" and matrix.task.kind == "score":
        raise UserError(f"Scores have no {test} test: they are neither right nor wrong. Use --test bootstrap")
    if test == "randomisation" and not matrix.task.vectorised:
        raise UserError(f"There is no randomisation test of {matrix.task.title!r}. Use --test bootstrap")
    if test == "mcnemar":
        right = dict(zip(matrix.systems, matrix.right, strict=True))
        found = [(first, second, mcnemar(right[first], right[second])) for first, second in pairs]
    else:
        found = _resampled(matrix, pairs, test, bootstrap)
    adjusted = holm([comparison.p for _, _, comparison in found])
    return [PairedTest(*pair, p) for pair, p in zip(found, adjusted, strict=True)]


def _resampled(
    matrix: PredictionMatrix, pairs: Sequence[tuple[str, str]], test: str, bootstrap: Bootstrap
) -> list[tuple[str, str, Comparison]]:
    values, draws = figures_and_draws(matrix, bootstrap)
    at = {name: i for i, name in enumerate(matrix.systems)}
    gold, codes = matrix.gold.astype(np.int64), matrix.values
    comparisons = []
    for first, second in pairs:
        i, j = at[first], at[second]
        gaps = draws[:, i] - draws[:, j]
        gap = bootstrap.metric(matrix.task.metric, float(values[i] - values[j]), gaps, len(gold))
        if test == "randomisation":
            sides = codes[i].astype(np.int64), codes[j].astype(np.int64)
            labels, seed = len(matrix.task.labels), bootstrap.seed
            p = approximate_randomisation(
                gold, *sides, labels, metric=matrix.task.metric, rounds=bootstrap.resamples, seed=seed
            )
            name = RANDOMISATION
        else:
            p, name = float(resampled_p(gaps)), "paired bootstrap"
        comparisons.append(
            (first, second, Comparison(matrix.task.metric, float(values[i]), float(values[j]), gap, p, name))
        )
    return comparisons


def pairs_table(tests: Sequence[PairedTest], title: str) -> Table:
    """Return one row a pair: the difference with its interval, p, and p after Holm's correction."""
    rows = [
        (pair.first, pair.second, pair.comparison.difference, _chance(pair.comparison.p), _chance(pair.adjusted))
        for pair in tests
    ]
    columns = [Column("first"), Column("second"), Column("difference", "metric", digits=4, scale=(-0.2, 0.2)),
               Column("p"), Column("p, Holm")]  # fmt: skip
    test = tests[0].comparison.test if tests else ""
    return Table.of(columns, rows, title=title, note=f"Test: {test}." if test else "")


def _chance(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"
