"""Settled answers in posts: which column answers which question, under which scheme, and which posts count.

Posts and what `--gold` says in; a scheme and a table of question → column out. Any label set is taken: if no scheme
that ships has the labels, the detectors' questions are tried, and at last a question is made from the labels. A child
question is measured only on posts whose settled parent answer makes it apply, as EDOS does for its tasks B and C.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import polars as pl

from davy import schemes
from davy.core.answers import (
    GOLD,
    SEPARATOR,
    Answer,
    UnknownLabel,
    applies_mask,
    imply_no,
    parse_cell,
    parse_column,
    split_cell,
)
from davy.core.errors import UserError
from davy.core.gold import check_questions, gold_columns, suggest_gold
from davy.core.options import Option
from davy.core.question_kind import QUESTION_KINDS
from davy.core.reporter import SILENT, Reporter
from davy.core.scheme import NO, YES, Label, Question, Scheme, fold_spelling
from davy.corpus.empty_cells import CellValues, fits_empty_cells, looks_empty, read_empty_cells

ROW = "davy.row"
"""Column with each post's row in its file, so that errors name it after rows were left out."""


@dataclass(frozen=True, slots=True)
class Gold:
    """One question's settled answers: `labels[i]` belongs to the post at position `rows[i]`."""

    question: Question
    rows: tuple[int, ...]
    labels: tuple[tuple[str, ...], ...]
    note: str = ""
    """Which posts were left out, and why."""

    @property
    def cells(self) -> list[str]:
        """Each post's labels as one text, joined by `|`."""
        return [SEPARATOR.join(labels) for labels in self.labels]

    @property
    def counts(self) -> dict[str, int]:
        """How often each label occurs, in the order of the question."""
        every = [label for labels in self.labels for label in labels]
        return {name: every.count(name) for name in self.question.label_names}


def settled_answers(
    posts: pl.DataFrame,
    scheme: Scheme,
    columns: Mapping[str, str],
    *,
    file: str = "The file",
    questions: Sequence[str] = (),
    everywhere: bool = False,
) -> list[Gold]:
    """Return the settled answers to each question that has a column and at least one answer.

    With `everywhere`, a yes/no child question is measured on all posts whose parent is answered, and a post to which
    it does not apply counts as a no: so GMHP7k measures misogyny.
    """
    asked = [scheme.question(name) for name in check_questions(questions, scheme)]
    parsed = {
        question.name: parse_gold_column(posts, question, columns[question.name], file)
        for question in scheme.questions
        if question.name in columns
    }
    wanted = [question for question in asked or scheme.questions if question.name in parsed]
    golds = [_of(question, parsed, scheme, everywhere=everywhere) for question in wanted]
    absent = [question.name for question in asked if question.name not in parsed]
    if absent:
        seen = ", ".join(columns.values()) or "none"
        raise UserError(
            f"{file} has no settled answers to {absent[0]!r}; its answer columns are {seen}. "
            f"Name the column: --gold {absent[0]}=COLUMN"
        )
    for gold in golds:
        if not gold.rows and gold.question in asked:
            raise UserError(f"{file} has no post with a settled answer to {gold.question.name!r}. {gold.note}".strip())
    kept = [gold for gold in golds if gold.rows]
    if not kept:
        raise UserError(
            f"{file} has no settled answers to measure against: wanted columns such as "
            f"{scheme.questions[0].name}.gold, it has {', '.join(posts.drop(ROW, strict=False).columns)}. "
            + (
                suggest_gold(posts, scheme.questions)
                or "Name one with --gold COLUMN, or read a public corpus with --corpus NAME"
            )
        )
    return kept


def parse_gold_column(posts: pl.DataFrame, question: Question, column: str, file: str) -> list[Answer]:
    """Return each post's answer in the scheme's names; a label outside the scheme is an error with row and value."""
    try:
        return parse_column(posts[column].cast(pl.String).to_list(), question)
    except UnknownLabel as error:
        row = posts[ROW][error.row] if ROW in posts.columns else error.row + 1
        raise UserError(f"{file}: row {row}, column {column!r} has {error}") from None


