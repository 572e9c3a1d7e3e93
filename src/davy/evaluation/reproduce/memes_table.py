"""The Hateful Memes paper's Table 1 beside ours: eleven rows under three headings, validation and test, over seeds.

What trained rows reached in, a `Reproduction` out. Figures are means over seeds; the layout has the standard deviation
beside them, the lines an interval over memes (resampled, all seeds' logits together) where logits were kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from davy.core import Metric
from davy.evaluation.reproduce.paper_table import PaperRow, PublishedFigures, Reproduction, load_published
from davy.measure.intervals import Bootstrap
from davy.measure.ranking import area
from davy.report import Column, Table

ROWS: dict[str, str] = {
    "image-grid": "Image-Grid", "image-region": "Image-Region", "text": "Text BERT", "late-fusion": "Late Fusion",
    "concat": "Concat BERT", "mmbt-grid": "MMBT-Grid", "mmbt-region": "MMBT-Region", "vilbert": "ViLBERT",
    "visualbert": "Visual BERT", "vilbert-cc": "ViLBERT CC", "visualbert-coco": "Visual BERT COCO",
}  # fmt: skip
"""Our name → the paper's, in the table's order; `davy.detectors.meme_networks` has the same, and needs torch."""
HEADINGS: dict[str, tuple[str, ...]] = {
    "Unimodal": ("image-grid", "image-region", "text"),
    "Multimodal (unimodal pre-training)": (
        "late-fusion", "concat", "mmbt-grid", "mmbt-region", "vilbert", "visualbert"
    ),
    "Multimodal (multimodal pre-training)": ("vilbert-cc", "visualbert-coco"),
}  # fmt: skip
PARTS = {"validation": "dev", "test": "test"}
FIGURES = ("accuracy", "auroc")
HUMAN = "Human"
_SHORT = {"validation": "val.", "test": "test"}


@dataclass(frozen=True)
class MemeRun:
    """One row trained with one seed: figures by part (`dev`, `test`), and logits where they were kept."""

    row: str
    seed: int
    figures: Mapping[str, Mapping[str, float]]
    logits: Mapping[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True)
class MeasuredMemes:
    """What rows were measured on: labels by part (1 is yes), and what the parts are called."""

    name: str
    data: str
    labels: Mapping[str, np.ndarray]
    splits: Mapping[str, str]


def table_1(
    task: MeasuredMemes,
    runs: Sequence[MemeRun],
    missing: Mapping[str, str],
    *,
    ran: str = "",
    notes: Sequence[str] = (),
    bootstrap: Bootstrap | None = None,
) -> Reproduction:
    """Return the table; `missing` says of rows why they were not run, `ran` what all rows ran with."""
    paper = load_published("hateful-memes")
    bootstrap = bootstrap or Bootstrap()
    of_row = {row: [run for run in runs if run.row == row] for row in ROWS}
    lines = [PaperRow(HUMAN, HUMAN, "test", "accuracy", paper.figure(HUMAN, "test", "accuracy"), None, "test")]
    for row, name in ROWS.items():
        for part, ours in PARTS.items():
            for figure in FIGURES:
                metric = mean_figure(figure, of_row[row], ours, task.labels.get(ours), bootstrap)
                lines.append(
                    PaperRow(name, name, part, figure, paper.figure(name, part, figure), metric, task.splits[ours],
                             note="" if metric else missing.get(row, ""), ran=ran if metric else "")
                )  # fmt: skip
    seeds = sorted({run.seed for run in runs})
    all_notes = (
        f"Ours are on {task.name}: validation is {task.splits['dev']} ({_n(task, 'dev', runs)}), test is "
        f"{task.splits['test']} ({_n(task, 'test', runs)}).",
        f"Seeds: {', '.join(map(str, seeds)) or 'none'}; mean ± standard deviation.",
        "The paper's are on Hateful Memes, whose test is balanced: on other memes only the order of the rows compares.",
        "Human: ten batches of the paper's test set were labelled anew by other people; ours has no such labels.",
        *((f"All our rows ran with {ran}.",) if ran else ()),
        *notes,
    )
    title = f"Hateful Memes, Table 1: the paper's rows, ours trained on {task.name}"
    layout = tuple(_layout(heading, rows, of_row, paper, missing) for heading, rows in HEADINGS.items())
    first = seeds[0] if seeds else 0
    return Reproduction(
        "memes", title, paper.source, tuple(lines), task.data, first, all_notes, paper.digits, layout=layout
    )


def mean_figure(
    figure: str, runs: Sequence[MemeRun], part: str, labels: np.ndarray | None, bootstrap: Bootstrap
) -> Metric | None:
    """Return the mean of a figure over seeds, with an interval over memes where logits are kept; None without runs."""
    values = [run.figures[part][figure] for run in runs if figure in run.figures.get(part, {})]
    if not values:
        return None
    mean = float(np.mean(values))
    kept = [run.logits[part] for run in runs if part in run.logits]
    n = len(labels) if labels is not None else int(runs[0].figures[part].get("n", 0))
    if labels is None or len(kept) < len(values) or any(len(one) != len(labels) for one in kept):
        return Metric(figure, mean, n, note="no interval: the answers were not kept")
    draws = mean_draws(figure, labels, kept, bootstrap)
    return bootstrap.metric(figure, mean, draws, n, "not defined: all memes have one label")


def mean_draws(
    figure: str,
    labels: np.ndarray,
    logits: Sequence[np.ndarray],
    bootstrap: Bootstrap,
    groups: np.ndarray | None = None,
) -> np.ndarray:
    """Return a figure's mean over seeds on each resample of the memes, the same resamples for all seeds.

    `groups` says which memes are drawn together: those that are alike.
    """
    yes = np.asarray(labels) == 1
    which = np.arange(len(yes)) if groups is None else np.unique(groups, return_inverse=True)[1]
    draws = []
    for drawn in bootstrap.weights(np.ones(int(which.max(initial=-1)) + 1, dtype=np.int64)):
        weights = drawn[:, which]
        each = [_weighted(figure, yes, np.asarray(one, dtype=np.float64), weights) for one in logits]
        draws.append(np.mean(each, axis=0))
    return np.concatenate(draws) if draws else np.empty(0)


def _weighted(figure: str, yes: np.ndarray, logits: np.ndarray, weights: np.ndarray) -> np.ndarray:
    if figure == "accuracy":
        right = (logits >= 0) == yes
        return np.asarray((weights * right).sum(axis=1) / weights.sum(axis=1))
    order = np.argsort(logits, kind="stable")
    starts = np.flatnonzero(np.diff(logits[order], prepend=-np.inf))
    sides = (np.add.reduceat((weights * side)[:, order], starts, axis=1) for side in (yes, ~yes))
    return np.asarray(area(*sides))


def _layout(
    heading: str,
    rows: Sequence[str],
    of_row: Mapping[str, list[MemeRun]],
    paper: PublishedFigures,
    missing: Mapping[str, str],
) -> Table:
    columns = [Column("model")]
    for part in PARTS:
        for figure in ("acc.", "AUROC"):
            columns += [Column(f"{_SHORT[part]} {figure}", "number"), Column("ours", "number")]
    human = paper.figure(HUMAN, "test", "accuracy")
    first = "image-grid" in rows
    cells: list[tuple[object, ...]] = [(HUMAN, *[None] * 4, _percent([human or 0.0]), *[None] * 3)] if first else []
    for row in rows:
        line: list[object] = [ROWS[row]]
        for part, ours in PARTS.items():
            for figure in FIGURES:
                published = paper.figure(ROWS[row], part, figure)
                sd = paper.figure(ROWS[row], part, f"{figure}_sd")
                line.append(_percent([published] if published is not None else [], sd))
                values = [run.figures[ours][figure] for run in of_row[row] if figure in run.figures.get(ours, {})]
                line.append(_percent(values, spread=part == "test") or ("not run" if row in missing else None))
        cells.append(tuple(line))
    return Table.of(columns, cells, title=f"{heading}; the paper's, then ours, in per cent")


def _percent(values: Sequence[float], sd: float | None = None, *, spread: bool = False) -> str | None:
    """Return the mean in per cent, with a standard deviation: the one given, or with `spread` that of the values."""
    if not values:
        return None
    if spread and len(values) > 1:
        sd = float(np.std(values, ddof=1))
    mean = f"{100 * float(np.mean(values)):.2f}"
    return mean if sd is None else f"{mean} ± {100 * sd:.2f}"


def _n(task: MeasuredMemes, part: str, runs: Sequence[MemeRun]) -> str:
    labels = task.labels.get(part)
    if labels is not None:
        return f"{len(labels):,} memes, {int(np.sum(labels)):,} yes"
    return next((f"{n:,.0f} memes" for run in runs if (n := run.figures.get(part, {}).get("n"))), "n not known")
