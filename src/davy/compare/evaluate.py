"""Measure detectors on labelled posts, question by question, and test each two against each other.

Settled answers and what each detector said in; figures with n and interval, a
confusion matrix, a ROC curve and paired tests out. Nothing is scored here: one
scoring pass a detector has been made before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import combinations

import numpy as np

from davy.compare.gold import Gold
from davy.compare.metrics import NO_ANSWER, classification_metrics, confusion_with_gaps, macro_f1_of_labels
from davy.compare.predictions import Predictions
from davy.core import Metric, Report, UserError
from davy.core.answers import SEPARATOR
from davy.core.scheme import Question
from davy.measure.classification import Confusion
from davy.measure.intervals import Bootstrap
from davy.measure.multilabel import indicator, multilabel
from davy.measure.paired_tests import Comparison, holm, mcnemar, paired_bootstrap
from davy.measure.ranking import ranking, roc_curve

CURVE_POINTS = 200

Curve = tuple[tuple[float, float], ...]
"""False and true positive rates, from strict to lenient."""


@dataclass(frozen=True, slots=True)
class ModelMetrics:
    """One detector on one question. `table` is missing for questions with several answers, `roc` where not yes/no."""

    name: str
    version: str
    report: Report
    table: Confusion | None = None
    roc: Curve = ()
    unanswered: int = 0
    seen: int | None = None
    """How many of the posts it learnt from; None where it does not know."""


@dataclass(frozen=True, slots=True)
class PairedTest:
    """Two detectors on the same posts. `adjusted` is p after Holm's correction for all pairs under one figure."""

    first: str
    second: str
    comparison: Comparison
    adjusted: float


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

    @property
    def models(self) -> dict[str, str]:
        """Name → version of every detector that was measured."""
        return {model.name: model.version for result in self.results for model in result.models}


def evaluate(
    golds: Sequence[Gold],
    detectors: Sequence[Predictions],
    *,
    title: str,
    data: str,
    settings: dict[str, str] | None = None,
    bootstrap: Bootstrap | None = None,
    tests: bool = True,
) -> Evaluation:
    """Return every detector's figures on every question that it answers, and the paired tests unless told not to."""
    bootstrap = bootstrap or Bootstrap()
    settings = settings or {}
    results = []
    for gold in golds:
        answering = [predictions for predictions in detectors if gold.question.name in predictions.labels]
        silent = tuple(predictions.name for predictions in detectors if predictions not in answering)
        models = tuple(_model_metrics(gold, predictions, title, data, settings, bootstrap) for predictions in answering)
        pairs = _pairs(gold, answering, bootstrap) if tests else ()
        results.append(QuestionResult(gold, models, pairs, silent))
    if not any(result.models for result in results):
        asked = ", ".join(gold.question.name for gold in golds)
        raise UserError(f"No model answers what the posts have settled answers to ({asked}). Name another model")
    return Evaluation(tuple(results), title, data, bootstrap.seed, settings, predictions=tuple(detectors))


def _model_metrics(
    gold: Gold, predictions: Predictions, title: str, data: str, settings: dict[str, str], bootstrap: Bootstrap
) -> ModelMetrics:
    question = gold.question
    answers = _counted_predictions(gold, predictions)
    table: Confusion | None = None
    roc: Curve = ()
    if question.kind == "many":
        labels = question.label_names
        metrics = multilabel(
            indicator(gold.cells, labels), indicator(_joined(answers), labels), labels, bootstrap=bootstrap
        )
    else:
        table = confusion_with_gaps(gold.cells, answers, question.label_names)
        metrics = classification_metrics(table, positive=question.positive, bootstrap=bootstrap)
        if question.name in predictions.yes:
            ranked, roc = _ranking_metrics(gold, predictions, bootstrap)
            metrics = [*metrics[:2], *ranked, *metrics[2:]]
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
    seen = None if predictions.seen is None else sum(bool(predictions.seen[row]) for row in gold.rows)
    return ModelMetrics(predictions.name, predictions.version, report, table, roc, unanswered, seen)


def _ranking_metrics(gold: Gold, predictions: Predictions, bootstrap: Bootstrap) -> tuple[list[Metric], Curve]:
    """Return AUROC and average precision over the posts that have a score, and the ROC curve."""
    scores = [predictions.yes[gold.question.name][row] for row in gold.rows]
    pairs = [(label == gold.question.positive, s) for label, s in zip(gold.cells, scores, strict=True) if s is not None]
    yes, numbers = [flag for flag, _ in pairs], [number for _, number in pairs]
    metrics = ranking(yes, numbers, bootstrap=bootstrap)
    if not any(yes) or all(yes):
        return metrics, ()
    false, true, _ = roc_curve(yes, numbers)
    kept = np.unique(np.linspace(0, len(false) - 1, CURVE_POINTS).round().astype(int))
    return metrics, tuple(
        (round(float(x), 5), round(float(y), 5)) for x, y in zip(false[kept], true[kept], strict=True)
    )


def _pairs(gold: Gold, detectors: Sequence[Predictions], bootstrap: Bootstrap) -> tuple[PairedTest, ...]:
    """Return the tests between each two detectors: macro-F1 by paired bootstrap, the share right by McNemar."""
    compared: list[tuple[str, str, Comparison]] = []
    answers = {predictions.name: _counted_predictions(gold, predictions) for predictions in detectors}
    right = {
        name: [a == g for a, g in zip(predictions, gold.cells, strict=True)] for name, predictions in answers.items()
    }
    for first, second in combinations(answers, 2):
        if gold.question.kind != "many":
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


def _joined(answers: Sequence[str | None]) -> list[str]:
    return ["" if answer is None else answer for answer in answers]
