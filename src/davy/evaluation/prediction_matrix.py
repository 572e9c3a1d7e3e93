"""The predictions of many systems on the same items, as one packed matrix a question.

A gold frame with `Q.gold` columns and a scheme, or with a plain column `label`, in; a frame or a file for each system,
or one wide file with a column a system, in; codes of a byte an item out, which board and error analysis work on: 200
systems on 4,000 items are 800 kB. A label in any spelling that the scheme knows is taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from davy.core.errors import UserError
from davy.core.scheme import Question, Scheme
from davy.corpus.gold import Gold, parse_gold_column
from davy.evaluation.predictions import Predictions, align_predictions, read_predictions
from davy.evaluation.tasks import Task
from davy.measure.ratings import order_labels

if TYPE_CHECKING:
    import polars as pl


NONE = -1
"""The code of an item without a prediction."""
Codes = NDArray[np.int16]


@dataclass(frozen=True, slots=True)
class PredictionMatrix:
    """`gold[i]` is the place of item i's label in the task's labels; `values[s, i]` what system s said of it.

    Values are places of labels (`NONE` where a system gave none), or scores where the task is one of scores.
    """

    task: Task
    ids: tuple[str, ...]
    gold: Codes
    systems: tuple[str, ...]
    values: NDArray[np.generic]

    @property
    def yes(self) -> NDArray[np.bool_]:
        """Which items have the positive label."""
        if self.task.positive is None:
            raise UserError(f"Task {self.task.name!r} has no positive label")
        return np.asarray(self.gold == self.task.labels.index(self.task.positive))

    @property
    def right(self) -> NDArray[np.bool_]:
        """Which system (row) got which item (column) right."""
        if self.task.kind != "labels":
            raise UserError(f"Task {self.task.name!r} has scores, which are neither right nor wrong. Use labels")
        return np.asarray(self.values == self.gold[None, :])

    def select(self, systems: Sequence[str]) -> PredictionMatrix:
        """Return the matrix of these systems only, in this order."""
        places = [self.systems.index(name) for name in systems]
        return PredictionMatrix(self.task, self.ids, self.gold, tuple(systems), self.values[places])


def pack_predictions(gold: pl.DataFrame, predictions: Mapping[str, pl.DataFrame], task: Task) -> PredictionMatrix:
    """Return the matrix of frames with `id` and `label` (or `score`).

    An item without a label counts as an error of the system; an item without a score, a label outside the task and an
    id that is unknown or doubled are errors of the file.
    """
    ids, labels = _columns(gold, "The gold file", "label")
    codes = _codes(labels, task, "The gold file", ids)
    if not ids:
        raise UserError("The gold file has no items to rank systems on")
    if (codes == NONE).any():
        raise UserError(f"The gold file has no label for id {ids[int((codes == NONE).argmax())]!r}")
    if not predictions:
        raise UserError("There are no predictions to rank. Give one file of predictions a system")
    places = {post_id: i for i, post_id in enumerate(ids)}
    rows = [_system(name, frame, task, places) for name, frame in predictions.items()]
    return PredictionMatrix(task, tuple(ids), codes, tuple(predictions), np.stack(rows))


def _system(name: str, frame: pl.DataFrame, task: Task, places: Mapping[str, int]) -> NDArray[np.generic]:
    ids, cells = _columns(frame, name, task.column)
    unknown = [post_id for post_id in ids if post_id not in places]
    if unknown:
        raise UserError(f"{name} has {len(unknown):,} ids that the gold file does not have, such as {unknown[0]!r}")
    at = np.array([places[post_id] for post_id in ids], dtype=np.int64)
    if task.kind == "labels":
        codes = np.full(len(places), NONE, dtype=np.int16)
        codes[at] = _codes(cells, task, name, ids)
        return codes
    scores = np.full(len(places), np.nan)
    try:
        scores[at] = np.array([np.nan if cell is None else float(cell) for cell in cells])
    except ValueError:
        raise UserError(f"{name} has scores that are not numbers") from None
    broken = np.flatnonzero(~np.isfinite(scores))
    if len(broken):
        example = next(post_id for post_id, i in places.items() if i == broken[0])
        raise UserError(f"{name} has no finite score for {len(broken):,} of {len(places):,} items, such as {example!r}")
    return scores


def _columns(frame: pl.DataFrame, file: str, column: str) -> tuple[list[str], list[Any]]:
    import polars as pl

    for wanted in ("id", column):
        if wanted not in frame.columns:
            raise UserError(f"{file} has no column {wanted!r}; it has {', '.join(frame.columns)}")
    ids = frame["id"].cast(pl.String)
    if ids.null_count():
        raise UserError(f"{file}: row {int(ids.is_null().arg_max() or 0) + 1} has no id")
    if ids.n_unique() < len(ids):
        raise UserError(f"{file} has id {ids.filter(ids.is_duplicated())[0]!r} more than once. Keep one row an id")
    return ids.to_list(), frame[column].to_list()


def _codes(cells: Sequence[Any], task: Task, file: str, ids: Sequence[str]) -> Codes:
    known: dict[object, int] = {None: NONE, **{label: i for i, label in enumerate(task.labels)}}
    try:
        return np.array([known[cell if cell is None else str(cell)] for cell in cells], dtype=np.int16)
    except KeyError as error:
        row = next(i for i, cell in enumerate(cells) if cell is not None and str(cell) == error.args[0])
        raise UserError(
            f"{file}: id {ids[row]!r} has label {str(error.args[0])[:60]!r}; task {task.name!r} knows "
            f"{', '.join(task.labels)}"
        ) from None


Frames = Mapping[str, "pl.DataFrame"]


def split_wide(file: str, frame: pl.DataFrame, column: str) -> dict[str, pl.DataFrame]:
    """Return one frame a system of a wide file, whose columns but `id` are systems."""
    systems = [name for name in frame.columns if name != "id"]
    if "id" not in frame.columns or not systems:
        raise UserError(f"{file} needs a column 'id' and one column a system; it has {', '.join(frame.columns)}")
    return {name: frame.select("id", frame[name].alias(column)) for name in systems}


def is_wide(frame: pl.DataFrame) -> bool:
    """Return whether a file of predictions has a column a system, instead of `label`, `score` or `Q.label`."""
    names = [name for name in frame.columns if name != "id"]
    return not any(name in ("label", "score") or name.endswith(".label") for name in names)


def without_copies(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a system's answers without `label` beside `Q.label`, and `score` beside `Q`.

    `davy score` keeps the columns of its input, so that a plain one may be the gold label.
    """
    named = [name.removesuffix(".label") for name in frame.columns if name.endswith(".label")]
    copies = [*(["label"] if named else []), *(["score"] if set(named) & set(frame.columns) else [])]
    return frame.drop(copies, strict=False)


