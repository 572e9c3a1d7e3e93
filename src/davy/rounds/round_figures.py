"""The figures of rounds: how well labels hold, what entries are made of, and the model error rate.

Entries in, tables out. Only entries that are kept count, except for the raw error rate. Emoji are counted as a reader
sees them; families, flags and skin tones are one each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

import numpy as np

from davy.core import Metric
from davy.core.answers import GOLD, SEPARATOR, split_cell
from davy.core.scheme import Question
from davy.measure.agreement import agreement
from davy.measure.intervals import Bootstrap, Ints, proportion
from davy.report import Column, Table, plots
from davy.report.plots import Plot
from davy.rounds.round import PAIR_DROPPED, SETS
from davy.text import emoji

if TYPE_CHECKING:
    import polars as pl

SPLITS: tuple[str, ...] = ("train", "dev", "test")

PUBLISHED: Mapping[int, str] = {
    5: "over 60 %",
    6: "24 points below round 5",
    7: "1 point below round 6",
}
"""What the Hatemoji paper's text says of its Figure 1, whose bars are not in numbers."""


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
    """Return two rows for each round that the entries are of; a set without entries has none.

    A contrast that is dropped takes its original along, and that original is not counted as dropped. So the chain reads
    as in the paper: 1,020 originals less 6 are 1,014, each gets a contrast, less 17 are 997 pairs.
    """
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


@dataclass(frozen=True, slots=True)
class RoundComposition:
    """One round's counts: group → value → entries, and how many emoji an entry has (mean and standard deviation)."""

    round: int
    n: int
    counts: dict[str, dict[str, int]]
    emoji_mean: float
    emoji_deviation: float


def compose_rounds(entries: pl.DataFrame, questions: Sequence[Question]) -> tuple[RoundComposition, ...]:
    """Return the composition of each round's kept entries; splits are counted where there is a column `split`."""
    import polars as pl

    entries = without_dropped(entries)
    return tuple(
        _compose(number, entries.filter(pl.col("round") == number), questions)
        for number in sorted(entries["round"].unique().to_list())
    )


def _compose(number: int, part: pl.DataFrame, questions: Sequence[Question]) -> RoundComposition:
    counts: dict[str, dict[str, int]] = {}
    if "split" in part.columns:
        counts["split"] = _counted(part["split"].to_list(), SPLITS)
    for question in questions:
        column = f"{question.name}{GOLD}"
        if question.multilabel or column not in part.columns:
            continue
        values = part[column].to_list()
        labels = question.label_names
        if question.under:
            values, labels = [value or "none" for value in values], ("none", *labels)
        counts[question.name] = _counted(values, labels)
        if not question.under:
            counts["set"] = _counted(part["set"].to_list(), SETS)
    emojis = [emoji.count(text) for text in part["text"].to_list()]
    deviation = stdev(emojis) if len(emojis) > 1 else 0.0
    return RoundComposition(number, len(part), counts, fmean(emojis) if emojis else 0.0, deviation)


def _counted(values: Iterable[str | None], known: Sequence[str]) -> dict[str, int]:
    found = Counter(value for value in values if value is not None)
    order = [*known, *sorted(set(found) - set(known))]
    return {name: found[name] for name in order}


def composition_table(rounds: Sequence[RoundComposition], *, title: str = "What the rounds are made of") -> Table:
    """Return the rounds side by side as Table 6 has them: count and share of each value, emoji as mean (deviation)."""
    rows: list[tuple[str, ...]] = [("n", "", *(f"{each.n:,}" for each in rounds))]
    groups = list(dict.fromkeys(group for each in rounds for group in each.counts))
    for group in groups:
        values = list(dict.fromkeys(value for each in rounds for value in each.counts.get(group, {})))
        rows += [
            (group if not place else "", value, *(_cell(each, group, value) for each in rounds))
            for place, value in enumerate(values)
        ]
    rows.append(("emoji, μ (σ)", "", *(f"{each.emoji_mean:.1f} ({each.emoji_deviation:.1f})" for each in rounds)))
    columns = [Column(""), Column("value"), *(Column(f"R{each.round}") for each in rounds)]
    return Table.of(columns, rows, title=title, note="n (% of the round's entries that are kept).")


def _cell(each: RoundComposition, group: str, value: str) -> str:
    if not any(each.counts.get(group, {}).values()):
        return "–"
    count = each.counts[group].get(value, 0)
    return f"{count:,} ({100 * count / each.n:.1f})" if each.n else "0"


def frequent(entries: pl.DataFrame, what: str, *, most: int = 10) -> dict[int, list[tuple[str, int]]]:
    """Return what is most frequent in each round: `emoji`, `strategy`, `target`, or `intersection` (targets together).

    Counts are of entries, however often one of them holds an emoji.
    """
    import polars as pl

    cells, split = _CELLS[what]
    found: dict[int, list[tuple[str, int]]] = {}
    entries = without_dropped(entries)
    for number in sorted(entries["round"].unique().to_list()):
        part = entries.filter(pl.col("round") == number)
        if cells not in part.columns:
            found[number] = []
            continue
        counts = Counter(value for cell in part[cells].to_list() if cell for value in split(cell))
        found[number] = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:most]
    return found


def _emoji(text: str) -> set[str]:
    return {emoji.plain(match.emoji) for match in emoji.find(text)}


def _intersection(cell: str) -> list[str]:
    targets = sorted(split_cell(cell))
    return [" + ".join(targets)] if len(targets) > 1 else []


_CELLS: dict[str, tuple[str, Callable[[str], Iterable[str]]]] = {
    "emoji": ("text", _emoji),
    "strategy": ("strategy", lambda cell: [cell]),
    "target": (f"target{GOLD}", split_cell),
    "intersection": (f"target{GOLD}", _intersection),
}


def frequent_table(entries: pl.DataFrame, what: str, *, most: int = 10) -> Table:
    """Return what is most frequent, a column a round, each with its count."""
    found = frequent(entries, what, most=most)
    longest = max((len(values) for values in found.values()), default=0)
    rows = [
        tuple(f"{values[i][0]} ({values[i][1]:,})" if i < len(values) else "" for values in found.values())
        for i in range(longest)
    ]
    return Table.of([Column(f"R{number}") for number in found], rows, title=f"Most frequent: {what}")


def seconds_table(entries: pl.DataFrame) -> Table:
    """Return how long an entry took, by round and set: median and the middle half, in seconds, with its n."""
    import polars as pl

    timed = entries.filter(pl.col("seconds").is_not_null())
    rows = [
        (number, name, len(part), *(part["seconds"].quantile(at, "linear") for at in (0.5, 0.25, 0.75)))
        for number in sorted(timed["round"].unique().to_list())
        for name in SETS
        if len(part := timed.filter((pl.col("round") == number) & (pl.col("set") == name)))
    ]
    numbers = [Column(name, "number", digits=0) for name in ("median s", "quarter s", "three quarters s")]
    return Table.of([Column("round", "count"), Column("set"), Column("n", "count"), *numbers], rows, title="Time")


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
    """Return each round's error rates; an original without a prediction counts in neither.

    Raw: the target's label is not the author's. Confirmed: that, and people settled on the author's label. Contrasts do
    not count. Originals that were dropped for themselves count in the raw rate alone. Nothing was confirmed where
    nobody's labels are recorded.
    """
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
    others = any(people_labels(labels) for labels in originals["labels"].to_list())
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
        proportion("confirmed", confirmed, settled, undefined="no original is settled")
        if others or not len(originals)
        else proportion("confirmed", 0, 0, undefined="no label of another person is recorded"),
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
