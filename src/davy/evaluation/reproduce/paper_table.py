"""A paper's table beside ours, line by line: what the paper says, what we measured, on how many posts, on which split.

What each paper's module makes and what the shell, JSON, CSV and page show. What papers say is data, with the table as
its source. A line that could not be run says why, and is never left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from davy.core import Metric
from davy.core.scorer import Scorer
from davy.files.yaml_nodes import load_shipped
from davy.report import Column, Page, Provenance, Table

if TYPE_CHECKING:
    import polars as pl


FIGURES: dict[str, str] = {
    "macro_f1": "macro-F1",
    "macro_precision": "macro precision",
    "macro_recall": "macro recall",
    "auroc": "AUC",
}


class NotRun(Exception):
    """A row that this machine can't run; says why, and what would let it."""


def refuse_learnt(scorer: Scorer, held: pl.DataFrame) -> None:
    """Raise `NotRun` where a detector learnt from posts that it would be measured on: the figure would be memory."""
    learnt = scorer.abilities.learnt
    seen = 0 if learnt is None else int(learnt(held["text"].to_list()).sum())
    if seen > len(held) / 100:
        raise NotRun(f"it learnt from {seen:,} of the {len(held):,} posts; its card has figures on others")


@dataclass(frozen=True, slots=True)
class PaperRow:
    """One figure of one row. `ours` is missing where the row was not run, `note` then says why, or is only quoted."""

    row: str
    what: str
    task: str
    figure: str
    paper: float | None
    ours: Metric | None
    split: str
    version: str = ""
    note: str = ""
    ran: str = ""
    """What was run where it is not what the paper ran: another encoder, changed settings."""


@dataclass(frozen=True, slots=True)
class Reproduction:
    """A whole table, with what it rests on."""

    paper: str
    title: str
    source: str
    lines: tuple[PaperRow, ...]
    data: str
    seed: int
    notes: tuple[str, ...] = ()
    digits: int = 3
    made_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    layout: tuple[Table, ...] = ()
    """The same figures laid out as the paper prints them."""


def tables(reproduction: Reproduction) -> list[Table]:
    """Return a table a task: paper, ours, n, interval, split."""
    result = []
    for task in dict.fromkeys(line.task for line in reproduction.lines):
        kept = [line for line in reproduction.lines if line.task == task]
        several = len({line.figure for line in kept}) > 1
        rows = [
            [row_name(line), *([figure_title(line.figure)] if several else []), line.paper,
             _missing(line) if line.ours is None else line.ours.value, None if line.ours is None else line.ours.n,
             None if line.ours is None else _interval(line.ours, max(3, reproduction.digits)), line.split]
            for line in kept
        ]  # fmt: skip
        columns = [
            Column("row"),
            *([Column("figure")] if several else []),
            Column("paper", "number", reproduction.digits),
            Column("ours", "number", max(3, reproduction.digits)),
            Column("n", "count"),
            Column("95 % interval"),
            Column("split"),
        ]
        what = "" if several else f", {figure_title(kept[0].figure)}"
        result.append(Table.of(columns, rows, title=f"{task}{what}"))
    return result


def whole_table(reproduction: Reproduction) -> Table:
    """Return every line as one row, for spreadsheets."""
    rows = [
        (
            line.row,
            line.what,
            line.ran,
            line.task,
            line.figure,
            line.paper,
            line.ours,
            line.split,
            line.version,
            line.note,
        )
        for line in reproduction.lines
    ]
    names = ["row", "what", "ran instead", "task", "figure", "paper", "ours", "split", "version", "not run"]
    return Table.of([Column(name, "metric") if name == "ours" else Column(name) for name in names], rows)


def reasons(reproduction: Reproduction) -> list[str]:
    """Return why rows were not run, and what was run in their place, one line a row."""
    why = {row_name(line): line.note for line in reproduction.lines if line.ours is None and line.note}
    ran = {line.row: line.ran for line in reproduction.lines if line.ours is not None and line.ran}
    return [
        *(f"{row} is not the paper's: ours is {it}." for row, it in ran.items()),
        *(f"Not run: {name} ({note})." for name, note in why.items()),
    ]