def plain_matrix(gold: pl.DataFrame, systems: Frames, metric: str, *, positive: str | None = None) -> PredictionMatrix:
    """Return the matrix of a gold file with a column `label`, without a scheme: its labels are the task's."""
    import polars as pl

    kind = _kind(metric)
    labels = order_labels({str(label) for label in gold["label"].cast(pl.String).drop_nulls()})
    if kind == "score" and positive is None:
        raise UserError(f"{metric} needs to know which label is the yes: --positive LABEL, one of {', '.join(labels)}")
    if kind == "labels" and positive is None and len(labels) == 2:
        positive = next((name for name in labels if name.lower() in ("1", "yes", "true")), None)
    return pack_predictions(gold, systems, Task("label", "label", labels, metric, kind, positive))


def scheme_matrices(
    posts: pl.DataFrame,
    golds: Sequence[Gold],
    systems: Frames,
    scheme: Scheme,
    metric: str,
    *,
    every: Sequence[str],
    source: str,
) -> list[PredictionMatrix]:
    """Return one matrix for each question with gold that some system answers; systems that don't are left out.

    `every` are the ids of the whole gold file: predictions for a split of it may cover more than that.
    """
    ids = posts["id"].to_list()
    golds = [gold for gold in golds if gold.question.nominal]
    read: dict[str, Predictions] = {}
    for name, frame in systems.items():
        aligned = align_predictions(frame, ids, every, file=name, posts=source)
        if "label" in frame.columns or "score" in frame.columns:
            aligned = _rename_columns(aligned, _only(golds, name))
        read[name] = read_predictions(name, "", aligned, scheme, file=name) if metric not in SCORES else _scored(
            name, aligned, golds
        )  # fmt: skip
    matrices = []
    for gold in golds:
        answering = [
            predictions for predictions in read.values() if gold.question.name in _answers(predictions, metric)
        ]
        if answering:
            matrices.append(_matrix(gold, answering, ids, metric))
    if not matrices:
        raise UserError(f"No file answers what {source} has settled answers to with one label. Name the question")
    return matrices


SCORES = ("auroc", "average_precision")


