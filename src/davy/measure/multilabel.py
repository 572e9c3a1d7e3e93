"""Questions with several answers: how well sets of labels match.

Columns of joined labels (`a|b`, empty for none) or yes/no matrices (items × labels) in, metrics out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from davy.core import Metric, UserError
from davy.measure.intervals import Bootstrap, Floats, distinct_rows, proportion
from davy.measure.ratings import split_labels


def indicator(cells: Sequence[str | None], labels: Sequence[str]) -> NDArray[np.bool_]:
    """Return the yes/no matrix of a column of joined labels; a label that is not listed is an error."""
    known = {label: j for j, label in enumerate(labels)}
    matrix = np.zeros((len(cells), len(labels)), dtype=bool)
    for i, cell in enumerate(cells):
        for label in split_labels(cell):
            if label not in known:
                raise UserError(
                    f"Label {label!r} in row {i + 1} is not one of {', '.join(labels)}. Map or drop it first"
                )
            matrix[i, known[label]] = True
    return matrix


def multilabel(
    gold: NDArray[np.bool_],
    predicted: NDArray[np.bool_],
    labels: Sequence[str],
    *,
    answered: NDArray[np.bool_] | None = None,
    bootstrap: Bootstrap | None = None,
) -> list[Metric]:
    """Return exact match, Hamming loss, micro, macro, weighted and per-item F1, then figures for each label.

    Two empty sets match: their per-item F1 is 1 (scikit-learn's `zero_division=1`). An item that was not `answered`
    matches nothing. Names read `f1.LABEL`.
    """
    if gold.shape != predicted.shape or gold.shape[1:] != (len(labels),):
        raise UserError(f"Tables of {gold.shape} and {predicted.shape} yes/no answers don't fit {len(labels)} labels")
    bootstrap = bootstrap or Bootstrap()
    width, n = len(labels), len(gold)
    given = np.ones(n, dtype=bool) if answered is None else answered
    rows, copies = distinct_rows(np.concatenate([gold, predicted, given[:, None]], axis=1).astype(np.int64))
    sides = rows[:, :width].astype(bool), rows[:, width:-1].astype(bool), rows[:, -1].astype(bool)
    names = ["hamming_loss", "micro_f1", "macro_f1", "weighted_f1", "samples_f1", *(f"f1.{label}" for label in labels)]
    exact = proportion("exact_match", int(((gold == predicted).all(axis=1) & given).sum()), n, level=bootstrap.level)
    if n == 0:
        return [exact, *(Metric(name, None, 0, note="not defined: no items") for name in names)]
    found = bootstrap.metrics(
        names,
        _features(*sides),
        lambda sums: _figures(sums, width),
        copies=copies,
        undefined="not defined: the label occurs neither in gold nor among the predictions",
    )
    return [exact, *found[:5], *_per_label(gold, predicted, labels, found[5:], bootstrap.level)]


def _per_label(
    gold: NDArray[np.bool_],
    predicted: NDArray[np.bool_],
    labels: Sequence[str],
    harmonic: list[Metric],
    level: float,
) -> list[Metric]:
    metrics = []
    for j, label in enumerate(labels):
        hit, chosen, true = (int(x.sum()) for x in (gold[:, j] & predicted[:, j], predicted[:, j], gold[:, j]))
        never, absent = f"not defined: {label!r} was never predicted", f"not defined: {label!r} does not occur in gold"
        metrics.append(proportion(f"precision.{label}", hit, chosen, level=level, undefined=never))
        metrics.append(proportion(f"recall.{label}", hit, true, level=level, undefined=absent))
        metrics.append(harmonic[j])
    return metrics


def _features(gold: NDArray[np.bool_], predicted: NDArray[np.bool_], answered: NDArray[np.bool_]) -> Floats:
    """Return for each distinct item: 1, its per-item F1, and for each label hits, chosen, true."""
    both = gold & predicted
    sizes = gold.sum(axis=1) + predicted.sum(axis=1)
    own = np.where(sizes > 0, 2 * both.sum(axis=1) / np.maximum(sizes, 1), answered)
    return np.concatenate([np.ones((len(gold), 1)), own[:, None], both, predicted, gold], axis=1, dtype=np.float64)


def _figures(sums: Floats, width: int) -> Floats:
    n, own = sums[..., 0], sums[..., 1]
    hits, chosen, true = (sums[..., 2 + i * width : 2 + (i + 1) * width] for i in range(3))
    wrong = (chosen + true - 2 * hits).sum(axis=-1)
    present = chosen + true > 0
    each = np.where(present, 2 * hits / np.where(present, chosen + true, 1), np.nan)
    filled = np.where(present, each, 0)
    overall = [
        wrong / (n * width),
        2 * hits.sum(axis=-1) / (chosen + true).sum(axis=-1),
        filled.sum(axis=-1) / present.sum(axis=-1),
        (filled * true).sum(axis=-1) / true.sum(axis=-1),
        own / n,
    ]
    return np.concatenate([np.stack(overall, axis=-1), each], axis=-1)
