"""The figures of one detector on one question, with their intervals.

Gold and predicted labels in, metrics out. A post without an answer counts against
the detector: it is missed where the gold label is concerned, and no label's
precision hears of it. Means over labels are over real labels only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from davy.core import Metric
from davy.measure.classification import Confusion, classify, confusion, f1, macro_f1, mean_of_defined, precision, recall
from davy.measure.intervals import Bootstrap, Floats

NO_ANSWER = "no answer"


def confusion_with_gaps(gold: Sequence[str], predicted: Sequence[str | None], labels: Sequence[str]) -> Confusion:
    """Return the confusion matrix; where posts have no answer, a last column says how many."""
    filled = [NO_ANSWER if label is None else label for label in predicted]
    names = [*labels, NO_ANSWER] if NO_ANSWER in filled else list(labels)
    return confusion(gold, filled, names)


def classification_metrics(table: Confusion, *, positive: str | None, bootstrap: Bootstrap) -> list[Metric]:
    """Return all figures of a confusion matrix; `macro_f1` first."""
    found = classify(table, positive=positive, bootstrap=bootstrap)
    kept = [metric for metric in found if not metric.name.endswith(f".{NO_ANSWER}")]
    if NO_ANSWER in table.labels:
        mean = macro_averages(table, {"macro_f1": macro_f1_of_labels(table)}, bootstrap)[0]
        kept = [mean if metric.name == "macro_f1" else metric for metric in kept]
    return sorted(kept, key=lambda metric: metric.name != "macro_f1")


def macro_f1_of_labels(table: Confusion) -> Callable[[Floats], Floats]:
    """Return the function that means F1 over the real labels of matrices shaped like this table."""
    if NO_ANSWER not in table.labels:
        return macro_f1
    return lambda matrix: mean_of_defined(f1(matrix)[..., :-1])


def macro_averages(
    table: Confusion, figures: Mapping[str, Callable[[Floats], Floats]], bootstrap: Bootstrap
) -> list[Metric]:
    """Return figures of a confusion matrix by name, each a function of a stack of matrices, with intervals."""
    width = len(table.labels)
    cells = np.eye(width * width)[np.flatnonzero(table.matrix)]

    def statistic(sums: Floats) -> Floats:
        matrix = sums.reshape(*sums.shape[:-1], width, width)
        return np.stack([figure(matrix) for figure in figures.values()], axis=-1)

    return bootstrap.metrics(list(figures), cells, statistic, copies=table.matrix.ravel()[np.flatnonzero(table.matrix)])


def macro_precision(matrix: Floats, labels: int) -> Floats:
    """Return the mean precision over the first so many labels; 0 for one that was never chosen."""
    return np.asarray(np.nan_to_num(precision(matrix))[..., :labels].mean(axis=-1))


def macro_recall(matrix: Floats, labels: int) -> Floats:
    """Return the mean recall over the first so many labels; 0 for one that does not occur."""
    return np.asarray(np.nan_to_num(recall(matrix))[..., :labels].mean(axis=-1))
