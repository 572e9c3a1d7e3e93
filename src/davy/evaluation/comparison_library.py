"""`davy.compare`: a board of many systems' predictions, with intervals, paired tests and what the best still miss.

Gold and predictions as frames or files in, a board as a frame and as a page out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from davy.core.scheme import Scheme
from davy.scoring.frames import FIGURE, number_columns, text_columns, to_polars
from davy.scoring.python_words import python_words

if TYPE_CHECKING:
    from davy.evaluation.compare_systems import SystemComparison

BOARD: dict[str, Any] = {
    "question": pl.String,
    "rank": pl.Int64,
    **text_columns("system", "mark", "figure"),
    **FIGURE,
    "rank_low": pl.Int64,
    "rank_high": pl.Int64,
    **number_columns("next_p", "next_p_holm"),
    "tied_with": pl.List(pl.String),
}
"""The columns of a board."""


@dataclass(frozen=True, repr=False)
class ComparisonResult:
    """Systems ranked on every question with gold. `comparison` has the boards, the tests and the error analysis."""

    comparison: SystemComparison

    def __repr__(self) -> str:
        boards = ", ".join(f"{task.board.task.name} ({len(task.board.rows)} systems)" for task in self.comparison.tasks)
        return f"<ComparisonResult of {boards}>"

    def _repr_html_(self) -> str:
        from davy.scoring.notebook import frame_html

        return frame_html(repr(self).strip("<>"), self.frame)

    @property
    def frame(self) -> pl.DataFrame:
        """One row a question and system, from best to worst: rank, figure with interval, ranks, p, ties.

        Example:
            davy.compare("gold.csv", {"mine": mine, "theirs": theirs}).frame
        """
        rows = [
            {
                "question": task.board.task.question,
                "rank": row.rank,
                "system": row.system,
                "mark": row.mark,
                "figure": task.board.task.metric,
                **{name: getattr(row.figure, name) for name in ("value", "low", "high", "n")},
                "rank_low": row.rank_range[0] if row.rank_range else None,
                "rank_high": row.rank_range[1] if row.rank_range else None,
                "next_p": row.next_p,
                "next_p_holm": row.next_p_holm,
                "tied_with": list(row.tied_with),
            }
            for task in self.comparison.tasks
            for row in task.board.rows
        ]
        return pl.DataFrame(rows, schema=BOARD)

    def html(self, folder: str | Path) -> Path:
        """Write report.html, results.json and the boards as CSV into a folder; return the page.

        Example:
            davy.compare("gold.csv", {"mine": mine, "theirs": theirs}).html("report")
        """
        from davy.evaluation.compare_systems import write_comparison

        write_comparison(self.comparison, Path(folder))
        return Path(folder) / "report.html"


@python_words
def compare(
    gold: Any,
    predictions: Mapping[str, Any] | Sequence[str | Path],
    *,
    scheme: str | Scheme | None = None,
    metric: str = "macro_f1",
    baselines: Sequence[str] = (),
    humans: Sequence[str] = (),
    test: str = "bootstrap",
    resamples: int = 1000,
    seed: int = 0,
) -> ComparisonResult:
    """Return systems ranked against gold, with intervals, paired tests and honest ties.

    `gold` has `id` and `Q.gold` (or `label`); `predictions` are frames by the system's name, or files, with `id` and
    `Q.label` (or `label`, `score`). Baselines and people take no rank.

    Parameters
    ----------
    gold : frame, str or Path
        The posts' settled answers, with `id`.
    predictions : dict of frames, or list of files
        What each system says, with `id`.
    scheme : str or Scheme, optional
        The questions and their labels; else found by the labels.
    metric : str
        What systems are ranked by.
    baselines : sequence of str
        Systems that are baselines and take no rank.
    humans : sequence of str
        Systems that are people and take no rank.
    test : str
        How pairs are tested.
    resamples : int
        How many bootstrap resamples intervals rest on.
    seed : int
        The seed of every random act.

    Example:
        davy.compare("gold.csv", {"mine": mine, "b0": constant}, baselines=["b0"]).frame
    """
    from davy.evaluation.compare_systems import ComparisonSettings, compare_systems
    from davy.measure.intervals import Bootstrap

    marks = dict.fromkeys(baselines, "baseline") | dict.fromkeys(humans, "human")
    settings = ComparisonSettings(metric, test, marks=marks, bootstrap=Bootstrap(resamples=resamples, seed=seed))
    source = gold if isinstance(gold, str | Path) else to_polars(gold)
    systems: Mapping[str, pl.DataFrame] | Sequence[str | Path]
    if isinstance(predictions, Mapping):
        systems = {name: to_polars(frame) for name, frame in predictions.items()}
    else:
        systems = predictions
    return ComparisonResult(compare_systems(source, systems, scheme=scheme, settings=settings))
