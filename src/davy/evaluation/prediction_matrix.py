"""The predictions of many systems on the same items, as one packed matrix.

A frame of gold and a frame a system in; codes of a byte an item out, which board and error analysis work on:
200 systems on 4,000 items are 800 kB.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from davy.core.errors import UserError
from davy.evaluation.tasks import Task

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
