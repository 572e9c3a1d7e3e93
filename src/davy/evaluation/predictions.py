"""What a detector said about posts, from a scoring pass or a file of predictions, and which of it is wrong.

A frame with `Q.label` columns, and `Q` with the probability of yes if there is one, in; answers in the scheme's names
out, in the order of the posts. Mistakes come with how sure the detector was. What it got wrong with most confidence
says most: a label that people got wrong, or a habit that the detector learnt.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from davy.core.answers import SEPARATOR, Answer
from davy.core.errors import UserError
from davy.core.scheme import Question, Scheme
from davy.corpus.gold import Gold, parse_gold_column
from davy.report import Column, Table

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Predictions:
    """One detector's answers: for each question labels a post, and the probability of yes where it gave one."""

    name: str
    version: str
    labels: Mapping[str, Sequence[Answer]]
    yes: Mapping[str, Sequence[float | None]] = field(default_factory=dict)
    seen: Sequence[bool] | None = None
    """For each post whether the detector learnt from it; None where it does not know."""
    calibrated: Sequence[bool] | None = None
    """For each post whether the detector was calibrated on it; None where it does not know."""
    every: Mapping[str, Sequence[Mapping[str, float] | None]] = field(default_factory=dict)
    """For questions that are no yes/no question: each label's probability a post, where the detector gave them."""

    def confidence(self, question: Question, row: int) -> float | None:
        """Return the probability of the labels that were chosen for a post; of several, the least sure one's."""
        answer = self.labels[question.name][row]
        yes = self.yes.get(question.name)
        if answer is not None and yes is not None and (chance := yes[row]) is not None:
            return chance if question.positive in answer else 1 - chance
        every = self.every.get(question.name)
        if answer is None or every is None or (chances := every[row]) is None:
            return None
        return min((chances[label] for label in answer if label in chances), default=1 - max(chances.values()))


def read_predictions(name: str, version: str, scored: pl.DataFrame, scheme: Scheme, *, file: str = "") -> Predictions:
    """Return the answers in a scored frame to the questions of a scheme; a label outside it is an error."""
    answered = [column.removesuffix(".label") for column in scored.columns if column.endswith(".label")]
    questions = shared_questions(name, answered, scheme, file=file)
    labels = {q.name: _labels(scored, q, file or f"What {name} said") for q in questions}
    yes = {q.name: _numbers(scored, q, file or name) for q in questions if q.positive and q.name in scored.columns}
    every = {
        q.name: _probabilities(scored[f"{q.name}.probabilities"], q, file or name)
        for q in questions
        if f"{q.name}.probabilities" in scored.columns
    }
    known = {name: column for name, column in yes.items() if column is not None}
    return Predictions(name, version, labels, known, every=every)


def shared_questions(
    name: str, answered: Sequence[str], scheme: Scheme, *, file: str = "", advice: str = ""
) -> list[Question]:
    """Return the scheme's questions that a detector answers; none is an error, best raised before it is asked."""
    questions = [question for question in scheme.questions if question.name in answered]
    if not questions:
        asked = ", ".join(question.name for question in scheme.questions)
        usual = "Predictions need a column Q.label" if file else "Name another model, such as one with @SCHEME"
        raise UserError(
            f"{file or name} answers {', '.join(answered) or 'nothing'}; scheme {scheme.name!r} asks {asked}. "
            f"{advice or usual}"
        )
    return questions


def align_predictions(
    predictions: pl.DataFrame, ids: Sequence[str], every: Sequence[str], *, file: str, posts: str
) -> pl.DataFrame:
    """Return the predictions for these ids, in their order.

    A missing id, one that is there twice, and one that is not among `every` id of the posts' file are errors.
    """
    import polars as pl

    if "id" not in predictions.columns:
        raise UserError(f"{file} has no column 'id' to join by; it has {', '.join(predictions.columns)}")
    given_ids = predictions["id"].cast(pl.String)
    if given_ids.null_count():
        raise UserError(f"{file}: row {int(given_ids.is_null().arg_max() or 0) + 1} has no id")
    if given_ids.n_unique() < len(given_ids):
        first = given_ids.filter(given_ids.is_duplicated())[0]
        raise UserError(f"{file} has id {first!r} more than once. Keep one prediction a post")
    known_ids = set(every)
    extra = [post_id for post_id in given_ids if post_id not in known_ids]
    if extra:
        raise UserError(f"{file} has {len(extra):,} ids that {posts} does not have, such as {extra[0]!r}. Drop them")
    places = {post_id: i for i, post_id in enumerate(given_ids)}
    missing = [post_id for post_id in ids if post_id not in places]
    if missing:
        raise UserError(
            f"{file} has no prediction for {len(missing):,} of {len(ids):,} posts of {posts}, such as {missing[0]!r}"
        )
    return predictions[[places[post_id] for post_id in ids]]


