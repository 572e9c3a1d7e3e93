"""A task that systems are ranked by: one question, its labels and the figure that decides.

Labels and a metric's name in, a `Task` out. Metrics of our own are computed for all systems and resamples at once;
any other name is looked up among scikit-learn's metrics, which is slower.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from davy.core.errors import UserError, nearest
from davy.core.install import install_extra
from davy.core.scheme import Question
from davy.measure.classification import MARGIN_FIGURES
from davy.measure.intervals import Floats

KINDS = ("labels", "score")
SCORE_METRICS = ("auroc", "average_precision")
TITLES = {
    "macro_f1": "macro-F1",
    "weighted_f1": "weighted F1",
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "mcc": "MCC",
    "auroc": "AUROC",
    "average_precision": "average precision",
}


@dataclass(frozen=True, slots=True)
class Task:
    """What is predicted, and by which figure systems are ranked.

    Predictions of kind `labels` are one of `labels` a post; of kind `score`, a number that is higher the likelier
    `positive` is.
    """

    name: str
    question: str
    labels: tuple[str, ...]
    metric: str = "macro_f1"
    kind: str = "labels"
    positive: str | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UserError(f"Task {self.name!r} has kind {self.kind!r}. Use one of: {', '.join(KINDS)}")
        if len(self.labels) < 2 or len(set(self.labels)) < len(self.labels):
            raise UserError(f"Task {self.name!r} needs two different labels or more; it has {', '.join(self.labels)}")
        if self.positive is not None and self.positive not in self.labels:
            raise UserError(f"Task {self.name!r}: {self.positive!r} is not one of {', '.join(self.labels)}")
        if self.kind == "score" and (len(self.labels) != 2 or self.positive is None):
            raise UserError(
                f"Task {self.name!r} ranks by scores, so it needs two labels and says which one is positive"
            )
        check_metric(self.metric, self.kind)

    @staticmethod
    def of(question: Question, metric: str = "macro_f1", *, name: str = "") -> Task:
        """Return the task of a question: by scores where the metric is one of scores."""
        kind = "score" if metric in SCORE_METRICS or metric in _score_scorers() else "labels"
        return Task(name or question.name, question.name, question.label_names, metric, kind, question.positive)

    @property
    def column(self) -> str:
        """The column of predictions: `label` or `score`."""
        return "label" if self.kind == "labels" else "score"

    @property
    def title(self) -> str:
        """The metric as people write it."""
        return TITLES.get(self.metric, self.metric)

    @property
    def vectorised(self) -> bool:
        """Whether the metric is computed for all systems and resamples at once."""
        return self.metric in (MARGIN_FIGURES if self.kind == "labels" else SCORE_METRICS)


def check_metric(name: str, kind: str = "labels") -> None:
    """Refuse a metric that nobody can compute for this kind of predictions."""
    own = list(MARGIN_FIGURES) if kind == "labels" else list(SCORE_METRICS)
    if name in own:
        return
    if name in MARGIN_FIGURES or name in SCORE_METRICS:
        wanted = "scores" if name in SCORE_METRICS else "labels"
        raise UserError(f"Metric {name!r} is one of {wanted}, but the predictions are {kind}. Use: {', '.join(own)}")
    sklearn_metric(name, kind)


def sklearn_metric(name: str, kind: str = "labels") -> Callable[[Any, Any, Floats, Any], float]:
    """Return a scikit-learn metric as a function of gold, predictions and weights; higher is better.

    `name` is that of a scorer (`f1_micro`, `roc_auc`) or of a function of `sklearn.metrics` (`cohen_kappa_score`).
    """
    try:
        from sklearn import metrics
    except ImportError:
        raise UserError(f"Metric {name!r} needs scikit-learn: {install_extra('train')}") from None
    scorers = {known: metrics.get_scorer(known) for known in metrics.get_scorer_names()}
    if name in scorers:
        scorer = scorers[name]
        if (name in _score_scorers()) != (kind == "score"):
            raise UserError(f"Metric {name!r} does not measure {kind}. Choose another, or change the kind of the task")
        function, sign, options = scorer._score_func, scorer._sign, scorer._kwargs
    elif name.endswith("_score") and hasattr(metrics, name):
        function, sign, options = getattr(metrics, name), 1, {}
    else:
        known = [*MARGIN_FIGURES, *SCORE_METRICS, *scorers]
        raise UserError(
            f"There is no metric {name!r}.{nearest(name, known)} Use {', '.join([*MARGIN_FIGURES, *SCORE_METRICS])}, "
            "or a scorer of scikit-learn"
        )
    needs_positive = "pos_label" in _parameters(function) and options.get("average", "binary") == "binary"

    def value(gold: Any, predicted: Any, weights: Floats, positive: Any = None) -> float:
        more = {"pos_label": positive} if needs_positive and positive is not None else {}
        if "zero_division" in _parameters(function):
            more["zero_division"] = 0
        return float(sign * function(gold, predicted, sample_weight=weights, **options, **more))

    try:
        value(np.array([0, 1]), np.array([0, 1]), np.ones(2), 1)
    except Exception as error:  # noqa: BLE001 - any refusal of scikit-learn's means the same to the user
        raise UserError(f"Metric {name!r} of scikit-learn can't measure {kind}: {str(error)[:120]}") from None
    return value


def _parameters(function: Any) -> tuple[str, ...]:
    from inspect import signature

    return tuple(signature(function).parameters)


def _score_scorers() -> frozenset[str]:
    """Scorers of scikit-learn that want a score for each item instead of a label."""
    return frozenset(
        {"roc_auc", "average_precision", "neg_log_loss", "neg_brier_score", "d2_log_loss_score", "d2_brier_score"}
    )
