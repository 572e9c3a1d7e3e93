"""Any metric, split by group.

A frame, the column to split by, a metric that takes columns as arrays: a frame with one row a group comes out. A cell
that names several groups (`women|black people`) counts in each of them; an empty one in none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from davy.core import Metric, UserError
from davy.core.errors import nearest
from davy.measure.columns import is_missing
from davy.measure.ratings import split_labels

if TYPE_CHECKING:
    import polars as pl


def memberships(cells: Sequence[str | None]) -> dict[str, NDArray[np.bool_]]:
    """Return for each group which items belong to it, groups in order of name."""
    places: dict[str, list[int]] = {}
    for i, cell in enumerate(cells):
        for name in split_labels(None if is_missing(cell) else str(cell)):
            places.setdefault(name, []).append(i)
    masks = {}
    for name in sorted(places):
        masks[name] = np.zeros(len(cells), dtype=bool)
        masks[name][places[name]] = True
    return masks


def by_group(
    frame: pl.DataFrame,
    by: str,
    metric: Callable[..., Metric | Sequence[Metric]],
    *columns: str,
    overall: str | None = "all",
) -> pl.DataFrame:
    """Return the metric of each group: columns `by`, metric, value, low, high, n, note.

    `metric` is called with the named columns as numpy arrays and returns one metric or several. The first rows are
    those of everyone, under the name `overall`; None leaves them out.
    """
    import polars as pl

    for name in (by, *columns):
        if name not in frame.columns:
            hint = nearest(name, frame.columns)
            raise UserError(f"There is no column {name!r}; the columns are {', '.join(frame.columns)}.{hint}")
    arrays = [frame[name].to_numpy() for name in columns]
    parts: dict[str, NDArray[np.bool_]] = {} if overall is None else {overall: np.ones(len(frame), dtype=bool)}
    parts |= memberships(frame[by].cast(pl.String).to_list())
    rows = [
        (name, *_row(one))
        for name, mask in parts.items()
        for one in _several(metric(*(array[mask] for array in arrays)))
    ]
    types = {by: pl.String, "metric": pl.String, "value": pl.Float64, "low": pl.Float64, "high": pl.Float64}
    return pl.DataFrame(rows, schema=types | {"n": pl.Int64, "note": pl.String}, orient="row")


def _several(found: Metric | Sequence[Metric]) -> Sequence[Metric]:
    return [found] if isinstance(found, Metric) else found


def _row(metric: Metric) -> tuple[str, float | None, float | None, float | None, int, str | None]:
    return metric.name, metric.value, metric.low, metric.high, metric.n, metric.note


def gap(values: Mapping[str, float | None]) -> tuple[str, str, float] | None:
    """Return the group with the highest value, the one with the lowest, and their difference; None below two groups."""
    known = {name: value for name, value in values.items() if value is not None}
    if len(known) < 2:
        return None
    best, worst = max(known, key=lambda name: known[name]), min(known, key=lambda name: known[name])
    return best, worst, known[best] - known[worst]
