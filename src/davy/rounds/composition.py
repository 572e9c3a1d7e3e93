"""What a round's entries are made of: the paper's table of splits, labels, sets, types and emoji, and lists by round.

Entries in, tables out. Only entries that are kept count. Emoji are counted as a reader sees them; families, flags and
skin tones are one each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TYPE_CHECKING

from davy.core.answers import GOLD, split_cell
from davy.core.scheme import Question
from davy.report import Column, Table
from davy.rounds.quality import without_dropped
from davy.rounds.round import SETS
from davy.text import emoji

if TYPE_CHECKING:
    import polars as pl

SPLITS: tuple[str, ...] = ("train", "dev", "test")


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
