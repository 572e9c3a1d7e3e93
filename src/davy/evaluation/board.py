"""The board: systems in the order of their figure, with intervals, paired tests and honest ties.

Gold and predictions in, a `Board` out. The one thing to know: order is not proof. A row says which systems it can't
be told from, and over which ranks it wanders when the items are drawn again. Summary rows are those of EDOS's Table 3:
count, quartiles (linear between neighbours), mean, median, sample standard deviation and the share of systems that beat
each baseline.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from davy.core import Metric
from davy.core.errors import UserError
from davy.evaluation.pair_tests import figures_and_draws
from davy.evaluation.prediction_matrix import PredictionMatrix, pack_predictions
from davy.evaluation.tasks import Task
from davy.measure.intervals import Bootstrap, Floats, Ints
from davy.measure.paired_tests import holm, resampled_p
from davy.report import Column, Table

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class ScoreSummary:
    """Figures over the ranked systems; None where there are too few of them."""

    count: int
    q1: float | None
    mean: float | None
    median: float | None
    sd: float | None
    """Sample standard deviation: divided by count − 1."""
    q3: float | None
    best: float | None
    worst: float | None
    beats: Mapping[str, float | None] = field(default_factory=dict)
    """Baseline → share of systems with a higher figure."""

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain values."""
        names = ("count", "q1", "mean", "median", "sd", "q3", "best", "worst")
        return {**{name: getattr(self, name) for name in names}, "beats": dict(self.beats)}

    def rows(self) -> list[tuple[str, float | int | None]]:
        """Return the rows of Table 3: name and value."""
        return [
            ("systems", self.count),
            ("Q1", self.q1),
            ("mean", self.mean),
            ("median", self.median),
            ("sample standard deviation", self.sd),
            ("Q3", self.q3),
            *((f"beat {name}", share) for name, share in self.beats.items()),
        ]


def summarise_scores(scores: Sequence[float], baselines: Mapping[str, float] | None = None) -> ScoreSummary:
    """Return the summary of systems' scores; a score that is no finite number is an error."""
    broken = [score for score in scores if not isfinite(score)]
    if broken:
        raise UserError(f"{len(broken)} of {len(scores)} scores are not finite numbers. Drop those rows first")
    shares: dict[str, float | None] = {
        name: sum(score > bar for score in scores) / len(scores) if scores else None
        for name, bar in (baselines or {}).items()
    }
    if not scores:
        return ScoreSummary(0, None, None, None, None, None, None, None, shares)
    values = np.asarray(scores, dtype=np.float64)
    q1, median, q3 = (float(q) for q in np.quantile(values, [0.25, 0.5, 0.75]))
    sd = float(values.std(ddof=1)) if len(values) > 1 else None
    return ScoreSummary(
        len(values), q1, float(values.mean()), median, sd, q3, float(values.max()), float(values.min()), shares
    )


def summary_table(summaries: Mapping[str, ScoreSummary], title: str = "Summary") -> Table:
    """Return one column a board, one row a figure; shares of systems that beat a baseline are in per cent."""
    names = list(dict.fromkeys(name for summary in summaries.values() for name, _ in summary.rows()))
    cells = {board: dict(summary.rows()) for board, summary in summaries.items()}
    rows = [(name, *(_format_value(name, cells[board].get(name)) for board in summaries)) for name in names]
    return Table.of([Column("figure"), *(Column(board, "number") for board in summaries)], rows, title=title)


def _format_value(name: str, value: float | int | None) -> str | None:
    if value is None:
        return None
    if name == "systems":
        return f"{value:,}"
    return f"{100 * value:.0f} %" if name.startswith("beat ") else f"{value:.4f}"


MARKS = ("baseline", "human")
LEVEL = 0.05
"""Below this p, two systems count as different."""
_SAME = 1e-12


