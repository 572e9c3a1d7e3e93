"""A Hugging Face dataset: settled labels as configuration `default`, everyone's answers as `annotations`.

A folder of Parquet parts with a card (a YAML header that names the configurations,
then words for people). Posts with a question that is not settled yet, or that were
dropped, are the split `unsettled` of `default`: who trains on `train` never meets
a label that is missing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from davy.annotation.exchange.corpus import votes_of
from davy.annotation.exchange.extra_fields import mapping, strings
from davy.annotation.exchange.huggingface_card import card
from davy.annotation.exchange.long_table import meta_cell
from davy.annotation.exchange.rows import (
    POST_FIELDS,
    AnsweredPost,
    ExchangeContext,
    ExportedPicture,
    GivenAnswer,
    Rows,
    SettledAnswer,
    check_basis,
    check_flags,
    moment,
    number,
    version,
)
from davy.annotation.exchange.spreadsheet_cells import column_types, dataset_cell
from davy.core import Question, Scheme, UserError
from davy.text.words import span_texts

if TYPE_CHECKING:
    import polars as pl


JUDGE = "judge."
PART = 50_000
"""Rows of one Parquet file; so many are held in memory."""
PART_WITH_PICTURES = 500
_CREDITS = ("image_licence", "image_credit", "image_source")

_GIVEN = ("id", "annotator", "phase", "flags", "comment", "seconds", "at", "guideline_version")
_POST = ("id", "text", *POST_FIELDS, "meta", "sampler", "kind", "judges")
_OF_A_VERDICT = ("basis", "reason", "votes")


def write(rows: Rows, path: Path, about: ExchangeContext) -> None:
    """Write the dataset into an empty folder; its card is written last."""
    questions = [about.scheme.question(name) for name in about.questions]
    _check_names(questions)
    schema, size = _post_schema(questions), PART
    if about.picture is not None:
        schema, size = _with_pictures(schema), PART_WITH_PICTURES
    settled = DatasetParts(path / "default", "train", schema, size)
    unsettled = DatasetParts(path / "default", "unsettled", schema, size)
    answers = DatasetParts(path / "annotations", "train", _given_schema(questions))
    langs: set[str] = set()
    for row in rows:
        langs |= {row.lang} if row.lang else set()
        cells = _post_row(row, questions)
        cells = cells if about.picture is None else _pictured(cells, row, about.picture)
        (settled if _complete(row, about) else unsettled).add(cells)
        for given in row.given:
            answers.add(_given_row(row, given, questions))
    splits = {
        "train": settled.close(always=True),
        "unsettled": unsettled.close(),
        "annotations": answers.close(always=True),
    }
    features = _features(schema) if about.picture is not None else None
    (path / "README.md").write_text(card(about, splits, sorted(langs), features), encoding="utf-8")


def read(path: Path, about: ExchangeContext) -> Iterator[AnsweredPost]:
    """Yield the posts of a folder that `write` made, by id."""
    posts = _merged_posts(path)
    answers = _numbered(path, "annotations", "train")
    waiting = next(answers, None)
    for place, cells in posts:
        given = []
        while waiting is not None and str(waiting[1].get("id")) <= str(cells["id"]):
            if str(waiting[1].get("id")) != str(cells["id"]):
                raise UserError(f"{waiting[0]} is about a post that configuration 'default' does not have.")
            given.append(_read_answer(waiting[1], about.scheme, waiting[0]))
            waiting = next(answers, None)
        yield _answered(cells, tuple(given), about.scheme, place)
    if waiting is not None:
        raise UserError(f"{waiting[0]} is about a post that configuration 'default' does not have.")


class DatasetParts:
    """Parquet files of a split: `train-00000-of-00003.parquet` and so on, which get their names when all are there."""

    def __init__(self, folder: Path, split: str, schema: dict[str, Any], size: int = PART) -> None:
        self._folder = folder
        self._size = size
        self._split = split
        self._schema = schema
        self._rows: list[tuple[Any, ...]] = []
        self._files: list[Path] = []
        self.n = 0

    def add(self, row: tuple[Any, ...]) -> None:
        """Add a row; a full part goes to disk."""
        self._rows.append(row)
        self.n += 1
        if len(self._rows) >= self._size:
            self._flush()

    def close(self, *, always: bool = False) -> int:
        """Write what is left and return how many rows there are; `always` makes a file even for none."""
        if self._rows or (always and not self._files):
            self._flush()
        for number_of, file in enumerate(self._files):
            file.rename(self._folder / f"{self._split}-{number_of:05}-of-{len(self._files):05}.parquet")
        return self.n

    def _flush(self) -> None:
        import polars as pl

        self._folder.mkdir(parents=True, exist_ok=True)
        file = self._folder / f"{self._split}-{len(self._files):05}.parquet"
        pl.DataFrame(self._rows, schema=self._schema, orient="row").write_parquet(file)
        self._files.append(file)
        self._rows = []


def _complete(row: AnsweredPost, about: ExchangeContext) -> bool:
    """Return whether every question that applies is settled; where one is asked for, that one."""
    if about.question is not None:
        return about.question in row.settled
    return bool(row.settled) and not about.scheme.faults(
        {name: it.labels for name, it in row.settled.items()}, complete=True
    )


def _check_names(questions: list[Question]) -> None:
    taken = {*_GIVEN, *_POST}
    for question in questions:
        for name in (question.name, *(f"{question.name}_{part}" for part in _OF_A_VERDICT)):
            if name in taken:
                raise UserError(
                    f"Question {question.name!r} needs a column {name!r}, which there is already. Rename it."
                )
            taken.add(name)


def _post_schema(questions: list[Question]) -> dict[str, Any]:
    import polars as pl

    schema: dict[str, Any] = dict.fromkeys(_POST, pl.String)
    for question in questions:
        schema |= {question.name: column_types(question)[1], **_words_schema(question)}
        schema |= dict.fromkeys((f"{question.name}_{part}" for part in _OF_A_VERDICT), pl.String)
    return schema


def _with_pictures(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the columns with pictures inside, as `datasets` keeps its feature Image, and whose they are."""
    import polars as pl

    return {**schema, "image": pl.Struct({"bytes": pl.Binary, "path": pl.String}), **dict.fromkeys(_CREDITS, pl.String)}


