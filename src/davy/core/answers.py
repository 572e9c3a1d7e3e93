"""Settled answers: what a cell says, to which posts a question applies, and the no that follows from an answer above.

Cells and lists of labels in, the same out; frames are in `core.gold`. The one thing to know: `Question.applies_under`
is the only place that says whether an answer leads to a question; everything else goes through it, up to the root.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from davy.core.errors import nearest
from davy.core.scheme import Question

GOLD = ".gold"
"""The column `Q.gold` holds the settled answers to question Q."""

SEPARATOR = "|"
"""Joins several labels in one cell."""

NONE = "none"
"""A cell that says "none of these" to a `many` question, unless the scheme gives the word another meaning."""

Answer = tuple[str, ...] | None
"""The labels of one post; empty where a `many` question got none of its labels, None where there is no answer."""


def gold_of_labels(columns: Iterable[str]) -> list[str]:
    """Return the columns `Q.gold` that hold labels: one with `Q.gold.words` beside it holds marked words."""
    names = list(columns)
    return [name for name in names if name.endswith(GOLD) and f"{name}.words" not in names]


class UnknownLabel(ValueError):
    """A cell that spells no label of its question. `row` counts from 0; the text says which labels there are."""

    def __init__(self, spelling: str, question: Question, row: int = 0) -> None:
        names = question.possible_answers
        listed = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
        super().__init__(
            f"{spelling[:80]!r}, which is no label of {question.name!r}; it has {listed}.{nearest(spelling, names)}"
        )
        self.spelling = spelling
        self.question = question
        self.row = row


def split_cell(cell: str | None) -> tuple[str, ...]:
    """Return the spellings in a cell, in its order, each once; none for an empty one."""
    return tuple(dict.fromkeys(part for piece in (cell or "").split(SEPARATOR) if (part := piece.strip())))


def parse_cell(cell: str | None, question: Question, *, keep_unlisted: bool = False) -> Answer:
    """Return the labels that a cell spells, under the names of the scheme.

    None where there is no cell, where it is empty (but for a `many` or `spans` question, which then got none) and
    where it says that the question does not apply. A label that an open question does not list is left out, or kept
    as it is spelt; any other that is not listed raises `UnknownLabel`.
    """
    if cell is None or (not question.takes_several and question.is_absent(cell)):
        return None
    parts = split_cell(cell) if question.takes_several else (cell.strip(),)
    labels = []
    for part in parts:
        try:
            labels.append(question.read(part))
        except (KeyError, ValueError):
            if question.is_absent(part) or parts == (NONE,):
                continue
            if not question.open:
                raise UnknownLabel(part, question) from None
            labels += [part] if keep_unlisted else []
    if not labels and (not question.takes_several or (parts and all(map(question.is_absent, parts)))):
        return None
    return tuple(dict.fromkeys(labels))


def parse_column(cells: Iterable[str | None], question: Question, *, keep_unlisted: bool = False) -> list[Answer]:
    """Return the labels of every cell; each distinct cell is read once."""
    known: dict[str | None, Answer] = {}
    answers = []
    for row, cell in enumerate(cells):
        if cell not in known:
            try:
                known[cell] = parse_cell(cell, question, keep_unlisted=keep_unlisted)
            except UnknownLabel as error:
                raise UnknownLabel(error.spelling, question, row) from None
        answers.append(known[cell])
    return answers


def applies_mask(
    question: Question, questions: Collection[Question], columns: Mapping[str, Sequence[Answer]], n: int
) -> list[bool | None]:
    """Return for each of n posts whether the question applies to it.

    True where the answers above lead to it, False where one leads past it, None where an answer above is missing. A
    parent that has no column is not looked at, so that the answers to a child question alone can be used.
    """
    if question.under is None or question.under[0] not in columns:
        return [True] * n
    parent = next((it for it in questions if it.name == question.under[0]), None)
    above = [True] * n if parent is None else applies_mask(parent, questions, columns, n)
    return [_applies(question, up, labels) for up, labels in zip(above, columns[question.under[0]], strict=True)]


def _applies(question: Question, parent_applies: bool | None, labels: Answer) -> bool | None:
    if parent_applies is False:
        return False
    if labels is None:
        return None
    return parent_applies if question.applies_under(labels) else False


def imply_no(question: Question, answers: Sequence[Answer], applies: Sequence[bool | None]) -> list[Answer]:
    """Return the answers to a yes/no question with the no of each post that an answer above leads past it.

    A post that is not hateful is not misogynistic either. What has an answer of its own keeps it.
    """
    if question.no is None:
        return list(answers)
    no = (question.no,)
    return [no if labels is None and led is False else labels for labels, led in zip(answers, applies, strict=True)]
