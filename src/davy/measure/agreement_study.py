"""A study of agreement: a table of answers in, everything that `davy agree` prints out.

One `AgreementStudy` for each question and group. The table is long (one row per answer) or wide (one row per item, one
column per annotator); cells are text, and an empty one is a missing answer. A question with several answers has them
joined by `|`: then a whole set counts as one label, and each label is measured on its own besides. Subsets of the
annotators are measured as in GMHP7k's Table 4: a person without whom agreement rises reads the guideline differently.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from davy.core import Metric, UserError
from davy.core.answers import NONE, SEPARATOR, split_cell
from davy.core.spans import parse_spans
from davy.measure.agreement import Pairwise, agreement, by_label, pairwise, verbal_labels
from davy.measure.intervals import Bootstrap
from davy.measure.ratings import Ratings, order_labels, split_labels
from davy.measure.span_agreement import OVERLAPS, MarkedPost, overlap_metrics, word_ratings

if TYPE_CHECKING:
    import polars as pl


MOST_FOR_SUBSETS = 10
"""2^10 subsets are a table that somebody can still sort; more is a mistake."""


@dataclass(frozen=True, slots=True)
class SubsetAgreement:
    """Some of the annotators, and how far they agree."""

    annotators: tuple[str, ...]
    without: tuple[str, ...]
    metrics: tuple[Metric, ...]

    def __getitem__(self, name: str) -> Metric:
        return next(metric for metric in self.metrics if metric.name == name)


def leave_one_out(ratings: Ratings, *, bootstrap: Bootstrap | None = None) -> list[SubsetAgreement]:
    """Return the agreement of all but one annotator, for each of three or more in turn."""
    people = ratings.annotators
    if len(people) < 3:
        return []
    return [_panel(ratings, tuple(p for p in people if p != one), bootstrap) for one in people]


def subsets(ratings: Ratings, *, bootstrap: Bootstrap | None = None) -> Iterator[SubsetAgreement]:
    """Yield the agreement of every subset of two or more annotators, largest first."""
    people = ratings.annotators
    if len(people) > MOST_FOR_SUBSETS:
        raise UserError(
            f"{len(people)} annotators have {2 ** len(people) - len(people) - 1:,} subsets; --subsets takes up to "
            f"{MOST_FOR_SUBSETS} people. Leave it out: one-out figures are printed without it"
        )
    for size in range(len(people), 1, -1):
        for some in combinations(people, size):
            yield _panel(ratings, some, bootstrap)


def _panel(ratings: Ratings, some: tuple[str, ...], bootstrap: Bootstrap | None) -> SubsetAgreement:
    left = tuple(person for person in ratings.annotators if person not in some)
    return SubsetAgreement(some, left, tuple(agreement(ratings.by(some).counts(), bootstrap=bootstrap)))


MOST_LABELS = 200
REPEATS: tuple[str, ...] = ("refuse", "first", "last")


@dataclass(frozen=True, slots=True)
class StudyQuestion:
    """A question in a table: its column, and the labels that could be given (in order, if `ordered`)."""

    name: str
    column: str
    labels: tuple[str, ...] = ()
    ordered: bool = False
    text: str | None = None
    """Where answers mark words: the column of the text that they are in."""


@dataclass(frozen=True, slots=True)
class AgreementStudy:
    """How far people agree on one question in one group."""

    question: str
    group: str | None
    ratings: Ratings
    metrics: tuple[Metric, ...]
    by_label: Mapping[str, Sequence[Metric]]
    one_out: Sequence[SubsetAgreement]
    pairs: Pairwise
    subsets: Sequence[SubsetAgreement] = field(default_factory=tuple)
    posts: int | None = None
    """Where the items are words: how many posts they are of."""

    def __getitem__(self, name: str) -> Metric:
        return next(metric for metric in self.metrics if metric.name == name)

    @property
    def items(self) -> int:
        """How many items have an answer."""
        return len(self.ratings.items)

    @property
    def single(self) -> int:
        """How many items have one answer only, and so say nothing about agreement."""
        return int((np.bincount(self.ratings.item, minlength=self.items) == 1).sum())

    def to_dict(self) -> dict[str, Any]:
        """Return the study as JSON holds it."""
        counts = self.ratings.label_counts()
        return {
            "question": self.question,
            "group": self.group,
            "items": self.items,
            **({} if self.posts is None else {"posts": self.posts}),
            "items_with_one_answer": self.single,
            "annotators": list(self.ratings.annotators),
            "answers": len(self.ratings),
            "coefficients": [metric_dict(metric) for metric in self.metrics],
            "labels": [
                {"label": label, "answers": counts[label], "coefficients": [metric_dict(m) for m in metrics]}
                for label, metrics in self.by_label.items()
            ],
            "leave_one_out": [_panel_dict(panel) for panel in self.one_out],
            "subsets": [_panel_dict(panel) for panel in self.subsets],
            "pairs": [{"annotators": list(pair), **metric_dict(m)} for pair, m in self.pairs.pairs.items()],
        }


def study_table(
    rows: pl.DataFrame,
    questions: Iterable[StudyQuestion],
    *,
    item: str,
    annotator: str,
    by: str | None = None,
    repeats: str = "refuse",
    missing: Iterable[str] = (),
    every_subset: bool = False,
    bootstrap: Bootstrap | None = None,
    progress: Callable[[int], object] = lambda _: None,
) -> list[AgreementStudy]:
    """Return a study for each question and group of a long table, groups in order of name or number.

    `repeats` says which answer counts when one person answered one item twice; cells in `missing` are no answers;
    `progress` is told of each study and each subset that is done.
    """
    import polars as pl

    studies = []
    for question in questions:
        table = _answers_of(rows, question.column, item=item, annotator=annotator, by=by, missing=missing)
        if repeats != "refuse":
            key = ["group", "item", "annotator"]
            table = table.unique(key, keep="first" if repeats == "first" else "last", maintain_order=True)
        if question.text is not None:
            studies += _mark_studies(rows, question, table, item, by, bootstrap)
            progress(1)
            continue
        labels = question.labels or order_labels(table["label"].unique().to_list())
        if len(labels) > MOST_LABELS:
            raise UserError(
                f"Column {question.column!r} has {len(labels):,} different answers, and {MOST_LABELS} are the most "
                "that agreement is measured on. Is it a column of labels? Name another with --gold"
            )
        groups = [None] if by is None else list(order_labels(table["group"].unique().to_list()))
        for group in groups:
            part = table if group is None else table.filter(pl.col("group") == group)
            ratings = Ratings.from_rows(part["item"], part["annotator"], part["label"], among=labels)
            studies.append(study_question(question, group, _by_name(ratings), every_subset, bootstrap, progress))
            progress(1)
    return studies


def _answers_of(
    rows: pl.DataFrame, column: str, *, item: str, annotator: str, by: str | None, missing: Iterable[str]
) -> pl.DataFrame:
    """Return the answers in one column as `item`, `annotator`, `group` and `label`; none is an error."""
    import polars as pl

    group = pl.lit(None, pl.String) if by is None else pl.col(by).cast(pl.String).fill_null("none")
    table = rows.select(
        pl.col(item).cast(pl.String).alias("item"),
        pl.col(annotator).cast(pl.String).alias("annotator"),
        group.alias("group"),
    ).with_columns(clean_answers(rows[column], missing).alias("label"))
    _refuse_unnamed(table, item, annotator)
    table = table.filter(pl.col("label").is_not_null())
    if table.is_empty():
        raise UserError(f"Column {column!r} has no answers. Name another with --gold")
    return table


def study_question(
    asked: StudyQuestion,
    group: str | None,
    ratings: Ratings,
    every_subset: bool = False,
    bootstrap: Bootstrap | None = None,
    progress: Callable[[int], object] = lambda _: None,
) -> AgreementStudy:
    """Return the study of one question's ratings."""
    numbers = ratings.numbers() if len(ratings.labels) > 2 else None
    ordered = asked.ordered or numbers is not None
    metrics = agreement(
        ratings.counts(), values=None if numbers is None else numbers.tolist(), ordered=ordered, bootstrap=bootstrap
    )
    couples = pairwise(ratings, bootstrap=bootstrap)
    panels = []
    for panel in subsets(ratings, bootstrap=bootstrap) if every_subset else ():
        panels.append(panel)
        progress(1)
    return AgreementStudy(
        asked.name,
        group,
        ratings,
        (metrics[0], couples.mean, *metrics[1:]),
        by_label(ratings, bootstrap=bootstrap),
        leave_one_out(ratings, bootstrap=bootstrap),
        couples,
        tuple(panels),
    )


