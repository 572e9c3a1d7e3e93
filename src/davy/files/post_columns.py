"""Which column is the text, which the id; and no two posts with one id.

A table in, a frame of posts out: `id`, `text` and `image` under those names, every
other column kept. Posts without an id get one from the file's name and the row, so
that it can be found again.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import polars as pl

from davy.core.errors import UserError
from davy.files.file_table import FileTable, list_columns, require_column, translate_errors

TEXT_NAMES: tuple[str, ...] = (
    "text",
    "tweet",
    "comment",
    "comment_text",
    "body",
    "test_case",
    "review_text",
    "content",
    "message",
    "post",
    "full_text",
    "sentence",
)
ID_NAMES: tuple[str, ...] = (
    "id",
    "post_id",
    "tweet_id",
    "comment_id",
    "rewire_id",
    "entry_id",
    "case_id",
    "acl.id",
    "message_id",
    "uuid",
)
IMAGE_NAMES: tuple[str, ...] = ("image", "img")
"""What a post's picture may be called; Davy writes the first."""


def image_column(columns: Collection[str]) -> str | None:
    """Return the column that names posts' pictures, or None where there is none."""
    return next((name for name in IMAGE_NAMES if name in columns), None)


def text_column(table: FileTable, asked: str | None = None) -> str:
    """Return the name of the text column: the one asked for, or the first known name that the table has."""
    column = _find_column(table, asked, TEXT_NAMES, "--text-column")
    if column is None:
        raise UserError(
            f"{table.name} has no column that looks like the text; it has {list_columns(table.columns)}."
            " Name it with --text-column."
        )
    for part, columns in table.parts:
        if column not in columns:
            raise UserError(
                f"{part} has no column {column!r}, which is the text of the other files; it has"
                f" {list_columns(list(columns))}. Rename its column, or give the files one by one."
            )
    return column


def id_column(table: FileTable, asked: str | None = None) -> str | None:
    """Return the name of the id column, or None where the table has none."""
    return _find_column(table, asked, ID_NAMES, "--id-column")


def with_ids_from(table: FileTable, column: str | None) -> FileTable:
    """Return the table with the values of a column in a first column `id`, too; as it is where none is named."""
    if column is None:
        return table
    require_column(column, table.columns, table.name, "--id-column")
    if column == "id":
        return table
    _refuse_clash(table, column, "id", "--id-column")
    ids = plain_texts(table, column).frame.select(pl.col(column).cast(pl.String).alias("id"), pl.all())
    return replace(table, frame=ids, json=table.json - {column}, unproven=table.unproven - {column})


def plain_texts(table: FileTable, column: str) -> FileTable:
    """Return the table with the JSON cells of a column as texts: a string as itself, any other value as its JSON."""
    if column not in table.json - table.unproven:
        return table

    def decoded(cells: pl.Series) -> pl.Series:
        texts = [json.loads(cell) if cell and cell[0] == '"' else cell for cell in cells.to_list()]
        return pl.Series(cells.name, texts, dtype=pl.String)

    frame = table.frame.with_columns(pl.col(column).map_batches(decoded, return_dtype=pl.String, is_elementwise=True))
    return replace(table, frame=frame, json=table.json - {column})


def as_posts(table: FileTable, *, text: str | None = None, id: str | None = None, first_row: int = 1) -> FileTable:
    """Return the table with its text in `text` and its ids in `id`, made from file name and row where missing.

    `first_row` is the number of the table's first row in its file.
    """
    text_from, id_from = text_column(table, text), id_column(table, id)
    for column in (text_from, id_from):
        table = plain_texts(table, column) if column else table
    _refuse_clash(table, text_from, "text", "--text-column")
    if id_from:
        _refuse_clash(table, id_from, "id", "--id-column")
    stem = Path(table.name).name.split(".")[0] or "row"
    place = "__row__"
    made = pl.concat_str(pl.lit(f"{stem}-"), pl.col(place).cast(pl.String))
    if id_from:
        given = pl.col(id_from).cast(pl.String)
        ids = pl.when(given.is_null() | (given == "")).then(made).otherwise(given)
    else:
        ids = made
    picture = image_column(table.columns)
    rest = [pl.col(c).alias("image") if c == picture else c for c in table.columns if c not in (text_from, id_from)]
    frame = table.frame.with_row_index(place, offset=first_row).select(
        ids.alias("id"), pl.col(text_from).cast(pl.String).alias("text"), *rest
    )
    used = {"id", "text", text_from, id_from}
    return replace(table, frame=frame, json=table.json - used, unproven=table.unproven - used)


class IdCheck:
    """Sees every id that streams past, as eight bytes each, and finds repeats at the end."""

    def __init__(self) -> None:
        self._hashes: list[pl.Series] = []

    def see(self, ids: pl.Series) -> None:
        """Take in the ids of one batch."""
        self._hashes.append(ids.drop_nulls().hash())

    def finish(self, table: FileTable) -> None:
        """Raise if two rows of the table have one id, naming it and the rows."""
        if not self._hashes:
            return
        hashes = pl.concat(self._hashes).sort()
        repeated = hashes.filter(hashes == hashes.shift(1)).unique()
        if not len(repeated):
            return
        ids = table.frame.select(pl.col("id").cast(pl.String)).with_row_index("row", offset=1)
        with translate_errors(table.name):
            rows = ids.filter(pl.col("id").hash().is_in(repeated.implode())).collect(engine="streaming")
        again = rows.filter(pl.col("id").is_duplicated()).sort("row")
        if len(again):
            second = again.filter(~pl.col("id").is_first_distinct())[0]
            value = second["id"][0]
            first = again.filter(pl.col("id") == value)["row"][0]
            raise UserError(
                f"{table.name}: id {value[:60]!r} is there twice, in rows {first} and {second['row'][0]}."
                " Ids must differ: name another column with --id-column, or drop the repeats."
            )


def check_ids(table: FileTable) -> FileTable:
    """Return the table once its `id` column is known to have no repeats; costs one pass over the ids."""
    if "id" in table.columns:
        check = IdCheck()
        with translate_errors(table.name):
            for batch in table.frame.select(pl.col("id").cast(pl.String)).collect_batches(engine="streaming"):
                check.see(batch["id"])
        check.finish(table)
    return table


def _find_column(table: FileTable, asked: str | None, known: tuple[str, ...], option: str) -> str | None:
    columns = table.columns
    if asked is not None:
        require_column(asked, columns, table.name, option)
        return asked
    by_fold = {column.casefold(): column for column in reversed(columns)}
    return next((by_fold[name] for name in known if name in by_fold), None)


def _refuse_clash(table: FileTable, source: str, name: str, option: str) -> None:
    if source != name and name in table.columns:
        raise UserError(
            f"{table.name} has a column {name!r} beside {source!r}, which {option} would call {name!r} too. Rename one."
        )
