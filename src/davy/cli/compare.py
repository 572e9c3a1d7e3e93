"""`davy compare`: rank many systems' predictions against gold, or summarise a finished board."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from davy.actions import compare as action
from davy.actions.posts import PostSource
from davy.cli import console
from davy.cli.options import Corpus, GoldColumns, IdColumn
from davy.compare.pair_tests import pairs_table
from davy.compare.summary import summary_table
from davy.core.errors import UserError
from davy.files.atomic import check_folder
from davy.measure.intervals import Bootstrap


def compare(
    gold: Annotated[
        str | None, typer.Argument(metavar="[GOLD]", help="The gold file: id, and Q.gold or label. Or with --corpus.")
    ] = None,
    predictions: Annotated[
        list[Path] | None,
        typer.Option("--predictions", "-p", metavar="F", help="A system's file: id, and Q.label, label or score. "
                     "Again for more; or one wide file, a column a system; or a folder of files."),
    ] = None,
    scores: Annotated[
        Path | None, typer.Option("--scores", metavar="F", help="Summarise a finished board instead.")
    ] = None,
    column: Annotated[str | None, typer.Option(metavar="C", help="With --scores: the column of scores.")] = None,
    metric: Annotated[
        str, typer.Option(metavar="M", help="macro_f1, accuracy, auroc …, or a scorer of scikit-learn.")
    ] = "macro_f1",
    baseline: Annotated[
        list[str] | None,
        typer.Option("--baseline", metavar="NAME", help="Mark a system as a baseline; with --scores NAME=FIGURE."),
    ] = None,
    human: Annotated[
        list[str] | None, typer.Option("--human", metavar="NAME", help="Mark a system as people's answers.")
    ] = None,
    scheme: Annotated[str | None, typer.Option(metavar="S", help="The scheme of the answers; else guessed.")] = None,
    question: Annotated[
        list[str] | None, typer.Option("--question", metavar="Q", help="This question only; again for more.")
    ] = None,
    corpus: Corpus = None,
    split: Annotated[str | None, typer.Option(metavar="[C=]NAME", help="Only this split of GOLD, such as dev.")] = None,
    gold_column: GoldColumns = None,
    positive: Annotated[
        str | None, typer.Option(metavar="LABEL", help="The yes, where GOLD has a plain column label.")
    ] = None,
    id_column: IdColumn = None,
    encoding: Annotated[str | None, typer.Option(help="The encoding of GOLD, where it is not UTF-8 or UTF-16.")] = None,
    test: Annotated[
        str, typer.Option(metavar="T", help="The paired test: bootstrap, mcnemar or randomisation.")
    ] = "bootstrap",
    pairs: Annotated[str, typer.Option(metavar="WHICH", help="Test neighbours on the board, or all pairs.")] = (
        "neighbours"
    ),
    top: Annotated[int, typer.Option(metavar="K", min=1, help="The error analysis is of the best K systems.")] = 10,
    agreement: Annotated[
        str | None, typer.Option(metavar="C", help="A column with the share of annotators who agree; else Q.votes.")
    ] = None,
    resamples: Annotated[int, typer.Option(metavar="N", help="How many resamples intervals and tests rest on.")] = 1000,
    seed: Annotated[int, typer.Option(help="The seed of the resamples.")] = 0,
    note: Annotated[
        list[str] | None, typer.Option("--note", metavar="TEXT", help="A line for the report, such as who saw what.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write report.html, results.json and board-Q.csv here.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:  # fmt: skip
    """Rank many systems against gold: intervals, paired tests, rank stability, and what the best ones still miss.

    A child question is measured on the posts whose gold leads to it. Marked rows take no rank. p is corrected by
    Holm's method for all pairs that are tested.

    Examples:

      davy compare gold.csv -p team-a.csv -p team-b.csv -p b0.csv --baseline b0 --out report

      davy compare edos/ --corpus edos --split dev -p predictions/ --test mcnemar --json

      davy compare --scores board.csv --column macro_f1 --baseline B6=0.8235
    """
    check_folder(out)
    if scores is not None:
        if gold is not None or predictions:
            raise UserError("--scores summarises a finished board: leave out GOLD and --predictions.")
        _summarise(scores, column, baseline or [], json=json)
        return
    if gold is None:
        raise UserError("Say what to compare: GOLD and --predictions F, or --scores F --column C.")
    marks = dict.fromkeys(baseline or [], "baseline") | dict.fromkeys(human or [], "human")
    settings = action.ComparisonSettings(
        metric, test, pairs, top, marks, positive, agreement, Bootstrap(resamples=resamples, seed=seed)
    )
    with console.ShellReporter() as reporter:
        comparison = action.compare_systems(
            PostSource(gold, corpus, id=id_column, encoding=encoding),
            action.files_in(predictions or []),
            scheme=scheme,
            questions=question or [],
            split=split,
            columns=gold_column or [],
            settings=settings,
            notes=note or [],
            reporter=reporter,
        )
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
    console.out().print(summary_table({read: summary}, title=path.name).rich())


def _print(comparison: action.SystemComparison) -> None:
    out = console.out()
    for task in comparison.tasks:
        out.print(task.board.table().rich())
        if task.board.rank_stability is not None:
            out.print(f"Rank stability (mean τ-b over resamples): {task.board.rank_stability:.3f}", markup=False)
        if task.pairs and (
            task.pairs[0].comparison.test != "paired bootstrap" or len(task.pairs) >= len(task.board.rows)
        ):
            out.print(pairs_table(task.pairs, f"{task.board.task.name}: paired tests").rich())
        if task.errors is not None:
            levels, items = task.errors.levels, len(task.errors.ids)
            words = f"all are right on {levels['all']:,} of {items:,} items, none on {levels['none']:,}"
            out.print(f"Best {len(task.errors.systems)}: {words}.\n", markup=False)
    out.print(summary_table({task.board.task.name: task.board.summary for task in comparison.tasks}).rich())
    for line in (*comparison.notes, f"{comparison.title} · data {comparison.data} · seed {comparison.seed}"):
        out.print(line, style="dim", markup=False)
