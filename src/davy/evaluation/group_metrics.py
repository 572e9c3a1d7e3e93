"""Does a detector serve the groups that posts are about alike? Figures of an evaluation by group.

A question's settled answers, what a detector said and each post's group in; rates by group, and demographic parity
and equalised odds between groups, out. Only yes/no questions have them. A post without an answer counts as not flagged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from davy.core import Metric
from davy.corpus.gold import Gold
from davy.evaluation.predictions import Predictions
from davy.measure.fairness import between_groups, group_rates
from davy.measure.intervals import Bootstrap
from davy.report import Column, Table

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
