"""An evaluation as one self-contained page: tables with intervals, ROC curves, confusion matrices, paired tests."""

from __future__ import annotations

from davy.core import Metric
from davy.core.scheme import Question
from davy.evaluation.evaluate import Evaluation, ModelMetrics, QuestionResult
from davy.evaluation.predictions import mistake_table
from davy.evaluation.results import (
    calibration_table,
    confusion_table,
    fairness_tables,
    label_table,
    overall_table,
    pair_table,
)
from davy.report import Column, Page, Provenance, Table
from davy.report.plots import Plot, confusion, line

MAIN = ("macro-F1", "F1")
SHORT = 34
PAGE_MISTAKES = 50
MATRIX_LABELS = 16
"""Above this many labels a picture of the matrix can't be read, and the table stands alone."""


def page(evaluation: Evaluation, *, command: str = "") -> Page:
    """Return the page of an evaluation."""
    models = ", ".join(f"{name} {version}".strip() for name, version in evaluation.models.items())
    made = Page(
        evaluation.title,
        lead="How well detectors answer each question, on posts whose answers are settled. Every figure has its n and "
        "its 95 % interval; a post without an answer counts as an error.",
        provenance=Provenance(
            evaluation.data, models, evaluation.seed, command, evaluation.made_at, more=evaluation.settings
        ),
    )
    for result in evaluation.results:
        _section(made, result)
        for table in fairness_tables(result, evaluation.by):
            made.table(_narrow(table))
        for model in result.models if evaluation.texts else ():
            mistakes = evaluation.mistakes(result, model.name)
            if mistakes:
                title = f"{result.question.name}: errors of {model.name}, the surest first"
                made.table(mistake_table(title, mistakes, evaluation.ids, evaluation.texts, most=PAGE_MISTAKES))
    return made


def roc_plot(result: QuestionResult) -> Plot | None:
    """Return the ROC curves of all detectors that gave probabilities, or None where there are none."""
    curves = {_curve_name(model): model.roc for model in result.models if model.roc}
    if not curves:
        return None
    return line(
        curves, title=f"{result.question.name}: ROC", x="false positive rate", y="true positive rate", diagonal=True
    )


def precision_recall_plot(result: QuestionResult) -> Plot | None:
    """Return the precision-recall curves of all detectors that gave probabilities, or None."""
    curves = {model.name: model.precision_recall for model in result.models if model.precision_recall}
    return (
        line(curves, title=f"{result.question.name}: precision and recall", x="recall", y="precision")
        if curves
        else None
    )


def reliability_plot(result: QuestionResult) -> Plot | None:
    """Return how often detectors were right by how sure they were, or None where none gave probabilities."""
    bins_of = {model.name: model.reliability for model in result.models if model.reliability}
    if not bins_of:
        return None
    curves = {name: [(one.confidence, one.right) for one in bins] for name, bins in bins_of.items()}
    bands = {name: [(one.confidence, one.right_low, one.right_high) for one in bins] for name, bins in bins_of.items()}
    yes = result.question.positive is not None
    return line(
        curves, title=f"{result.question.name}: reliability", bands=bands if len(bins_of) == 1 else None, diagonal=True,
        x="probability of yes" if yes else "probability of the likeliest label",
        y="share of yes" if yes else "share right",
    )  # fmt: skip


def confusion_plot(result: QuestionResult, model: ModelMetrics) -> Plot | None:
    """Return the picture of a detector's confusion matrix, or None where it has none or is too large to read."""
    if model.table is None or len(model.table.labels) > MATRIX_LABELS:
        return None
    names = [_short(label, result.question) for label in model.table.labels]
    counts = {
        (gold, predicted): int(model.table.matrix[i, j])
        for i, gold in enumerate(names)
        for j, predicted in enumerate(names)
    }
    return confusion(counts, names, title=f"{result.question.name}: {model.name}")


def _section(made: Page, result: QuestionResult) -> None:
    made.section(result.question.name)
    made.table(_narrow(overall_table(result)))
    curves = roc_plot(result)
    if curves is not None:
        made.plot(curves, "ROC curves: the further up and left, the better. The diagonal is chance.")
    recalls = precision_recall_plot(result)
    if recalls is not None:
        made.plot(recalls, "Precision-recall curves: the further up and right, the better.")
    probabilities = calibration_table(result)
    if probabilities is not None:
        made.table(_narrow(probabilities))
    reliable = reliability_plot(result)
    if reliable is not None:
        made.plot(reliable, "Reliability: on the diagonal, 0.9 means nine in ten; below it, a detector is too sure.")
    pairs = pair_table(result)
    if pairs is not None:
        made.table(pairs)
    for model in result.models:
        made.heading(model.name)
        made.table(_narrow(label_table(result, model)))
        picture = confusion_plot(result, model)
        if picture is not None:
            made.plot(picture, f"Confusion matrix of {model.name}: counts; the shade is the share of the gold label.")
        else:
            table = confusion_table(result, model)
            if table is not None:
                made.table(table)


def _narrow(table: Table) -> Table:
    """Return the table with intervals as pictures in its main column only, and in words in the others."""
    columns = [
        Column(column.name, "name", best=column.best) if column.kind == "metric" and column.name not in MAIN else column
        for column in table.columns
    ]
    rows = [
        [
            str(cell) if isinstance(cell, Metric) and column.kind != "metric" else cell
            for cell, column in zip(row, columns, strict=True)
        ]
        for row in table.rows
    ]
    return Table.of(columns, rows, title=table.title, note=table.note)


def _curve_name(model: ModelMetrics) -> str:
    found = next((m.value for m in model.report.metrics if m.name == "auroc" and m.value is not None), None)
    return model.name if found is None else f"{model.name} (AUROC {found:.3f})"


def _short(label: str, question: Question) -> str:
    """Return a label as a picture has room for it, its code in front where it has one."""
    code = next((known.code for known in question.labels if known.name == label), None)
    cut = label if len(label) <= SHORT else f"{label[: SHORT - 1].rstrip(' ,')}…"
    return f"{code} {cut}" if code else cut
