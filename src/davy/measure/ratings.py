"""Ratings: who gave which label to which item, as arrays that every agreement coefficient reads.

Rows of (item, annotator, label) or a wide table in; triplets of codes out, and from these the count table (items ×
labels). Missing answers are simply absent. The label set belongs to the question, not to a slice of it: groups and
subsets of annotators keep it, because chance agreement depends on how many labels people could choose from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from davy.core import UserError
from davy.measure.intervals import Ints

MISSING = -1


@dataclass(frozen=True, slots=True)
class Ratings:
    """Answers to one question: the i-th answer is `code[i]`, by `annotator[i]`, about `item[i]`."""

    item: Ints
    annotator: Ints
    code: Ints
    items: tuple[str, ...]
    annotators: tuple[str, ...]
    labels: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.code)

    @classmethod
    def from_rows(
        cls, items: Sequence[str], annotators: Sequence[str], labels: Sequence[str | None], *, among: Iterable[str] = ()
    ) -> Ratings:
        """Return the ratings of a long table; `among` lists labels in order that could have been given.

        Rows whose label is None are missing answers. Two answers of one person to one item are an error.
        """
        given = [label is not None for label in labels]
        kept = [label for label in labels if label is not None]
        label_names = tuple(among) or in_order(kept)
        item, item_names = _codes([i for i, ok in zip(items, given, strict=True) if ok], None)
        person, people = _codes([a for a, ok in zip(annotators, given, strict=True) if ok], None)
        code, _ = _codes(kept, label_names)
        found = cls(item, person, code, item_names, people, label_names)
        found._refuse_repeats()
        return found

    @classmethod
    def from_matrix(
        cls, codes: NDArray[np.integer], *, labels: Sequence[str] = (), annotators: Sequence[str] = ()
    ) -> Ratings:
        """Return the ratings of a matrix, items × annotators, of label codes with -1 where an answer is missing."""
        rows, columns = np.nonzero(codes >= 0)
        highest = int(codes.max(initial=-1)) + 1
        return cls(
            rows.astype(np.int64),
            columns.astype(np.int64),
            codes[rows, columns].astype(np.int64),
            tuple(str(i) for i in range(codes.shape[0])),
            tuple(annotators) or tuple(str(i + 1) for i in range(codes.shape[1])),
            tuple(labels) or tuple(str(i) for i in range(highest)),
        )

    def counts(self) -> Ints:
        """Return the count table: how many annotators gave each label (column) to each item (row)."""
        width = len(self.labels)
        flat = np.bincount(self.item * width + self.code, minlength=len(self.items) * width)
        return flat.reshape(len(self.items), width).astype(np.int64)

    def matrix(self) -> Ints:
        """Return the reliability matrix: items × annotators, -1 where somebody did not answer."""
        full = np.full((len(self.items), len(self.annotators)), MISSING, dtype=np.int64)
        full[self.item, self.annotator] = self.code
        return full

    def by(self, annotators: Iterable[str]) -> Ratings:
        """Return only the answers of these annotators, with the same items and labels."""
        people = tuple(annotators)
        places = np.full(len(self.annotators), MISSING, dtype=np.int64)
        for place, name in enumerate(people):
            places[self.annotators.index(name)] = place
        kept = places[self.annotator] >= 0
        return Ratings(self.item[kept], places[self.annotator][kept], self.code[kept], self.items, people, self.labels)

    def against_rest(self, label: str) -> Ratings:
        """Return the same answers as yes or no to one label."""
        code = (self.code != self.labels.index(label)).astype(np.int64)
        return Ratings(self.item, self.annotator, code, self.items, self.annotators, (label, f"not {label}"))

    def label_counts(self) -> dict[str, int]:
        """Return how often each label was given."""
        counts = np.bincount(self.code, minlength=len(self.labels))
        return {label: int(count) for label, count in zip(self.labels, counts, strict=True)}

    def numbers(self) -> NDArray[np.float64] | None:
        """Return the labels as numbers, or None where one of them is not a number."""
        try:
            values = np.array([float(label) for label in self.labels])
        except ValueError:
            return None
        return values if len(values) and np.isfinite(values).all() else None

    def _refuse_repeats(self) -> None:
        seen = Counter(zip(self.item.tolist(), self.annotator.tolist(), strict=True))
        repeats = [pair for pair, times in seen.items() if times > 1]
        if repeats:
            item, person = repeats[0]
            raise UserError(
                f"{len(repeats)} answers are given twice by one person, first annotator {self.annotators[person]!r} "
                f"on item {self.items[item]!r}. Name the phase column with --by, or choose --repeats first or last"
            )


def in_order(labels: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct labels: by value where all are numbers, else by name."""
    names = set(labels)
    try:
        return tuple(sorted(names, key=lambda name: (float(name), name)))
    except ValueError:
        return tuple(sorted(names))


def _codes(values: Sequence[str], names: Sequence[str] | None) -> tuple[Ints, tuple[str, ...]]:
    """Return each value's place among the names (default: in order of first appearance), and the names."""
    known = {name: i for i, name in enumerate(names if names is not None else dict.fromkeys(values))}
    try:
        codes = np.fromiter((known[value] for value in values), dtype=np.int64, count=len(values))
    except KeyError as missing:
        raise UserError(
            f"Label {missing.args[0]!r} is not among the labels given: {', '.join(known)}. Add it, or correct the file"
        ) from None
    return codes, tuple(known)
