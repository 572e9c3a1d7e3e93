"""How well a round's labels hold: the paper's quality table, two rows a round.

Entries in, rows out. A contrast that is dropped takes its original along; the table does not count that original as
dropped, so that the chain reads as in the paper: 1,020 originals less 6 are 1,014, each gets a contrast, less 17 are
997 pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from davy.core import Metric
from davy.core.answers import SEPARATOR
from davy.core.scheme import Question
from davy.measure.agreement import agreement
from davy.measure.intervals import Bootstrap, Ints
from davy.report import Column, Table
from davy.rounds.round import PAIR_DROPPED, SETS

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class QualityRow:
    """One set of one round: what came in, how far people agree, what the expert saw, what was dropped, what is left."""

    round: int
    set: str
    entries: int
    agreement: Metric
    """Randolph's κ over the labels of entries that have two or more; its n says how many."""
    reviewed: int
    dropped: int

    @property
    def final(self) -> int:
        return self.entries - self.dropped


def quality_rows(
    entries: pl.DataFrame, question: Question, *, bootstrap: Bootstrap | None = None
) -> tuple[QualityRow, ...]:
    """Return two rows for each round that the entries are of; a set without entries has none."""
    import polars as pl

    rows = []
    for number in sorted(entries["round"].unique().to_list()):
        for name in SETS:
            part = entries.filter((pl.col("round") == number) & (pl.col("set") == name))
            if not len(part):
                continue
            own = part["dropped"].is_not_null() & (part["dropped"] != PAIR_DROPPED)
            kappa = randolph(part["labels"].to_list(), question, bootstrap)
            rows.append(QualityRow(number, name, len(part), kappa, int(part["reviewed"].sum()), int(own.sum())))
    return tuple(rows)


def randolph(cells: Sequence[str | None], question: Question, bootstrap: Bootstrap | None = None) -> Metric:
    """Return Randolph's κ of cells that hold several people's labels each."""
    counts = label_counts(cells, question)
    metrics = agreement(counts, bootstrap=bootstrap or Bootstrap())
    return next(metric for metric in metrics if metric.name == "randolph")


def label_counts(cells: Sequence[str | None], question: Question) -> Ints:
    """Return how many people chose which label, one row an entry."""
    places = {name: place for place, name in enumerate(question.label_names)}
    counts = np.zeros((len(cells), len(places)), dtype=np.int64)
    for row, cell in enumerate(cells):
        for label in people_labels(cell):
            counts[row, places[label]] += 1
    return counts


def people_labels(cell: str | None) -> list[str]:
    """Return what each person said, the author first; two who agree are two labels."""
    return cell.split(SEPARATOR) if cell else []


def without_dropped(entries: pl.DataFrame) -> pl.DataFrame:
    """Return the entries that are not dropped, neither for themselves nor with their contrast."""
    import polars as pl

    return entries.filter(pl.col("dropped").is_null())


def quality_table(rows: Sequence[QualityRow], *, title: str = "Quality of the labels") -> Table:
    """Return the rows as Table 7 has them."""
    columns = [
        Column("round", "count"),
        Column("set"),
        Column("input entries", "count"),
        Column("R(S)", "metric"),
        Column("n, R(S)", "count"),
        Column("reviewed", "count"),
        Column("dropped", "count"),
        Column("final entries", "count"),
    ]
    cells: list[tuple[Any, ...]] = [
        (row.round, row.set, row.entries, row.agreement, row.agreement.n, row.reviewed, row.dropped, row.final)
        for row in rows
    ]
    note = (
        "R(S) is Randolph's κ over the labels of the author and the validators. An original whose contrast is dropped "
        "leaves the data with it, and is not counted as dropped here."
    )
    few = [
        f"{row.round} ({row.agreement.n:,} of {row.entries:,})" for row in rows if 0 < 2 * row.agreement.n < row.entries
    ]
    if few:
        note += (
            f" Few entries have a second label in round {', '.join(few)}: where it was asked for in doubt alone, R(S) "
            "is of the doubtful entries and says nothing about the others."
        )
    return Table.of(columns, cells, title=title, note=note)
