"""An evaluation as tables, JSON and CSV.

What the shell prints, what `--json` gives and what a report folder holds are
made from the same records, so that they can't differ.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from davy.core import Metric
from davy.evaluation.evaluate import Evaluation, ModelMetrics, QuestionResult
from davy.evaluation.metrics import GroupMetrics, group_tables
from davy.report import Column, Table

OVERALL: dict[str, str] = {
    "macro_f1": "macro-F1",
    "accuracy": "accuracy",
    "exact_match": "exact match",
    "auroc": "AUROC",
}


def record(evaluation: Evaluation) -> dict[str, Any]:
    """Return an evaluation as plain values, as HTTP would."""
    return {
        "title": evaluation.title,
        "data": evaluation.data,
        "seed": evaluation.seed,
        "made_at": evaluation.made_at.isoformat(timespec="seconds"),
        "settings": evaluation.settings,
        "models": evaluation.models,
        "questions": {result.question.name: _question(result) for result in evaluation.results},
    }


def overall_table(result: QuestionResult) -> Table:
    """Return one row a detector, numbered: the figures for the whole question."""
    shown = [name for name in OVERALL if any(_has(model, name) for model in result.models)]
    seen = any(model.seen for model in result.models)
    rows = [
        (
            f"{i} {model.name}",
            *(_defined(model, name) for name in shown),
            model.unanswered,
            *([model.seen] if seen else []),
        )
        for i, model in enumerate(result.models, 1)
    ]
    columns = [Column("model"), *(Column(OVERALL[name], "metric", best="high") for name in shown)]
    columns += [Column("no answer", "count"), *([Column("learnt from", "count")] if seen else [])]
    n = f"n = {len(result.gold.rows):,}"
    note = ". ".join(
        filter(
            None,
            [
                result.gold.note,
                *(f"{name} does not answer it" for name in result.silent),
                *map(memory_note, result.models),
            ],
        )
    )
    return Table.of(columns, rows, title=f"{result.question.name} ({n})", note=note)


def memory_note(model: ModelMetrics) -> str:
    """Return a warning where a detector learnt from the posts or was calibrated on them; "" where it was not."""
    seen = model.seen or model.calibrated
    if not seen:
        return ""
    n = next((metric.n for metric in model.report.metrics if metric.name in OVERALL), seen)
    if not model.seen:
        return f"{model.name} was calibrated on {seen:,} of these {n:,} posts: its figures are kind to it"
    what = "its figures are memory, not quality" if seen > n / 20 else "there it may remember"
    return f"{model.name} learnt from {seen:,} of these {n:,} posts: {what}"


CALIBRATION: dict[str, str] = {"average_precision": "average precision", "brier": "Brier", "ece": "ECE"}


def calibration_table(result: QuestionResult) -> Table | None:
    """Return one row a detector: do its probabilities mean what they say? None where nobody gave probabilities."""
    shown = [name for name in CALIBRATION if any(_has(model, name) for model in result.models)]
    if "brier" not in shown:
        return None
    rows = [
        (f"{i} {model.name}", *(_defined(model, name) for name in shown)) for i, model in enumerate(result.models, 1)
    ]
    best = {"average_precision": "high", "brier": "low", "ece": "low"}
    columns = [Column("model"), *(Column(CALIBRATION[name], "metric", best=best[name]) for name in shown)]
    return Table.of(columns, rows, title=f"{result.question.name}: probabilities")


def label_table(result: QuestionResult, model: ModelMetrics) -> Table:
    """Return one row a label: precision, recall and F1."""
    counts = result.gold.counts
    rows = [
        (label, counts[label], *(_defined(model, f"{figure}.{label}") for figure in ("precision", "recall", "f1")))
        for label in result.question.label_names
    ]
    columns = [Column("label"), Column("gold", "count"), *(Column(c, "metric") for c in ("precision", "recall", "F1"))]
    return Table.of(columns, rows, title=f"{result.question.name}: {model.name}")


def confusion_table(result: QuestionResult, model: ModelMetrics) -> Table | None:
    """Return the confusion matrix, gold labels down, predicted labels across."""
    if model.table is None:
        return None
    rows = [
        (label, *model.table.matrix[i].tolist())
        for i, label in enumerate(model.table.labels)
        if label in result.question.label_names
    ]
    columns = [Column("gold ↓ predicted →"), *(Column(label, "count") for label in model.table.labels)]
    return Table.of(columns, rows, title=f"{result.question.name}: {model.name}, gold against predictions")


def pair_table(result: QuestionResult) -> Table | None:
    """Return one row for each two detectors, by their numbers, and figure: the difference, its interval and p."""
    if not result.pairs:
        return None
    number = {model.name: i for i, model in enumerate(result.models, 1)}
    rows = [
        (f"{number[pair.first]} − {number[pair.second]}", OVERALL.get(pair.comparison.metric, pair.comparison.metric),
         pair.comparison.difference, _chance(pair.comparison.p), _chance(pair.adjusted), pair.comparison.test)
        for pair in result.pairs
    ]  # fmt: skip
    columns = [
        Column("models"),
        Column("figure"),
        Column("difference", "metric", scale=(-1.0, 1.0)),
        Column("p", "number"),
        Column("p, Holm", "number"),
        Column("test"),
    ]
    return Table.of(columns, rows, title=f"{result.question.name}: is one better?")


def fairness_tables(result: QuestionResult, by: str) -> list[Table]:
    """Return the tables by group; none where there are no groups or the question is not yes/no."""
    found = {model.name: model.groups for model in result.models if model.groups is not None}
    return group_tables(result.question.name, by, found) if found else []


def figures_table(evaluation: Evaluation) -> Table:
    """Return every figure as one row, for spreadsheets."""
    rows = []
    for result in evaluation.results:
        for model in result.models:
            for metric in model.report.metrics:
                name, _, label = metric.name.partition(".")
                rows.append((result.question.name, model.name, model.version, name, label, metric.value,
                             metric.low, metric.high, metric.level, metric.n, metric.note, model.seen))  # fmt: skip
    names = ["question", "model", "version", "figure", "label", "value", "low", "high", "level", "n", "note"]
    names.append("learnt from")
    digits = {"value": 6, "low": 6, "high": 6}
    columns = [Column(name, "number", digits[name]) if name in digits else Column(name) for name in names]
    return Table.of(columns, rows)


def _question(result: QuestionResult) -> dict[str, Any]:
    return {
        "n": len(result.gold.rows),
        "gold": result.gold.counts,
        "note": result.gold.note,
        "models": {model.name: _model(model) for model in result.models},
        "do_not_answer": list(result.silent),
        "pairs": [pair.to_dict() for pair in result.pairs],
    }


def _model(model: ModelMetrics) -> dict[str, Any]:
    confusion = None
    if model.table is not None:
        confusion = {"labels": list(model.table.labels), "counts": model.table.matrix.tolist()}
    return {
        "version": model.version,
        "unanswered": model.unanswered,
        "learnt_from": model.seen,
        "calibrated_on": model.calibrated,
        "figures": {metric.name: metric.to_dict() for metric in model.report.metrics},
        "confusion": confusion,
        "roc": [list(point) for point in model.roc],
        "precision_recall": [list(point) for point in model.precision_recall],
        "reliability": [asdict(found) for found in model.reliability],
        **({} if model.groups is None else {"groups": _groups(model.groups)}),
    }


def _groups(found: GroupMetrics) -> dict[str, Any]:
    return {
        "between": {name: metric.to_dict() for name, metric in found.between.items()},
        "rates": {
            group: {name: metric.to_dict() for name, metric in rates.items()} for group, rates in found.rates.items()
        },
    }


def _has(model: ModelMetrics, name: str) -> bool:
    return any(metric.name == name for metric in model.report.metrics)


def _metric(model: ModelMetrics, name: str) -> Metric | None:
    return next((metric for metric in model.report.metrics if metric.name == name), None)


def _defined(model: ModelMetrics, name: str) -> Metric | None:
    """Return a figure, or None where it is not defined: a row a label has no room for the reasons."""
    metric = _metric(model, name)
    return None if metric is None or metric.value is None else metric


def _chance(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"
