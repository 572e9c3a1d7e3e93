"""Measure detectors on labelled posts, question by question, and test each two against each other.

Settled answers and what each detector said in; figures with n and interval, a
confusion matrix, a ROC curve and paired tests out. Nothing is scored here: one
scoring pass a detector has been made before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import combinations
from typing import Any

import numpy as np

from davy.core import Metric, Report, UserError
from davy.core.answers import SEPARATOR
from davy.core.scheme import Question
from davy.corpus.gold import Gold
from davy.evaluation.metrics import (
    NO_ANSWER,
    GroupMetrics,
    classification_metrics,
    confusion_with_gaps,
    macro_f1_of_labels,
    measure_groups,
)
from davy.evaluation.predictions import Mistake, Predictions, find_mistakes
from davy.measure.calibration import Bin, calibration_metrics, reliability
from davy.measure.classification import Confusion, indicator, multilabel
from davy.measure.intervals import Bootstrap, Floats, proportion
from davy.measure.paired_tests import Comparison, holm, mcnemar, paired_bootstrap
from davy.measure.ranking import precision_recall_curve, ranking, roc_curve

CURVE_POINTS = 200
FAMILIES = "families_right"
"""The share of originals that are right together with every contrast or confounder of theirs that is measured."""

Curve = tuple[tuple[float, float], ...]
"""False and true positive rates, from strict to lenient."""


@dataclass(frozen=True, slots=True)
class ModelMetrics:
    """One detector on one question. `table` is missing for questions with several answers, curves where not yes/no.

    `reliability` is of the probability of yes; for other questions of one answer, of the likeliest label's.
    """

    name: str
    version: str
    report: Report
    table: Confusion | None = None
    roc: Curve = ()
    unanswered: int = 0
    seen: int | None = None
    """How many of the posts it learnt from; None where it does not know."""
    precision_recall: Curve = ()
    """Recalls and precisions, from strict to lenient."""
    reliability: tuple[Bin, ...] = ()
    calibrated: int | None = None
    """How many of the posts its temperatures and thresholds were set on; None where it does not know."""
    groups: GroupMetrics | None = None
    """Figures by group, where the evaluation has groups and the question is yes/no."""


@dataclass(frozen=True, slots=True)
class PairedTest:
    """Two detectors on the same posts. `adjusted` is p after Holm's correction for all pairs under one figure."""

    first: str
    second: str
    comparison: Comparison
    adjusted: float

    def to_dict(self) -> dict[str, Any]:
        """Return the test as JSON would have it."""
        return {
            "first": self.first,
            "second": self.second,
            "figure": self.comparison.metric,
            "difference": self.comparison.difference.to_dict(),
            "p": self.comparison.p,
            "p_holm": self.adjusted,
            "test": self.comparison.test,
        }


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """One question: on which posts, how each detector did, and what the tests say."""

    gold: Gold
    models: tuple[ModelMetrics, ...]
    pairs: tuple[PairedTest, ...]
    silent: tuple[str, ...] = ()
    """Detectors that don't answer the question."""

    @property
    def question(self) -> Question:
        """The question that was measured."""
        return self.gold.question


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All questions of one run, with what they rest on."""

    results: tuple[QuestionResult, ...]
    title: str
    data: str
    seed: int
    settings: dict[str, str] = field(default_factory=dict)
    made_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    predictions: tuple[Predictions, ...] = field(default=(), repr=False)
    """What each detector said, post by post, in the posts' order."""
    ids: tuple[str, ...] = field(default=(), repr=False)
    texts: tuple[str | None, ...] = field(default=(), repr=False)
    """The posts' ids and texts, for the lists of errors; none where nobody should read them."""
    by: str = ""
    """The column that names each post's groups; "" where none was asked for."""

    @property
    def models(self) -> dict[str, str]:
        """Name → version of every detector that was measured."""
        return {model.name: model.version for result in self.results for model in result.models}

    def mistakes(self, result: QuestionResult, model: str) -> list[Mistake]:
        """Return the posts that a detector got wrong on a question, the most confident first."""
        return find_mistakes(result.gold, next(known for known in self.predictions if known.name == model))


