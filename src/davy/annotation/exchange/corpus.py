"""A corpus to train on: one row a settled post, with the settled answers as `Q.gold` and how each was reached.

What `davy train`, `evaluate`, `describe`, `split` and `check` read as it is. Posts
with nothing settled, and those that were dropped, have no row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from davy.annotation.exchange import spreadsheet_cells
from davy.annotation.exchange.long_table import meta_cell, read_meta
from davy.annotation.exchange.rows import POST_FIELDS, AnsweredPost, ExchangeContext, Rows, SettledAnswer, check_basis
from davy.annotation.exchange.spreadsheet_cells import cell_of, column_types, labels_of, words_cell
from davy.core import Question, UserError
from davy.core.answers import SEPARATOR
from davy.core.votes import votes_cell

if TYPE_CHECKING:
    import polars as pl

_POST = ("id", "text", *POST_FIELDS, "sampler", "kind", "flags", "meta")


def write(rows: Rows, path: Path, about: ExchangeContext) -> None:
    """Write the settled posts as a table, by its ending or `about.kind`."""
    spreadsheet_cells.write_frames(_frames(rows, about), path, about)


def read(path: Path, about: ExchangeContext) -> Iterator[AnsweredPost]:
    """Yield the posts of a table with their settled answers; votes are counts and name nobody, so they stay behind."""
    number = 0
    for frame in spreadsheet_cells.read_frames(path, about):
        if "id" not in frame.columns:
            raise UserError(f"{path.name} has no column 'id'; it has {', '.join(frame.columns[:20])}.")
        for cells in frame.iter_rows(named=True):
            number += 1
            yield _post(cells, about, f"{path.name}: row {number}")


def _frames(rows: Rows, about: ExchangeContext) -> Iterator[pl.DataFrame]:
    import polars as pl

    questions = [about.scheme.question(name) for name in about.questions]
    parts = [f"{question.name}.{part}" for question in questions for part in ("gold", "basis", "votes")]
    parts += [f"{question.name}.gold.words" for question in questions if question.marks_text]
    schema: dict[str, Any] = dict.fromkeys((*_POST, *parts), pl.String)
    schema |= {f"{question.name}.gold": column_types(question)[0] for question in questions}
    settled = (row for row in rows if any(question.name in row.settled for question in questions))
    return spreadsheet_cells.in_chunks(([_cells(row, questions)] for row in settled), schema)


def _cells(row: AnsweredPost, questions: list[Question]) -> tuple[str | None, ...]:
    fields = [getattr(row, name) for name in POST_FIELDS]
    known = (row.meta.get("sampler"), row.meta.get("kind"), majority_flags(row), meta_cell(row.meta))
    cells = [row.id, row.text, *fields, *known]
    for question in questions:
        settled = row.settled.get(question.name)
        answer = (None, None) if settled is None else (cell_of(question, settled.labels), settled.basis)
        cells += [*answer, votes_of(row, question)]
    for question in questions:
        if question.marks_text:
            settled = row.settled.get(question.name)
            cells.append(words_cell(question, row.text, settled.labels if settled else None))
    return tuple(cells)


def majority_flags(row: AnsweredPost) -> str | None:
    """Return the flags that more than half of the people raised, joined by a bar."""
    raised = Counter(flag for given in row.given for flag in given.flags)
    return SEPARATOR.join(sorted(flag for flag, n in raised.items() if 2 * n > len(row.given))) or None


def votes_of(row: AnsweredPost, question: Question) -> str | None:
    """Return how many people gave each answer, as JSON, the most frequent first; nothing where nobody was asked."""
    given = (cell_of(question, given.answers.get(question.name)) for given in row.given)
    return votes_cell([cell for cell in given if cell is not None])


def _post(cells: dict[str, Any], about: ExchangeContext, place: str) -> AnsweredPost:
    settled = {}
    for question in about.scheme.questions:
        labels = labels_of(question, cells.get(f"{question.name}.gold"))
        if labels is not None:
            basis = check_basis(cells.get(f"{question.name}.basis"), place)
            settled[question.name] = SettledAnswer(labels, basis)
    fields: dict[str, Any] = {name: cells.get(name) for name in POST_FIELDS}
    return AnsweredPost(
        id=str(cells["id"]),
        text=cells.get("text"),
        **fields,
        meta=read_meta(cells.get("meta"), place),
        settled=settled,
        place=place,
    )