def _labels(scored: pl.DataFrame, question: Question, file: str) -> list[Answer]:
    """Return the labels a post; where a detector wrote `none` for a `many` question, it gave none of its labels."""
    column = f"{question.name}.label"
    parsed = parse_gold_column(scored, question, column, file)
    if not question.multilabel:
        return parsed
    has_cell = scored[column].is_not_null().to_list()
    return [() if labels is None and is_given else labels for labels, is_given in zip(parsed, has_cell, strict=True)]


def _numbers(scored: pl.DataFrame, question: Question, file: str) -> list[float | None] | None:
    """Return the probabilities of yes; None where the column holds something else."""
    import polars as pl

    column = scored[question.name]
    numbers = column.cast(pl.Float64, strict=False)
    broken = (column.is_not_null() & ~numbers.is_between(0, 1).fill_null(value=False)).arg_true()
    if len(broken):
        row = int(broken[0])
        raise UserError(
            f"{file}: row {row + 1}, column {question.name!r} has {str(column[row])[:40]!r}, which is no probability. "
            f"Give numbers from 0 to 1, or leave the column out"
        )
    return numbers.to_list()


def _probabilities(column: pl.Series, question: Question, file: str) -> list[dict[str, float] | None]:
    """Return each label's probability a post, as `Q.probabilities` holds them; a cell that is none is an error."""
    import polars as pl

    rows: list[dict[str, float] | None] = []
    for row, cell in enumerate(column.cast(pl.String), 1):
        try:
            given = None if cell is None else json.loads(cell)
            rows.append(None if given is None else {question.label(k).name: float(v) for k, v in given.items()})
        except (ValueError, KeyError, TypeError, AttributeError):
            raise UserError(
                f"{file}: row {row}, column {column.name!r} has {str(cell)[:40]!r}, which is no probability of each "
                "label as JSON. Give an object of numbers, or leave the column out"
            ) from None
    return rows


@dataclass(frozen=True, slots=True)
class Mistake:
    """One post with a wrong answer, or none. `confidence` is the probability of the answer that was given."""

    row: int
    gold: str
    predicted: str | None
    confidence: float | None


def find_mistakes(gold: Gold, predictions: Predictions) -> list[Mistake]:
    """Return the posts whose labels are not the settled ones, the most confident first, those without answer last."""
    mistakes = []
    answers = predictions.labels[gold.question.name]
    for row, labels in zip(gold.rows, gold.labels, strict=True):
        answer = answers[row]
        if answer is None or set(answer) != set(labels):
            predicted = None if answer is None else SEPARATOR.join(answer)
            sure = None if answer is None else predictions.confidence(gold.question, row)
            mistakes.append(Mistake(row, SEPARATOR.join(labels), predicted, sure))
    return sorted(mistakes, key=lambda one: (one.predicted is None, -(one.confidence or 0.0)))


def mistake_table(
    title: str, mistakes: Sequence[Mistake], ids: Sequence[str], texts: Sequence[str | None], *, most: int
) -> Table:
    """Return the first mistakes as a table whose texts are masked wherever people read them."""
    rows = [
        (one.gold, one.predicted, one.confidence, texts[one.row], ids[one.row])
        for one in list(mistakes)[:most]
    ]  # fmt: skip
    columns = [
        Column("gold"),
        Column("predicted"),
        Column("confidence", "number"),
        Column("text", "text"),
        Column("id"),
    ]
    more = f"{len(mistakes):,} errors; the {len(rows)} surest are listed" if len(mistakes) > len(rows) else ""
    return Table.of(columns, rows, title=title, note=more)
