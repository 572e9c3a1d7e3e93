"""Columns of values as callers hold them: what is missing, and what is a yes or a no."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from davy.core.errors import UserError


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, or pandas' NA or NaT."""
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


def to_flags(values: ArrayLike) -> NDArray[np.bool_]:
    """Return yes/no answers as an array; anything but true, false, 1 and 0 is an error."""
    given = np.asarray(values)
    if given.dtype == bool:
        return given
    for row, value in enumerate(given.ravel().tolist(), 1):
        if is_missing(value) or value not in (0, 1):
            shown = "missing" if is_missing(value) else repr(value)[:40]
            raise UserError(
                f"Row {row} is {shown}, neither yes nor no. Give true and false (or 1 and 0), as in y == 'yes'"
            )
    return given.astype(bool)
