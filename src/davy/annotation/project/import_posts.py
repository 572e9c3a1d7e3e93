"""Bring the posts of a table that somebody sends: look at its columns, let people say what each is, and make posts.

A file in, a `TableLook` out (first rows, and a guess for every role); with a person's choices, a frame of posts out.
A table of pictures needs no text: its posts are the pictures. What is wrong has a key, so that a page names its fields.
"""

from __future__ import annotations

import codecs
import gzip
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from davy.core.answers import GOLD
from davy.core.errors import KeyedError
from davy.core.post import POST_COLUMNS
from davy.core.scheme import fold_spelling
from davy.files import tables
from davy.files.file_table import translate_errors
from davy.files.post_columns import ID_NAMES, TEXT_NAMES
from davy.text import duplicates

if TYPE_CHECKING:
    from davy.core import Question, Scheme

IMAGE_NAMES = ("image", "img", "picture", "image_path", "img_path", "bild", "filename", "file", "datei")
LANG_NAMES = ("lang", "language", "sprache")
GERMAN_TEXTS = ("beitrag", "kommentar", "nachricht", "inhalt")
ENCODINGS = ("utf-8", "cp1252", "iso-8859-15", "mac_roman", "utf-16")
FALLBACK = "cp1252"
"""What Excel on Windows writes where it does not write UTF-8."""
SHOWN_ROWS = 5
LONGEST_CELL = 160
LONGEST_PREFIX = 40
_ROLES = ("id", "text", "image", "lang")


@dataclass(frozen=True, slots=True)
class PostChoices:
    """Which column is what; None where a table has none. `gold` is question → column of right answers."""

    text: str | None = None
    id: str | None = None
    image: str | None = None
    lang: str | None = None
    all_lang: str = ""
    """The language of all posts, where no column has it."""
    gold: Mapping[str, str] = field(default_factory=dict)
    prefix: str = ""
    distinct: bool = False
    """Whether rows whose text stood before are left out."""


@dataclass(frozen=True, slots=True)
class TableLook:
    """A table as a person sees it before its posts are taken."""

    columns: tuple[str, ...]
    rows: int
    first: tuple[tuple[str, ...], ...]
    guess: PostChoices
    sure: bool
    """Whether a column is called as texts or pictures are, so that nobody needs to be asked."""


@dataclass(frozen=True, slots=True)
class BroughtPosts:
    """The posts of a table; `repeated` rows were left out as repeats, `blank` ones as empty."""

    frame: pl.DataFrame
    repeated: int = 0
    blank: int = 0


def encoding_of(path: Path, *, packed: bool = False) -> str:
    """Return `utf-8`, or what a text file that is none is likely to be in."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with gzip.open(path) if packed else path.open("rb") as file:
        try:
            piece = file.read(1 << 20)
            if piece.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                return "utf-16"
            while piece:
                decoder.decode(piece)
                piece = file.read(1 << 20)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return FALLBACK
    return "utf-8"


def read_table(path: Path, encoding: str | None) -> pl.DataFrame:
    """Return the rows of a table that fits in memory; its name says the format."""
    named = None if encoding in (None, "", "utf-8") else encoding
    with tables.open_table(path, encoding=named) as table, translate_errors(path.name):
        return table.frame.collect(engine="streaming")


def look_at(rows: pl.DataFrame, scheme: Scheme | None) -> TableLook:
    """Return a table's first rows and what its columns seem to be."""
    columns = tuple(rows.columns)
    text = _matching_column(columns, (*TEXT_NAMES, *GERMAN_TEXTS))
    image = _matching_column(columns, IMAGE_NAMES)
    # Where some rows have no picture, their texts are in a column of another name, and its sender says which.
    pictured = image is not None and bool((rows[image].cast(pl.String).fill_null("") != "").all())
    read = text or (None if pictured else _longest(rows))
    own_id, lang = _matching_column(columns, ID_NAMES), _matching_column(columns, LANG_NAMES)
    guess = PostChoices(
        text=read,
        id=own_id,
        image=image if image != text else None,
        lang=lang,
        gold=_gold_columns(rows, scheme, taken={read, image, own_id, lang}),
    )
    first = tuple(tuple(_cell(value) for value in row) for row in rows.head(SHOWN_ROWS).iter_rows())
    return TableLook(columns, rows.height, first, guess, sure=text is not None or pictured)


def posts_from(rows: pl.DataFrame, chosen: PostChoices, *, stem: str) -> BroughtPosts:
    """Return the posts of a table as a person says what its columns are; `stem` names rows without an id."""
    _check(rows, chosen)
    number = pl.int_range(1, pl.len() + 1).cast(pl.String)
    made = pl.concat_str(pl.lit(f"{stem}-"), number)
    ids = made
    if chosen.id is not None:
        given = _as_text(rows, chosen.id)
        ids = pl.when(given.is_null() | (given == "")).then(made).otherwise(given)
    parts = [
        pl.concat_str(pl.lit(chosen.prefix), ids).alias("id"),
        (pl.lit("") if chosen.text is None else _as_text(rows, chosen.text).fill_null("")).alias("text"),
    ]
    if chosen.image is not None:
        named_picture = _as_text(rows, chosen.image)
        parts.append(pl.when(named_picture != "").then(named_picture).alias("image"))
    if chosen.lang is not None or chosen.all_lang:
        lang = pl.lit(chosen.all_lang) if chosen.lang is None else _as_text(rows, chosen.lang)
        parts.append(lang.alias("lang"))
    parts += [_as_text(rows, column).alias(f"{question}{GOLD}") for question, column in chosen.gold.items()]
    named = {*_ROLES, *(f"{question}{GOLD}" for question in chosen.gold)}
    used = {chosen.text, chosen.id, chosen.image, chosen.lang}
    rest = [name for name in rows.columns if name not in named | used]
    return _without_repeats(rows.select(*parts, *rest), distinct=chosen.distinct)


