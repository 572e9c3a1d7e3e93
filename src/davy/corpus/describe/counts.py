"""How many posts a corpus has of each kind: by label, level, source, sampler and split; lengths and emoji.

A frame of posts in, plain values out.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from davy.core.answers import gold_of_labels
from davy.core.gold import fill_implied_no
from davy.core.scheme import Scheme
from davy.text import emoji

ORIGINS: tuple[str, ...] = ("source", "origin", "platform", "community", "lang", "sampler", "split", "licence")
MOST = 25
"""Values of a column that are listed; the others are counted together."""


@dataclass(frozen=True, slots=True)
class LabelLevel:
    """One question's answers: label → posts. `depth` is how many questions stand above it.

    `implied` posts have no answer of their own, since the one above leads past the question to its `no`.
    """

    question: str
    labels: dict[str, int]
    answered: int
    depth: int = 0
    under: str = ""
    no: str = ""
    implied: int = 0


@dataclass(frozen=True, slots=True)
class LengthSpread:
    """Where a set of numbers lies."""

    n: int
    mean: float | None
    sd: float | None
    least: float | None
    lower: float | None
    median: float | None
    upper: float | None
    most: float | None

    @staticmethod
    def of(values: pl.Series) -> LengthSpread:
        """Return the spread of a column; all None where it is empty."""
        if not len(values):
            return LengthSpread(0, *[None] * 7)
        quartiles = [values.quantile(q, "linear") for q in (0.25, 0.5, 0.75)]
        figures = [values.mean(), values.std() if len(values) > 1 else 0.0, values.min(), *quartiles, values.max()]
        return LengthSpread(len(values), *(None if f is None else float(f) for f in figures))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class EmojiCounts:
    """What emoji posts have; variants of skin tone count as one in `unique`."""

    total: int
    posts_with: int
    unique: int
    per_post: LengthSpread
    most: list[tuple[str, int]] = field(default_factory=list)


def levels(posts: pl.DataFrame, scheme: Scheme | None = None) -> list[LabelLevel]:
    """Return the answers to each question that has a column `Q.gold`, parents first; unused labels count 0."""
    label_levels = []
    for column in posts.columns:
        if column not in gold_of_labels(posts.columns):
            continue
        name = column.removesuffix(".gold")
        cells = posts[column].drop_nulls()
        given = Counter(label for cell in cells.cast(pl.String) for label in cell.split("|") if label)
        known, depth, under, no, implied = [], 0, "", "", 0
        if scheme is not None and name in [q.name for q in scheme.questions]:
            question = scheme.question(name)
            known, no = list(question.label_names), question.no or ""
            if question.under:
                under = f"{question.under[0]}: {' or '.join(question.under[1])}"
                whole = fill_implied_no(posts, scheme.questions)[column].drop_nulls()
                implied = len(whole) - len(cells)
            while question.under:
                depth, question = depth + 1, scheme.question(question.under[0])
        order = [*known, *(label for label, _ in given.most_common() if label not in known)]
        label_levels.append(
            LabelLevel(name, {label: given.get(label, 0) for label in order}, len(cells), depth, under, no, implied)
        )
    return label_levels


def origins(posts: pl.DataFrame) -> dict[str, list[tuple[str, int]]]:
    """Return for each column of origin that has values the posts a value, most first; null is `(none)`."""
    counts: dict[str, list[tuple[str, int]]] = {}
    for column in ORIGINS:
        if column not in posts.columns or posts[column].null_count() == len(posts):
            continue
        counted = Counter(posts[column].cast(pl.String).fill_null("(none)")).most_common()
        rest = sum(n for _, n in counted[MOST:])
        counts[column] = counted[:MOST] + ([(f"({len(counted) - MOST} others)", rest)] if rest else [])
    return counts


def cross_counts(
    posts: pl.DataFrame, question: str, column: str, level: LabelLevel | None = None
) -> list[tuple[str, str, int]]:
    """Return (value of the column, label, posts) for each that occurs, labels in the order of the level."""
    if f"{question}.gold" not in posts.columns or column not in posts.columns:
        return []
    both = posts.select(
        pl.col(column).cast(pl.String).fill_null("(none)").alias("value"),
        pl.col(f"{question}.gold").cast(pl.String).str.split("|").alias("label"),
    ).drop_nulls("label")
    counted = both.explode("label", empty_as_null=True).group_by("value", "label").len().sort("value", "label")
    rows = [(str(value), str(label), int(n)) for value, label, n in counted.iter_rows()]
    order = list(level.labels) if level is not None else []
    return sorted(rows, key=lambda row: (row[0], order.index(row[1]) if row[1] in order else len(order)))


def rounded_shares(counts: list[int], total: int, digits: int = 4) -> list[float]:
    """Return each count's share, rounded so that shares of a whole add up to it: the largest remainders go up."""
    if not total:
        return [0.0] * len(counts)
    unit = 10**digits
    exact = [count * unit / total for count in counts]
    floors = [int(share) for share in exact]
    short = round(sum(exact)) - sum(floors)
    up = sorted(range(len(counts)), key=lambda place: (floors[place] - exact[place], place))[:short]
    return [(floor + (place in up)) / unit for place, floor in enumerate(floors)]


def lengths(posts: pl.DataFrame) -> pl.DataFrame:
    """Return characters and words of each post with a text; words are what white space parts."""
    text = posts.select(pl.col("text").cast(pl.String)).drop_nulls()["text"]
    words = text.str.strip_chars().str.extract_all(r"\S+").list.len()
    return pl.DataFrame({"characters": text.str.len_chars().cast(pl.Int64), "words": words.cast(pl.Int64)})


def emojis(posts: pl.DataFrame) -> EmojiCounts:
    """Return what emoji the posts have, sequences counted whole."""
    text = posts["text"].cast(pl.String).drop_nulls()
    # A text of Latin letters and plain signs alone has no emoji but for keycaps: most need no closer look.
    maybe = text.filter(text.str.contains("[\u203c-\U0010ffff\u20e3©®]"))
    each = [[found.emoji for found in emoji.find(value)] for value in maybe]
    counted = Counter(emoji.plain(one) for found in each for one in found)
    per_post = pl.Series([len(found) for found in each] + [0] * (len(text) - len(each)), dtype=pl.Int64)
    with_one = sum(bool(found) for found in each)
    return EmojiCounts(
        sum(counted.values()), with_one, len(counted), LengthSpread.of(per_post), counted.most_common(20)
    )


def members(posts: pl.DataFrame, question: str) -> dict[str, pl.Series]:
    """Return for each label of a question which posts have it."""
    cells = posts[f"{question}.gold"].cast(pl.String)
    labels = sorted({label for cell in cells.unique().drop_nulls() for label in cell.split("|") if label})
    split = cells.str.split("|")
    return {label: split.list.contains(label).fill_null(False) for label in labels}


def whole_bins(lengths: list[int]) -> int:
    """Return bins that each hold as many whole numbers, so that none sticks out for that reason alone."""
    span = max(lengths, default=1) - min(lengths, default=0) or 1
    return max(1, span // (span // 40 + 1))


def plain_value(value: Any) -> Any:
    """Return a value without NaN and infinity, which JSON has no words for."""
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    if isinstance(value, dict):
        return {key: plain_value(inner) for key, inner in value.items()}
    return [plain_value(inner) for inner in value] if isinstance(value, list | tuple) else value
