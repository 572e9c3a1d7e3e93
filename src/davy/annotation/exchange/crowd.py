"""`task,worker,label`: the table that crowd-kit and other aggregators take.

With several questions there is a fourth column, `question`; `--question Q`
writes the three of one. Who answered what is all that it holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from davy.annotation.exchange import spreadsheet_cells
from davy.annotation.exchange.extra_fields import question_of
from davy.annotation.exchange.rows import AnsweredPost, ExchangeContext, GivenAnswer, Rows
from davy.annotation.exchange.spreadsheet_cells import cell_of, labels_of
from davy.core import UserError

if TYPE_CHECKING:
    import polars as pl


def write(rows: Rows, path: Path, about: ExchangeContext) -> None:
    """Write one row an answer."""
    spreadsheet_cells.write_frames(_frames(rows, about), path, about)


def read(path: Path, about: ExchangeContext) -> Iterator[AnsweredPost]:
    """Yield posts with answers, without texts; the rows about a post and person that stand together are one answer."""
    task, people, place = "", {}, ""  # type: str, dict[str, dict[str, tuple[str, ...]]], str
    for number, cells in _numbered(spreadsheet_cells.read_frames(path, about), path.name):
        here = f"{path.name}: row {number}"
        if str(cells["task"]) != task:
            if task:
                yield _post(task, people, place)
            task, people, place = str(cells["task"]), {}, here
        name, labels = _answer(cells, about, here)
        answers = people.setdefault(str(cells["worker"]), {})
        if name in answers:
            raise UserError(f"{here} answers {name!r} about task {task[:60]!r} a second time for one worker.")
        answers[name] = labels
    if task:
        yield _post(task, people, place)


def _frames(rows: Rows, about: ExchangeContext) -> Iterator[pl.DataFrame]:
    import polars as pl

    questions = [about.scheme.question(name) for name in about.questions]
    columns = ["task", "worker", "label", *(["question"] if len(questions) > 1 else [])]

    def answers() -> Iterator[list[tuple[str | None, ...]]]:
        for row in rows:
            # Aggregators take one answer a person and post: of several phases, the last one counts.
            people = {given.annotator: given for given in row.given}
            cells = ((q, given, cell_of(q, given.answers.get(q.name))) for q in questions for given in people.values())
            yield [
                (row.id, given.annotator, cell, question.name)[: len(columns)]
                for question, given, cell in cells
                if cell is not None
            ]

    return spreadsheet_cells.in_chunks(answers(), dict.fromkeys(columns, pl.String))


def _numbered(frames: Iterable[pl.DataFrame], name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    number = 0
    for frame in frames:
        for column in ("task", "worker", "label"):
            if column not in frame.columns:
                seen = ", ".join(frame.columns[:20])
                raise UserError(f"{name} has no column {column!r}; it has {seen}. It takes task, worker and label.")
        for cells in frame.iter_rows(named=True):
            number += 1
            for column in ("task", "worker"):
                if cells[column] is None or str(cells[column]) == "":
                    raise UserError(f"{name}: row {number} has no {column}. Give every row one.")
            yield number, cells


def _answer(cells: dict[str, Any], about: ExchangeContext, place: str) -> tuple[str, tuple[str, ...]]:
    named = cells.get("question") or about.question or ""
    question = question_of(about.scheme, str(named), place)
    labels = labels_of(question, cells["label"])
    if labels is None:
        raise UserError(f"{place} has no label. Leave rows without an answer out.")
    return question.name, labels


def _post(task: str, people: dict[str, dict[str, tuple[str, ...]]], place: str) -> AnsweredPost:
    given = tuple(GivenAnswer(annotator=who, phase=None, answers=answers) for who, answers in people.items())
    return AnsweredPost(id=task, given=given, place=place)