def picture_posts(names: Sequence[str], *, prefix: str = "", all_lang: str = "") -> pl.DataFrame:
    """Return a post for each picture of a folder or archive: its name is the id, and it has no text."""
    frame = pl.DataFrame({"id": [f"{prefix}{name}" for name in names], "text": [""] * len(names), "image": list(names)})
    return frame.with_columns(lang=pl.lit(all_lang)) if all_lang else frame


def _check(rows: pl.DataFrame, chosen: PostChoices) -> None:
    wanted = [chosen.text, chosen.id, chosen.image, chosen.lang, *chosen.gold.values()]
    for column in wanted:
        if column is not None and column not in rows.columns:
            raise KeyedError("column_gone", f"There is no column {column[:60]!r} in the file.", column=column[:60])
    if chosen.text is None and chosen.image is None:
        raise KeyedError("choose_text", "Choose the column of the text, or of the pictures' names.")
    if chosen.id is None:
        return
    ids = rows.select(_as_text(rows, chosen.id).alias("id")).with_row_index("row", offset=1)
    again = ids.filter(pl.col("id").is_not_null() & (pl.col("id") != "") & pl.col("id").is_duplicated())
    if len(again):
        value = again["id"][0]
        first, second = again.filter(pl.col("id") == value)["row"][:2]
        raise KeyedError(
            "id_twice",
            f"Id {value[:60]!r} is there twice, in rows {first} and {second}.",
            id=value[:60],
            first=first,
            second=second,
            column=chosen.id[:60],
        )


def _without_repeats(frame: pl.DataFrame, *, distinct: bool) -> BroughtPosts:
    image = pl.col("image").fill_null("") if "image" in frame.columns else pl.lit("")
    full = frame.filter((pl.col("text").str.strip_chars() != "") | (image != ""))
    if not len(full):
        raise KeyedError("no_rows", "The chosen columns are empty in every row.")
    blank = frame.height - full.height
    if not distinct:
        return BroughtPosts(full, blank=blank)
    content = full.select(pl.concat_str(pl.col("text"), pl.lit("\n"), image).alias("said"))["said"]
    first = pl.Series(duplicates.first_of(duplicates.keys(content, fold=True)))
    kept = full.filter(first)
    return BroughtPosts(kept, full.height - kept.height, blank)


def _as_text(rows: pl.DataFrame, column: str) -> pl.Expr:
    """Return a column as text; whole numbers that a spreadsheet keeps as 7.0 are written 7."""
    values = rows[column]
    if values.dtype.is_float() and bool((values.drop_nulls().round() == values.drop_nulls()).all()):
        return pl.col(column).cast(pl.Int64, strict=False).cast(pl.String)
    return pl.col(column).cast(pl.String)


def _matching_column(columns: Sequence[str], known: Sequence[str]) -> str | None:
    folded = {column.strip().casefold(): column for column in reversed(columns)}
    return next((folded[name] for name in known if name in folded), None)


def _longest(rows: pl.DataFrame) -> str | None:
    """Return the text column with the longest cells, which is likely to be the posts."""
    texts = [name for name in rows.columns if rows[name].dtype == pl.String and name not in POST_COLUMNS[2:]]
    means = {name: rows[name].head(1_000).str.len_chars().mean() or 0.0 for name in texts}
    return max(means, key=lambda name: float(means[name]), default=None)  # type: ignore[arg-type]


def _gold_columns(rows: pl.DataFrame, scheme: Scheme | None, taken: set[str | None]) -> dict[str, str]:
    """Return which columns hold right answers: those called like a question, else those whose values are its labels."""
    columns: dict[str, str] = {}
    for question in (question for question in scheme.questions if question.derived is None) if scheme else ():
        name = question.name
        named = _matching_column(rows.columns, (f"{name}{GOLD}", name, f"label_{name}"))
        free = [column for column in rows.columns if column not in {*taken, *columns.values()}]
        column = named or next((column for column in free if _has_labels(rows[column], question)), None)
        if column is not None:
            columns[name] = column
    return columns


def _has_labels(values: pl.Series, question: Question) -> bool:
    """Return whether a column of texts holds nothing but labels of a question, and more than one of them.

    Numbers alone don't count: a count or a number of the row may look like labels' codes.
    """
    if values.dtype != pl.String:
        return False
    seen = [value for value in values.unique().drop_nulls().head(len(question.labels) + 2).to_list() if value.strip()]
    spelt = {fold_spelling(word) for label in question.labels for word in label.spellings}
    is_numbers = all(value.replace(".", "").strip().isdigit() for value in seen)
    return len(seen) > 1 and not is_numbers and all(fold_spelling(value) in spelt for value in seen)


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= LONGEST_CELL else f"{text[:LONGEST_CELL]}…"
