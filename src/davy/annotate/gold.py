"""Right answers in a file: columns such as `sexist.gold` in, each row's answers under the scheme out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from davy.core import Scheme, UserError
from davy.core.annotation import Answers
from davy.core.errors import nearest

if TYPE_CHECKING:
    import polars as pl

ENDING = ".gold"


def gold_of(frame: pl.DataFrame, scheme: Scheme) -> list[Answers | None]:
    """Return each row's right answers, None where it has none; what does not fit the scheme is refused by post id."""
    names = [question.name for question in scheme.questions]
    columns = [name for name in frame.columns if name.endswith(ENDING)]
    for column in columns:
        if column.removesuffix(ENDING) not in names:
            hint = nearest(column.removesuffix(ENDING), names)
            raise UserError(
                f"Column {column!r} holds right answers, but scheme {scheme.name!r} asks {', '.join(names)}.{hint}"
            )
    cells = {column.removesuffix(ENDING): [_text(it) for it in frame[column]] for column in columns}
    found: list[Answers | None] = []
    for place, post in enumerate(frame["id"]):
        answers = {name: _labels(scheme, name, column[place], str(post)) for name, column in cells.items()}
        given = {name: labels for name, labels in answers.items() if labels is not None}
        faults = scheme.faults(given)
        if faults:
            raise UserError(f"Post {str(post)!r} has right answers that don't fit: {faults[0]}.")
        found.append(given or None)
    return found


def _text(cell: object) -> str:
    return "" if cell is None else str(cell)


def _labels(scheme: Scheme, name: str, cell: str, post: str) -> tuple[str, ...] | None:
    question = scheme.question(name)
    if question.is_absent(cell):
        return None
    labels = []
    for part in cell.split("|"):
        try:
            labels.append(question.label(part).name)
        except KeyError:
            if not question.open:
                known = ", ".join(question.label_names)
                raise UserError(f"Post {post!r}: {part[:40]!r} is not a label of {name!r}; it has {known}.") from None
            labels.append(part.strip())
    return tuple(labels)
