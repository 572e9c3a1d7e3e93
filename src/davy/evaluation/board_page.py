"""A comparison of systems as one self-contained page: boards, summary, and what the best systems still miss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from davy.evaluation.board import Board, rank_text, summary_table
from davy.evaluation.error_analysis import ErrorAnalysis, GroupErrors
from davy.evaluation.evaluate import PairedTest
from davy.evaluation.pair_tests import pairs_table
from davy.evaluation.pictures import STYLE, confusion_svg
from davy.evaluation.prediction_matrix import NONE, PredictionMatrix
from davy.report import Column, Page, Provenance, Table
from davy.report.plots import bars, heat

DRAWN = 40
"""Systems in the picture of a board; the table has all."""
SHOWN_POSTS = 30
PAIRED = 12
"""Up to so many systems, the picture shows every two."""


@dataclass(frozen=True, slots=True)
class TaskComparison:
    """One task: its board, its predictions, the paired tests, and the errors of the best (None for scores)."""

    board: Board
    matrix: PredictionMatrix
    pairs: tuple[PairedTest, ...] = ()
    errors: ErrorAnalysis | None = None
    texts: Mapping[str, str] = field(default_factory=dict)
    """Id → text of the items that all miss, where the gold file has texts."""
    codes: Mapping[str, str] = field(default_factory=dict)
    """Label → its short code, for pictures."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, without texts."""
        return {
            **self.board.to_dict(),
            "pairs": [pair.to_dict() for pair in self.pairs],
            "errors": None if self.errors is None else self.errors.to_dict(),
        }


def comparison_page(tasks: Sequence[TaskComparison], title: str, provenance: Provenance, notes: Sequence[str]) -> Page:
    """Return the page of all tasks."""
    page = Page(
        title,
        lead="Systems in the order of their figure, each with its 95 % interval. Two systems that the paired test "
        "can't tell apart are not first and second; “ranks” says where a system lands when the items are drawn again.",
        provenance=provenance,
    )
    page.say(*notes)
    for task in tasks:
        _board(page, task)
    page.section("Summary")
    page.table(summary_table({task.board.task.name: task.board.summary for task in tasks}))
    for task in tasks:
        if task.errors is not None:
            _errors(page, task, task.errors)
    return page


def _board(page: Page, task: TaskComparison) -> None:
    board = task.board
    page.section(f"{board.task.name}: board")
    drawn = board.rows[:DRAWN]
    metrics = [replace(row.figure, name=f"{row.rank or '–'}  {row.system}") for row in drawn]
    values = [end for row in drawn for end in (row.figure.low, row.figure.high) if end is not None]
    scale = (max(0.0, min(values) - 0.02), min(1.0, max(values) + 0.02)) if values and min(values) > 0.5 else (0.0, 1.0)
    page.plot(bars(metrics, x=board.task.title, scale=scale), f"{board.task.title} with 95 % intervals; a dash is a "
                                                              "marked row, which takes no rank.")  # fmt: skip
    page.table(board.table())
    spread = [
        (row.rank, row.system, rank_text(row.rank_range), row.first_share)
        for row in board.ranked
        if row.rank_range is not None
    ]
    if spread and board.rank_stability is not None:
        columns = [Column("rank", "count"), Column("system"), Column("ranks (95 %)"), Column("leads in", "share")]
        note = f"Mean Kendall's τ-b between this board and those of resamples: {board.rank_stability:.3f}."
        page.table(Table.of(columns, spread, title=f"{board.task.name}: rank stability", note=note))
    if task.pairs:
        page.table(pairs_table(task.pairs, f"{board.task.name}: paired tests"))


def _errors(page: Page, task: TaskComparison, errors: ErrorAnalysis) -> None:
    name = task.board.task.name
    page.section(f"{name}: what the best {len(errors.systems)} systems miss", _missed_words(errors))
    sizes = [("all systems", "all"), ("half or more", "most"), ("fewer than half", "few"), ("none", "none")]
    rows = [(words, errors.levels[level], errors.levels[level] / len(errors.ids)) for words, level in sizes]
    columns = [Column("right"), Column("items", "count"), Column("share", "share")]
    page.table(Table.of(columns, rows, title="How many of the systems get an item right"))
    shares = errors.confusion_shares
    labels = [task.codes.get(label, "") + (" " if label in task.codes else "") + _cut(label) for label in errors.labels]
    page.part(f'<figure class="pictures">{confusion_svg(labels, shares, title=f"{name}: pooled confusion matrix")}'
              f"<figcaption>Pooled over {len(errors.systems)} systems, in per cent of the true label: "
              "predicted labels down, true labels across.</figcaption>"
              "</figure>", style=STYLE)  # fmt: skip
    for question, groups in errors.groups.items():
        page.table(group_table(question, groups, of_yes=errors.false_negatives is not None))
    _pairs(page, errors)
    if errors.agreement:
        page.table(agreement_table(errors))
    if task.texts:
        page.table(missed_table(task, errors))


