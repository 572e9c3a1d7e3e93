"""The inspection queue (EDOS §6.2): what every system misses, read by two people, and the summary of it.

An error analysis in, posts for a project out; the project's answers in, counts out: system and annotation errors by
false negatives and false positives, grey areas, themes, and how far the two readers agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from davy.core import Metric
from davy.evaluation.error_analysis import ErrorAnalysis
from davy.evaluation.prediction_matrix import NONE, PredictionMatrix
from davy.measure.agreement import agreement
from davy.measure.intervals import Bootstrap, proportion
from davy.measure.ratings import Ratings
from davy.report import Column, Table

ERRORS = ("system error", "annotation error")
GREY = "grey area"
META = "inspection"
"""Under this key of a post's meta stand the question, the gold label and what most systems answered."""


@dataclass(frozen=True, slots=True)
class MissedItem:
    """An item that every system gets wrong."""

    id: str
    question: str
    gold: str
    said: str
    """What most systems answered."""
    side: str
    """`false negative` or `false positive` of a yes/no question, else `gold → said`."""


@dataclass(frozen=True, slots=True)
class InspectedItem:
    """A missed item with what people found; `error` is None while they have not settled it."""

    item: MissedItem
    error: str | None
    grey: bool
    themes: tuple[str, ...] = ()
    readings: Mapping[str, str] = field(default_factory=dict)
    """Reader → the error that they saw."""


@dataclass(frozen=True, slots=True)
class InspectionSummary:
    """The counts of §6.2."""

    inspected: int
    undecided: int
    errors: Mapping[str, Metric]
    """`system error` and `annotation error`, as shares of what was decided."""
    sides: Mapping[str, Mapping[str, int]]
    """Error → false negatives and false positives among it."""
    grey: Mapping[str, int]
    """Error → how many of them are a grey area."""
    themes: Mapping[str, Mapping[str, int]]
    """`system error, false negative` and so on → theme → how many."""
    kappa: Metric
    """Fleiss's κ of the readers over who is wrong."""

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain values."""
        return {
            "inspected": self.inspected,
            "undecided": self.undecided,
            "errors": {name: metric.to_dict() for name, metric in self.errors.items()},
            "sides": {name: dict(sides) for name, sides in self.sides.items()},
            "grey": dict(self.grey),
            "themes": {name: dict(themes) for name, themes in self.themes.items()},
            "kappa": self.kappa.to_dict(),
        }

    def tables(self) -> list[Table]:
        """Return the summary as tables: errors by side, then themes."""
        sides = list(dict.fromkeys(side for counts in self.sides.values() for side in counts))
        rows = [
            (name, self.errors[name], *(self.sides[name].get(side, 0) for side in sides), self.grey[name])
            for name in ERRORS
        ]
        columns = [Column("what"), Column("share", "metric"), *(Column(f"{side}s", "count") for side in sides),
                   Column("grey area", "count")]  # fmt: skip
        note = f"{self.inspected:,} inspected, {self.undecided:,} undecided. Readers agree with κ = {self.kappa}."
        found = [Table.of(columns, rows, title="Whose error is it?", note=note)]
        themes = [(group, theme, n) for group, counts in self.themes.items() for theme, n in counts.items()]
        if themes:
            found.append(Table.of(["errors", "theme", "items"], themes, title="Themes"))
        return found


def missed_items(matrix: PredictionMatrix, errors: ErrorAnalysis, *, most: int, seed: int) -> list[MissedItem]:
    """Return the items that every system misses; where there are more than `most`, a random sample of so many."""
    chosen = matrix.select(errors.systems)
    place = {post: i for i, post in enumerate(chosen.ids)}
    ids = list(errors.missed)
    if len(ids) > most:
        ids = [ids[i] for i in sorted(np.random.default_rng(seed).choice(len(ids), most, replace=False))]
    labels, task = matrix.task.labels, matrix.task
    items = []
    for post in ids:
        answers = Counter(int(code) for code in chosen.values[:, place[post]] if code != NONE)
        gold = labels[chosen.gold[place[post]]]
        predicted = labels[min(answers, key=lambda code: (-answers[code], code))] if answers else "no answer"
        side = f"{gold} → {predicted}"
        if task.positive is not None:
            side = "false negative" if gold == task.positive else "false positive"
        items.append(MissedItem(post, task.question, gold, predicted, side))
    return items


def summarise_inspection(items: Sequence[InspectedItem], *, bootstrap: Bootstrap | None = None) -> InspectionSummary:
    """Return the counts over items that at least one person has read."""
    read = [item for item in items if item.readings or item.error]
    decided = [item for item in read if item.error is not None]
    by_error = {name: [item for item in decided if item.error == name] for name in ERRORS}
    themes: dict[str, Counter[str]] = {}
    for item in decided:
        themes.setdefault(f"{item.error}, {item.item.side}", Counter()).update(item.themes)
    return InspectionSummary(
        len(read),
        len(read) - len(decided),
        {name: proportion(name, len(group), len(decided)) for name, group in by_error.items()},
        {name: dict(Counter(item.item.side for item in group).most_common()) for name, group in by_error.items()},
        {name: sum(item.grey for item in group) for name, group in by_error.items()},
        {name: dict(counts.most_common()) for name, counts in sorted(themes.items()) if counts},
        _kappa(read, bootstrap),
    )


def _kappa(items: Sequence[InspectedItem], bootstrap: Bootstrap | None) -> Metric:
    """Return Fleiss's κ over the items that two people or more have read."""
    shared = [item for item in items if len(item.readings) > 1]
    if not shared:
        return Metric("κ", None, 0, note="not defined: no item was read by two people")
    answers = [(item.item.id, reader, error) for item in shared for reader, error in item.readings.items()]
    ids, readers, labels = (list(column) for column in zip(*answers, strict=True))
    counts = Ratings.from_rows(ids, readers, labels, among=ERRORS).counts()
    return next(metric for metric in agreement(counts, bootstrap=bootstrap) if metric.name == "fleiss")