@dataclass(frozen=True, slots=True)
class BoardRow:
    """One system. Marked rows (a baseline, people) stand at their place and take no rank."""

    system: str
    figure: Metric
    rank: int | None
    tied_with: tuple[str, ...]
    """Systems that the paired test can't tell from this one (p of 0.05 or more, before correction)."""
    next_difference: Metric | None
    """This system's figure minus that of the next ranked one."""
    next_p: float | None
    next_p_holm: float | None
    """p after Holm's correction for all neighbours on the board."""
    rank_range: tuple[int, int] | None
    """The ranks that hold 95 % of the resamples."""
    first_share: float | None
    """The share of resamples in which the system leads, alone or with others."""
    mark: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the row as plain values."""
        return {
            "system": self.system,
            "rank": self.rank,
            "mark": self.mark,
            "figure": self.figure.to_dict(),
            "tied_with": list(self.tied_with),
            "next_difference": None if self.next_difference is None else self.next_difference.to_dict(),
            "next_p": self.next_p,
            "next_p_holm": self.next_p_holm,
            "rank_range": None if self.rank_range is None else list(self.rank_range),
            "first_share": self.first_share,
        }


@dataclass(frozen=True, slots=True)
class Board:
    """Rows from best to worst, and the summary of the ranked ones."""

    task: Task
    rows: tuple[BoardRow, ...]
    summary: ScoreSummary
    n: int
    seed: int
    resamples: int
    rank_stability: float | None = None
    """The mean of Kendall's τ-b between the board and the board of a resample; None without resamples."""

    @property
    def ranked(self) -> tuple[BoardRow, ...]:
        """The rows that have a rank: neither baselines nor people."""
        return tuple(row for row in self.rows if row.rank is not None)

    def top(self, k: int) -> list[str]:
        """Return the names of the best ranked systems."""
        return [row.system for row in self.ranked[:k]]

    def to_dict(self) -> dict[str, Any]:
        """Return the board as plain values, as files and HTTP hold it."""
        return {
            "task": self.task.name,
            "question": self.task.question,
            "metric": self.task.metric,
            "n": self.n,
            "seed": self.seed,
            "resamples": self.resamples,
            "rank_stability": self.rank_stability,
            "rows": [row.to_dict() for row in self.rows],
            "summary": self.summary.to_dict(),
        }

    def table(self) -> Table:
        """Return the board as a table: rank, system, figure, ranks under resampling, test against the next place."""
        columns = [
            Column("rank", "name"),
            Column("system"),
            Column(self.task.title, "metric", digits=4, best="high"),
            Column("ranks (95 %)"),
            Column("p, next place"),
            Column("p, Holm"),
            Column("not told from"),
        ]
        rows = [
            (
                "–" if row.rank is None else str(row.rank),
                f"{row.system} ({row.mark})" if row.mark else row.system,
                row.figure,
                "–" if row.rank_range is None else rank_text(row.rank_range),
                _chance(row.next_p),
                _chance(row.next_p_holm),
                _names(row.tied_with),
            )
            for row in self.rows
        ]
        return Table.of(columns, rows, title=f"{self.task.name} (n = {self.n:,})", note=self.note)

    def csv(self) -> str:
        """Return the board as data: one row a system, unrounded."""
        names = ["rank", "system", "mark", self.task.metric, "rank_low", "rank_high", "first_share", "next_p",
                 "next_p_holm", "tied_with"]  # fmt: skip
        rows = [
            (row.rank, row.system, row.mark, row.figure, *(row.rank_range or (None, None)), row.first_share, row.next_p,
             row.next_p_holm, "|".join(row.tied_with))
            for row in self.rows
        ]  # fmt: skip
        return Table.of([Column(name, "metric" if name == self.task.metric else "name") for name in names], rows).csv()

    @property
    def note(self) -> str:
        """What a reader must know of the tests."""
        if not self.resamples:
            return "No resamples were asked for, so there are neither intervals nor tests."
        floor = 2 / (self.resamples + 1)
        tests = max(len(self.ranked) - 1, 1)
        words = (
            f"Paired bootstrap, {self.resamples:,} resamples, seed {self.seed}; “not told from” is p ≥ {LEVEL} in "
            "pairs, before correction."
        )
        if floor * tests >= LEVEL:
            words += f" p can't fall below {floor:.2g}, nor below {min(1, floor * tests):.2g} after Holm's correction"
            words += f" for {tests} neighbours: ask for more resamples to separate them."
        return words


def rank_systems(
    gold: pl.DataFrame,
    predictions: Mapping[str, pl.DataFrame],
    task: Task,
    *,
    seed: int = 0,
    resamples: int = 1000,
    marks: Mapping[str, str] | None = None,
) -> Board:
    """Return the board of systems; frames have `id` and `label` (or `score`). `marks`: system → baseline or human."""
    return rank_matrix(pack_predictions(gold, predictions, task), seed=seed, resamples=resamples, marks=marks)


