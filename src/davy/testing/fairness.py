"""Does a detector serve the groups alike? Figures for each target and between targets.

Outcomes in, metrics out. Only MFT cases that are about somebody count, as in
the paper; the numbers are `davy.measure.fairness`'s. Intervals resample templates,
not cases; those between targets are BCa.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from davy.core import Metric
from davy.measure.clusters import cluster_numbers
from davy.measure.fairness import auc_by_group, between_groups, gap, group_rates
from davy.measure.intervals import Bootstrap
from davy.testing.metrics import cluster_of, judged_cases
from davy.testing.run import SuiteRun
from davy.testing.suite import Suite

RATES: tuple[str, ...] = ("accuracy", "precision", "recall", "fpr", "fnr", "selection_rate")
RATE_TITLES: dict[str, str] = {
    "accuracy": "accuracy",
    "precision": "precision",
    "recall": "recall",
    "fpr": "false positive rate",
    "fnr": "false negative rate",
    "selection_rate": "selection rate",
}


@dataclass(frozen=True, slots=True)
class Fairness:
    """Figures of one run by target. `true_rate` is the share of each target's cases whose right label is yes."""

    by_target: dict[str, dict[str, Metric]]
    between: dict[str, Metric]
    auc: dict[str, dict[str, Metric]]
    true_rate: dict[str, float]

    def gap(self, rate: str) -> tuple[str, str, float] | None:
        """Return the target with the highest rate, the one with the lowest, and how far they are apart."""
        return gap({name: rates[rate].value for name, rates in self.by_target.items()})


def measure_fairness(suite: Suite, run: SuiteRun, *, bootstrap: Bootstrap | None = None) -> Fairness | None:
    """Return the figures by target, or None where fewer than two targets have cases."""
    pairs = [(case, out) for case, out in judged_cases(suite, run) if case.test == "MFT"]
    yes = suite.labels[0]
    aimed = [(case, out) for case, out in pairs if case.target]
    if len({case.target for case, _ in aimed}) < 2:
        return None
    gold = [case.expected == yes for case, _ in aimed]
    predicted = [out.label == yes for _, out in aimed]
    groups = [case.target for case, _ in aimed]
    clusters = cluster_numbers([cluster_of(case) for case, _ in aimed])
    rates = group_rates(gold, predicted, groups, clusters=clusters)
    every = auc_by_group(
        [case.expected == yes for case, _ in pairs],
        [out.probability or 0.0 for _, out in pairs],
        [case.target for case, _ in pairs],
        bootstrap=bootstrap,
        clusters=cluster_numbers([cluster_of(case) for case, _ in pairs]),
    )
    corrected = replace(bootstrap or Bootstrap(), method="bca")
    between = between_groups(gold, predicted, groups, bootstrap=corrected, clusters=clusters)
    counts = {
        name: [g for g, group in zip(gold, groups, strict=True) if name in str(group).split("|")] for name in rates
    }
    return Fairness(
        by_target={name: {metric.name: metric for metric in found} for name, found in rates.items()},
        between={metric.name: metric for metric in between},
        auc={name: {metric.name: metric for metric in found} for name, found in every.items()},
        true_rate={name: sum(found) / len(found) for name, found in counts.items()},
    )
