"""How well predicted labels match the settled ones, one label an item or several.

Gold and predicted labels in, metrics out. Everything is a function of the confusion matrix (gold rows × predicted
columns), which is all that is resampled: a bootstrap over a million posts costs what one over a hundred does.
Proportions carry Wilson intervals, the rest bootstrap intervals. A class that occurs neither in gold nor among the
predictions has no F1 and does not enter a macro average, as in scikit-learn's default. For several answers, columns of
joined labels (`a|b`, empty for none) or yes/no matrices (items × labels) come in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from davy.core import Metric, UserError
from davy.measure.columns import is_missing
from davy.measure.intervals import Bootstrap, Floats, Ints, distinct_rows, proportion
from davy.measure.ratings import order_labels, split_labels


@dataclass(frozen=True, slots=True)
class Confusion:
    """How often each gold label (row) got each predicted label (column)."""

    matrix: Ints
    labels: tuple[str, ...]

    @property
    def n(self) -> int:
        """How many items were compared."""
        return int(self.matrix.sum())

    def cells(self, positive: str) -> tuple[int, int, int, int]:
        """Return true positives, false positives, false negatives, true negatives for one label."""
        if str(positive) not in self.labels:
            raise UserError(f"There is no label {positive!r} to count as yes; the labels are {', '.join(self.labels)}")
        at = self.labels.index(str(positive))
        hit = int(self.matrix[at, at])
        false_alarms = int(self.matrix[:, at].sum()) - hit
        missed = int(self.matrix[at].sum()) - hit
        return hit, false_alarms, missed, self.n - hit - false_alarms - missed


def encode_labels(labels: Sequence[str], *columns: Sequence[str | None]) -> tuple[list[Ints], tuple[str, ...]]:
    """Return each column's label codes, and the labels: those given, else all that occur, in order.

    Columns of different lengths, missing labels and labels that are not among those given are errors.
    """
    lengths = {len(column) for column in columns}
    if len(lengths) > 1:
        raise UserError(f"Labels to compare differ in number: {', '.join(str(len(column)) for column in columns)} rows")
    missing = sum(is_missing(label) for column in columns for label in column)
    if missing:
        raise UserError(f"{missing} labels are missing. Drop those rows, or fill them in, before measuring")
    names = tuple(labels) or order_labels({str(label) for column in columns for label in column})
    known = {name: i for i, name in enumerate(names)}
    try:
        codes = [np.array([known[str(label)] for label in column], dtype=np.int64) for column in columns]
    except KeyError as error:
        raise UserError(f"Label {error.args[0]!r} is not one of {', '.join(names)}. Map or drop it first") from None
    return codes, names


def confusion(gold: Sequence[str], predicted: Sequence[str], labels: Sequence[str] = ()) -> Confusion:
    """Return the confusion matrix of two columns of labels."""
    (rows, columns), names = encode_labels(labels, gold, predicted)
    width = len(names)
    flat = np.bincount(rows * width + columns, minlength=width * width)
    return Confusion(flat.reshape(width, width).astype(np.int64), names)


# Figures of a confusion matrix, or of a stack of them (…, k, k); nan where not defined.


@dataclass(frozen=True, slots=True)
class Margins:
    """What every figure here needs of a confusion matrix, or of a stack of them, label by label on the last axis.

    An item without a prediction counts in `gold` alone, so that it is missed and enters no label's precision.
    """

    hits: Floats
    gold: Floats
    predicted: Floats

    @classmethod
    def of(cls, matrix: Floats) -> Margins:
        """Return the margins of a confusion matrix."""
        return cls(np.diagonal(matrix, axis1=-2, axis2=-1), matrix.sum(axis=-1), matrix.sum(axis=-2))

    @property
    def accuracy(self) -> Floats:
        """The share of items that are right."""
        return _ratio(self.hits.sum(axis=-1), self.gold.sum(axis=-1))

    @property
    def recall(self) -> Floats:
        """For each label the share of its gold items that were found."""
        return _ratio(self.hits, self.gold)

    @property
    def f1(self) -> Floats:
        """For each label the harmonic mean of precision and recall; 0 where nothing was found."""
        return _ratio(2 * self.hits, self.gold + self.predicted)

    @property
    def macro_f1(self) -> Floats:
        """The mean F1 over the labels that occur in gold or among the predictions."""
        return mean_of_defined(self.f1)

    @property
    def weighted_f1(self) -> Floats:
        """The mean F1 weighted by how often each label occurs in gold."""
        each = np.where(self.gold > 0, self.f1, 0)
        return _ratio((each * self.gold).sum(axis=-1), self.gold.sum(axis=-1))

    @property
    def balanced_accuracy(self) -> Floats:
        """The mean recall over the labels that occur in gold."""
        return mean_of_defined(self.recall)

    @property
    def mcc(self) -> Floats:
        """Matthews' correlation, for two labels or more; not defined where either side has one label only."""
        total = self.gold.sum(axis=-1)
        unanswered = total - self.predicted.sum(axis=-1)
        covariance = self.hits.sum(axis=-1) * total - (self.gold * self.predicted).sum(axis=-1)
        answers = (self.predicted**2).sum(axis=-1) + unanswered**2
        return _ratio(covariance, np.sqrt((total**2 - (self.gold**2).sum(axis=-1)) * (total**2 - answers)))


