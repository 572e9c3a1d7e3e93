"""`davy compare`: rank many systems' predictions against gold, or summarise a finished board."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

from davy.core.errors import UserError
from davy.core.options import Option
from davy.evaluation import compare_systems as action
from davy.evaluation.board import summary_table
from davy.evaluation.pair_tests import pairs_table
from davy.files.atomic import check_folder
from davy.shell import console
from davy.shell.verb_command import Run, verb_command


@verb_command(
    action.compare_systems,
    "[gold_file] predictions scores score_column metric baseline human scheme question corpus split gold label_none "
    "positive id_column encoding test test_pairs top agreement resamples seed note out json latex",
)
def compare(
    run: Run[action.SystemComparison],
    gold_file: str | None,
    predictions: list[Path] | None,
    baseline: list[str] | None,
    scores: Annotated[Path | None, Option("Summarise a finished board instead.", metavar="F")] = None,
    column: Annotated[str | None, Option("With --scores: the column of scores.", "--score-column", metavar="C")] = None,
    out: Annotated[Path | None, Option("Write report.html, results.json and board-Q.csv here.", metavar="DIR")] = None,
    json: Annotated[bool, Option("Print the result as JSON.")] = False,
    latex: Annotated[bool, Option("Print the tables as LaTeX, for booktabs.")] = False,
) -> None:
    """Rank many systems against gold: intervals, paired tests, rank stability, and what the best ones still miss.

    A child question is measured on the posts whose gold leads to it. Marked rows take no rank. p is corrected by
    Holm's method for all pairs that are tested.

    Examples:

      davy compare gold.csv -p team-a.csv -p team-b.csv -p b0.csv --baseline b0 --out report

      davy compare edos/ --corpus edos --split dev -p predictions/ --test mcnemar --json

      davy compare --scores board.csv --score-column macro_f1 --baseline B6=0.8235
    """
    console.use_latex(latex, json=json)
    check_folder(out)
    if scores is not None:
        if gold_file is not None or predictions:
            raise UserError("--scores summarises a finished board: leave out GOLD and --predictions.")
        _summarise(scores, column, baseline or [], json=json)
        return
    if gold_file is None:
        raise UserError("Say what to compare: GOLD and --predictions F, or --scores F --score-column C.")
    comparison = run()
    if out is not None:
        action.write_comparison(comparison, out, command=shlex.join(console.command_line()))
    if json:
        console.json(comparison.to_dict())
    else:
        _print(comparison)
    if out is not None:
        console.note(f"Written: {out}/report.html, results.json, board-Q.csv")


def _summarise(path: Path, column: str | None, baselines: list[str], *, json: bool) -> None:
    bars = {}
    for entry in baselines:
        name, _, figure = entry.rpartition("=")
        try:
            bars[name] = float(figure)
        except ValueError:
            raise UserError(f"With --scores, --baseline takes NAME=FIGURE, not {entry!r}") from None
    read, summary = action.summarise_file(path, column, baselines=bars)
    if json:
        console.json({"file": path.name, "column": read, **summary.to_dict()})
        return
    console.show(summary_table({read: summary}, title=path.name))


def _print(comparison: action.SystemComparison) -> None:
    for task in comparison.tasks:
        console.show(task.board.table())
        if task.board.rank_stability is not None:
            console.line(f"Rank stability (mean τ-b over resamples): {task.board.rank_stability:.3f}")
        if task.pairs and (
            task.pairs[0].comparison.test != "paired bootstrap" or len(task.pairs) >= len(task.board.rows)
        ):
            console.show(pairs_table(task.pairs, f"{task.board.task.name}: paired tests"))
        if task.errors is not None:
            levels, items = task.errors.levels, len(task.errors.ids)
            words = f"all are right on {levels['all']:,} of {items:,} items, none on {levels['none']:,}"
            console.line(f"Best {len(task.errors.systems)}: {words}.")
            console.line()
    console.show(summary_table({task.board.task.name: task.board.summary for task in comparison.tasks}))
    for line in (*comparison.notes, f"{comparison.title} · data {comparison.data} · seed {comparison.seed}"):
        console.line(line, "dim")