def evaluate(
    golds: Sequence[Gold],
    detectors: Sequence[Predictions],
    *,
    title: str,
    data: str,
    settings: dict[str, str] | None = None,
    bootstrap: Bootstrap | None = None,
    tests: bool = True,
    groups: tuple[str, Sequence[str | None]] | None = None,
    families: Sequence[str | None] = (),
) -> Evaluation:
    """Return every detector's figures on every question that it answers, and the paired tests unless told not to.

    `groups` are a column's name and its cells, one a post, for figures by group. `families` name for each post the
    original that it belongs to, for the share of families that are right in every post.
    """
    bootstrap = bootstrap or Bootstrap()
    settings = settings or {}
    results = []
    for gold in golds:
        answering = [predictions for predictions in detectors if gold.question.name in predictions.labels]
        silent = tuple(predictions.name for predictions in detectors if predictions not in answering)
        models = tuple(_model_metrics(gold, predictions, title, data, settings, bootstrap) for predictions in answering)
        if families:
            models = tuple(
                replace(model, report=_with_families(model.report, gold, predictions, families))
                for model, predictions in zip(models, answering, strict=True)
            )
        if groups is not None:
            models = tuple(
                replace(model, groups=measure_groups(gold, predictions, groups[1], bootstrap))
                for model, predictions in zip(models, answering, strict=True)
            )
        pairs = _pairs(gold, answering, bootstrap) if tests else ()
        results.append(QuestionResult(gold, models, pairs, silent))
    if not any(result.models for result in results):
        asked = ", ".join(gold.question.name for gold in golds)
        raise UserError(f"No model answers what the posts have settled answers to ({asked}). Name another model")
    by = "" if groups is None else groups[0]
    return Evaluation(tuple(results), title, data, bootstrap.seed, settings, predictions=tuple(detectors), by=by)


def _with_families(report: Report, gold: Gold, predictions: Predictions, families: Sequence[str | None]) -> Report:
    """Return the report with the share of originals that are right together with all that was derived from them."""
    right: dict[str, list[bool]] = {}
    for row, cell, answer in zip(gold.rows, gold.cells, _counted_predictions(gold, predictions), strict=True):
        if family := families[row]:
            right.setdefault(family, []).append(answer == cell)
    whole = [all(each) for each in right.values() if len(each) > 1]
    if not whole:
        return report
    figure = proportion(FAMILIES, sum(whole), len(whole), undefined="no family")
    return replace(report, metrics=(*report.metrics, figure))


def _model_metrics(
    gold: Gold, predictions: Predictions, title: str, data: str, settings: dict[str, str], bootstrap: Bootstrap
) -> ModelMetrics:
    question = gold.question
    answers = _counted_predictions(gold, predictions)
    table: Confusion | None = None
    roc: Curve = ()
    recalls: Curve = ()
    bins: tuple[Bin, ...] = ()
    if question.multilabel:
        labels = question.label_names
        answered = np.array([answer is not None for answer in answers], dtype=bool)
        tables = indicator(gold.cells, labels), indicator(answers, labels)
        metrics = multilabel(*tables, labels, answered=answered, bootstrap=bootstrap)
    else:
        table = confusion_with_gaps(gold.cells, answers, question.label_names)
        metrics = classification_metrics(table, positive=question.positive, bootstrap=bootstrap)
        if question.name in predictions.yes:
            ranked, roc, recalls = _ranking_metrics(gold, predictions, bootstrap)
            metrics = [*metrics[:2], *ranked, *metrics[2:]]
        calibrated, bins = _calibration(gold, predictions, bootstrap)
        metrics = [*metrics, *calibrated]
    report = Report(
        f"{title}: {question.name}",
        tuple(metrics),
        data,
        f"{predictions.name} {predictions.version}".strip(),
        datetime.now(UTC),
        bootstrap.seed,
        settings,
    )
    unanswered = sum(answer is None for answer in answers)
    return ModelMetrics(
        predictions.name,
        predictions.version,
        report,
        table,
        roc,
        unanswered,
        _count_rows(predictions.seen, gold),
        recalls,
        bins,
        _count_rows(predictions.calibrated, gold),
    )


def _count_rows(marks: Sequence[bool] | None, gold: Gold) -> int | None:
    """Return how many of the posts with an answer are marked; None where nothing is known."""
    return None if marks is None else sum(bool(marks[row]) for row in gold.rows)


def scored_rows(gold: Gold, predictions: Predictions) -> tuple[list[bool], list[float]]:
    """Return whether each post that has a probability of yes is a yes, and that probability."""
    scores = [predictions.yes[gold.question.name][row] for row in gold.rows]
    pairs = [(label == gold.question.positive, s) for label, s in zip(gold.cells, scores, strict=True) if s is not None]
    return [flag for flag, _ in pairs], [number for _, number in pairs]


