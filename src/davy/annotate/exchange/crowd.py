"""`task,worker,label`: the table that crowd-kit and other aggregators take.

With several questions there is a fourth column, `question`; `--question Q`
writes the three of one. Who answered what is all that it holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from davy.annotate.exchange.cells import cell_of, labels_of, neutral, restored, texts_changed
from davy.annotate.exchange.extras import question_of
from davy.annotate.exchange.long import ending
from davy.annotate.exchange.rows import About, Answered, Given, Rows
from davy.core import UserError

if TYPE_CHECKING:
    import polars as pl

CHUNK = 5_000


def write(rows: Rows, path: Path, about: About) -> None:
    """Write one row an answer."""
    frames = _frames(rows, about)
    if not about.raw and ending(path, about) in ("csv", "tsv"):
        frames = (texts_changed(frame, neutral) for frame in frames)
    about.write_table(frames, path, about.kind)


def read(path: Path, about: About) -> Iterator[Answered]:
    """Yield posts with answers, without texts; the rows about a post and person that stand together are one answer."""
    frames: Iterable[pl.DataFrame] = about.read_table(path, about.kind)
    if not about.raw and ending(path, about) in ("csv", "tsv"):
        frames = (texts_changed(frame, restored) for frame in frames)
    task, people, place = "", {}, ""  # type: str, dict[str, dict[str, tuple[str, ...]]], str
    for number, cells in _numbered(frames, path.name):
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


def _frames(rows: Rows, about: About) -> Iterator[pl.DataFrame]:
    import polars as pl

    questions = [about.scheme.question(name) for name in about.questions]
    columns = ["task", "worker", "label", *(["question"] if len(questions) > 1 else [])]
    schema = dict.fromkeys(columns, pl.String)
    part: list[tuple[str | None, ...]] = []
    sent = False
    for row in rows:
        # Aggregators take one answer a person and post: of several phases, the last one counts.
        people = {given.annotator: given for given in row.given}
        for question in questions:
            for given in people.values():
                cell = cell_of(question, given.answers.get(question.name))
                if cell is not None:
                    part.append((row.id, given.annotator, cell, question.name)[: len(columns)])
        if len(part) >= CHUNK:
            yield pl.DataFrame(part, schema=schema, orient="row")
            part, sent = [], True
    if part or not sent:
        yield pl.DataFrame(part, schema=schema, orient="row")


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


def _answer(cells: dict[str, Any], about: About, place: str) -> tuple[str, tuple[str, ...]]:
    named = cells.get("question") or about.question or ""
    question = question_of(about.scheme, str(named), place)
    labels = labels_of(question, cells["label"])
    if labels is None:
        raise UserError(f"{place} has no label. Leave rows without an answer out.")
    return question.name, labels


def _post(task: str, people: dict[str, dict[str, tuple[str, ...]]], place: str) -> Answered:
    given = tuple(Given(annotator=who, phase=None, answers=answers) for who, answers in people.items())
    return Answered(id=task, given=given, place=place)
