"""What the best systems still get wrong (EDOS §6.1): items that all miss, by category, and who fails together.

A packed matrix in, an `ErrorAnalysis` of counts out; 200 systems on 4,000 items take milliseconds, so that a page
can compute it when it is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from davy.core import Metric
from davy.core.errors import UserError
from davy.evaluation.prediction_matrix import NONE, PredictionMatrix
from davy.measure.intervals import Floats, Ints, proportion


@dataclass(frozen=True, slots=True)
class GroupErrors:
    """Items of one group, such as a category: how often systems err on them, and how many all of them miss."""

    group: str
    items: int
    error_rate: float
    """Over systems and items."""
    missed_by_all: Metric
    share_of_missed: float | None
    """Its share of all items that every system misses; None where there are none."""


@dataclass(frozen=True, slots=True)
class SystemPair:
    """Two systems, and how far their errors fall on the same items."""

    first: str
    second: str
    both_wrong: int
    either_wrong: int
    kappa: float | None
    """Cohen's κ of being wrong; None where one of them is always or never wrong."""
    phi: float | None


@dataclass(frozen=True, slots=True)
class ErrorAnalysis:
    """Errors of some systems on one task. `right_counts[i]` is how many of them got item i right."""

    systems: tuple[str, ...]
    labels: tuple[str, ...]
    ids: tuple[str, ...]
    right_counts: Ints
    levels: Mapping[str, int]
    confusion: Ints
    """Gold × predicted, summed over the systems; a last column holds items without a prediction, if there are any."""
    pairs: tuple[SystemPair, ...]
    missed: tuple[str, ...]
    """Ids of the items that every system gets wrong."""
    false_negatives: int | None = None
    """Of the missed ones, how many have the positive label; None where the task has none."""
    false_positives: int | None = None
    groups: Mapping[str, tuple[GroupErrors, ...]] = field(default_factory=dict)
    """Question → its labels: false negatives of a yes/no task by category and vector, all errors of another."""
    agreement: tuple[tuple[float, int, float], ...] = ()
    """Share of annotators who agree → items, and the mean share of systems that are right."""
    agreement_correlation: float | None = None
    """Spearman's ρ between annotators' agreement and the share of systems that are right."""

    @property
    def confusion_shares(self) -> Floats:
        """The confusion matrix in shares of the gold label, as in Fig. 3 and 4; nan where a label does not occur."""
        totals = self.confusion.sum(axis=1, keepdims=True)
        return np.where(totals > 0, self.confusion / np.maximum(totals, 1), np.nan)

    def to_dict(self) -> dict[str, Any]:
        """Return the analysis as plain values, without the counts item by item."""
        return {
            "systems": list(self.systems),
            "items": len(self.ids),
            "levels": dict(self.levels),
            "missed_by_all": list(self.missed),
            "false_negatives": self.false_negatives,
            "false_positives": self.false_positives,
            "confusion": {"labels": list(self.labels), "counts": self.confusion.tolist()},
            "groups": {name: [_group(each) for each in groups] for name, groups in self.groups.items()},
            "pairs": [
                {
                    name: getattr(pair, name)
                    for name in ("first", "second", "both_wrong", "either_wrong", "kappa", "phi")
                }
                for pair in self.pairs
            ],
            "agreement": [list(row) for row in self.agreement],
            "agreement_correlation": self.agreement_correlation,
        }


def analyse_errors(
    matrix: PredictionMatrix,
    systems: Sequence[str] = (),
    *,
    groups: Mapping[str, Sequence[str | None]] | None = None,
    agreement: Sequence[float | None] | None = None,
) -> ErrorAnalysis:
    """Return what these systems (all, unless named) get wrong.

    `groups` gives for a question each item's label, such as category and vector; `agreement` each item's share of
    annotators who agree with its gold label.
    """
    chosen = matrix.select(systems) if systems else matrix
    right = chosen.right
    counts = right.sum(axis=0).astype(np.int64)
    size = len(chosen.systems)
    missed = counts == 0
    levels = {
        "all": counts == size,
        "most": (counts < size) & (2 * counts >= size),
        "few": (2 * counts < size) & ~missed,
        "none": missed,
    }
    negatives = positives = None
    relevant = np.ones(len(counts), dtype=bool)
    if chosen.task.positive is not None:
        relevant = chosen.yes
        negatives, positives = int((missed & relevant).sum()), int((missed & ~relevant).sum())
    table, rho = _by_agreement(agreement, counts / size) if agreement is not None else ((), None)
    return ErrorAnalysis(
        chosen.systems,
        chosen.task.labels,
        chosen.ids,
        counts,
        {name: int(where.sum()) for name, where in levels.items()},
        pooled_confusion(chosen),
        error_pairs(chosen),
        tuple(chosen.ids[i] for i in np.flatnonzero(missed)),
        negatives,
        positives,
        {name: _groups(values, counts, size, relevant) for name, values in (groups or {}).items()},
        table,
        rho,
    )


