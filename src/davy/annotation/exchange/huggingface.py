"""A Hugging Face dataset: settled labels as configuration `default`, everyone's answers as `annotations`.

A folder of Parquet parts with a card (a YAML header that names the configurations,
then words for people). Posts with a question that is not settled yet, or that were
dropped, are the split `unsettled` of `default`: who trains on `train` never meets
a label that is missing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from davy.annotation.exchange.corpus import votes_of
from davy.annotation.exchange.extra_fields import mapping, strings
from davy.annotation.exchange.long_table import meta_cell
from davy.annotation.exchange.rows import (
    POST_FIELDS,
    AnsweredPost,
    ExchangeContext,
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
from davy.core.question_kind import QUESTION_KINDS
from davy.text.words import span_texts

if TYPE_CHECKING:
    import polars as pl


JUDGE = "judge."
PART = 50_000
"""Rows of one Parquet file; so many are held in memory."""

_GIVEN = ("id", "annotator", "phase", "flags", "comment", "seconds", "at", "guideline_version")
_POST = ("id", "text", *POST_FIELDS, "meta", "sampler", "kind", "judges")
_OF_A_VERDICT = ("basis", "reason", "votes")
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


def write(rows: Rows, path: Path, about: ExchangeContext) -> None:
    """Write the dataset into an empty folder; its card is written last."""
    questions = [about.scheme.question(name) for name in about.questions]
    _check_names(questions)
    settled = DatasetParts(path / "default", "train", _post_schema(questions))
    unsettled = DatasetParts(path / "default", "unsettled", _post_schema(questions))
    answers = DatasetParts(path / "annotations", "train", _given_schema(questions))
    langs: set[str] = set()
    for row in rows:
        langs |= {row.lang} if row.lang else set()
        (settled if _complete(row, about) else unsettled).add(_post_row(row, questions))
        for given in row.given:
            answers.add(_given_row(row, given, questions))
    splits = {
        "train": settled.close(always=True),
        "unsettled": unsettled.close(),
        "annotations": answers.close(always=True),
    }
    (path / "README.md").write_text(card(about, splits, sorted(langs)), encoding="utf-8")


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

    def __init__(self, folder: Path, split: str, schema: dict[str, Any]) -> None:
        self._folder = folder
        self._split = split
        self._schema = schema
        self._rows: list[tuple[Any, ...]] = []
        self._files: list[Path] = []
        self.n = 0

    def add(self, row: tuple[Any, ...]) -> None:
        """Add a row; a full part goes to disk."""
        self._rows.append(row)
        self.n += 1
        if len(self._rows) >= PART:
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
        **{name: cells.get(name) for name in POST_FIELDS},
        meta=meta,
        given=given,
        settled=settled,
        place=place,
    )


def card(about: ExchangeContext, splits: dict[str, int], langs: list[str]) -> str:
    """Return the card's Markdown; `splits` says how many rows `train`, `unsettled` and `annotations` have."""
    import yaml

    header = yaml.safe_dump(_header(about, splits, langs), sort_keys=False, allow_unicode=True)
    parts = [
        f"# {about.title or about.project}",
        "**This dataset holds hurtful texts.** They are here so that hate can be studied and countered.",
        _rows_table(splits),
        "## Questions\n\n" + _questions(about),
        "`default` has the settled label of each question, with the basis of the verdict (`Q_basis`), the expert's "
        "reason where there is one (`Q_reason`) and how many people gave which answer (`Q_votes`, JSON). `found` is "
        "the rule by which a post was collected, `sampler` what took it from the pool, `judges` by which scores. "
        "`annotations` has what each person answered, under a pseudonym that "
        "stays the same in every export of this project.",
        '```python\nfrom datasets import load_dataset\n\nposts = load_dataset("PATH", split="train")\n'
        'answers = load_dataset("PATH", "annotations", split="train")\n```',
    ]
    if statement := about.statement():
        parts.append("\n".join(f"#{line}" if line.startswith("#") else line for line in statement.strip().splitlines()))
    return f"---\n{header}---\n\n" + "\n\n".join(parts) + "\n"


def _header(about: ExchangeContext, splits: dict[str, int], langs: list[str]) -> dict[str, Any]:
    posts = splits["train"] + splits["unsettled"]
    default = [{"split": name, "path": f"default/{name}-*.parquet"} for name in ("train", "unsettled") if splits[name]]
    return {
        **({"language": langs} if langs else {}),
        "license": about.licence or "other",
        "pretty_name": about.title or about.project,
        "task_categories": ["text-classification"],
        "tags": ["not-for-all-audiences", "hate-speech", "davy"],
        "size_categories": [next((name for most, name in _SIZES if posts < most), "1M<n<10M")],
        "configs": [
            {
                "config_name": "default",
                "default": True,
                "data_files": default or [{"split": "train", "path": "default/train-*.parquet"}],
            },
            {"config_name": "annotations", "data_files": [{"split": "train", "path": "annotations/train-*.parquet"}]},
        ],
    }


def _rows_table(splits: dict[str, int]) -> str:
    lines = ["| configuration | split | rows |", "| --- | --- | ---: |"]
    lines.append(f"| `default` | `train`: settled posts | {splits['train']:,} |")
    if splits["unsettled"]:
        lines.append(f"| `default` | `unsettled`: posts with a question open, or dropped | {splits['unsettled']:,} |")
    lines.append(f"| `annotations` | `train`: one row an answer | {splits['annotations']:,} |")
    return "\n".join(lines)


def _questions(about: ExchangeContext) -> str:
    lines = []
    for name in about.questions:
        question = about.scheme.question(name)
        labels = ", ".join(f"`{label.name}`" for label in question.labels)
        if question.marks_text:
            labels = "words of the text, as `start-end`" + (f" marked as {labels}" if labels else "")
        answer = f"{QUESTION_KINDS[question.kind].amount} {labels}".rstrip()
        under = f" (where `{question.under[0]}` is {' or '.join(question.under[1])})" if question.under else ""
        lines.append(f"- `{name}`{under}: {answer}. {question.title}".rstrip())
    return "\n".join(lines)
