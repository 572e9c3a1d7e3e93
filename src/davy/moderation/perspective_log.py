"""A log of old Perspective scores: CSV, or Perspective's own answers as JSONL, in; texts, languages and scores out.

The log has a text or an id (with a file of posts that has the texts), and scores as columns (`TOXICITY`) or as
`attributeScores`. A post's language is the first that the log names for it; where it names none, it is left empty.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from davy.core.errors import UserError
from davy.corpus.post_source import PostSource, load_posts
from davy.files import tables
from davy.files.file_table import list_columns, translate_errors
from davy.files.formats import display_name
from davy.files.post_columns import TEXT_NAMES

_TEXTS = (*TEXT_NAMES, "comment.text")
_LANGUAGES = ("languages", "language", "lang", "requestedlanguages", "detectedlanguages")
"""Columns with a post's language, what was asked for before what was detected."""


@dataclass(frozen=True, slots=True)
class OldScores:
    """An attribute's scores in a log, NaN where a post has none; `no_numbers` of these have something else instead."""

    values: Any
    no_numbers: int = 0
    no_number: str | None = None
    """The first that is no number, as the log has it."""

    def dropped(self, answered: Any) -> dict[str, int]:
        """Return how many posts can't be compared, by reason; `answered` are those that the detector judged."""
        missing = np.isnan(self.values)
        counts = {
            "without a score": int(missing.sum()) - self.no_numbers,
            "with a score that is no number": self.no_numbers,
            "in a language that is not judged": int((~missing & ~answered).sum()),
        }
        return {why: n for why, n in counts.items() if n}


@dataclass(frozen=True, slots=True)
class PerspectiveLog:
    """The posts of a log that have a text, each with its language or "", and the old scores by attribute."""

    texts: Sequence[str]
    languages: Sequence[str]
    scores: Mapping[str, OldScores]
    without_text: int = 0


def read_log(
    log: str, attributes: Iterable[str], *, text: str | None = None, posts: str | None = None
) -> PerspectiveLog:
    """Return a log with columns for these attributes or with Perspective's own answers.

    `text` names the column with the texts, `posts` a file that has them by id.
    """
    with tables.open_table(log) as table, translate_errors(table.name):
        whole = table.frame.collect()
    frame = _with_texts(whole, log, text, posts)
    old = _old_scores(frame, frozenset(attributes))
    if not old:
        raise UserError(
            f"{log} has no scores: give columns such as TOXICITY, or Perspective's attributeScores. "
            f"It has {list_columns(frame.columns)}."
        )
    _refuse_percent(old, log)
    return PerspectiveLog(frame["text"].to_list(), _languages(frame), old, len(whole) - len(frame))


def _refuse_percent(old: Mapping[str, OldScores], log: str) -> None:
    """Raise where a score is no share between 0 and 1: a threshold would be fitted to another scale."""
    for name, column in old.items():
        values = column.values
        outside = values[(values < 0) | (values > 1)]
        if len(outside):
            raise UserError(
                f"{display_name(log)} has {name} scores outside 0 to 1, such as {outside[0]:g} ({len(outside):,} of "
                f"{len(values):,}). Where they are in percent, divide them by 100."
            )


def _with_texts(frame: pl.DataFrame, log: str, text: str | None, posts: str | None) -> pl.DataFrame:
    """Return the log with a column `text`, joined by id where a file of posts has the texts."""
    if posts is not None:
        if "id" not in frame.columns:
            raise UserError(f"{log} has no column id, so the texts of {posts} can't be found. Give the log ids.")
        texts = load_posts(PostSource(posts)).posts.select(pl.col("id").cast(pl.String), "text")
        joined = frame.with_columns(pl.col("id").cast(pl.String)).join(
            texts, on="id", how="inner", maintain_order="left", suffix=".post"
        )
        if not len(joined):
            raise UserError(f"No id of {log} is in {posts}.")
        if "text.post" in joined.columns:
            joined = joined.with_columns(pl.col("text.post").alias("text"))
        return joined.filter(pl.col("text").is_not_null())
    by_fold = {column.casefold(): column for column in reversed(frame.columns)}
    name = text or next((by_fold[known] for known in _TEXTS if known in by_fold), None)
    if name is None or name not in frame.columns:
        raise UserError(
            f"{log} has no column with the texts; it has {list_columns(frame.columns)}. Name it with --text-column, "
            "or give the file that has them with --posts."
        )
    column = pl.Series("text", [_comment_text(cell) for cell in frame[name].cast(pl.String)], dtype=pl.String)
    return frame.with_columns(column).filter(pl.col("text").is_not_null())


def _comment_text(cell: str | None) -> str | None:
    """Return the text of a cell: itself, or what Perspective's own request has in it, `{"text": …, "type": …}`."""
    if cell is None or not cell.lstrip().startswith("{"):
        return cell
    try:
        comment = json.loads(cell)
    except ValueError:
        return cell
    text = comment.get("text", cell)
    return text if isinstance(text, str) else None


def _old_scores(frame: pl.DataFrame, known: frozenset[str]) -> dict[str, OldScores]:
    """Return the old scores by attribute."""
    nested = next((c for c in frame.columns if c.casefold() == "attributescores"), None)
    if nested is not None:
        rows = [_answer(cell) for cell in frame[nested].to_list()]
        names = list(dict.fromkeys(name for row in rows for name in row))
        return {name: _numbers([_summary(row.get(name)) for row in rows]) for name in names}
    by_name = {column.upper().removesuffix(".SCORE"): column for column in frame.columns}
    return {name: _numbers(frame[column].to_list()) for name, column in by_name.items() if name in known}


def _answer(cell: Any) -> dict[str, Any]:
    """Return the scores of one of Perspective's answers; none where a row has none."""
    try:
        answer = json.loads(cell) if isinstance(cell, str) else cell
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def _summary(score: Any) -> Any:
    """Return the value of a score in Perspective's shape, or the score itself."""
    if not isinstance(score, dict):
        return score
    summary = score.get("summaryScore")
    return summary.get("value") if isinstance(summary, dict) else None


def _numbers(cells: Sequence[Any]) -> OldScores:
    values = np.full(len(cells), np.nan)
    wrong = []
    for row, cell in enumerate(cells):
        if cell is None or (isinstance(cell, str) and not cell.strip()):
            continue
        with suppress(TypeError, ValueError):
            values[row] = float(cell)
        if np.isnan(values[row]):
            wrong.append(str(cell))
    return OldScores(values, len(wrong), wrong[0] if wrong else None)


def _languages(frame: pl.DataFrame) -> list[str]:
    """Return each post's language: the first that a column with languages names, "" where none does."""
    by_fold = {column.casefold(): column for column in reversed(frame.columns)}
    found = [""] * len(frame)
    for column in (by_fold[name] for name in _LANGUAGES if name in by_fold):
        found = [lang or _language(cell) for lang, cell in zip(found, frame[column].to_list(), strict=True)]
    return found


def _language(cell: Any) -> str:
    """Return the first language of a cell: `en`, `en-US`, `["en"]` or a list."""
    if isinstance(cell, str) and cell.lstrip().startswith("["):
        with suppress(ValueError):
            cell = json.loads(cell)
    first = cell[0] if isinstance(cell, list) and cell else cell
    code = first.strip().lower().partition("-")[0] if isinstance(first, str) else ""
    return code if re.fullmatch(r"[a-z]{2,3}", code) and code != "und" else ""
