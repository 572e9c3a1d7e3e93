"""Which posts belong together: an original and its contrast, near duplicates, a thread, a meme and its confounders.

Posts in, links between their rows out, and from links the groups: a group is
everything that can be reached from one post by links of any kind. A split leaks
if a link goes from one part to another, whoever made the split.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from davy.core.errors import UnknownName, UserError, nearest
from davy.corpus.split.plan import ASIDE
from davy.image.perceptual_hash import BITS, near_pairs
from davy.text import duplicates

if TYPE_CHECKING:
    import polars as pl

    from davy.corpus.split.quality import PictureFacts

    Array = np.ndarray[Any, np.dtype[Any]]


PARENT = "parent"
TEXT_ALIKE = "near duplicate"
PICTURE_ALIKE = "picture"


@dataclass(frozen=True, slots=True)
class Links:
    """Pairs of rows that belong together for one reason. `outside` counts posts whose partner is not in the file."""

    reason: str
    first: Array
    second: Array
    similarity: Array | None = None
    outside: int = 0

    def __len__(self) -> int:
        return len(self.first)


def find_links(
    posts: pl.DataFrame,
    columns: Sequence[str] | None,
    near: float,
    facts: PictureFacts | None = None,
    near_pictures: int = 0,
) -> list[Links]:
    """Return the links for each reason: the columns given, near duplicates of the text, and of the picture.

    Without columns it is `parent`, where there is one; `group?` is a column that may be missing.
    """
    if columns is None:
        columns = [f"{PARENT}?"]
    columns = [_plain(name) for name in columns if not name.endswith("?") or _has_values(posts, _plain(name))]
    links = [_parents(posts) if column == PARENT else _equal(posts, column) for column in columns]
    if near:
        if not 0.3 <= near <= 1:
            raise UserError(f"Near duplicates are those alike by 0.3 to 1, not {near:g}; 0 turns them off.")
        links.append(_alike(posts, near))
    if facts is not None and near_pictures:
        links.append(_pictures_alike(facts, near_pictures))
    return links


def group_rows(n: int, found: Sequence[Links]) -> Array:
    """Return the number of the group that each of n posts is in, groups by their first post.

    Every post takes on the lowest number among those it is linked to, until none changes: a few rounds, whatever n is.
    """
    first = np.concatenate([np.empty(0, dtype=np.int64), *(link.first for link in found)])
    second = np.concatenate([np.empty(0, dtype=np.int64), *(link.second for link in found)])
    lowest = np.arange(n)
    while True:
        one, other = lowest[first], lowest[second]
        lower = np.minimum(one, other)
        after = lowest.copy()
        np.minimum.at(after, one, lower)
        np.minimum.at(after, other, lower)
        while not np.array_equal(further := after[after], after):
            after = further
        if np.array_equal(after, lowest):
            return np.unique(lowest, return_inverse=True)[1]
        lowest = after


def column_of(posts: pl.DataFrame, name: str) -> pl.Series:
    """Return a column by its name, a question by its settled answer, or a field of `meta` as `meta.field`."""

    if name in posts.columns:
        return posts[name]
    if f"{name}.gold" in posts.columns:
        return posts[f"{name}.gold"]
    if name.startswith("meta.") and "meta" in posts.columns:
        return posts["meta"].str.json_path_match(f"$['{name[5:]}']").alias(name)
    known = [*posts.columns, *(c.removesuffix(".gold") for c in posts.columns if c.endswith(".gold"))]
    listed = ", ".join(column for column in known if len(column) <= 40)
    raise UnknownName(f"There is no column {name!r} to split by; there are {listed}.{nearest(name, known)}") from None


def _plain(name: str) -> str:
    return name.removesuffix("?")


def _has_values(posts: pl.DataFrame, name: str) -> bool:
    return name in posts.columns and posts[name].null_count() < len(posts)


def _parents(posts: pl.DataFrame) -> Links:
    """Return the link of each post to its parent; two posts of one parent outside the file are linked too."""
    import polars as pl

    rows = pl.DataFrame({"id": posts["id"].cast(pl.String)}).with_row_index("row")
    named = pl.DataFrame({PARENT: column_of(posts, PARENT).cast(pl.String)}).with_row_index("child")
    named = named.filter(pl.col(PARENT).is_not_null() & (pl.col(PARENT) != ""))
    joined = named.join(rows, left_on=PARENT, right_on="id", how="left", maintain_order="left")
    inside = joined.filter(pl.col("row").is_not_null())
    orphans = joined.filter(pl.col("row").is_null())
    siblings = orphans.with_columns(first=pl.col("child").first().over(PARENT)).filter(
        pl.col("first") != pl.col("child")
    )
    first = np.concatenate([inside["row"].to_numpy(), siblings["first"].to_numpy()]).astype(np.int64)
    second = np.concatenate([inside["child"].to_numpy(), siblings["child"].to_numpy()]).astype(np.int64)
    return Links(PARENT, first, second, outside=len(orphans))


def _equal(posts: pl.DataFrame, name: str) -> Links:
    """Return a link from the first post with each value to every other post with it."""
    import polars as pl

    frame = pl.DataFrame({"value": column_of(posts, name).cast(pl.String)}).with_row_index("row")
    frame = frame.filter(pl.col("value").is_not_null() & (pl.col("value") != ""))
    frame = frame.with_columns(first=pl.col("row").first().over("value")).filter(pl.col("first") != pl.col("row"))
    return Links(name, frame["first"].to_numpy().astype(np.int64), frame["row"].to_numpy().astype(np.int64))


def _alike(posts: pl.DataFrame, threshold: float) -> Links:
    import polars as pl

    texts = posts["text"].cast(pl.String)
    rows = np.flatnonzero(texts.str.contains(r"\S").fill_null(False).to_numpy())
    sketches = duplicates.sketch(texts.gather(rows), threshold)
    pairs = duplicates.near_pairs(sketches.bands, sketches.bits, threshold)
    return Links(TEXT_ALIKE, rows[pairs.first], rows[pairs.second], pairs.similarity)


def _pictures_alike(facts: PictureFacts, most: int) -> Links:
    """Return links between posts whose pictures' hashes differ in at most `most` bits; equal pictures in any case."""
    if not 1 <= most < BITS:
        raise UserError(f"Pictures are alike by 1 to {BITS - 1} differing bits, not {most}; 0 turns it off.")
    rows = facts.comparable
    unique, which = np.unique(facts.hashes[rows], axis=0, return_inverse=True)
    firsts = np.full(len(unique), -1, dtype=np.int64)
    pairs: list[tuple[int, int]] = []
    for row, code in zip(rows.tolist(), np.ravel(which).tolist(), strict=True):
        if firsts[code] < 0:
            firsts[code] = row
        else:
            pairs.append((int(firsts[code]), row))
    pairs += [(int(firsts[one]), int(firsts[other])) for one, other in near_pairs(unique, most)]
    by_key: dict[str, int] = {}
    plain = set(range(len(facts.key))) - set(rows.tolist())
    keyed = ((facts.key[row], row) for row in sorted(plain) if facts.key[row])
    pairs += [(by_key[key], row) for key, row in keyed if by_key.setdefault(key, row) != row]
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return Links(PICTURE_ALIKE, ends[:, 0], ends[:, 1])


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