def row_name(line: PaperRow) -> str:
    """Return a row's name with what it is, and with what was run in its place."""
    name = line.row if line.row == line.what else f"{line.row} {line.what}"
    return f"{name}; ours is {line.ran}" if line.ran and line.ours is not None else name


def record(reproduction: Reproduction) -> dict[str, Any]:
    """Return a reproduction as plain values."""
    return {
        "paper": reproduction.paper,
        "title": reproduction.title,
        "source": reproduction.source,
        "data": reproduction.data,
        "seed": reproduction.seed,
        "made_at": reproduction.made_at.isoformat(timespec="seconds"),
        "notes": list(reproduction.notes),
        "lines": [
            {
                "row": line.row,
                "what": line.what,
                **({"ran_instead": line.ran} if line.ran else {}),
                "task": line.task,
                "figure": line.figure,
                "paper": line.paper,
                "ours": None if line.ours is None else line.ours.to_dict(),
                "split": line.split,
                "model_version": line.version,
                **({"not_run": line.note} if line.note else {}),
            }
            for line in reproduction.lines
        ],
    }


def page(reproduction: Reproduction, *, command: str = "") -> Page:
    """Return the table as a self-contained page, intervals as pictures."""
    models = ", ".join(dict.fromkeys(f"{line.row} {line.version}" for line in reproduction.lines if line.version))
    report = Page(
        reproduction.title,
        lead=f"Beside {reproduction.source}.",
        provenance=Provenance(reproduction.data, models, reproduction.seed, command, reproduction.made_at),
    )
    for table in reproduction.layout:
        report.section(table.title)
        report.table(replace(table, title=""))
    for task in dict.fromkeys(line.task for line in reproduction.lines):
        report.section(task)
        rows = [
            (
                row_name(line),
                figure_title(line.figure),
                line.paper,
                line.ours if line.ours is not None else _missing(line),
                line.split,
            )
            for line in reproduction.lines
            if line.task == task
        ]  # fmt: skip
        columns = [
            Column("row"),
            Column("figure"),
            Column("paper", "number", reproduction.digits),
            Column("ours", "metric", max(3, reproduction.digits)),
            Column("split"),
        ]
        report.table(Table.of(columns, rows))
    report.section("Notes", *reproduction.notes, *reasons(reproduction))
    return report


def figure_title(figure: str) -> str:
    """Return a figure's name as people say it: `precision.yes` is `precision, yes`."""
    return FIGURES.get(figure, figure.replace("f1", "F1").replace(".", ", "))


def _interval(metric: Metric, digits: int) -> str | None:
    return None if metric.low is None else f"[{metric.low:.{digits}f}, {metric.high:.{digits}f}]"


def _missing(line: PaperRow) -> str | None:
    return "not run" if line.note else None


@dataclass(frozen=True, slots=True)
class PublishedFigures:
    """One table. `figures[row][task][name]` is a figure; `what` says in words what a row is."""

    cite: str
    table: str
    split: str
    digits: int
    """How many digits the paper prints."""
    what: Mapping[str, str]
    figures: Mapping[str, Mapping[str, Mapping[str, float]]]

    @property
    def source(self) -> str:
        """The paper and its table."""
        return f"{self.cite}, {self.table}"

    def figure(self, row: str | None, task: str, name: str) -> float | None:
        """Return a published figure, or None where the table has none."""
        return self.figures.get(row or "", {}).get(task, {}).get(name)


def load_published(paper: str) -> PublishedFigures:
    """Return the table of a paper that `davy reproduce` sets ours beside."""
    raw = load_shipped("davy.evaluation.reproduce", "published.yaml")[paper]
    what = {row: str(entry.pop("what")) for row, entry in raw["rows"].items()}
    return PublishedFigures(raw["cite"], raw["table"], raw["split"], raw["digits"], what, raw["rows"])
