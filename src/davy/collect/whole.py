"""A file of posts, read whole: its text under `text`, its ids under `id`, no id twice. For files that fit in memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


def posts_in(path: Path | str, *, text: str | None = None, id: str | None = None) -> pl.DataFrame:
    """Return the posts of a file; what is wrong with it is said with its name and columns."""
    from davy.collect import columns, files
    from davy.collect.table import reading

    with files.opened(path) as table:
        checked = columns.checked(columns.posts(table, text=text, id=id))
        with reading(table.name):
            return checked.frame.collect(engine="streaming")
