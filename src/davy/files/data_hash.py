"""One hash of a data set, so that results from different places can be matched.

A training, an evaluation, a description and a check of the same posts with the
same settled answers name the same sixteen digits, whatever the file's format,
the order of its rows and columns, and the columns beside them. Two hashes that
differ mean that a text, an image or a settled answer differs, or that one of
the posts is there more often.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from davy.core.answers import GOLD
from davy.files.input_paths import files_of, is_many

if TYPE_CHECKING:
    import polars as pl


def data_hash(posts: pl.DataFrame, answers: Mapping[str, str] | None = None, *, ordered: bool = False) -> str:
    """Return the hash of posts: text, image and settled answers.

    `answers` names the column of each question whose answers are not in `Q.gold`. Ids do not count: a file without
    ids gets them from its name and its rows. `ordered` is for what depends on the order, such as checkpoints.
    """
    columns = {name: name for name in posts.columns if name in ("text", "image") or name.endswith(GOLD)}
    columns |= {f"{question}{GOLD}": column for question, column in (answers or {}).items()}
    return rows_hash(posts.select(posts[column].alias(name) for name, column in columns.items()), ordered=ordered)


def rows_hash(rows: pl.DataFrame, *, ordered: bool = False) -> str:
    """Return the hash of all cells of a frame by column name; a null cell counts as one that is not there."""
    import polars as pl

    names = sorted(rows.columns)
    total = 0
    for number, row in enumerate(rows.select(pl.col(name).cast(pl.String) for name in names).iter_rows()):
        cells = {name: cell for name, cell in zip(names, row, strict=True) if cell is not None}
        digest = hashlib.sha256(json.dumps([number if ordered else None, cells]).encode()).digest()
        total = (total + int.from_bytes(digest, "big")) % 2**256  # a sum does not depend on the order of its parts
    return hashlib.sha256(f"{len(rows)} {total:064x}".encode()).hexdigest()[:16]


def file_hash(path: Path | str) -> str:
    """Return the SHA-256 of a file's bytes, in hex; where a path means several files, that of their hashes."""
    if is_many(path):
        return hashlib.sha256("\n".join(file_hash(Path(file)) for file in files_of(path)).encode()).hexdigest()
    with Path(path).expanduser().open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
