"""Files for models that learn from one, as commands hand them to `davy.models.load`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


def posts(path: Path) -> Iterator[pl.DataFrame]:
    """Yield a file's posts, its text under `text` whatever the file calls it."""
    from davy.collect import columns, files
    from davy.collect.table import reading

    with files.opened(path) as table, reading(table.name):
        yield from columns.posts(table).frame.collect_batches(maintain_order=True, engine="streaming")