def _of(question: Question, parsed: Mapping[str, list[Answer]], scheme: Scheme, *, everywhere: bool) -> Gold:
    own = parsed[question.name]
    applies = applies_mask(question, scheme.questions, parsed, len(own))
    counted = [labels if led else None for labels, led in zip(own, applies, strict=True)]
    if everywhere:
        counted = imply_no(question, counted, applies)
    rows = tuple(row for row, labels in enumerate(counted) if labels is not None)
    labels = tuple(labels for labels in counted if labels is not None)
    empty = sum(labels is None and led is True for labels, led in zip(counted, applies, strict=True))
    not_asked = len(own) - len(rows) - empty
    notes = []
    if not_asked and question.under:
        notes.append(f"{not_asked:,} posts left out: {question.under[0]!r} does not lead to this question")
    if empty:
        notes.append(f"{empty:,} posts left out: no settled answer")
    return Gold(question, rows, labels, "; ".join(notes))


PLAIN = ("label", "labels", "gold", "class")
"""Columns that hold settled answers where there is no `Q.gold` and nobody named another."""
GivenGold = Annotated[
    Sequence[str],
    Option("The column with the settled answers to Q, where it is not Q.gold.", "--gold", metavar="[Q=]C"),
]
"""Columns of settled answers, `Q=COLUMN`."""
MOST_COUNTED = 12
"""Of more labels than this, the others are counted together."""
MOST_LABELS = 200
"""A column of more values than this holds no labels."""


def answer_columns(
    posts: pl.DataFrame,
    given: Sequence[str] = (),
    scheme: str | Scheme | None = None,
    *,
    asked: Sequence[str] = (),
    among: Sequence[Question] = (),
    file: str = "",
    label_none: bool = False,
    reporter: Reporter = SILENT,
) -> tuple[Scheme, dict[str, str]]:
    """Return the scheme of the posts' settled answers, and which column answers which question.

    The columns are every `Q.gold`, those that `[Q=]COLUMN` entries name, else a plain `label`. `among` are the
    questions of detectors, which know labels that no scheme that ships has; `asked` are those that count. The scheme
    reads cells such as `none` as `empty_cells` decides; with `label_none` they are a label. How many answers of each
    label there are is reported first.
    """
    names = [name for name in posts.columns if name != ROW]
    rules = schemes.load(scheme) if isinstance(scheme, str) else scheme
    known = [q.name + GOLD for q in rules.questions] if rules else [n for n in names if n.endswith(GOLD)]
    if not given and not any(name in names for name in known) and (plain := plain_column(posts)):
        given = [plain]
    if rules is not None:
        columns = _labels_only(rules, gold_columns(names, given, rules.questions, asked, file=file), reporter)
        return _read_cells(rules, posts, columns, label_none, reporter), columns
    # Every entry gets its question's name: a column without one, the question that its labels fit.
    entries = [
        f"{_called(posts[entry].unique(), asked, among, label_none)}={entry}" if entry in names else entry
        for entry in given
    ]
    columns = gold_columns(names, [*known, *entries], (), file=file)
    if not columns:
        raise UserError(f"There is no column of settled answers; the columns are {', '.join(names)}. {_advice(posts)}")
    found = {name: posts[column].unique() for name, column in columns.items()}
    chosen = _shipped(found, among, label_none) or _composed(found, among, label_none)
    columns = _labels_only(chosen, columns, reporter)
    chosen = _read_cells(chosen, posts, columns, label_none, reporter)
    _note(chosen, columns, reporter)
    return chosen, columns


def _read_cells(
    scheme: Scheme, posts: pl.DataFrame, columns: Mapping[str, str], label_none: bool, reporter: Reporter
) -> Scheme:
    """Return the scheme that reads cells which look empty as they are meant; report the answers to each question."""
    questions = []
    for question in scheme.questions:
        column = posts[columns[question.name]] if question.name in columns else None
        if column is not None:
            question, label = read_empty_cells(question, column, label_none)
            reporter.note(_counted(question, column, label))
        questions.append(question)
    return replace(scheme, questions=tuple(questions))


