"""`davy evaluate`: how good detectors are on labelled posts, and whether one is better than another."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from davy.actions import evaluate as action
from davy.actions.posts import PostSource
from davy.cli import console
from davy.cli.options import Corpus, Encoding, Format, GoldColumns, IdColumn, PostFiles, TextColumn
from davy.compare.mistakes import mistake_table
from davy.compare.results import (
    calibration_table,
    confusion_table,
    fairness_tables,
    label_table,
    memory_note,
    overall_table,
    pair_table,
    record,
)
from davy.files.atomic import check_folder
from davy.files.many_files import join_paths
from davy.measure.intervals import Bootstrap

if TYPE_CHECKING:
    from davy.compare.evaluate import Evaluation


def evaluate(
    files: PostFiles,
    model: Annotated[
        list[str] | None, typer.Option("--model", "-m", metavar="M", help="A detector to measure; again for more.")
    ] = None,
    predictions: Annotated[
        list[str] | None,
        typer.Option("--predictions", metavar="F2", help="Or a file with id, Q.label and Q; again for more."),
    ] = None,
    scheme: Annotated[
        str | None, typer.Option(metavar="S", help="The scheme of the answers; else the corpus's, or guessed.")
    ] = None,
    question: Annotated[
        list[str] | None, typer.Option("--question", metavar="Q", help="Measure this question only; again for more.")
    ] = None,
    corpus: Corpus = None,
    split: Annotated[
        str | None, typer.Option(metavar="[C=]NAME", help="Measure this split only, such as dev; C is its column.")
    ] = None,
    gold: GoldColumns = None,
    everywhere: Annotated[
        bool,
        typer.Option("--everywhere", help="Measure yes/no child questions on all posts, as no where they don't apply."),
    ] = False,
    unseen: Annotated[
        bool, typer.Option("--unseen", help="Leave out posts that a model learnt from or was calibrated on.")
    ] = False,
    by: Annotated[
        str | None,
        typer.Option("--by", metavar="C", help="Rates and fairness ratios by the groups that column C names."),
    ] = None,
    errors: Annotated[
        int, typer.Option("--errors", metavar="N", min=0, help="List so many errors, the surest first; 0: no texts.")
    ] = 5,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write report.html, results.json, figures.csv and errors.csv here."),
    ] = None,
    images: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The folder with the pictures that posts name, for meme models.")
    ] = None,
    text_column: TextColumn = None,
    id_column: IdColumn = None,
    format: Format = None,
    encoding: Encoding = None,
    resamples: Annotated[int, typer.Option(metavar="N", help="How many resamples an interval rests on.")] = 1000,
    seed: Annotated[int, typer.Option(help="The seed of the resamples.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Measure detectors on labelled posts: macro-F1, per-label figures, AUROC, confusion matrices, paired tests.

    The settled answers are the columns Q.gold, or what --gold names. A child question is measured on the posts whose
    settled parent answer leads to it. Every figure comes with its n and its 95 % interval. A model that learnt from the
    posts, or was calibrated on them, is marked: its figures are too good.

    Examples:

      davy evaluate labelled.csv --model embedded-en --model keywords:words.txt

      davy evaluate edos/ --corpus edos --split dev --model embedded-en --out report

      davy evaluate posts.csv --gold label --scheme hate --predictions mine.csv

      davy evaluate posts.csv --model embedded --by target
    """

    check_folder(out)
    with console.ShellReporter() as reporter:
        evaluation = action.evaluate(
            PostSource(join_paths(files), corpus, text_column, id_column, format, encoding),
            model or [],
            predictions or [],
            scheme=scheme,
            questions=question or [],
            split=split,
            gold=gold or [],
            everywhere=everywhere,
            unseen=unseen,
            by=by,
            texts=errors > 0,
            bootstrap=Bootstrap(resamples=resamples, seed=seed),
            images=images,
            reporter=reporter,
        )
    if out is not None:
        action.write_evaluation(evaluation, out, command=shlex.join(console.command_line()))
    if json:
        console.json(record(evaluation))
    else:
        _print(evaluation, errors)
    if out is not None:
        more = ", errors.csv (texts in clear)" if errors else ""
        console.note(f"Written: {out}/report.html, figures.csv, results.json{more}")


def _print(evaluation: Evaluation, errors: int) -> None:

    out = console.out()
    for result in evaluation.results:
        out.print(overall_table(result).rich())
        probabilities = calibration_table(result)
        if probabilities is not None:
            out.print(probabilities.rich())
        for model in result.models:
            out.print(label_table(result, model).rich())
            matrix = confusion_table(result, model)
            if matrix is not None and len(matrix.columns) <= 7:
                out.print(matrix.rich())
        for table in fairness_tables(result, evaluation.by):
            out.print(table.rich())
        pairs = pair_table(result)
        if pairs is not None:
            out.print(pairs.rich())
        for model in result.models if errors else ():
            mistakes = evaluation.mistakes(result, model.name)
            title = f"{result.question.name}: errors of {model.name}, the surest first"
            table = mistake_table(title, mistakes, evaluation.ids, evaluation.texts, most=errors)
            if mistakes:
                out.print(table.rich(plain=console.settings.plain))
    for warning in dict.fromkeys(filter(None, (memory_note(m) for it in evaluation.results for m in it.models))):
        console.note(f"Warning: {warning}. Leave those posts out with --unseen.")
    models = ", ".join(f"{name} {version}".strip() for name, version in evaluation.models.items())
    out.print(
        f"{evaluation.title} · data {evaluation.data} · seed {evaluation.seed} · {models}", style="dim", markup=False
    )
