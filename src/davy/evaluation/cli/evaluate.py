"""`davy evaluate`: how good detectors are on labelled posts. `davy explain`: do explanations name marked words?"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

from davy.core.options import Option
from davy.evaluation import evaluate_detectors, explanations
from davy.evaluation.evaluate import FAMILIES, Evaluation
from davy.evaluation.predictions import mistake_table
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
from davy.files.atomic import check_folder, require_folder_of, write_json
from davy.shell import console
from davy.shell.verb_command import Run, verb_command


@verb_command(
    evaluate_detectors.evaluate,
    "files model predictions scheme question corpus split gold label_none everywhere unseen by errors out images "
    "text_column id_column format encoding resamples seed json latex",
)
def evaluate(
    run: Run[Evaluation],
    errors: Annotated[int, Option("List so many errors, the surest first; 0: no texts.", metavar="N", min=0)] = 5,
    out: Annotated[
        Path | None, Option("Write report.html, results.json, figures.csv and errors.csv here.", metavar="DIR")
    ] = None,
    json: Annotated[bool, Option("Print the result as JSON.")] = False,
    latex: Annotated[bool, Option("Print the tables as LaTeX, for booktabs.")] = False,
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

    console.use_latex(latex, json=json)
    check_folder(out)
    evaluation = run(texts=errors > 0)
    if out is not None:
        evaluate_detectors.write_evaluation(evaluation, out, command=shlex.join(console.command_line()))
    if json:
        console.json(record(evaluation))
    else:
        _print_evaluation(evaluation, errors)
    if out is not None:
        more = ", errors.csv (texts in clear)" if errors else ""
        console.note(f"Written: {out}/report.html, figures.csv, results.json{more}")


def _print_evaluation(evaluation: Evaluation, errors: int) -> None:
    for result in evaluation.results:
        console.show(overall_table(result))
        probabilities = calibration_table(result)
        if probabilities is not None:
            console.show(probabilities)
        for model in result.models:
            console.show(label_table(result, model))
            matrix = confusion_table(result, model)
            if matrix is not None and len(matrix.columns) <= 7:
                console.show(matrix)
        for model in result.models:
            whole = next((metric for metric in model.report.metrics if metric.name == FAMILIES), None)
            if whole is not None:
                console.line(f"{model.name}: an original and all that was derived from it are right in {whole}")
        for table in fairness_tables(result, evaluation.by):
            console.show(table)
        pairs = pair_table(result)
        if pairs is not None:
            console.show(pairs)
        for model in result.models if errors else ():
            mistakes = evaluation.mistakes(result, model.name)
            title = f"{result.question.name}: errors of {model.name}, the surest first"
            table = mistake_table(title, mistakes, evaluation.ids, evaluation.texts, most=errors)
            if mistakes:
                console.show(table)
    for warning in dict.fromkeys(filter(None, (memory_note(m) for it in evaluation.results for m in it.models))):
        console.note(f"Warning: {warning}. Leave those posts out with --unseen.")
    models = ", ".join(f"{name} {version}".strip() for name, version in evaluation.models.items())
    console.line(f"{evaluation.title} · data {evaluation.data} · seed {evaluation.seed} · {models}", "dim")


EXPLANATION_FIGURES = {"token_f1": "token F1", "iou_f1": "IoU F1", "auprc": "AUPRC"}


@verb_command(
    explanations.measure_explanations,
    "files model marks question text_column id_column format encoding resamples seed out json",
)
def explain(
    run: Run[explanations.ExplanationFigures],
    out: Annotated[Path | None, Option("Write the figures as JSON.", metavar="F.json")] = None,
    json: Annotated[bool, Option("Print the result as JSON.")] = False,
) -> None:
    """Measure whether the words of `davy score --explain` are those that people marked.

    Posts with marked words (rationales), such as `davy project corpus` writes them for a question of kind `spans`. For
    each detector: token F1, IoU F1 and AUPRC, as ERASER defines them, beside words drawn at random. As many words count
    as chosen as people mark on average. To see explanations, use davy score --explain.

    Examples:

      davy explain corpus.csv --model embedded-en --model embedded-en-large

      davy explain posts.jsonl --model embedded-de --question hate --marks words.gold --json
    """
    if out is not None:
        require_folder_of(out)
    figures = run()
    if out is not None:
        write_json(out, figures.to_dict())
        console.note(f"Wrote {out}")
    if json:
        console.json(figures.to_dict())
        return
    rows = [
        (name, *(_cell(metric.value, metric.low, metric.high) for metric in metrics))
        for name, metrics in figures.metrics.items()
    ]
    title = f"{figures.posts:,} posts, of which people marked {figures.share:.0%} on average"
    console.table(
        ["weights", *EXPLANATION_FIGURES.values()], rows, title=title, right=list(EXPLANATION_FIGURES.values())
    )
    if figures.without_marks:
        console.note(f"Left out, because nobody marked a word in them: {figures.without_marks:,} posts.")


def _cell(value: float | None, low: float | None, high: float | None) -> str:
    if value is None:
        return "undefined"
    return f"{value:.3f}" + ("" if low is None or high is None else f" [{low:.3f}, {high:.3f}]")
