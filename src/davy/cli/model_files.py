"""Files for models that learn from one, as commands hand them to `davy.models.load`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


def read_posts(path: Path) -> Iterator[pl.DataFrame]:
    """Yield a file's posts, its text under `text` whatever the file calls it."""
    from davy.files import post_columns, tables
    from davy.files.file_table import translate_errors

    with tables.open_table(path) as table, translate_errors(table.name):
        yield from post_columns.as_posts(table).frame.collect_batches(maintain_order=True, engine="streaming")
