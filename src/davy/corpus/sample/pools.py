"""Which of a source's posts samplers may look at: a random part, or equal parts of categories of communities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from davy.corpus.sample.plan import Pool

if TYPE_CHECKING:
    import polars as pl

    Array = np.ndarray[Any, np.dtype[Any]]


def select_pool(
    pool: Pool, communities: pl.Series | None, rows: Array, chance: np.random.Generator
) -> tuple[Array, list[str]]:
    """Return the rows of a pool, and what it fell short of; `communities` names the community of each row."""
    notes: list[str] = []
    if pool.at_least or pool.categories:
        assert communities is not None
        rows, notes = _by_community(pool, communities, rows, chance)
    if pool.n is not None and len(rows) > pool.n:
        rows = np.sort(chance.choice(rows, size=pool.n, replace=False))
    elif pool.n is not None and len(rows) < pool.n:
        notes.append(f"{len(rows):,} posts of {pool.n:,}")
    return rows, notes


def _by_community(
    pool: Pool, communities: pl.Series, rows: Array, chance: np.random.Generator
) -> tuple[Array, list[str]]:
    folded = communities.str.to_lowercase().str.strip_prefix("/").str.strip_prefix("r/")
    sizes = dict(folded.drop_nulls().value_counts().iter_rows())
    large = {name for name, size in sizes.items() if size >= pool.at_least}
    if not pool.categories:
        notes = [] if large else [f"no community has {pool.at_least:,} posts"]
        return rows[folded.is_in(list(large)).fill_null(False).to_numpy()], notes
    taken, notes = [], []
    for category, members in pool.categories.items():
        wanted = [name for name in (member.lower().removeprefix("r/") for member in members) if name in large]
        here = rows[folded.is_in(wanted).fill_null(False).to_numpy()]
        want = pool.each if pool.each is not None else len(here)
        if len(here) < want:
            which = f"{len(wanted)} of {len(members)} boards have {pool.at_least:,} posts"
            notes.append(f"{category}: {len(here):,} posts of {want:,} ({which})")
        taken.append(here if len(here) <= want else np.sort(chance.choice(here, size=want, replace=False)))
    return np.sort(np.concatenate(taken)), notes