def rank_matrix(
    matrix: PredictionMatrix,
    *,
    seed: int = 0,
    resamples: int = 1000,
    level: float = 0.95,
    marks: Mapping[str, str] | None = None,
) -> Board:
    """Return the board of a packed matrix. A figure that is not defined for a system puts it last, without a rank."""
    marks = dict(marks or {})
    for name, mark in marks.items():
        if mark not in MARKS:
            raise UserError(f"System {name!r} is marked {mark!r}; marks are {', '.join(MARKS)}")
    bootstrap = Bootstrap(resamples=resamples, seed=seed, level=level)
    values, draws = figures_and_draws(matrix, bootstrap)
    n = len(matrix.gold)
    figures = [bootstrap.metric(matrix.task.metric, values[i], draws[:, i], n) for i in range(len(values))]
    order = sorted(range(len(values)), key=lambda i: (not np.isfinite(values[i]), -values[i], matrix.systems[i]))
    ranked = [i for i in order if matrix.systems[i] not in marks and np.isfinite(values[i])]
    ranks = {i: 1 + int(sum(values[other] > values[i] + _SAME for other in ranked)) for i in ranked}
    tests = _neighbour_tests(matrix.task.metric, ranked, values, draws, n, bootstrap)
    ties = _ties(order, values, draws)
    spans, firsts, stability = _rank_spread(ranked, values, draws, level)
    rows = [
        BoardRow(
            matrix.systems[i],
            figures[i],
            ranks.get(i),
            tuple(matrix.systems[j] for j in ties.get(i, ())),
            next_difference=tests[i][0] if i in tests else None,
            next_p=tests[i][1] if i in tests else None,
            next_p_holm=tests[i][2] if i in tests else None,
            rank_range=spans.get(i),
            first_share=firsts.get(i),
            mark=marks.get(matrix.systems[i]),
        )
        for i in order
    ]
    baselines = {
        matrix.systems[i]: float(values[i]) for i in order if marks.get(matrix.systems[i]) and np.isfinite(values[i])
    }
    summary = summarise_scores([float(values[i]) for i in ranked], baselines)
    return Board(matrix.task, tuple(rows), summary, n, seed, resamples, stability)


def _neighbour_tests(
    metric: str, ranked: Sequence[int], values: Floats, draws: Floats, n: int, bootstrap: Bootstrap
) -> dict[int, tuple[Metric, float, float]]:
    """Return for each ranked system but the last its difference to the next, p, and p after Holm's correction."""
    if not len(draws):
        return {}
    pairs = list(pairwise(ranked))
    chances = [float(resampled_p(draws[:, a] - draws[:, b])) for a, b in pairs]
    gaps = [bootstrap.metric(metric, float(values[a] - values[b]), draws[:, a] - draws[:, b], n) for a, b in pairs]
    return {a: tests for (a, _), tests in zip(pairs, zip(gaps, chances, holm(chances), strict=True), strict=True)}


def _ties(order: Sequence[int], values: Floats, draws: Floats) -> dict[int, list[int]]:
    """Return for each system those, marked ones too, from which the paired test can't tell it."""
    if not len(draws):
        return {i: [j for j in order if j != i and abs(values[i] - values[j]) <= _SAME] for i in order}
    ties: dict[int, list[int]] = {}
    for i in order:
        chances = resampled_p(draws[:, i : i + 1] - draws)
        ties[i] = [j for j in order if j != i and chances[j] >= LEVEL and np.isfinite(values[[i, j]]).all()]
    return ties


def _rank_spread(
    ranked: Sequence[int], values: Floats, draws: Floats, level: float
) -> tuple[dict[int, tuple[int, int]], dict[int, float], float | None]:
    """Return each ranked system's range of ranks, how often it leads, and the mean τ-b of resampled boards."""
    if not len(draws) or not ranked:
        return {}, {}, None
    drawn = np.nan_to_num(draws[:, ranked], nan=-np.inf)
    places = _ranks(drawn)
    low, high = np.quantile(places, [(1 - level) / 2, (1 + level) / 2], axis=0, method="inverted_cdf")
    spans = {i: (int(low[k]), int(high[k])) for k, i in enumerate(ranked)}
    firsts = {i: float((places[:, k] == 1).mean()) for k, i in enumerate(ranked)}
    return spans, firsts, _mean_tau(values[list(ranked)], drawn)


def _ranks(drawn: Floats) -> Ints:
    """Return competition ranks in each row: the highest is 1, equals share the better rank."""
    rising = np.sort(-drawn, axis=1)
    return np.stack([np.searchsorted(row, -own - _SAME, "left") + 1 for row, own in zip(rising, drawn, strict=True)])


def _mean_tau(values: Floats, drawn: Floats) -> float | None:
    """Return the mean of Kendall's τ-b between the figures and each row of resampled figures."""
    if len(values) < 2:
        return None
    first, second = np.triu_indices(len(values), 1)
    board = np.sign(values[first] - values[second])
    total, counted = 0.0, 0
    with np.errstate(invalid="ignore"):  # two figures that are both undefined differ by nan
        for row in drawn:
            signs = np.nan_to_num(np.sign(row[first] - row[second]))
            untied = np.sqrt((board != 0).sum() * (signs != 0).sum())
            if untied:
                total, counted = total + float((board * signs).sum() / untied), counted + 1
    return total / counted if counted else None


def rank_text(span: tuple[int, int]) -> str:
    """Return a range of ranks in words."""
    return str(span[0]) if span[0] == span[1] else f"{span[0]}–{span[1]}"


def _chance(p: float | None) -> str:
    return "–" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def _names(systems: Sequence[str], most: int = 4) -> str:
    more = f" and {len(systems) - most} more" if len(systems) > most else ""
    return ", ".join(systems[:most]) + more if systems else "–"