def _counted(question: Question, column: pl.Series, label: str) -> str:
    """Return how many answers of each label a column has, and how many cells are none, as a sentence."""
    counts: Counter[str] = Counter()
    left_out = 0
    empty: Counter[str] = Counter()
    for cell, n in column.cast(pl.String).value_counts().iter_rows():
        try:
            answer = parse_cell(cell, question, keep_unlisted=True)
        except UnknownLabel:
            continue  # the reader of the answers names its row
        counts.update(dict.fromkeys(answer or (), n))
        left_out += n if answer is None else 0
        if cell is not None and looks_empty(cell) and (label or answer is None):
            empty[cell] += n
    order = [name for name in question.label_names if name in counts] + [
        name for name in counts if name not in question.label_names
    ]
    listed = [f"{counts[name]:,} {name}" for name in order[:MOST_COUNTED]]
    if len(order) > MOST_COUNTED:
        listed.append(f"{len(order) - MOST_COUNTED} more labels")
    cells = ", ".join(f"{n:,} × {cell!r}" for cell, n in empty.most_common())
    meaning = f"read as {label!r}" if label else "no answer" if left_out else ""
    note = f" ({cells} {meaning})" if cells and meaning else ""
    return f"Answers to {question.name!r}: {', '.join([*listed, f'{left_out:,} left out'])}{note}."


def _labels_only(scheme: Scheme, columns: Mapping[str, str], reporter: Reporter) -> dict[str, str]:
    """Return the columns of labels; others, such as marked words, are nothing to learn or to measure by."""
    for name, kind in QUESTION_KINDS.items():
        others = [column for column in columns if scheme.question(column).kind == name]
        if others and not kind.of_labels:
            use = " davy explain compares with them." if kind.marks_text else ""
            reporter.note(f"Left out, {kind.answers}: {', '.join(others)}.{use}")
    return {name: column for name, column in columns.items() if scheme.question(name).of_labels}


def plain_column(posts: pl.DataFrame) -> str | None:
    """Return the column that holds settled answers by its plain name, such as `label`."""
    return next((name for name in PLAIN if name in posts.columns and posts[name].is_not_null().any()), None)


def with_gold(posts: pl.DataFrame, columns: Mapping[str, str]) -> pl.DataFrame:
    """Return the posts with a text column `Q.gold` for each question that has a column there."""
    present = {name: column for name, column in columns.items() if column in posts.columns}
    return posts.with_columns(pl.col(column).cast(pl.String).alias(name + GOLD) for name, column in present.items())


def spell_gold(posts: pl.DataFrame, questions: Sequence[Question]) -> pl.DataFrame:
    """Return the posts with `Q.gold` in the questions' own label names; what is no label stays as it is."""
    for question in questions:
        if question.name + GOLD not in posts.columns:
            continue
        cells = posts[question.name + GOLD].cast(pl.String)
        table = {cell: _spelt(cell, question) for cell in cells.unique().drop_nulls()}
        posts = posts.with_columns(
            cells.replace_strict(table, default=None, return_dtype=pl.String).alias(question.name + GOLD)
        )
    return posts


def _spelt(cell: str, question: Question) -> str | None:
    try:
        labels = parse_cell(cell, question, keep_unlisted=True)
    except UnknownLabel:
        return cell
    return None if labels is None else "|".join(labels)


def _called(column: pl.Series, asked: Sequence[str], among: Sequence[Question], label_none: bool) -> str:
    """Return the question that a column answers: the one asked for, else the first that its labels fit."""
    if len(asked) > 1:
        entry = column.name
        raise UserError(f"--gold {entry} could answer {' or '.join(asked)}. Say which: --gold {asked[0]}={entry}")
    name = column.name.removesuffix(GOLD)
    roots = [q for scheme in ("hate", *schemes.names()) for q in schemes.load(scheme).questions]
    tried = [*(q for q in among if q.name == name), *(q for q in (*among, *roots) if q.under is None)]
    fitting = (q.name for q in tried if not q.open and _fits(q, column, (), label_none))
    return next(iter(asked), "") or next(fitting, name)


def _shipped(found: Mapping[str, pl.Series], among: Sequence[Question], label_none: bool) -> Scheme | None:
    """Return the scheme that ships with the fewest questions that knows all answers, and the detectors' labels."""
    fitting = []
    for scheme in map(schemes.load, schemes.names()):
        asked = {question.name: question for question in scheme.questions}
        if all(name in asked and _fits(asked[name], cells, among, label_none) for name, cells in found.items()):
            fitting.append(scheme)
    return min(fitting, key=lambda scheme: (len(scheme.questions), scheme.name), default=None)