def accuracy(matrix: Floats) -> Floats:
    """Return the share of items on the diagonal."""
    return Margins.of(matrix).accuracy


def precision(matrix: Floats) -> Floats:
    """Return for each label the share of its predictions that are right."""
    margins = Margins.of(matrix)
    return _ratio(margins.hits, margins.predicted)


def recall(matrix: Floats) -> Floats:
    """Return for each label the share of its gold items that were found."""
    return Margins.of(matrix).recall


def f1(matrix: Floats) -> Floats:
    """Return for each label the harmonic mean of precision and recall; 0 where nothing was found."""
    return Margins.of(matrix).f1


def macro_f1(matrix: Floats) -> Floats:
    """Return the mean F1 over the labels that occur in gold or among the predictions."""
    return Margins.of(matrix).macro_f1


def macro_f1_of_tables(gold: ArrayLike, chosen: ArrayLike) -> float:
    """Return `macro_f1` from yes/no tables (items × labels); 0 where no label occurs."""
    right, picks = np.asarray(gold, dtype=bool), np.asarray(chosen, dtype=bool)
    occurs = right.any(axis=0) | picks.any(axis=0)
    if not occurs.any():
        return 0.0
    both, sizes = (right & picks).sum(axis=0), right.sum(axis=0) + picks.sum(axis=0)
    return float((2 * both[occurs] / sizes[occurs]).mean())


def weighted_f1(matrix: Floats) -> Floats:
    """Return the mean F1 weighted by how often each label occurs in gold."""
    return Margins.of(matrix).weighted_f1


def balanced_accuracy(matrix: Floats) -> Floats:
    """Return the mean recall over the labels that occur in gold."""
    return Margins.of(matrix).balanced_accuracy


def mcc(matrix: Floats) -> Floats:
    """Return Matthews' correlation, for two labels or more; not defined where either side has one label only."""
    return Margins.of(matrix).mcc


FIGURES: dict[str, Callable[[Floats], Floats]] = {
    "accuracy": accuracy,
    "macro_f1": macro_f1,
    "weighted_f1": weighted_f1,
    "balanced_accuracy": balanced_accuracy,
    "mcc": mcc,
}
MARGIN_FIGURES: dict[str, Callable[[Margins], Floats]] = {
    "accuracy": lambda margins: margins.accuracy,
    "macro_f1": lambda margins: margins.macro_f1,
    "weighted_f1": lambda margins: margins.weighted_f1,
    "balanced_accuracy": lambda margins: margins.balanced_accuracy,
    "mcc": lambda margins: margins.mcc,
}
"""The same figures from margins, where many systems or resamples are computed at once."""


def figure(name: str) -> Callable[[Floats], Floats]:
    """Return the figure of a confusion matrix by its name; an unknown name lists those there are."""
    if name not in FIGURES:
        raise UserError(f"Metric {name!r} is unknown. Use one of: {', '.join(FIGURES)}")
    return FIGURES[name]


