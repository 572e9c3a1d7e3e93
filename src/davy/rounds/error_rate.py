"""Model error rate: the share of a round's original entries that fool its target, with an interval.

Entries in, two figures a round out. Raw: the target's label is not the author's. Confirmed: that, and people settled on
the author's label. Contrasts do not count. Of the originals that were dropped for themselves only the raw rate knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from davy.core import Metric
from davy.core.answers import GOLD
from davy.core.scheme import Question
from davy.measure.intervals import proportion
from davy.report import Column, Table, plots
from davy.report.plots import Plot
from davy.rounds.quality import people_labels
from davy.rounds.round import PAIR_DROPPED

if TYPE_CHECKING:
    import polars as pl

PUBLISHED: Mapping[int, str] = {
    5: "over 60 %",
    6: "24 points below round 5",
    7: "1 point below round 6",
}
"""What the Hatemoji paper's text says of its Figure 1, whose bars are not in numbers."""


@dataclass(frozen=True, slots=True)
class RoundErrorRate:
    """One round: how often its originals fooled the target that they were written against."""

    round: int
    model: str
    raw: Metric
    confirmed: Metric
    unsettled: int
    """Originals that nobody has settled yet; neither figure's n has them in `confirmed`."""


def error_rates(entries: pl.DataFrame, question: Question) -> tuple[RoundErrorRate, ...]:
    """Return each round's error rates; an original without a prediction counts in neither."""
    import polars as pl

    found = []
    for number in sorted(entries["round"].unique().to_list()):
        part = entries.filter(
            (pl.col("round") == number) & (pl.col("set") == "original") & pl.col("model.label").is_not_null()
        )
        names = part["model"].drop_nulls().unique().sort().to_list()
        found.append(_error_rate(number, ", ".join(names), part, question))
    return tuple(found)


def _error_rate(number: int, model: str, originals: pl.DataFrame, question: Question) -> RoundErrorRate:
    fooled = confirmed = settled = 0
    columns = ("labels", "model.label", f"{question.name}{GOLD}", "dropped")
    for labels, predicted, gold, dropped in originals.select(columns).iter_rows():
        author = (people_labels(labels) or [gold])[0]
        fools = predicted != author
        fooled += fools
        if dropped not in (None, PAIR_DROPPED) or gold is None:
            continue
        settled += 1
        confirmed += fools and gold == author
    return RoundErrorRate(
        number,
        model,
        proportion("raw", fooled, len(originals), undefined="no original has a prediction"),
        proportion("confirmed", confirmed, settled, undefined="no original is settled"),
        int((originals[f"{question.name}{GOLD}"].is_null() & originals["dropped"].is_null()).sum()),
    )


def error_rate_table(rates: Sequence[RoundErrorRate], *, paper: Mapping[int, str] | None = None) -> Table:
    """Return the rates as a table, what the paper says beside them where `paper` is given."""
    columns = [
        Column("round", "count"),
        Column("target"),
        Column("confirmed", "metric"),
        Column("n", "count"),
        Column("raw", "metric"),
        Column("n, raw", "count"),
        *([Column("the paper says")] if paper else []),
    ]
    rows: list[tuple[Any, ...]] = [
        (
            rate.round,
            rate.model,
            rate.confirmed,
            rate.confirmed.n,
            rate.raw,
            rate.raw.n,
            *([paper.get(rate.round)] if paper else []),
        )
        for rate in rates
    ]
    note = "The share of original entries that fool the target; confirmed where people settled on the author's label."
    return Table.of(columns, rows, title="Model error rate", note=note)


def error_rate_plot(rates: Sequence[RoundErrorRate]) -> Plot:
    """Return Figure 1: a bar with its interval for each round, confirmed, and beneath it raw."""
    bars = [
        replace(metric, name=f"R{rate.round}, {metric.name}") for rate in rates for metric in (rate.confirmed, rate.raw)
    ]
    return plots.bars(bars, title="Model error rate by round", x="share of originals that fool the target")