def pooled_confusion(matrix: PredictionMatrix) -> Ints:
    """Return gold × predicted summed over all systems; with a last column where items have no prediction."""
    width = len(matrix.task.labels)
    places = np.where(matrix.values == NONE, width, matrix.values).astype(np.int64)
    flat = (matrix.gold.astype(np.int64)[None, :] * (width + 1) + places).ravel()
    table = np.bincount(flat, minlength=width * (width + 1)).reshape(width, width + 1)
    return table if table[:, -1].any() else table[:, :-1]


def error_pairs(matrix: PredictionMatrix, most: int = 200) -> tuple[SystemPair, ...]:
    """Return the two systems that fail together most (by κ) first, and so many pairs in all."""
    wrong = (~matrix.right).astype(np.float32)
    items = wrong.shape[1]
    first, second = np.triu_indices(len(wrong), 1)
    both = (wrong @ wrong.T).astype(np.float64)[first, second]
    each = wrong.sum(axis=1, dtype=np.float64)
    a, b = each[first], each[second]
    observed = (items - a - b + 2 * both) / items
    expected = (a * b + (items - a) * (items - b)) / items**2
    spread = a * (items - a) * b * (items - b)
    defined = spread > 0
    kappa = np.where(defined, (observed - expected) / np.where(defined, 1 - expected, 1), np.nan)
    phi = np.where(defined, (items * both - a * b) / np.sqrt(np.where(defined, spread, 1)), np.nan)
    order = np.argsort(-np.nan_to_num(kappa, nan=-2), kind="stable")[:most]
    return tuple(
        SystemPair(
            matrix.systems[first[k]],
            matrix.systems[second[k]],
            int(both[k]),
            int(a[k] + b[k] - both[k]),
            float(kappa[k]) if defined[k] else None,
            float(phi[k]) if defined[k] else None,
        )
        for k in order
    )


def _groups(values: Sequence[str | None], counts: Ints, size: int, relevant: np.ndarray) -> tuple[GroupErrors, ...]:
    if len(values) != len(counts):
        raise UserError(f"{len(values)} labels of a group can't be laid over {len(counts)} items")
    names = np.array(["" if value is None else value for value in values], dtype=object)
    kept = relevant & (names != "")
    total = int((kept & (counts == 0)).sum())
    made = []
    for name in sorted(set(names[kept])):
        rows = kept & (names == name)
        items, lost = int(rows.sum()), int((rows & (counts == 0)).sum())
        rate = float(1 - counts[rows].sum() / (size * items))
        share = lost / total if total else None
        made.append(GroupErrors(name, items, rate, proportion("missed by all", lost, items), share))
    return tuple(made)


def _by_agreement(
    agreement: Sequence[float | None], shares: Floats
) -> tuple[tuple[tuple[float, int, float], ...], float | None]:
    """Return a row for each level of agreement, and Spearman's ρ."""
    known = np.array([value is not None for value in agreement])
    if len(known) != len(shares):
        raise UserError(f"{len(known)} figures of agreement can't be laid over {len(shares)} items")
    levels = np.array([value for value in agreement if value is not None], dtype=np.float64)
    own = shares[known]
    rows = tuple(
        (float(level), int((levels == level).sum()), float(own[levels == level].mean())) for level in np.unique(levels)
    )
    return rows, spearman(levels, own)


def spearman(first: Floats, second: Floats) -> float | None:
    """Return Spearman's ρ with ties at their mean rank; None where either side has one value only."""
    ranks = [_mean_ranks(np.asarray(side, dtype=np.float64)) for side in (first, second)]
    spreads = [side.std() for side in ranks]
    if len(ranks[0]) < 2 or not all(spreads):
        return None
    gaps = [side - side.mean() for side in ranks]
    return float((gaps[0] * gaps[1]).mean() / (spreads[0] * spreads[1]))


def _mean_ranks(values: Floats) -> Floats:
    _, place, copies = np.unique(values, return_inverse=True, return_counts=True)
    ends = copies.cumsum()
    return np.asarray((ends - (copies - 1) / 2)[place])


def _group(group: GroupErrors) -> dict[str, Any]:
    return {
        "label": group.group,
        "items": group.items,
        "error_rate": group.error_rate,
        "missed_by_all": group.missed_by_all.to_dict(),
        "share_of_missed": group.share_of_missed,
    }