def study_marks(
    asked: StudyQuestion, group: str | None, posts: Sequence[MarkedPost], bootstrap: Bootstrap | None = None
) -> AgreementStudy:
    """Return the study of words that people marked; intervals are over posts, and pairs and panels have none."""
    ratings, clusters = word_ratings(posts, asked.labels)
    ratings, plain = _by_name(ratings), Bootstrap(0)
    metrics = agreement(ratings.counts(), clusters=clusters, bootstrap=bootstrap)
    couples = pairwise(ratings, bootstrap=plain)
    return AgreementStudy(
        asked.name,
        group,
        ratings,
        (metrics[0], couples.mean, *metrics[1:], *overlap_metrics(posts, bootstrap=bootstrap)),
        by_label(ratings, clusters=clusters, bootstrap=bootstrap),
        leave_one_out(ratings, bootstrap=plain),
        couples,
        posts=len(set(clusters.tolist())),
    )


def _mark_studies(
    rows: pl.DataFrame,
    asked: StudyQuestion,
    table: pl.DataFrame,
    item: str,
    by: str | None,
    bootstrap: Bootstrap | None,
) -> list[AgreementStudy]:
    """Return a study of marked words for each group; `table` has the answers, `rows` the texts."""
    texts = dict(zip(rows[item].cast(str).to_list(), rows[asked.text or ""].to_list(), strict=True))
    groups: dict[str | None, dict[str, dict[str, tuple[str, ...]]]] = {}
    for name, person, group, cell in table.select("item", "annotator", "group", "label").iter_rows():
        answers = groups.setdefault(group, {}).setdefault(name, {})
        if person in answers:
            raise UserError(
                f"Annotator {person!r} marked item {name!r} twice. Name the phase column with --by, or choose "
                "--repeats first or last"
            )
        answers[person] = () if cell == NONE else _spans(cell, name)
    studies = []
    for group in [None] if by is None else order_labels(str(name) for name in groups):
        posts = [MarkedPost(name, str(texts[name] or ""), given) for name, given in groups[group].items()]
        studies.append(study_marks(asked, group, posts, bootstrap))
    return studies