def group_table(question: str, groups: Sequence[GroupErrors], *, of_yes: bool) -> Table:
    """Return errors by the labels of another question, those that are missed most first."""
    ordered = sorted(groups, key=lambda group: -group.missed_by_all.n * (group.missed_by_all.value or 0))
    rows = [(g.group, g.items, g.error_rate, g.missed_by_all, g.share_of_missed) for g in ordered]
    columns = [Column(question), Column("items", "count"), Column("error rate", "share"),
               Column("missed by all", "metric"), Column("of all missed", "share")]  # fmt: skip
    words = "False negatives" if of_yes else "Errors"
    return Table.of(columns, rows, title=f"{words} by {question}")


def agreement_table(errors: ErrorAnalysis) -> Table:
    """Return how difficult items are, by how far the annotators agreed on them."""
    columns = [Column("annotators who agree", "share"), Column("items", "count"), Column("systems right", "share")]
    rho = errors.agreement_correlation
    note = "" if rho is None else f"Spearman's ρ between agreement and the share of systems that are right: {rho:.3f}."
    return Table.of(columns, errors.agreement, title="Difficulty against annotators' agreement", note=note)


def missed_table(task: TaskComparison, errors: ErrorAnalysis) -> Table:
    """Return the first items that every system misses: gold, what most systems said, and the text, masked."""
    predicted = dict(zip(errors.ids, _majority(task.matrix.select(errors.systems)), strict=True))
    gold = dict(zip(task.matrix.ids, task.matrix.gold, strict=True))
    labels = task.matrix.task.labels
    rows = [
        (
            labels[gold[post]],
            labels[predicted[post]] if predicted[post] != NONE else "no answer",
            task.texts.get(post, ""),
        )
        for post in errors.missed[:SHOWN_POSTS]
    ]
    note = f"{len(rows)} of {len(errors.missed)}; the ids of all are in results.json." if errors.missed else ""
    columns = [Column("gold"), Column("most systems"), Column("text", "text")]
    return Table.of(columns, rows, title="Items that every system misses", note=note)


def _pairs(page: Page, errors: ErrorAnalysis) -> None:
    if not errors.pairs:
        return
    if len(errors.systems) <= PAIRED:
        known = {(pair.first, pair.second): pair.kappa for pair in errors.pairs}
        cells = [
            (a, b, known.get((a, b), known.get((b, a))) if a != b else None)
            for a in errors.systems
            for b in errors.systems
        ]
        page.plot(heat(cells, domain=(0, 1)), "Errors on the same items, as Cohen's κ of being wrong: 1 is "
                  "two systems that fail on the same items, 0 is what chance gives.")  # fmt: skip
        return
    rows = [(p.first, p.second, p.both_wrong, p.either_wrong, p.kappa, p.phi) for p in errors.pairs[:20]]
    columns = [Column("first"), Column("second"), Column("both wrong", "count"), Column("either wrong", "count"),
               Column("κ", "number"), Column("φ", "number")]  # fmt: skip
    page.table(Table.of(columns, rows, title="Systems that fail together"))


def _missed_words(errors: ErrorAnalysis) -> str:
    words = f"Of {len(errors.ids):,} items, {len(errors.missed):,} are misclassified by all {len(errors.systems)}"
    if errors.false_negatives is None or errors.false_positives is None or not errors.missed:
        return f"{words}."
    share = errors.false_negatives / len(errors.missed)
    return (
        f"{words}: {errors.false_negatives:,} false negatives ({share:.1%}) and {errors.false_positives:,} false "
        f"positives ({1 - share:.1%})."
    )


def _majority(matrix: PredictionMatrix) -> np.ndarray:
    """Return each item's most frequent prediction."""
    codes = matrix.values.astype(np.int64)
    counts = np.stack([(codes == code).sum(axis=0) for code in range(NONE, len(matrix.task.labels))])
    return np.asarray(counts.argmax(axis=0) + NONE)


def _cut(label: str, most: int = 30) -> str:
    return label if len(label) <= most else f"{label[: most - 1].rstrip(' ,')}…"