def _pictured(
    cells: tuple[Any, ...], row: AnsweredPost, picture: Callable[[str], ExportedPicture | None]
) -> tuple[Any, ...]:
    """Return a post's cells with its picture in the place of its key, and its credits at the end."""
    found = picture(row.image) if row.image else None
    place = _POST.index("image")
    inside = None if found is None else {"bytes": found.data, "path": f"{row.image}.png"}
    credits = (None,) * 3 if found is None else (found.licence, found.credit, found.source)
    return (*cells[:place], inside, *cells[place + 1 :], *credits)


def _features(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the columns as a card names them, so that `datasets` opens pictures as pictures."""
    import polars as pl

    kinds = {pl.Float64: "float64", pl.Int64: "int64"}
    made: list[dict[str, Any]] = []
    for name, kind in schema.items():
        if name == "image":
            made.append({"name": name, "dtype": "image"})
        elif isinstance(kind, pl.List):
            made.append({"name": name, "list": "string"})
        else:
            made.append({"name": name, "dtype": kinds.get(kind, "string")})
    return made


def _given_schema(questions: list[Question]) -> dict[str, Any]:
    import polars as pl

    schema: dict[str, Any] = dict.fromkeys(_GIVEN, pl.String)
    schema |= {"flags": pl.List(pl.String), "seconds": pl.Float64, "guideline_version": pl.Int64}
    for question in questions:
        schema |= {question.name: column_types(question)[1], **_words_schema(question)}
    return schema


def _words_schema(question: Question) -> dict[str, Any]:
    """Return the column with the words that an answer marks, for a question about words."""
    import polars as pl

    return {f"{question.name}_words": pl.List(pl.String)} if question.marks_text else {}


def _cells(question: Question, labels: tuple[str, ...] | None, text: str | None) -> list[Any]:
    """Return an answer's cell, and for a question about words the words beside it."""
    cell = dataset_cell(question, labels)
    if not question.marks_text:
        return [cell]
    return [cell, None if labels is None or text is None else span_texts(text, labels)]


def _post_row(row: AnsweredPost, questions: list[Question]) -> tuple[Any, ...]:
    cells: list[Any] = [row.id, row.text, *(getattr(row, name) for name in POST_FIELDS), meta_cell(row.meta)]
    cells += [row.meta.get("sampler"), row.meta.get("kind"), _judges(row)]
    for question in questions:
        settled = row.settled.get(question.name)
        labels = None if settled is None else settled.labels
        cells += _cells(question, labels, row.text)
        cells += [settled.basis if settled else None, settled.reason if settled else None, votes_of(row, question)]
    return tuple(cells)


def _judges(row: AnsweredPost) -> str | None:
    """Return the scores by which a post was sampled, as JSON; None where none are known."""
    scores = {name.removeprefix(JUDGE): score for name, score in row.meta.items() if name.startswith(JUDGE)}
    return json.dumps(scores, ensure_ascii=False) if scores else None


def _given_row(post: AnsweredPost, given: GivenAnswer, questions: list[Question]) -> tuple[Any, ...]:
    at = given.at.isoformat() if given.at else None
    about = (
        post.id,
        given.annotator,
        given.phase,
        list(given.flags),
        given.comment,
        given.seconds,
        at,
        given.guideline,
    )
    answers = [cell for q in questions for cell in _cells(q, given.answers.get(q.name), post.text)]
    return (*about, *answers)


def _frames(path: Path, config: str, split: str) -> Iterator[tuple[str, pl.DataFrame]]:
    import polars as pl

    for file in sorted((path / config).glob(f"{split}-*.parquet")):
        try:
            frame = pl.read_parquet(file)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):  # hostile files make it panic
            raise UserError(f"{config}/{file.name} can't be read as Parquet. Copy or make it again.") from None
        if "id" not in frame.columns:
            raise UserError(f"{config}/{file.name} has no column 'id'; it has {', '.join(frame.columns[:20])}.")
        yield f"{config}/{file.name}", frame


