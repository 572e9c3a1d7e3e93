"""Put groups of posts into parts: so that every part looks like the whole, or by a fixed composition.

To look like the whole, groups of several posts go first, the largest before the others, each to the part where it
brings all levels closest to their share. Single posts then fill what is missing, stratum by stratum, what was rounded
in one carried to the next: a stratum is at most one post off its share, and so is every level above it.
To fill a composition, whole groups are taken while a part still needs a kind that they hold. What a group has beyond
the need is set aside: in another part it would let the two know of each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from davy.corpus.split.plan import ASIDE, REST, Composition, whole_number

if TYPE_CHECKING:
    import polars as pl


def assign(strata: pl.DataFrame, groups: Array, sizes: Mapping[str, int], seed: int) -> list[str]:
    """Return the part of each post; `strata` has a text column for each level, the coarsest first.

    Posts beyond the sizes go to a part called `rest`. A group never crosses, so with large groups sizes can miss.
    """
    n = len(strata)
    parts = dict(sizes) if sum(sizes.values()) == n else {**sizes, REST: n - sum(sizes.values())}
    levels = _levels(strata)
    share = np.array(list(parts.values()), dtype=np.float64) / max(1, n)
    needs = [np.outer(share, np.bincount(level)) for level in levels]
    chance = np.random.default_rng(seed)
    chosen = np.full(n, -1)
    _place_groups(chosen, groups, levels, needs, chance)
    _place_singles(chosen, levels[-1], needs[-1], needs[0], chance)
    names = list(parts)
    return [names[place] for place in chosen.tolist()]


def _levels(strata: pl.DataFrame) -> list[Array]:
    """Return, for each level, the number of each post's stratum: all posts, then by one column more each time.

    Strata are numbered in order of their values, so that those beneath one coarser stratum follow each other.
    """
    levels = [np.zeros(len(strata), dtype=np.int64)]
    for column in strata.columns:
        codes = strata[column].fill_null("").rank("dense").to_numpy().astype(np.int64)
        both = levels[-1] * (codes.max(initial=0) + 1) + codes
        levels.append(np.unique(both, return_inverse=True)[1])
    return levels


def _place_groups(
    chosen: Array, groups: Array, levels: list[Array], needs: list[Array], chance: np.random.Generator
) -> None:
    """Put every group of two or more into the part that it suits best, and take it off what the part needs."""
    sizes = np.bincount(groups)
    several = np.flatnonzero(sizes > 1)
    if not len(several):
        return
    order = several[chance.permutation(len(several))]
    order = order[np.argsort(-sizes[order], kind="stable")]
    rows = np.argsort(groups, kind="stable")
    starts = np.concatenate([[0], np.cumsum(sizes)])
    # Weighed by what each part wants in all, so that a small part is as dear as a large one; the 1 keeps strata of
    # one or two posts, which can't be shared out, from outweighing the levels above them.
    wanted = [need + 1 for need in needs]
    for group in order:
        members = rows[starts[group] : starts[group + 1]]
        cost = np.zeros(len(needs[0]))
        counted = []
        for level, need, want in zip(levels, needs, wanted, strict=True):
            strata, count = np.unique(level[members], return_counts=True)
            here = need[:, strata]
            cost += (((here - count) ** 2 - here**2) / want[:, strata]).sum(axis=1)
            counted.append((strata, count))
        part = int(np.argmin(cost))
        chosen[members] = part
        for need, (strata, count) in zip(needs, counted, strict=True):
            need[part, strata] -= count


def _place_singles(chosen: Array, level: Array, need: Array, whole: Array, chance: np.random.Generator) -> None:
    """Share out the posts that are alone, stratum by stratum; `whole` is what each part needs in all."""
    left = np.maximum(0.0, whole[:, 0]).round().astype(np.int64)
    free = np.flatnonzero(chosen < 0)
    free = free[chance.permutation(len(free))]
    free = free[np.argsort(level[free], kind="stable")]
    left[int(np.argmax(left))] += len(free) - left.sum()
    carried = np.zeros(len(need))
    cuts = np.flatnonzero(np.diff(level[free])) + 1
    for members in np.split(free, cuts) if len(free) else []:
        wish = np.maximum(0.0, need[:, level[members[0]]])
        wish = wish * len(members) / wish.sum() if wish.sum() else np.full(len(need), len(members) / len(need))
        counts = _rounded(wish + carried, len(members), left)
        carried += wish - counts
        left -= counts
        chosen[members] = np.repeat(np.arange(len(counts)), counts)


def _rounded(wish: Array, n: int, left: Array) -> Array:
    """Return whole numbers near the wish that add up to n, none above what is left."""
    counts = np.clip(np.floor(wish), 0, left).astype(np.int64)
    while counts.sum() > n:
        counts[int(np.argmax(np.where(counts > 0, counts - wish, -np.inf)))] -= 1
    while counts.sum() < n:
        counts[int(np.argmax(np.where(counts < left, wish - counts, -np.inf)))] += 1
    return counts


Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Shortfall:
    """A kind of which a part got fewer posts than it asked for."""

    part: str
    kind: str
    asked: int
    got: int


def compose(
    kinds: list[str | None], groups: Array, sizes: Mapping[str, int], rule: Composition, seed: int
) -> tuple[list[str | None], list[Shortfall]]:
    """Return the part of each post, None for those that no composed part took, and what fell short."""
    members: dict[int, list[int]] = {}
    for row, group in enumerate(groups.tolist()):
        members.setdefault(group, []).append(row)
    chance = np.random.default_rng(seed)
    free = [list(members)[place] for place in chance.permutation(len(members))]
    chosen: list[str | None] = [None] * len(kinds)
    short: list[Shortfall] = []
    for part in sorted(rule.of, key=lambda name: -sizes[name]):
        total = sum(rule.shares.values())
        asked = whole_number({kind: sizes[part] * share / total for kind, share in rule.shares.items()}, sizes[part])
        need = Counter(asked)
        free = _fill(part, need, free, members, kinds, chosen)
        short += [Shortfall(part, kind, asked[kind], asked[kind] - n) for kind, n in need.items() if n > 0]
    return chosen, short


def _fill(
    part: str,
    need: Counter[str],
    free: list[int],
    members: Mapping[int, list[int]],
    kinds: list[str | None],
    chosen: list[str | None],
) -> list[int]:
    """Take groups into a part until it has what it needs; return the groups that are still free."""
    # First those that fit whole, the large ones before the small: single posts can fill gaps, groups can't.
    for most_over in (0, 1, 2, 10**9):
        still = []
        for group in sorted(free, key=lambda group: -len(members[group])):
            counts = Counter(kinds[row] for row in members[group])
            useful = sum(min(count, max(0, need[kind])) for kind, count in counts.items() if kind is not None)
            if not useful or len(members[group]) - useful > most_over:
                still.append(group)
                continue
            for row in members[group]:
                kind = kinds[row]
                if kind is not None and need[kind] > 0:
                    need[kind] -= 1
                    chosen[row] = part
                else:
                    chosen[row] = ASIDE
        free = still
        if not any(n > 0 for n in need.values()):
            break
    return free
