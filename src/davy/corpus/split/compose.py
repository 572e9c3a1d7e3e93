"""Fill parts of a fixed composition: so many posts of each kind, groups never torn apart.

Whole groups are taken while a part still needs a kind that they hold. What a
taken group has beyond the part's need is set aside: moving it to another part
would let the two know of each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from davy.corpus.split.plan import ASIDE, Composition, whole_number

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
