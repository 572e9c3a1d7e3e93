"""Folds for cross-validation: near duplicates and posts of one group are in one fold, labels are spread evenly.

Texts in, a fold number for each out. Texts are sorted before they are compared, and groups placed by the hash of their
first text, so that the order of the rows changes nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from davy.core.errors import UserError
from davy.corpus.split.groups import find_links, group_rows

Array = np.ndarray[Any, np.dtype[Any]]


def assign_folds(
    texts: Sequence[str],
    folds: int,
    *,
    labels: Sequence[str] | None = None,
    groups: Sequence[str] | None = None,
    near: float = 0.8,
    seed: int = 0,
) -> Array:
    """Return the fold of each text, from 0. Fewer groups than folds are an error."""
    together = _groups(texts, groups, near)
    members = np.bincount(together)
    if len(members) < folds:
        raise UserError(
            f"{len(texts):,} texts are {len(members):,} groups of near duplicates, too few for {folds} folds."
        )
    codes = np.zeros(len(texts), dtype=np.int64) if labels is None else np.unique(labels, return_inverse=True)[1]
    counts = np.zeros((len(members), codes.max(initial=0) + 1))
    np.add.at(counts, (together, codes), 1)
    return _place(counts, _order(texts, together, members, seed), folds)[together]


def _groups(texts: Sequence[str], groups: Sequence[str] | None, near: float) -> Array:
    """Return the number of each text's group: equal and near texts, and those of one named group."""
    import polars as pl

    unique, place = np.unique(np.array(texts, dtype=object), return_inverse=True)
    posts = pl.DataFrame({"id": [str(row) for row in range(len(unique))], "text": unique.tolist()})
    links = find_links(posts, (), near)
    together = group_rows(len(unique), links)[place]
    if groups is None:
        return np.unique(together, return_inverse=True)[1]
    rows = pl.DataFrame({"id": [str(row) for row in range(len(texts))], "alike": together.tolist(), "group": groups})
    return np.unique(group_rows(len(texts), find_links(rows, ("alike", "group"), 0)), return_inverse=True)[1]


def _order(texts: Sequence[str], together: Array, members: Array, seed: int) -> Array:
    """Return the groups, large ones first, those of one size by the hash of their first text."""
    first: list[str | None] = [None] * len(members)
    for text, group in zip(texts, together.tolist(), strict=True):
        known = first[group]
        if known is None or text < known:
            first[group] = text
    keys = [hashlib.blake2b(f"{seed}\0{text}".encode("utf-8", "replace"), digest_size=8).digest() for text in first]
    return np.array(sorted(range(len(members)), key=lambda group: (-members[group], keys[group])))


def _place(counts: Array, order: Array, folds: int) -> Array:
    """Return the fold of each group: the one that has least of the group's labels, then of all posts."""
    share = counts / counts.sum(axis=0)
    filled = np.zeros((folds, counts.shape[1]))
    size = np.zeros(folds)
    placed = np.zeros(len(counts), dtype=np.int64)
    for group in order.tolist():
        need = filled @ counts[group]
        fold = int(np.lexsort((size, np.round(need, 12)))[0])
        placed[group] = fold
        filled[fold] += share[group]
        size[fold] += counts[group].sum()
    return placed