def metric_with_interval(
    name: str,
    gold: Sequence[str],
    predicted: Sequence[str],
    labels: Sequence[str] = (),
    *,
    bootstrap: Bootstrap | None = None,
) -> Metric:
    """Return one figure by name, with its interval."""
    table = confusion(gold, predicted, labels)
    if name == "accuracy":
        return proportion(name, int(np.trace(table.matrix)), table.n, level=(bootstrap or Bootstrap()).level)
    return _bootstrapped([name], table, lambda m: figure(name)(m)[..., None], bootstrap)[0]


def classify(table: Confusion, *, positive: str | None = None, bootstrap: Bootstrap | None = None) -> list[Metric]:
    """Return accuracy, macro and weighted F1, balanced accuracy and MCC, then precision, recall and F1 for each label.

    With `positive`, the yes of a yes/no question, the false positive and false negative rates and the selection rate
    come too. Names of figures for one label read `f1.LABEL`.
    """
    bootstrap = bootstrap or Bootstrap()
    level = bootstrap.level
    overall = [name for name in FIGURES if name != "accuracy"]

    def both(matrix: Floats) -> Floats:
        return np.concatenate([np.stack([FIGURES[name](matrix) for name in overall], axis=-1), f1(matrix)], axis=-1)

    found = _bootstrapped([*overall, *(f"f1.{label}" for label in table.labels)], table, both, bootstrap)
    metrics = [proportion("accuracy", int(np.trace(table.matrix)), table.n, level=level), *found[: len(overall)]]
    for label, harmonic in zip(table.labels, found[len(overall) :], strict=True):
        hit, false_alarms, missed, _ = table.cells(label)
        never = f"not defined: {label!r} was never predicted"
        metrics.append(proportion(f"precision.{label}", hit, hit + false_alarms, level=level, undefined=never))
        absent = f"not defined: {label!r} does not occur in gold"
        metrics.append(proportion(f"recall.{label}", hit, hit + missed, level=level, undefined=absent))
        metrics.append(harmonic)
    return [*metrics, *(rates(table, positive, level=level) if positive is not None else [])]


def rates(table: Confusion, positive: str, *, level: float = 0.95) -> list[Metric]:
    """Return the false positive rate, the false negative rate and the selection rate of a yes/no question."""
    hit, false_alarms, missed, cleared = table.cells(positive)
    negatives, positives = "not defined: no gold negatives", "not defined: no gold positives"
    return [
        proportion("fpr", false_alarms, false_alarms + cleared, level=level, undefined=negatives),
        proportion("fnr", missed, hit + missed, level=level, undefined=positives),
        proportion("selection_rate", hit + false_alarms, table.n, level=level),
    ]


def _bootstrapped(
    names: list[str], table: Confusion, figures: Callable[[Floats], Floats], bootstrap: Bootstrap | None
) -> list[Metric]:
    """Return figures of the matrix with intervals: each filled cell is one kind of item."""
    bootstrap = bootstrap or Bootstrap()
    width = len(table.labels)
    if table.n == 0:
        return [Metric(name, None, 0, level=bootstrap.level, note="not defined: no items") for name in names]
    filled = np.flatnonzero(table.matrix)
    features = np.zeros((len(filled), width * width))
    features[np.arange(len(filled)), filled] = 1
    return bootstrap.metrics(
        names,
        features,
        lambda sums: figures(sums.reshape(*sums.shape[:-1], width, width)),
        copies=table.matrix.ravel()[filled],
        undefined="not defined: a label that it needs does not occur",
    )


def _ratio(above: Floats, below: Floats) -> Floats:
    above, below = np.asarray(above, dtype=np.float64), np.asarray(below, dtype=np.float64)
    return np.where(below > 0, above / np.where(below > 0, below, 1), np.nan)


def mean_of_defined(each: Floats) -> Floats:
    """Return the mean over the labels (last axis) for which a figure is defined; nan where it is for none."""
    defined = np.isfinite(each)
    return _ratio(np.where(defined, each, 0).sum(axis=-1), defined.sum(axis=-1))


def indicator(cells: Sequence[str | None], labels: Sequence[str]) -> NDArray[np.bool_]:
    """Return the yes/no matrix of a column of joined labels; a label that is not listed is an error."""
    known = {label: j for j, label in enumerate(labels)}
    matrix = np.zeros((len(cells), len(labels)), dtype=bool)
    for i, cell in enumerate(cells):
        for label in split_labels(cell):
            if label not in known:
                raise UserError(
                    f"Label {label!r} in row {i + 1} is not one of {', '.join(labels)}. Map or drop it first"
                )
            matrix[i, known[label]] = True
    return matrix


