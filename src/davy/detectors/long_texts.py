"""Texts that are longer than a network reads at once: cut into windows, and the windows' answers put together.

Token ids in, rows of ids with the post that each belongs to out; and the other way round, probabilities of windows in,
those of posts out. A yes/no question takes the answer of the window that says yes loudest, and the questions below it
follow that window, so that type and target come from the passage that was found hateful.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from davy.core.scheme import Question

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

MOST_CHARACTERS = 100_000
"""Longer texts are read by head and tail: a megabyte must not hold up everyone else."""
OVERLAP = 0.25
"""The share of a window that the one before has read, too, so that few sentences are cut in two."""


def cut_windows(rows: Sequence[Sequence[int]], length: int, ends: Sequence[int]) -> tuple[list[Sequence[int]], Array]:
    """Return windows of at most `length` tokens, and for each the place of its text.

    `ends` are the tokens that a tokenizer puts around an empty text; each window gets them again.
    """
    import numpy as np

    if all(len(row) <= length for row in rows):
        return list(rows), np.arange(len(rows))
    first, last = (list(ends[:1]), list(ends[-1:])) if len(ends) == 2 else ([], [])
    inner = length - len(first) - len(last)
    step = max(1, int(inner * (1 - OVERLAP)))
    windows: list[Sequence[int]] = []
    owners: list[int] = []
    for place, row in enumerate(rows):
        if len(row) <= length:
            windows.append(row)
            owners.append(place)
            continue
        body = row[len(first) : len(row) - len(last)]
        starts = range(0, max(1, len(body) - inner + step), step)
        windows += [[*first, *body[start : start + inner], *last] for start in starts]
        owners += [place] * len(starts)
    return windows, np.array(owners)


def join_windows(
    questions: Sequence[Question], blocks: Mapping[str, Array], read: Array, owners: Array
) -> tuple[dict[str, Array], Array]:
    """Return the probabilities of each post and whether it was read, from those of its windows."""
    import numpy as np

    posts = int(owners[-1]) + 1 if len(owners) else 0
    if posts == len(owners):
        return dict(blocks), read
    found: dict[str, Array] = {}
    strongest: dict[str, Array] = {}
    for question in questions:
        block = blocks[question.name]
        if question.under and question.under[0] in strongest:
            rows = strongest[question.under[0]]
        else:
            column = question.label_names.index(question.positive) if question.positive else None
            score = block[:, column] if column is not None else block.max(axis=1)
            # Windows that were read come before those that a screen cleared: only they have answers below.
            rows = _largest(score + read, owners, posts)
        strongest[question.name] = rows
        found[question.name] = block[rows]
    read_posts = np.zeros(posts, dtype=bool)
    np.logical_or.at(read_posts, owners, read)
    return found, read_posts


def _largest(score: Array, owners: Array, posts: int) -> Array:
    """Return for each post the row with the largest score."""
    import numpy as np

    order = np.lexsort((score, owners))  # each post's rows together, the largest score last
    last = np.zeros(posts, dtype=np.int64)
    last[owners[order]] = np.arange(len(order))
    return np.asarray(order[last])