def _ranking_metrics(gold: Gold, predictions: Predictions, bootstrap: Bootstrap) -> tuple[list[Metric], Curve, Curve]:
    """Return AUROC and average precision over the posts that have a score, the ROC and the precision–recall curve."""
    yes, numbers = scored_rows(gold, predictions)
    metrics = ranking(yes, numbers, bootstrap=bootstrap)
    if not any(yes) or all(yes):
        return metrics, (), ()
    false, true, _ = roc_curve(yes, numbers)
    precision, recall, _ = precision_recall_curve(yes, numbers)
    return metrics, _thinned(false, true), _thinned(recall, precision)


def _thinned(xs: Floats, ys: Floats) -> Curve:
    kept = np.unique(np.linspace(0, len(xs) - 1, CURVE_POINTS).round().astype(int))
    return tuple((round(float(x), 5), round(float(y), 5)) for x, y in zip(xs[kept], ys[kept], strict=True))


def _calibration(gold: Gold, predictions: Predictions, bootstrap: Bootstrap) -> tuple[list[Metric], tuple[Bin, ...]]:
    """Return Brier score and calibration error over the posts that have probabilities, and the reliability bins."""
    question = gold.question
    if question.name in predictions.yes:
        yes, numbers = scored_rows(gold, predictions)
        bins = reliability(numbers, yes) if numbers else []
        return calibration_metrics(numbers, yes, bootstrap=bootstrap), tuple(bins)
    if question.name not in predictions.every:
        return [], ()
    names = question.label_names
    cells = [(predictions.every[question.name][row], label) for row, label in zip(gold.rows, gold.cells, strict=True)]
    known = [([chances.get(name, 0.0) for name in names], label) for chances, label in cells if chances is not None]
    table = np.array([chances for chances, _ in known], dtype=np.float64).reshape(len(known), len(names))
    right = np.array([[label == name for name in names] for _, label in known], dtype=bool).reshape(table.shape)
    top = table.argmax(axis=1)
    hits = right[np.arange(len(known)), top]
    bins = reliability(np.clip(table.max(axis=1), 0, 1), hits) if known else []
    return calibration_metrics(table, right, bootstrap=bootstrap), tuple(bins)


def _pairs(gold: Gold, detectors: Sequence[Predictions], bootstrap: Bootstrap) -> tuple[PairedTest, ...]:
    """Return the tests between each two detectors: macro-F1 by paired bootstrap, the share right by McNemar."""
    compared: list[tuple[str, str, Comparison]] = []
    answers = {predictions.name: _counted_predictions(gold, predictions) for predictions in detectors}
    right = {predictions.name: _is_right(gold, predictions) for predictions in detectors}
    for first, second in combinations(answers, 2):
        if not gold.question.multilabel:
            names = gold.question.label_names
            sides = [confusion_with_gaps(gold.cells, answers[name], names) for name in (first, second)]
            wider = max(sides, key=lambda table: len(table.labels))
            cells = [[NO_ANSWER if cell is None else cell for cell in answers[name]] for name in (first, second)]
            compared.append((first, second, paired_bootstrap(
                gold.cells, *cells, labels=wider.labels, bootstrap=bootstrap, value=macro_f1_of_labels(wider)
            )))  # fmt: skip
        compared.append((first, second, mcnemar(right[first], right[second])))
    adjusted: dict[int, float] = {}
    for metric in {comparison.metric for _, _, comparison in compared}:
        places = [i for i, (_, _, comparison) in enumerate(compared) if comparison.metric == metric]
        adjusted |= dict(zip(places, holm([compared[i][2].p for i in places]), strict=True))
    return tuple(PairedTest(*pair, adjusted[i]) for i, pair in enumerate(compared))


def _counted_predictions(gold: Gold, predictions: Predictions) -> list[str | None]:
    """Return what a detector said about the posts that count, labels joined by `|`."""
    answers = predictions.labels[gold.question.name]
    return [None if (answer := answers[row]) is None else SEPARATOR.join(answer) for row in gold.rows]


def _is_right(gold: Gold, predictions: Predictions) -> list[bool]:
    """Return for each post that counts whether a detector's labels are the settled ones, in whatever order."""
    answers = predictions.labels[gold.question.name]
    return [
        (answer := answers[row]) is not None and set(answer) == set(labels)
        for row, labels in zip(gold.rows, gold.labels, strict=True)
    ]