def _kind(metric: str) -> str:
    return "score" if metric in SCORES else "labels"


def _only(golds: Sequence[Gold], file: str) -> Question:
    if len(golds) != 1:
        asked = ", ".join(gold.question.name for gold in golds)
        raise UserError(f"{file} could answer {asked}. Name its columns Q.label, or the question: --question Q")
    return golds[0].question


def _rename_columns(frame: pl.DataFrame, question: Question) -> pl.DataFrame:
    names = {"label": f"{question.name}.label", "score": question.name}
    return frame.rename({old: new for old, new in names.items() if old in frame.columns})


def _scored(name: str, frame: pl.DataFrame, golds: Sequence[Gold]) -> Predictions:
    """Return a system's scores: any finite numbers, which need not be probabilities."""
    import polars as pl

    questions = [gold.question.name for gold in golds if gold.question.positive and gold.question.name in frame.columns]
    scores = {question: frame[question].cast(pl.Float64, strict=False).to_list() for question in questions}
    if not scores:
        raise UserError(f"{name} has no column of scores; it has {', '.join(frame.columns)}. Give a column Q or score")
    return Predictions(name, "", {}, scores)


def _answers(system: Predictions, metric: str) -> Mapping[str, object]:
    return system.yes if metric in SCORES else system.labels


def _matrix(gold: Gold, systems: Sequence[Predictions], ids: Sequence[str], metric: str) -> PredictionMatrix:
    question = gold.question
    task = Task.of(question, metric)
    code: dict[tuple[str, ...], int] = {(label,): i for i, label in enumerate(question.label_names)}
    golden = np.array([code[labels] for labels in gold.labels], dtype=np.int16)
    rows: list[np.ndarray] = []
    for system in systems:
        if task.kind == "labels":
            answers = system.labels[question.name]
            rows.append(np.array([code.get(answers[row] or (), NONE) for row in gold.rows], dtype=np.int16))
            continue
        scores = np.array([system.yes[question.name][row] for row in gold.rows], dtype=np.float64)
        broken = np.flatnonzero(~np.isfinite(scores))
        if len(broken):
            example = ids[gold.rows[broken[0]]]
            raise UserError(f"{system.name} has no finite score for {len(broken):,} posts, such as {example!r}")
        rows.append(scores)
    names = tuple(system.name for system in systems)
    return PredictionMatrix(task, tuple(ids[row] for row in gold.rows), golden, names, np.stack(rows))


def item_groups(posts: pl.DataFrame, matrix: PredictionMatrix, scheme: Scheme) -> dict[str, list[str | None]]:
    """Return for each other question with gold that has one label a post: the items' labels, for an error analysis."""
    rows = _rows(posts, matrix)
    groups = {}
    for question in scheme.questions:
        column = f"{question.name}.gold"
        if question.nominal and question.name != matrix.task.question and column in posts.columns:
            answers = parse_gold_column(posts, question, column, "The gold file")
            labels = [(answers[row] or (None,))[0] for row in rows]
            if len({label for label in labels if label is not None}) > 1:
                groups[question.name] = labels
    return groups


def item_agreement(
    posts: pl.DataFrame, matrix: PredictionMatrix, column: str | None = None
) -> list[float | None] | None:
    """Return each item's share of annotators who gave its gold label, from a column of shares or of votes as JSON.

    Without a column it is `Q.votes`, as a project's corpus has it; None where there is no such column.
    """
    import json

    name = column or f"{matrix.task.question}.votes"
    if name not in posts.columns:
        if column is not None:
            raise UserError(f"There is no column {column!r} of agreement; the columns are {', '.join(posts.columns)}")
        return None
    cells = posts[name].to_list()
    shares: list[float | None] = []
    for row, gold in zip(_rows(posts, matrix), matrix.gold, strict=True):
        cell = cells[row]
        try:
            votes = json.loads(cell) if isinstance(cell, str) else cell
            if isinstance(votes, dict):
                votes = votes.get(matrix.task.labels[gold], 0) / sum(votes.values())
            shares.append(None if votes is None else float(votes))
        except (ValueError, TypeError, ZeroDivisionError):
            raise UserError(f"Row {row + 1}, column {name!r} has {str(cell)[:40]!r}: give a share or votes") from None
    return shares


def _rows(posts: pl.DataFrame, matrix: PredictionMatrix) -> list[int]:
    places = {post_id: row for row, post_id in enumerate(posts["id"].to_list())}
    return [places[post_id] for post_id in matrix.ids]