def _spans(cell: str, item: str) -> tuple[str, ...]:
    try:
        return tuple(map(str, parse_spans(split_cell(cell))))
    except ValueError as error:
        raise UserError(f"Item {item!r}: {error}. Write marked words as 12-17|20-25, and none for none") from None


def clean_answers(column: pl.Series, missing: Iterable[str] = ()) -> pl.Series:
    """Return a column as labels: text without outer space, null where missing, several labels in one order."""
    import polars as pl

    if column.dtype.is_float():
        column = column.fill_nan(None)  # pandas writes a missing number so
    if column.dtype == pl.List(pl.String):
        column = column.list.join(SEPARATOR)
    text = column.cast(pl.String).str.strip_chars().str.replace(r"^(-?\d+)\.0+$", "$1")  # 1.0 and 1 are one label
    absent = ["", *(value.strip() for value in missing)]
    text = text.to_frame("x").select(pl.when(~pl.col("x").is_in(absent)).then(pl.col("x")))["x"]
    if not text.str.contains(SEPARATOR, literal=True).any():
        return text
    kinds = {cell: SEPARATOR.join(split_labels(cell)) or None for cell in text.drop_nulls().unique().to_list()}
    return text.replace_strict(kinds, return_dtype=pl.String)


def join_list_cells(column: pl.Series) -> pl.Series:
    """Return a column of JSON cells with lists of labels joined by `|`; an empty list is the answer `none`."""
    import polars as pl

    cells = {}
    for cell in column.drop_nulls().unique().to_list():
        value = json.loads(cell)
        labels = [str(part) for part in value] if isinstance(value, list) else [str(value)]
        cells[cell] = SEPARATOR.join(labels) or "none"
    return column.replace_strict(cells, return_dtype=pl.String)


def to_long_rows(
    rows: pl.DataFrame, item: str, columns: Mapping[str, Mapping[str, str]], by: str | None
) -> pl.DataFrame:
    """Return a wide table as a long one: columns item, `annotator`, the questions, and `by`.

    `columns` says for each question which column holds which annotator's answers.
    """
    import polars as pl

    people = list(dict.fromkeys(person for each in columns.values() for person in each))
    kept = [item, *([by] if by else [])]
    parts = [
        rows.select(
            *kept,
            pl.lit(person).alias("annotator"),
            *(
                (clean_answers(rows[each[person]]) if person in each else pl.lit(None, pl.String)).alias(question)
                for question, each in columns.items()
            ),
        )
        for person in people
    ]
    return pl.concat(parts)


def metric_dict(metric: Metric) -> dict[str, Any]:
    """Return a metric as JSON holds it, with the words for its value."""
    return {**metric.to_dict(), "words": verbal_labels(metric.value) if has_words(metric) else {}}


def has_words(metric: Metric) -> bool:
    """Return whether a coefficient is one that Landis and Koch, and McHugh, have words for: one beyond chance."""
    return metric.name not in ("percent", *OVERLAPS)


def _panel_dict(panel: SubsetAgreement) -> dict[str, Any]:
    return {
        "annotators": list(panel.annotators),
        "without": list(panel.without),
        "coefficients": [metric_dict(metric) for metric in panel.metrics],
    }


def _by_name(ratings: Ratings) -> Ratings:
    """Return the ratings with annotators in order of name, so that tables don't depend on the order of rows."""
    return ratings.by(order_labels(ratings.annotators))


def _refuse_unnamed(table: pl.DataFrame, item: str, annotator: str) -> None:
    for name, column in (("item", item), ("annotator", annotator)):
        empty = int((table[name].is_null() | (table[name].str.strip_chars() == "")).sum())
        if empty:
            raise UserError(f"{empty} rows have nothing in column {column!r}. Every answer needs its {name}")
