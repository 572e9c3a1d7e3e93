"""Which column of a table of answers is the item, which the annotator, which the labels.

Column names in, choices out: what the user named, else a name that such files use. An error lists what was seen.
"""

from __future__ import annotations

from collections.abc import Sequence

from davy.core import UserError
from davy.core.errors import nearest

ITEM_NAMES = ("item", "item_id", "post", "post_id", "task", "task_id", "unit", "tweet_id", "rewire_id", "case_id", "id")
ANNOTATOR_NAMES = (
    "annotator",
    "annotator_id",
    "annotator_name",
    "worker",
    "worker_id",
    "rater",
    "coder",
    "user",
    "who",
)
LABEL_NAMES = ("label", "labels", "answer", "annotation", "value")


def item_column(columns: Sequence[str], requested: str | None, file: str, *, option: str = "--id-column") -> str:
    """Return the column that says which item an answer is about."""
    return _find_column(columns, requested, ITEM_NAMES, file, option, "the item (the post that was labelled)")


def annotator_column(
    columns: Sequence[str], requested: str | None, file: str, *, option: str = "--annotator-column"
) -> str:
    """Return the column that says who gave an answer."""
    return _find_column(columns, requested, ANNOTATOR_NAMES, file, option, "the annotator")


def label_columns(columns: Sequence[str], requested: Sequence[str], file: str, taken: Sequence[str]) -> list[str]:
    """Return the columns that hold answers, one a question: those named, else `label`, else all that begin so."""
    for name in requested:
        require(name, columns, file, "--gold")
    if requested:
        return list(requested)
    exact = [name for name in columns if name.casefold() in LABEL_NAMES and name not in taken]
    columns_of_labels = exact[:1] or [
        n for n in columns if n.casefold().startswith(("label_", "label.")) and n not in taken
    ]
    if not columns_of_labels:
        raise UserError(
            f"{file} has no column that looks like a label; it has {', '.join(columns)}. Name one with --gold, "
            "once a question"
        )
    return columns_of_labels


def wide_columns(
    columns: Sequence[str], questions: Sequence[str], people: Sequence[str], taken: Sequence[str], file: str
) -> dict[str, dict[str, str]]:
    """Return for each question of a wide table which column holds which annotator's answers.

    With `questions`, a question's columns are named `QUESTION.ANNOTATOR`; else each column of `people` (default: all
    that are not taken) holds one annotator's answers to the only question.
    """
    if questions and not people:
        by_question = {q: {c.removeprefix(f"{q}."): c for c in columns if c.startswith(f"{q}.")} for q in questions}
        for question, each in by_question.items():
            if len(each) < 2:
                raise UserError(
                    f"{file} needs two or more columns named {question}.ANNOTATOR; it has {', '.join(columns)}. "
                    "Or name the annotators' columns with --annotator-column"
                )
        return by_question
    for name in people:
        require(name, columns, file, "--annotator-column")
    chosen = list(people) or [name for name in columns if name not in taken]
    if len(chosen) < 2:
        raise UserError(f"{file} needs two or more annotators' columns; it has {', '.join(columns)}")
    if len(questions) > 1:
        raise UserError("With --annotator-column a wide file has one question. Name one --gold, or QUESTION.ANNOTATOR")
    return {questions[0] if questions else "label": {name: name for name in chosen}}


def require(name: str, columns: Sequence[str], file: str, option: str) -> None:
    """Raise unless the column is there, with what is there and the nearest."""
    if name not in columns:
        seen = ", ".join(columns)
        raise UserError(f"{file} has no column {name!r} ({option}); it has {seen}.{nearest(name, list(columns))}")


def _find_column(
    columns: Sequence[str], requested: str | None, known: Sequence[str], file: str, option: str, what: str
) -> str:
    if requested is not None:
        require(requested, columns, file, option)
        return requested
    by_fold = {column.casefold(): column for column in reversed(columns)}
    match = next((by_fold[name] for name in known if name in by_fold), None)
    if match is None:
        raise UserError(
            f"{file} has no column that looks like {what}; it has {', '.join(columns)}. Name it with {option}"
        )
    return match
