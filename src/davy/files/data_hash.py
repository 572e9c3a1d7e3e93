"""One hash of a data set, and of a file: the same wherever its figures come from.

A training, an evaluation, a description and a check of the same posts with the
same settled answers name the same sixteen digits, whatever the file's format,
the order of its rows and columns, and the columns beside them. Two hashes that
differ mean that a text, an image or an answer differs, or that a post is there
more often.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

SETTLED = ".gold"
_WHOLE = 2**256


def data_hash(posts: pl.DataFrame, answers: Mapping[str, str] | None = None) -> str:
    """Return the hash of posts: their text, image and settled answers.

    `answers` names the column of a question whose answers are not in `Q.gold`. Ids do not count: a file without ids
    gets them from its name and rows.
    """
    columns = {name: name for name in posts.columns if name in ("text", "image") or name.endswith(SETTLED)}
    columns |= {f"{question}{SETTLED}": column for question, column in (answers or {}).items()}
    return rows_hash(posts.select(posts[column].alias(name) for name, column in columns.items()))


def rows_hash(rows: pl.DataFrame) -> str:
    """Return the hash of all rows of a frame by column name; a null cell counts as one that is not there."""
    import polars as pl

    names = sorted(rows.columns)
    return _sum(
        {name: cell for name, cell in zip(names, row, strict=True) if cell is not None}
        for row in rows.select(pl.col(names).cast(pl.String)).iter_rows()
    )


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sum(rows: Iterable[Mapping[str, str]]) -> str:
    """Return a hash of the rows as a bag: the sum of their SHA-256 does not depend on their order."""
    total = count = 0
    for row in rows:
        digest = hashlib.sha256(json.dumps(row, sort_keys=True).encode()).digest()
        total = (total + int.from_bytes(digest, "big")) % _WHOLE
        count += 1
    return hashlib.sha256(f"{count}:{total:x}".encode()).hexdigest()[:16]
