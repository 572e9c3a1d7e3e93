"""The types of columns in frames of results: the same whatever the data, so that two results can be concatenated."""

from __future__ import annotations

import polars as pl

FIGURE: dict[str, type[pl.DataType]] = {"value": pl.Float64, "low": pl.Float64, "high": pl.Float64, "n": pl.Int64}
"""A figure with its interval, and the n that it is of."""


def text_columns(*names: str) -> dict[str, type[pl.DataType]]:
    """Return columns of text."""
    return dict.fromkeys(names, pl.String)


def number_columns(*names: str) -> dict[str, type[pl.DataType]]:
    """Return columns of numbers."""
    return dict.fromkeys(names, pl.Float64)
