"""What a finished board says as a whole: the summary rows of EDOS's Table 3.

Scores of systems and of baselines in; count, quartiles, mean, median, sample standard deviation and the share of
systems that beat each baseline out. Quartiles are linear between neighbours, as numpy's and R's default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import numpy as np

from davy.core.errors import UserError
from davy.report import Column, Table


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
