"""The figures of one detector on one question, with their intervals, and by the groups that posts are about.

Gold and predicted labels in, metrics out. A post without an answer counts against the detector: it is missed where the
gold label is concerned, and no label's precision hears of it. Means over labels are over real labels only. By group:
rates, and demographic parity and equalised odds between groups. Only yes/no questions have them, and a post without an
answer counts as not flagged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from davy.core import Metric
from davy.corpus.gold import Gold
from davy.evaluation.predictions import Predictions
from davy.measure.classification import Confusion, classify, confusion, f1, macro_f1, mean_of_defined, precision, recall
from davy.measure.fairness import between_groups, group_rates
from davy.measure.intervals import Bootstrap, Floats
from davy.report import Column, Table

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


SHOWN_RATES: dict[str, str] = {
    "accuracy": "accuracy",
    "recall": "recall",
    "fpr": "false positive rate",
    "selection_rate": "selection rate",
}
RATIOS: dict[str, str] = {
    "demographic_parity_ratio": "demographic parity ratio",
    "equalised_odds_ratio": "equalised odds ratio",
}


@dataclass(frozen=True, slots=True)
class GroupMetrics:
    """A detector's rates for each group, and what lies between the groups."""

    rates: dict[str, dict[str, Metric]]
    between: dict[str, Metric]


def measure_groups(
    gold: Gold, predictions: Predictions, cells: Sequence[str | None], bootstrap: Bootstrap
) -> GroupMetrics | None:
    """Return the figures by group; `cells` names each post's groups, joined by `|`. None where not yes/no."""
    yes = gold.question.positive
    if yes is None:
        return None
    answers = predictions.labels[gold.question.name]
    right = [label == yes for label in gold.cells]
    flagged = [answers[row] == (yes,) for row in gold.rows]
    groups = [cells[row] for row in gold.rows]
    rates = group_rates(right, flagged, groups, level=bootstrap.level)
    between = between_groups(right, flagged, groups, bootstrap=bootstrap)
    return GroupMetrics(
        {name: {metric.name: metric for metric in found} for name, found in rates.items()},
        {metric.name: metric for metric in between},
    )


def group_tables(question: str, by: str, found: dict[str, GroupMetrics]) -> list[Table]:
    """Return one table of ratios, a row a detector, and for each detector one of rates, a row a group."""
    ratios = [(name, *(one.between[key] for key in RATIOS)) for name, one in found.items()]
    columns = [Column("model"), *(Column(title, "metric", best="high") for title in RATIOS.values())]
    note = (
        "Lowest group's rate over the highest's; 1 is parity. Equalised odds: the worse of recall and false positives."
    )
    tables = [Table.of(columns, ratios, title=f"{question}: between groups by {by}", note=note)]
    for name, one in found.items():
        rows = [
            (group, rates["accuracy"].n, *(rates[key] if rates[key].value is not None else None for key in SHOWN_RATES))
            for group, rates in one.rates.items()
        ]
        columns = [Column(by), Column("posts", "count"), *(Column(it, "metric") for it in SHOWN_RATES.values())]
        tables.append(Table.of(columns, rows, title=f"{question}: {name} by {by}"))
    return tables