def multilabel(
    gold: NDArray[np.bool_],
    predicted: NDArray[np.bool_],
    labels: Sequence[str],
    *,
    answered: NDArray[np.bool_] | None = None,
    bootstrap: Bootstrap | None = None,
) -> list[Metric]:
    """Return exact match, Hamming loss, micro, macro, weighted and per-item F1, then figures for each label.

    Two empty sets match: their per-item F1 is 1 (scikit-learn's `zero_division=1`). An item that was not `answered`
    matches nothing. Names read `f1.LABEL`.
    """
    if gold.shape != predicted.shape or gold.shape[1:] != (len(labels),):
        raise UserError(f"Tables of {gold.shape} and {predicted.shape} yes/no answers don't fit {len(labels)} labels")
    bootstrap = bootstrap or Bootstrap()
    width, n = len(labels), len(gold)
    given = np.ones(n, dtype=bool) if answered is None else answered
    rows, copies = distinct_rows(np.concatenate([gold, predicted, given[:, None]], axis=1).astype(np.int64))
    sides = rows[:, :width].astype(bool), rows[:, width:-1].astype(bool), rows[:, -1].astype(bool)
    names = ["hamming_loss", "micro_f1", "macro_f1", "weighted_f1", "samples_f1", *(f"f1.{label}" for label in labels)]
    exact = proportion("exact_match", int(((gold == predicted).all(axis=1) & given).sum()), n, level=bootstrap.level)
    if n == 0:
        return [exact, *(Metric(name, None, 0, note="not defined: no items") for name in names)]
    metrics = bootstrap.metrics(
        names,
        _features(*sides),
        lambda sums: _figures(sums, width),
        copies=copies,
        undefined="not defined: the label occurs neither in gold nor among the predictions",
    )
    return [exact, *metrics[:5], *_per_label(gold, predicted, labels, metrics[5:], bootstrap.level)]


def _per_label(
    gold: NDArray[np.bool_],
    predicted: NDArray[np.bool_],
    labels: Sequence[str],
    harmonic: list[Metric],
    level: float,
) -> list[Metric]:
    metrics = []
    for j, label in enumerate(labels):
        hit, chosen, true = (int(x.sum()) for x in (gold[:, j] & predicted[:, j], predicted[:, j], gold[:, j]))
        never, absent = f"not defined: {label!r} was never predicted", f"not defined: {label!r} does not occur in gold"
        metrics.append(proportion(f"precision.{label}", hit, chosen, level=level, undefined=never))
        metrics.append(proportion(f"recall.{label}", hit, true, level=level, undefined=absent))
        metrics.append(harmonic[j])
    return metrics


def _features(gold: NDArray[np.bool_], predicted: NDArray[np.bool_], answered: NDArray[np.bool_]) -> Floats:
    """Return for each distinct item: 1, its per-item F1, and for each label hits, chosen, true."""
    both = gold & predicted
    sizes = gold.sum(axis=1) + predicted.sum(axis=1)
    own = np.where(sizes > 0, 2 * both.sum(axis=1) / np.maximum(sizes, 1), answered)
    return np.concatenate([np.ones((len(gold), 1)), own[:, None], both, predicted, gold], axis=1, dtype=np.float64)


def _figures(sums: Floats, width: int) -> Floats:
    n, own = sums[..., 0], sums[..., 1]
    hits, chosen, true = (sums[..., 2 + i * width : 2 + (i + 1) * width] for i in range(3))
    wrong = (chosen + true - 2 * hits).sum(axis=-1)
    present = chosen + true > 0
    each = np.where(present, 2 * hits / np.where(present, chosen + true, 1), np.nan)
    filled = np.where(present, each, 0)
    overall = [
        wrong / (n * width),
        2 * hits.sum(axis=-1) / (chosen + true).sum(axis=-1),
        filled.sum(axis=-1) / present.sum(axis=-1),
        (filled * true).sum(axis=-1) / true.sum(axis=-1),
        own / n,
    ]
    return np.concatenate([np.stack(overall, axis=-1), each], axis=-1)
