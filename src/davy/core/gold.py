"""Settled answers in a frame of posts: its columns `Q.gold` as labels, as arrays to learn from, and with implied noes.

Posts in; for each question which rows have an answer and which labels, out. numpy and polars are imported when they
are needed: `core` loads neither.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from davy.core.annotation import Answers
from davy.core.answers import GOLD, Answer, UnknownLabel, applies_mask, imply_no, parse_column, split_cell
from davy.core.errors import UnknownName, UserError, nearest
from davy.core.scheme import Question, Scheme

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    Array = np.ndarray[Any, np.dtype[Any]]


def has_gold(question: Question, posts: pl.DataFrame) -> bool:
    """Return whether any post has a settled answer to the question."""
    column = f"{question.name}{GOLD}"
    return column in posts.columns and bool(posts[column].is_not_null().any())


def gold_questions(questions: Sequence[Question], posts: pl.DataFrame) -> list[Question]:
    """Return the questions that the posts have settled answers to; none is an error. Spans are no labels to learn."""
    questions = [question for question in questions if question.of_labels]
    with_gold = [question for question in questions if has_gold(question, posts)]
    if not with_gold:
        wanted = ", ".join(f"{question.name}{GOLD}" for question in questions)
        raise UserError(
            f"No settled answers to learn from: wanted {wanted}; the columns are {', '.join(posts.columns)}. "
            + (
                suggest_gold(posts, questions)
                or "Where they belong to another scheme, name it: --scheme edos, or @edos after a model's name."
            )
        )
    return with_gold


def learnable_questions(
    questions: Sequence[Question], posts: pl.DataFrame, named: Collection[str] = ()
) -> list[Question]:
    """Return the questions that the posts have answers to, at least one of them with answers of two kinds.

    One that is `named` and has a single kind of answer is an error, and so are posts without any text.
    """
    answered = gold_questions(questions, posts)
    if "image" not in posts.columns and not any(text and text.strip() for text in posts["text"].to_list()):
        raise UserError(f"All {len(posts):,} texts are empty: there is nothing to learn from.")
    filled = fill_implied_no(posts, answered)
    kinds = {
        name: {labels for labels in answers if labels is not None}
        for name, answers in parse_gold(filled, answered).items()
    }
    single = [question for question in answered if len(kinds[question.name]) < 2]
    if len(single) < len(answered):
        single = [question for question in single if question.name in named]
    if single:
        only = " and ".join(next(iter(kinds[single[0].name]), ())) or "none of its labels"
        raise UserError(
            f"All answers to {single[0].name!r} are {only!r}: one kind of answer can't be learnt. "
            "Give posts of two kinds."
        )
    return answered


def gold_columns(
    names: Sequence[str],
    given: Sequence[str],
    questions: Sequence[Question],
    asked: Sequence[str] = (),
    *,
    file: str = "",
) -> dict[str, str]:
    """Return which column holds which question's answers: every `Q.gold`, and what `[Q=]COLUMN` entries name.

    A column without a question answers the only one of `asked`, else the first question; where there are no
    `questions` to choose from, the question of its own name.
    """
    known = [question.name for question in questions]
    columns = {name: f"{name}{GOLD}" for name in known if f"{name}{GOLD}" in names}
    for entry in given:
        question, _, column = entry.partition("=") if entry not in names else ("", "", entry)
        if not column:
            question, column = "", entry
        if column not in names:
            where = f"{file} has" if file else "There is"
            raise UnknownName(
                f"{where} no column {column!r} (--gold); the columns are {', '.join(names)}.{nearest(column, names)}"
            )
        if not question and len(asked) > 1:
            raise UserError(f"--gold {column} could answer {' or '.join(asked)}. Say which: --gold {asked[0]}={column}")
        question = question or [*asked, *known, column.removesuffix(GOLD)][0]
        if known and question not in known:
            hint = nearest(question, known)
            raise UnknownName(f"--gold: there is no question {question!r}; the questions are {', '.join(known)}.{hint}")
        columns[question] = column
    return columns


def name_gold(
    posts: pl.DataFrame,
    given: Sequence[str],
    questions: Sequence[Question],
    asked: Sequence[str] = (),
    *,
    file: str = "",
) -> pl.DataFrame:
    """Return the posts with the columns that `--gold [Q=]COLUMN` names under `Q.gold`, as text; others stay."""
    import polars as pl

    if not given:
        return posts
    columns = gold_columns(posts.columns, given, questions, asked, file=file)
    return posts.with_columns(pl.col(column).cast(pl.String).alias(f"{q}{GOLD}") for q, column in columns.items())


def suggest_gold(posts: pl.DataFrame, questions: Collection[Question]) -> str:
    """Return advice that names a column whose every value is a label of a question; "" where there is none."""
    for column in posts.columns:
        # Numbers may be anything, so that a column of them must be called a label.
        called = "label" in column or any(question.name in column for question in questions)
        if (
            column.endswith(GOLD)
            or column in ("id", "text", "meta")
            or (posts[column].dtype.is_numeric() and not called)
        ):
            continue
        values = _texts(posts[column].unique().drop_nulls())
        for question in questions:
            if values and len(values) <= len(question.labels) + 1 and _are_labels(values, question):
                return f"Column {column!r} looks like it: --gold {question.name}={column}"
    return ""


def check_questions(asked: Sequence[str], scheme: Scheme) -> list[str]:
    """Return the questions asked for; one that the scheme does not have is an error."""
    names = [question.name for question in scheme.questions]
    for name in asked:
        if name not in names:
            raise UserError(
                f"Scheme {scheme.name!r} has no question {name!r}; it asks {', '.join(names)}.{nearest(name, names)}"
            )
    return list(asked)


def _are_labels(values: Sequence[str | None], question: Question) -> bool:
    try:
        parse_column(values, question)
    except UnknownLabel:
        return False
    return True


def parse_gold(posts: pl.DataFrame, questions: Collection[Question]) -> dict[str, list[Answer]]:
    """Return each question's settled answers, one a post, for the questions that have a column.

    A parent that is not among the questions comes along as it is spelt, so that it is known where its children apply.
    """
    answers: dict[str, list[Answer]] = {}
    for question in questions:
        column = f"{question.name}{GOLD}"
        if column in posts.columns:
            try:
                answers[question.name] = parse_column(_texts(posts[column]), question)
            except UnknownLabel as error:
                raise UserError(f"Row {error.row + 1} of {column} has {error}") from None
    for question in questions:
        parent = question.under[0] if question.under else ""
        if parent not in answers and f"{parent}{GOLD}" in posts.columns:
            answers[parent] = [split_cell(cell) or None for cell in _texts(posts[f"{parent}{GOLD}"])]
    return answers


def _texts(column: pl.Series) -> list[str | None]:
    import polars as pl

    return column.cast(pl.String).to_list()


def targets(questions: Sequence[Question], posts: pl.DataFrame) -> Iterator[tuple[Question, Array, Array]]:
    """Yield each question with the rows that have an answer and a table of 0 and 1, one column a label."""
    import numpy as np

    for question in gold_questions(questions, posts):
        answers = parse_gold(posts, [question])[question.name]
        rows = np.array([row for row, labels in enumerate(answers) if labels is not None], dtype=np.int64)
        table = np.zeros((len(rows), len(question.labels)), dtype=np.int8)
        places = {name: place for place, name in enumerate(question.label_names)}
        for i, row in enumerate(rows.tolist()):
            table[i, [places[name] for name in answers[row] or ()]] = 1
        yield question, rows, table


def fill_implied_no(posts: pl.DataFrame, questions: Collection[Question]) -> pl.DataFrame:
    """Return the posts with the no of every yes/no question that a settled answer above leads past."""
    import polars as pl

    columns = parse_gold(posts, questions)
    for question in questions:
        own = columns.get(question.name)
        if own is None:
            continue
        columns[question.name] = filled = imply_no(question, own, applies_mask(question, questions, columns, len(own)))
        fresh = [old is None and new is not None for old, new in zip(own, filled, strict=True)]
        changed = pl.Series(fresh, dtype=pl.Boolean)
        column = f"{question.name}{GOLD}"
        posts = posts.with_columns(pl.when(changed).then(pl.lit(question.no)).otherwise(column).alias(column))
    return posts


def right_answers(posts: pl.DataFrame, scheme: Scheme) -> list[Answers | None]:
    """Return each post's settled answers, None where it has none; what does not fit the scheme is an error."""
    names = [question.name for question in scheme.questions]
    columns = {name.removesuffix(GOLD): _texts(posts[name]) for name in posts.columns if name.endswith(GOLD)}
    for name in columns:
        if name not in names:
            raise UserError(
                f"Column {name + GOLD!r} holds right answers, but scheme {scheme.name!r} asks {', '.join(names)}."
                f"{nearest(name, names)}"
            )
    ids = posts["id"].to_list()
    parsed = {name: _parse_by_id(cells, scheme.question(name), ids) for name, cells in columns.items()}
    answers: list[Answers | None] = []
    for row, post in enumerate(ids):
        # An empty cell is no right answer: nobody meant "none of these" by it.
        given = {name: labels for name, column in parsed.items() if (labels := column[row])}
        faults = scheme.faults(given)
        if faults:
            raise UserError(f"Post {str(post)!r} has right answers that don't fit: {faults[0]}.")
        answers.append(given or None)
    return answers


def _parse_by_id(cells: Sequence[str | None], question: Question, ids: Sequence[object]) -> list[Answer]:
    try:
        return parse_column(cells, question, keep_unlisted=True)
    except UnknownLabel as error:
        raise UserError(f"Post {str(ids[error.row])!r} has {error}") from None
