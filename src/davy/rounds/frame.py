"""The entries of a round as one frame, one row an entry, for tables, splits and training.

A round in, a frame with `ENTRY_COLUMNS` and the scheme's `Q.gold` columns out. Everything that can still change
(labels, review, drops, gold) is read from the phase's annotations, cases and verdicts each time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from davy.core.answers import GOLD
from davy.core.round import ENTRY_COLUMNS

if TYPE_CHECKING:
    import polars as pl

    from davy.core import Scheme


def entry_schema(scheme: Scheme) -> dict[str, pl.DataType]:
    """Return the columns of a frame of entries with their types, in order."""
    import polars as pl

    kinds: dict[str, pl.DataType] = {name: pl.String() for name in ENTRY_COLUMNS}
    kinds |= {
        "round": pl.Int64(),
        "seconds": pl.Float64(),
        "created_at": pl.Datetime("us", "UTC"),
        "model.probability": pl.Float64(),
        "reviewed": pl.Boolean(),
        "flips": pl.Boolean(),
    }
    return kinds | {f"{question.name}{GOLD}": pl.String() for question in scheme.questions}


def empty_frame(scheme: Scheme) -> pl.DataFrame:
    """Return a frame of entries without a row."""
    import polars as pl

    return pl.DataFrame(schema=entry_schema(scheme))
