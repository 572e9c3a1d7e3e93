"""How far two texts lie apart in words: what the smallest change of a text is measured by."""

from __future__ import annotations

from collections.abc import Sequence


def count_edits(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the fewest insertions, deletions and replacements that turn one list of words into the other."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        last, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (a != b))
    return row[-1]