def _composed(found: Mapping[str, pl.Series], among: Sequence[Question], label_none: bool) -> Scheme:
    """Return a scheme of single questions: detectors', of schemes that ship, or made from the labels that occur."""
    every = [*among, *(q for scheme in schemes.names() for q in schemes.load(scheme).questions)]
    questions: list[Question] = []
    for name, cells in found.items():
        named = [q for q in every if q.name == name]
        # One that knows some of the labels is meant: the reader then names the row with the label that is none.
        fitting = [q for q in named if _fits(q, cells, among, label_none)]
        known = fitting or [q for q in named if fits_empty_cells(q, cells, label_none) and _knows_some(q, cells)]
        questions.append(known[0] if known else _question_of_column(name, cells, label_none))
    for place, question in enumerate(questions):
        earlier = {q.name: q for q in questions[:place]}
        if question.under and not set(question.under[1]) <= set(_labels_of(earlier.get(question.under[0]))):
            questions[place] = replace(question, under=None)  # a child whose parent nobody answers is asked of all
    return Scheme("yours", 1, tuple(questions))


def _labels_of(question: Question | None) -> tuple[str, ...]:
    return () if question is None else question.label_names


def _fits(question: Question, cells: pl.Series, among: Sequence[Question], label_none: bool) -> bool:
    """Return whether a question knows all labels of a column, and those of detectors' questions of its name."""
    spelt = [label for other in among if other.name == question.name for label in other.label_names]
    if not fits_empty_cells(question, cells, label_none):
        return False
    cells_to_read = CellValues.of(cells).labels
    try:
        answers = parse_column((*cells_to_read, *spelt), question)
    except UnknownLabel:
        return False
    # An open question takes any label; one that lists none of them is not the question that was asked.
    return not question.open or not cells_to_read or any(answers)


def _knows_some(question: Question, cells: pl.Series) -> bool:
    values = cells.drop_nulls().unique().head(MOST_LABELS)
    return any(_fits(question, values[i : i + 1], (), label_none=False) for i in range(len(values)))


def _question_of_column(name: str, column: pl.Series, label_none: bool) -> Question:
    """Return a question with the labels that occur; of two labels, one that plainly says so is the yes."""
    values = CellValues.of(column)
    several = any(len(split_cell(cell)) > 1 for cell in values.labels)
    labelled = label_none or (values.empty_is_a_label(label_none) and not several)
    cells = (*values.labels, *values.empty) if labelled else values.labels
    labels = sorted({label for cell in cells for label in split_cell(cell)})
    if len(labels) < 2:
        raise UserError(f"All answers to {name!r} are {labels[0] if labels else 'empty'!r}. Give posts of both kinds.")
    if len(labels) > MOST_LABELS:
        raise UserError(
            f"Column {column.name!r} has {len(labels):,} different values, such as {labels[0]!r}, so it holds no "
            "labels. Name the column that does: --gold QUESTION=COLUMN"
        )
    folded = set(map(fold_spelling, labels))
    if folded <= {*YES, *NO} and folded & set(YES) and folded & set(NO):
        return Question(name, (Label(f"not {name}"), Label(name)), positive=name)
    plain = [label for label in labels if fold_spelling(label) in (*YES, fold_spelling(name))]
    plain = plain or [label for label in labels if not looks_empty(label)]
    positive = plain[0] if len(labels) == 2 and len(plain) == 1 else None
    return Question(name, tuple(map(Label, labels)), kind="many" if several else "one", positive=positive)


def _note(scheme: Scheme, columns: Mapping[str, str], reporter: Reporter) -> None:
    for name, column in columns.items():
        if column != name + GOLD:
            labels = scheme.question(name).label_names
            listed = ", ".join(labels[:6]) + (", …" if len(labels) > 6 else "")
            reporter.note(f"Column {column!r} answers {name!r} ({listed}). Another question: --gold QUESTION={column}")
    if scheme.name != "yours":
        reporter.note(f"Scheme: {scheme.name} (guessed from the answers; choose with --scheme).")


def _advice(posts: pl.DataFrame) -> str:
    hints = (suggest_gold(posts, schemes.load(name).questions) for name in schemes.names())
    usual = "Name it and its question: --gold hate=COLUMN, or read a public corpus with --corpus NAME"
    return next(filter(None, hints), usual)
