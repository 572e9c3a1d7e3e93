"""Find what straddles: posts that belong together and are in different parts of a split, whoever made it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from davy.corpus.split.groups import Links
from davy.corpus.split.plan import ASIDE

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Leak:
    """What one reason to belong together shows: how many pairs there are, how many straddle, between which parts."""

    reason: str
    pairs: int
    straddling: int
    posts: int
    between: dict[str, int]
    outside: int

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values."""
        return {
            "reason": self.reason,
            "pairs": self.pairs,
            "straddling": self.straddling,
            "posts": self.posts,
            "between": self.between,
            "partners not in the file": self.outside,
        }


def find_leaks(parts: pl.Series, found: Sequence[Links]) -> list[Leak]:
    """Return for each reason the pairs that straddle; a post without a part, or set aside, is in none."""
    names = _part_names(parts)
    report = []
    for link in found:
        across = _across(names, link)
        ends = np.stack([link.first[across], link.second[across]])
        between = Counter(" – ".join(sorted((str(a), str(b)))) for a, b in names[ends].T.tolist())
        posts = len(np.unique(ends))
        report.append(Leak(link.reason, len(link), len(across), posts, dict(sorted(between.items())), link.outside))
    return report


def leaking_posts(posts: pl.DataFrame, parts: pl.Series, found: Sequence[Links]) -> pl.DataFrame:
    """Return the pairs that straddle, by their ids: why, which post in which part, how alike. No texts."""
    import polars as pl

    names = _part_names(parts)
    frames = []
    for link in found:
        across = _across(names, link)
        first, second = link.first[across], link.second[across]
        alike = [None] * len(across) if link.similarity is None else link.similarity[across].round(3).tolist()
        columns = {
            "reason": [link.reason] * len(across),
            "one": posts["id"].gather(first).cast(pl.String).to_list(),
            "one.part": names[first].tolist(),
            "other": posts["id"].gather(second).cast(pl.String).to_list(),
            "other.part": names[second].tolist(),
            "similarity": alike,
        }
        kinds = {name: pl.Float64 if name == "similarity" else pl.String for name in columns}
        frames.append(pl.DataFrame(columns, schema=kinds))
    return pl.concat(frames) if frames else pl.DataFrame()


def _part_names(parts: pl.Series) -> Any:
    import polars as pl

    names = parts.cast(pl.String).to_list()
    return np.array([None if name in (ASIDE, "") else name for name in names], dtype=object)


def _across(names: Any, link: Links) -> Any:
    one, other = names[link.first], names[link.second]
    known = np.array([a is not None and b is not None for a, b in zip(one, other, strict=True)], dtype=bool)
    return np.flatnonzero(known & (one != other)) if len(link) else np.empty(0, dtype=np.int64)
