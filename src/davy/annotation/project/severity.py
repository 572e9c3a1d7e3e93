"""How hard posts are to read, as far as their file says: a number a post, so that hard ones can be spread out.

A column `severity`, or `severity` in `meta`, says it outright. Else a post counts as hard (1) where a settled
(`Q.gold`) or guessed (`Q.label`) answer is a label that the scheme calls severe.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from davy.core import Scheme, UserError
from davy.core.scheme import fold_spelling

if TYPE_CHECKING:
    import polars as pl


def severities(frames: Iterable[pl.DataFrame], scheme: Scheme) -> dict[str, float]:
    """Return the severity of each post that has one above nothing, by id."""
    found: dict[str, float] = {}
    for frame in frames:
        ids = [str(it) for it in frame["id"]]
        for post, value in zip(ids, _of(frame, scheme), strict=True):
            if value > 0:
                found[post] = value
    return found


def _of(frame: pl.DataFrame, scheme: Scheme) -> list[float]:
    if "severity" in frame.columns:
        return [_number(it) for it in frame["severity"]]
    hard = [0.0] * frame.height
    if "meta" in frame.columns:
        hard = [_in_meta(it) for it in frame["meta"]]
    for question in scheme.questions:
        severe = {fold_spelling(name) for label in question.labels if label.severe for name in label.spellings}
        for column in (f"{question.name}.gold", f"{question.name}.label"):
            if severe and column in frame.columns:
                cells = [{fold_spelling(part) for part in str(it or "").split("|")} for it in frame[column]]
                hard = [max(value, float(bool(severe & cell))) for value, cell in zip(hard, cells, strict=True)]
    return hard


def _number(value: object) -> float:
    if value is None or value == "":
        return 0.0
    try:
        number = float(str(value))
    except ValueError:
        number = float("nan")
    if not 0 <= number < float("inf"):
        raise UserError(f"A post's severity is {str(value)[:40]!r}. Write a number from 0, or leave it empty.")
    return number


def _in_meta(meta: object) -> float:
    if not isinstance(meta, str) or '"severity"' not in meta:
        return 0.0
    try:
        read = json.loads(meta)
    except ValueError:  # the store says so, with the post's id
        return 0.0
    return _number(read.get("severity")) if isinstance(read, dict) else 0.0
