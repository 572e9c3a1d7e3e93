"""A file of posts, read whole: its text under `text`, its ids under `id`, no id twice. For files that fit in memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


def read_posts(path: Path | str, *, text: str | None = None, id: str | None = None) -> pl.DataFrame:
    """Return the posts of a file; what is wrong with it is said with its name and columns."""
    from davy.files import post_columns, tables
    from davy.files.file_table import translate_errors

    with tables.open_table(path) as table:
        checked = post_columns.check_ids(post_columns.as_posts(table, text=text, id=id))
        with translate_errors(table.name):
            return checked.frame.collect(engine="streaming")
