"""Split a round's entries 80/10/10, an original and its contrast always in one part.

Entries in, the same entries with a column `split` out. The released Hatemoji files part a third of their pairs: there a
detector can meet a test entry's twin in training. Here it can't, and that is our choice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from davy.core.answers import GOLD
from davy.core.scheme import Question
from davy.corpus.split.assign import assign

if TYPE_CHECKING:
    import polars as pl

SHARES: Mapping[str, float] = {"train": 0.8, "dev": 0.1, "test": 0.1}


def split_entries(
    entries: pl.DataFrame, question: Question, *, seed: int, placed: Mapping[str, str] | None = None
) -> pl.DataFrame:
    """Return the entries with their part; parts have the same share of each label, as near as pairs allow.

    `placed` are pairs of earlier rounds and their parts: a contrast to an earlier entry goes where that one is.
    """
    import polars as pl

    entries = entries.sort("id")  # the parts depend on the entries and the seed, not on the order they came in
    known = [(placed or {}).get(pair) for pair in entries["pair"].to_list()]
    entries = entries.with_columns(pl.Series("split", known, dtype=pl.String))
    free = entries.filter(pl.col("split").is_null())
    n = len(free)
    sizes = {name: round(n * share) for name, share in SHARES.items()}
    sizes["train"] = n - sizes["dev"] - sizes["test"]
    groups = np.unique(free["pair"].to_numpy(), return_inverse=True)[1]
    parts = assign(free.select(f"{question.name}{GOLD}"), groups, sizes, seed) if n else []
    fresh = free.with_columns(pl.Series("split", parts, dtype=pl.String))
    return pl.concat([entries.filter(pl.col("split").is_not_null()), fresh]).sort("id")


def places(entries: pl.DataFrame) -> dict[str, str]:
    """Return the part of each pair."""
    return dict(entries.select("pair", "split").iter_rows())


def straddling_pairs(entries: pl.DataFrame) -> tuple[int, int]:
    """Return how many pairs lie in more than one part, and how many pairs have both halves here."""
    import polars as pl

    pairs = entries.group_by("pair").agg(pl.len().alias("n"), pl.col("split").n_unique().alias("parts"))
    both = pairs.filter(pl.col("n") > 1)
    return int((both["parts"] > 1).sum()), len(both)
