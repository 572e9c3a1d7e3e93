"""Our own table: one row an answer, a column a question, as CSV, TSV, JSONL or Parquet.

What `davy agree` reads: `--id-column item --annotator-column annotator --gold Q --by phase`.
A post that nobody answered has no row here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from davy.annotation.exchange import spreadsheet_cells
from davy.annotation.exchange.rows import (
    POST_FIELDS,
    AnsweredPost,
    ExchangeContext,
    GivenAnswer,
    Rows,
    SettledAnswer,
    check_basis,
    check_flags,
    merge_rows,
    moment,
    number,
    version,
)
from davy.annotation.exchange.spreadsheet_cells import cell_of, column_types, labels_of, words_cell
from davy.core import Scheme, UserError
from davy.core.answers import SEPARATOR
from davy.measure import answer_columns

if TYPE_CHECKING:
    import polars as pl

_BEFORE = ("item", "annotator", "phase")
_AFTER = ("flags", "comment", "seconds", "at", "guideline_version")
_POST = ("text", *POST_FIELDS, "meta")


def write(rows: Rows, path: Path, about: ExchangeContext) -> None:
    """Write the rows as a table, by its ending or `about.kind`."""
    spreadsheet_cells.write_frames(_frames(rows, about), path, about)


def read(path: Path, about: ExchangeContext) -> Iterator[AnsweredPost]:
    """Yield the posts of a table with their answers; what formulas were held back is restored."""
    yield from merge_rows(_rows(spreadsheet_cells.read_frames(path, about), about, path.name))


def _frames(rows: Rows, about: ExchangeContext) -> Iterator[pl.DataFrame]:
    import polars as pl

    questions = [about.scheme.question(name) for name in about.questions]
    settled = [f"{question.name}.{part}" for question in questions for part in ("gold", "basis", "reason")]
    marks = [question for question in questions if question.marks_text]
    words = [f"{question.name}{part}.words" for question in marks for part in ("", ".gold")]
    columns = [*_BEFORE, *(question.name for question in questions), *_AFTER, *_POST, *settled, *words]
    if len(set(columns)) < len(columns):
        twice = next(name for name in columns if columns.count(name) > 1)
        raise UserError(f"Question {twice!r} has the name of another column of the table. Write label-studio instead.")
    kinds = {"seconds": pl.Float64, "guideline_version": pl.Int64}
    schema: dict[str, Any] = {name: kinds.get(name, pl.String) for name in columns}
    schema |= {f"{q.name}{part}": column_types(q)[0] for q in questions for part in ("", ".gold")}

    def answers() -> Iterator[list[tuple[Any, ...]]]:
        for row in rows:
            post = (row.text, *(getattr(row, name) for name in POST_FIELDS), meta_cell(row.meta))
            verdicts = [cell for q in questions for cell in _settled_cells(q, row.settled.get(q.name))]
            yield [
                (
                    *(row.id, given.annotator, given.phase),
                    *_cells(questions, given),
                    *_after(given),
                    *post,
                    *verdicts,
                    *_words(marks, row, given),
                )
                for given in row.given
            ]

    return spreadsheet_cells.in_chunks(answers(), schema)


def _cells(questions: list[Any], given: GivenAnswer) -> list[str | None]:
    return [cell_of(question, _tuple(given.answers.get(question.name))) for question in questions]


def _words(marks: list[Any], row: AnsweredPost, given: GivenAnswer) -> list[str | None]:
    """Return the words that this person marked, and those that were settled, for each question about words."""
    cells = []
    for question in marks:
        settled = row.settled.get(question.name)
        for labels in (given.answers.get(question.name), settled.labels if settled else None):
            cells.append(words_cell(question, row.text, _tuple(labels)))
    return cells


def _after(given: GivenAnswer) -> tuple[Any, ...]:
    at = given.at.isoformat() if given.at else None
    return SEPARATOR.join(given.flags) or None, given.comment, given.seconds, at, given.guideline


def _settled_cells(question: Any, settled: SettledAnswer | None) -> tuple[str | None, ...]:
    if settled is None:
        return None, None, None
    return cell_of(question, settled.labels), settled.basis, settled.reason


def _tuple(labels: Any) -> tuple[str, ...] | None:
    return None if labels is None else tuple(labels)


def _rows(frames: Iterable[pl.DataFrame], about: ExchangeContext, name: str) -> Iterator[AnsweredPost]:
    number_of = 0
    for frame in frames:
        found = _columns(frame.columns, about, name)
        for cells in frame.rename({column: ours for ours, column in found.items()}).iter_rows(named=True):
            number_of += 1
            yield _row(cells, about.scheme, f"{name}: row {number_of}")


def _columns(columns: Sequence[str], about: ExchangeContext, name: str) -> dict[str, str]:
    """Return which column holds what, where a name is not ours: what the user said, else a name that such files use."""
    columns_read = dict(about.columns)
    for column in columns_read.values():
        answer_columns.require(column, columns, name, "--column")
    for ours, find in (("item", answer_columns.item_column), ("annotator", answer_columns.annotator_column)):
        if ours not in columns and ours not in columns_read:
            columns_read[ours] = find(columns, None, name, option=f"--column {ours}=COLUMN")
    for question in about.scheme.questions:
        if question.name not in columns_read and question.name not in columns and f"label_{question.name}" in columns:
            columns_read[question.name] = f"label_{question.name}"
    return {ours: column for ours, column in columns_read.items() if ours != column}


def _row(cells: dict[str, Any], scheme: Scheme, place: str) -> AnsweredPost:
    for column in ("item", "annotator"):
        if cells[column] is None or str(cells[column]) == "":
            raise UserError(f"{place} has no {column}. Give every row one.")
    answers, settled = {}, {}
    for question in scheme.questions:
        labels = labels_of(question, cells.get(question.name))
        if labels is not None:
            answers[question.name] = labels
        gold = labels_of(question, cells.get(f"{question.name}.gold"))
        if gold is not None:
            basis = check_basis(cells.get(f"{question.name}.basis"), place)
            settled[question.name] = SettledAnswer(gold, basis, _text(cells.get(f"{question.name}.reason")))
    pool = _text(cells.get("pool"))
    given = GivenAnswer(
        annotator=f"{pool}/{cells['annotator']}" if pool else str(cells["annotator"]),
        phase=_text(cells.get("phase")),
        answers=answers,
        flags=check_flags((cells.get("flags") or "").split(SEPARATOR) if cells.get("flags") else (), place),
        comment=_text(cells.get("comment")),
        seconds=number(cells.get("seconds"), place, "seconds"),
        at=moment(cells.get("at"), place),
        guideline=version(cells.get("guideline_version"), place),
    )
    post = {field: _text(cells.get(field)) for field in POST_FIELDS}
    return AnsweredPost(
        id=str(cells["item"]),
        text=_text(cells.get("text")),
        **post,
        meta=read_meta(cells.get("meta"), place),
        given=(given,),
        settled=settled,
        place=place,
    )


def _text(cell: Any) -> str | None:
    return None if cell is None else str(cell)


def meta_cell(meta: Mapping[str, Any]) -> str | None:
    """Return a post's meta as JSON text; nothing where it is empty."""
    return json.dumps(dict(meta), ensure_ascii=False) if meta else None


def read_meta(cell: Any, place: str) -> dict[str, Any]:
    if cell is None or cell == "":
        return {}
    try:
        read = json.loads(cell) if isinstance(cell, str) else cell
    except (ValueError, RecursionError):
        read = None
    if not isinstance(read, dict):
        raise UserError(f"{place}: meta is not a JSON object.")
    return read
