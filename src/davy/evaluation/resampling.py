"""The figure of every system on every resample of the items.

A packed matrix in; figures and draws (resamples × systems) out. The one thing to know: all systems see the same
resamples, drawn item by item from one seed, so that intervals, paired tests and the spread of ranks agree with each
other, and a plain loop over `default_rng(seed).integers(0, n, n)` gives the same numbers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from davy.evaluation.prediction_matrix import NONE, PredictionMatrix
from davy.evaluation.tasks import sklearn_metric
from davy.measure.classification import MARGIN_FIGURES, Margins
from davy.measure.intervals import Bootstrap, Floats
from davy.measure.ranking import Ranked

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
    found = np.full((len(weights), len(matrix.systems)), np.nan)
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
                found[i, column] = value(
                    gold[drawn], predicted[drawn], copies[drawn], positive if matrix.task.kind == "labels" else 1
                )
    return found