def _numbered(path: Path, config: str, split: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, frame in _frames(path, config, split):
        for row, cells in enumerate(frame.iter_rows(named=True), 1):
            yield f"{name}: row {row}", cells


def _merged_posts(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the posts of both splits by id, as they were written."""
    import heapq

    if not (path / "default").is_dir():
        raise UserError("The dataset has no folder 'default'. Give a folder or zip that Davy wrote as huggingface.")
    splits = (_numbered(path, "default", split) for split in ("train", "unsettled"))
    yield from heapq.merge(*splits, key=lambda it: str(it[1]["id"]))


def _labels(question: Question, cell: Any, place: str) -> tuple[str, ...] | None:
    return None if cell is None else strings(cell, f"{place}: {question.name}")


def _read_answer(cells: dict[str, Any], scheme: Scheme, place: str) -> GivenAnswer:
    answers = {}
    for question in scheme.questions:
        labels = _labels(question, cells.get(question.name), place)
        if labels is not None:
            answers[question.name] = labels
    if not cells.get("annotator"):
        raise UserError(f"{place} has no annotator.")
    return GivenAnswer(
        annotator=str(cells["annotator"]),
        phase=cells.get("phase"),
        answers=answers,
        flags=check_flags(cells.get("flags") or (), place),
        comment=cells.get("comment"),
        seconds=number(cells.get("seconds"), place, "seconds"),
        at=moment(cells.get("at"), place),
        guideline=version(cells.get("guideline_version"), place),
    )


def _answered(cells: dict[str, Any], given: tuple[GivenAnswer, ...], scheme: Scheme, place: str) -> AnsweredPost:
    settled = {}
    for question in scheme.questions:
        labels = _labels(question, cells.get(question.name), place)
        if labels is not None:
            basis = check_basis(cells.get(f"{question.name}_basis"), place)
            settled[question.name] = SettledAnswer(labels, basis, cells.get(f"{question.name}_reason"))
    try:
        meta = mapping(json.loads(cells.get("meta") or "{}"), f"{place}: meta")
    except (ValueError, TypeError):
        raise UserError(f"{place}: meta is not a JSON object.") from None
    return AnsweredPost(
        id=str(cells["id"]),
        text=cells.get("text"),
        **{**{name: cells.get(name) for name in POST_FIELDS}, "image": _image_key(cells.get("image"))},
        meta=meta,
        given=given,
        settled=settled,
        place=place,
    )


def _image_key(cell: Any) -> str | None:
    """Return the key of a picture, of which a dataset holds the key alone or the whole file."""
    return Path(str(cell["path"])).stem if isinstance(cell, dict) else cell
