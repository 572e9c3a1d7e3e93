"""Labels in table cells, cells that no spreadsheet runs, and tables of such cells.

Several labels share a cell, joined by a bar, as everywhere in Davy; "none of
these" is the cell `none`. What could start a formula gets an apostrophe before
it, and loses exactly that one when it is read back: at a cell's start, and inside
it after a semicolon, where German Excel cuts a line whatever the file's commas say.
Only CSV and TSV are treated so: JSONL and Parquet hold what they hold.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from davy.annotation.exchange.rows import ExchangeContext
from davy.core import Question, UserError
from davy.core.answers import NONE, SEPARATOR
from davy.files import tables
from davy.text.words import span_texts

if TYPE_CHECKING:
    import polars as pl


_RISKY = "=+-@\t\r\n|%＝＋－＠"
_INSIDE = re.compile(r"""([;\t\r\n]\s*)('*)([=＝]|[-+@－＋＠](?=[\w("]))""")
_NUMBER = re.compile(r"[+-]?\d+([.,]\d+)?")
CHUNK = 5_000


def cell_of(question: Question, labels: tuple[str, ...] | None) -> str | None:
    """Return the labels as one cell; nothing where the question was not answered."""
    if labels is None:
        return None
    if any(SEPARATOR in label for label in labels):
        raise UserError(
            f"An answer to {question.name!r} has a bar (|) in its label, which joins labels in a table. "
            "Write a format that keeps lists: label-studio, argilla or huggingface."
        )
    if not labels and NONE in question.label_names:
        return ""
    return SEPARATOR.join(labels) or NONE


def dataset_cell(question: Question, labels: tuple[str, ...] | None) -> list[str] | str | None:
    """Return the labels as a dataset keeps them: a list where there may be several, else one text."""
    if labels is None:
        return None
    return list(labels) if question.takes_several else "".join(labels[:1])


def column_types(question: Question) -> tuple[Any, Any]:
    """Return the types of the column of a question's answers: in a table, and in a dataset, which keeps lists."""
    import polars as pl

    text, texts = pl.String(), pl.List(pl.String)
    return text, texts if question.takes_several else text


def words_cell(question: Question, text: str | None, labels: tuple[str, ...] | None) -> str | None:
    """Return the words that an answer marks, as a JSON list beside its offsets; nothing for other questions."""
    if not question.marks_text or text is None or labels is None:
        return None
    return json.dumps(span_texts(text, labels), ensure_ascii=False)


def labels_of(question: Question, cell: Any) -> tuple[str, ...] | None:
    """Return the labels in a cell, in the cell's order; None where it is empty."""
    if cell is None:
        return None
    if isinstance(cell, bool):
        cell = str(cell).lower()
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    text = str(cell)
    if not question.takes_several:
        return (text,) if text.strip() else None
    if NONE in question.label_names:
        return tuple(text.split(SEPARATOR)) if text else ()
    if text == NONE:
        return ()
    return tuple(text.split(SEPARATOR)) if text.strip() else None


def escape_formula(value: str) -> str:
    """Return a cell that a spreadsheet shows and does not run."""
    value = _INSIDE.sub(r"\1'\2\3", value)
    return "'" + value if _risky(value.lstrip("'")) else value


def unescape_formula(value: str) -> str:
    """Return what `escape_formula` was given."""
    value = value[1:] if value.startswith("'") and _risky(value.lstrip("'")) else value
    return _INSIDE.sub(lambda part: part[1] + part[2][1:] + part[3], value)


def map_texts(frame: pl.DataFrame, change: Callable[[str], str]) -> pl.DataFrame:
    """Return a frame with every text cell and column name changed; most cells start harmlessly and are passed over."""
    import polars as pl

    columns = []
    for name, kind in frame.schema.items():
        column = frame[name]
        if kind == pl.String:
            harmless = column.str.contains(r"^[\p{L}\p{N}\p{So}#][^;\t\r\n]*$").fill_null(value=True)
            if not harmless.all():
                column = column.map_elements(change, return_dtype=pl.String, skip_nulls=True)
        columns.append(column.alias(change(name)))
    return pl.DataFrame(columns)


def _risky(value: str) -> bool:
    """Return whether a spreadsheet might run a cell; plain numbers, such as -3.5, are no formula."""
    start = value.lstrip(" \u00a0\ufeff")[:1] or value[:1]
    return bool(start) and start in _RISKY and not _NUMBER.fullmatch(value)


def write_frames(frames: Iterable[pl.DataFrame], path: Path, about: ExchangeContext) -> None:
    """Write frames as one table, by its ending or `about.kind`."""
    if _spreadsheet(path, about):
        frames = (map_texts(frame, escape_formula) for frame in frames)
    tables.write(frames, path, format=about.kind)


def read_frames(path: Path, about: ExchangeContext) -> Iterable[pl.DataFrame]:
    """Return a table's frames as they were before formulas were held back."""
    frames: Iterable[pl.DataFrame] = tables.batches(path, format=about.kind)
    return (map_texts(frame, unescape_formula) for frame in frames) if _spreadsheet(path, about) else frames


def in_chunks(rows: Iterable[list[tuple[Any, ...]]], schema: Mapping[str, Any]) -> Iterator[pl.DataFrame]:
    """Yield frames of a few thousand rows from lists of rows; an empty one where there are none."""
    import polars as pl

    part: list[tuple[Any, ...]] = []
    sent = False
    for some in rows:
        part += some
        if len(part) >= CHUNK:
            yield pl.DataFrame(part, schema=schema, orient="row")
            part, sent = [], True
    if part or not sent:
        yield pl.DataFrame(part, schema=schema, orient="row")


def _spreadsheet(path: Path, about: ExchangeContext) -> bool:
    """Return whether a file is of a kind that spreadsheets open."""
    name = (about.kind or path.name).lower()
    for packed in (".gz", ".bz2", ".xz"):
        name = name.removesuffix(packed)
    return not about.raw and name.rpartition(".")[2] in ("csv", "tsv", "tab")
