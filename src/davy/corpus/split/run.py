"""Split posts by a plan: posts and a plan in, a part for each post and a report out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from davy.core.answers import gold_of_labels
from davy.core.errors import UserError
from davy.corpus.split.assign import Shortfall, assign, compose
from davy.corpus.split.groups import (
    PICTURE_ALIKE,
    TEXT_ALIKE,
    Leak,
    Links,
    column_of,
    find_leaks,
    find_links,
    group_rows,
)
from davy.corpus.split.plan import ASIDE, REST, SplitPlan
from davy.corpus.split.quality import low_quality

if TYPE_CHECKING:
    import polars as pl

    from davy.corpus.split.quality import PictureFacts

_MOST_VALUES = 1000
LOW_QUALITY = "low_quality"
"""The column that says why a meme was left out."""


@dataclass(frozen=True, slots=True)
class SplitResult:
    """The part of each post, and how it came about."""

    parts: pl.Series
    plan: SplitPlan
    asked: dict[str, int]
    strata: pl.DataFrame
    tied: int
    """How many posts are in a group with others."""
    largest: int
    """How many posts the largest group has."""
    shortfalls: tuple[Shortfall, ...]
    leaks: tuple[Leak, ...]
    """First what was kept together, of which nothing straddles; then what was only looked at."""
    left_out: tuple[str | None, ...] = ()
    """Why a post is in no part, for plans with a rule of quality; None for the others."""

    def left_out_counts(self) -> dict[str, int]:
        """Return how many posts were left out for each reason, the most frequent first."""
        return dict(Counter(reason for reason in self.left_out if reason).most_common())

    def sizes(self) -> dict[str, int]:
        """Return how many posts each part got, in the plan's order."""
        got = Counter(self.parts.to_list())
        return {name: got.get(name, 0) for name in dict.fromkeys([*self.asked, *sorted(got)])}

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values."""
        counts = {column: self._counted(column) for column in self.strata.columns}
        return {
            "plan": self.plan.name,
            "seed": self.plan.seed,
            "posts": len(self.parts),
            "asked": self.asked,
            "got": self.sizes(),
            "in groups": self.tied,
            "largest group": self.largest,
            "shortfalls": [shortfall_dict(s) for s in self.shortfalls],
            "labels": counts,
            "left out": self.left_out_counts(),
            "leakage": [leak.to_dict() for leak in self.leaks],
        }

    def _counted(self, column: str) -> dict[str, dict[str, int]]:
        rows = zip(self.strata[column].to_list(), self.parts.to_list(), strict=True)
        counts: dict[str, Counter[str]] = {}
        for value, part in rows:
            counts.setdefault("" if value is None else value, Counter())[part] += 1
        return {value: dict(counts[value]) for value in sorted(counts)}


def shortfall_dict(short: Shortfall) -> dict[str, Any]:
    """Return a shortfall as plain values."""
    return {"part": short.part, "kind": short.kind, "asked": short.asked, "got": short.got}


def split(posts: pl.DataFrame, plan: SplitPlan, facts: PictureFacts | None = None) -> SplitResult:
    """Return posts split by a plan; `posts` have `id` and `text`. `facts` are those of their pictures, where they are.

    A plan with a rule of quality leaves posts out first: they are in no part, and count for no size.
    """
    import polars as pl

    if plan.quality is None:
        return _split(posts, plan, facts)
    reasons = low_quality(posts, plan.quality, facts)
    kept = [row for row, reason in enumerate(reasons) if reason is None]
    if not kept:
        raise UserError(f"All {len(posts):,} posts are of low quality, the first because: {reasons[0]}.")
    done = _split(posts[kept], plan, facts.take(kept) if facts else None)
    parts: list[str] = [ASIDE] * len(posts)
    for row, part in zip(kept, done.parts.to_list(), strict=True):
        parts[row] = part
    strata = strata_of(posts, plan.stratify)
    return replace(done, parts=pl.Series("split", parts, dtype=pl.String), strata=strata, left_out=tuple(reasons))


def _split(posts: pl.DataFrame, plan: SplitPlan, facts: PictureFacts | None) -> SplitResult:
    import polars as pl

    links = find_links(posts, plan.groups, plan.near_duplicates, facts, plan.near_pictures)
    tied = group_rows(len(posts), links)
    strata = strata_of(posts, plan.stratify)
    sizes = plan.sizes(len(posts))
    parts, short = _composed(posts, plan, tied, sizes) if plan.composition else ([None] * len(posts), [])
    free = [row for row, part in enumerate(parts) if part is None]
    if free:
        left = _remaining_sizes(plan, sizes, len(free))
        chosen = assign(strata[free], np.unique(tied[free], return_inverse=True)[1], left, plan.seed)
        for row, part in zip(free, chosen, strict=True):
            parts[row] = part
    column = pl.Series("split", parts, dtype=pl.String)
    counts = np.bincount(tied)
    return SplitResult(
        column,
        plan,
        sizes,
        strata,
        int(counts[counts > 1].sum()),
        int(counts.max()),
        tuple(short),
        (*_proved(column, links), *_watched(posts, column, plan, facts)),
    )


def _watched(posts: pl.DataFrame, parts: pl.Series, plan: SplitPlan, facts: PictureFacts | None) -> list[Leak]:
    """Return what straddles of the reasons that a plan of memes does not keep together: alike texts and pictures."""
    if plan.composition is None:
        return []
    loose = SplitPlan(plan.parts)
    links = find_links(
        posts,
        (),
        0 if plan.near_duplicates else loose.near_duplicates,
        facts,
        0 if plan.near_pictures else loose.near_pictures,
    )
    names = {TEXT_ALIKE: "near duplicate, not kept together", PICTURE_ALIKE: "picture, not kept together"}
    return [replace(leak, reason=names[leak.reason]) for leak in find_leaks(parts, links)]


def strata_of(posts: pl.DataFrame, named: tuple[str, ...] | None) -> pl.DataFrame:
    """Return the columns to balance by, as text: those named, or the source and every settled answer."""
    import polars as pl

    if named is None:
        named = (*(["source"] if "source" in posts.columns else []), *gold_of_labels(posts.columns))
    columns = []
    for name in named:
        column = column_of(posts, name).cast(pl.String).alias(name.removesuffix(".gold"))
        if column.n_unique() > _MOST_VALUES:
            raise UserError(f"Column {name!r} has {column.n_unique():,} values, too many to balance by. Leave it out.")
        columns.append(column)
    return pl.DataFrame(columns, height=len(posts)) if columns else pl.DataFrame(height=len(posts))


def _composed(
    posts: pl.DataFrame, plan: SplitPlan, tied: Any, sizes: dict[str, int]
) -> tuple[list[str | None], list[Shortfall]]:
    import polars as pl

    rule = plan.composition
    assert rule is not None
    kinds = column_of(posts, rule.column).cast(pl.String).to_list()
    missing = sorted(set(rule.shares) - set(kinds))
    if len(missing) == len(rule.shares):
        raise UserError(f"Column {rule.column!r} has none of the kinds that the plan asks for: {', '.join(missing)}.")
    return compose(kinds, tied, sizes, rule, plan.seed)


def _remaining_sizes(plan: SplitPlan, sizes: dict[str, int], free: int) -> dict[str, int]:
    """Return the sizes of the parts that no composition filled, for the posts that are free."""
    if plan.composition is None:
        return sizes
    other = {name: size for name, size in sizes.items() if name not in plan.composition.of}
    if not other:
        return {REST: free}
    open_ = next((name for name, size in plan.parts.items() if size is None), None)
    if open_ is not None:
        taken = sum(size for name, size in other.items() if name != open_)
        return {**other, open_: max(0, free - taken)}
    total = sum(other.values())
    return other if total <= free else {name: size * free // max(1, total) for name, size in other.items()}


def _proved(parts: pl.Series, found: list[Links]) -> list[Leak]:
    """Return the leakage of our own split: nothing may straddle, and this is where it would show."""
    report = find_leaks(parts, found)
    if any(leak.straddling for leak in report):
        raise AssertionError("a group was torn apart")
    return report
