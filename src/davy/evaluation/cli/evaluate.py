"""`davy evaluate`: how good detectors are on labelled posts, and whether one is better than another."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

from davy.core.options import Option
from davy.evaluation import evaluate_detectors as action
from davy.evaluation.evaluate import Evaluation
from davy.evaluation.mistakes import mistake_table
from davy.evaluation.results import (
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
from davy.shell import console
from davy.shell.verb_command import Run, verb_command


@verb_command(
    action.evaluate,
    "files model predictions scheme question corpus split gold everywhere unseen by errors out images text_column "
    "id_column format encoding resamples seed json",
)
def evaluate(
    run: Run[Evaluation],
    errors: Annotated[int, Option("List so many errors, the surest first; 0: no texts.", metavar="N", min=0)] = 5,
    out: Annotated[
        Path | None, Option("Write report.html, results.json, figures.csv and errors.csv here.", metavar="DIR")
    ] = None,
    json: Annotated[bool, Option("Print the result as JSON.")] = False,
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
    evaluation = run(texts=errors > 0)
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
