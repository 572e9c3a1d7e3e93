"""Ratings: who gave which label to which item, as arrays that every agreement coefficient reads.

Rows of (item, annotator, label) or a wide table in; triplets of codes out, and from these the count table (items ×
labels). Missing answers are simply absent. The label set belongs to the question, not to a slice of it: groups and
subsets of annotators keep it, because chance agreement depends on how many labels people could choose from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from davy.core import UserError
from davy.core.answers import split_cell
from davy.measure.intervals import Ints

if TYPE_CHECKING:
    import polars as pl

MISSING = -1
_ROW = ("item", "annotator", "label")


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
        cls,
        items: Sequence[str] | pl.Series,
        annotators: Sequence[str] | pl.Series,
        labels: Sequence[str | None] | pl.Series,
        *,
        among: Iterable[str] = (),
    ) -> Ratings:
        """Return the ratings of a long table's columns; `among` lists, in order, the labels that could be given.

        Rows whose label is None are missing answers. Two answers of one person to one item are an error.
        """
        import polars as pl

        rows = pl.DataFrame(
            {"item": items, "annotator": annotators, "label": labels}, schema=dict.fromkeys(_ROW, pl.String)
        )
        rows = rows.filter(pl.col("label").is_not_null())
        names = tuple(among) or order_labels(rows["label"].unique().to_list())
        strange = set(rows["label"].unique().to_list()) - set(names)
        if strange:
            raise UserError(
                f"Label {quote_label(min(strange))} is not among the labels given: {', '.join(names)}. "
                "Add it, or correct the file"
            )
        item, item_names = _codes(rows["item"])
        person, people = _codes(rows["annotator"])
        code, _ = _codes(rows["label"], names)
        found = cls(item, person, code, item_names, people, names)
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

    def members(self) -> tuple[str, ...]:
        """Return the single labels: those of a question with one answer, or the parts of joined ones (`a|b`)."""
        return order_labels({part for label in self.labels for part in split_labels(label)})

    def against_rest(self, label: str) -> Ratings:
        """Return the same answers as yes (code 0) or no to one single label."""
        lacks = np.array([label not in split_labels(name) for name in self.labels], dtype=np.int64)
        return Ratings(
            self.item, self.annotator, lacks[self.code], self.items, self.annotators, (label, f"not {label}")
        )

    def label_counts(self) -> dict[str, int]:
        """Return how often each single label was given."""
        counts = np.bincount(self.code, minlength=len(self.labels))
        given = dict.fromkeys(self.members(), 0)
        for label, count in zip(self.labels, counts, strict=True):
            for part in split_labels(label):
                given[part] += int(count)
        return given

    def numbers(self) -> NDArray[np.float64] | None:
        """Return the labels as numbers, or None where one of them is not a number."""
        try:
            values = np.array([float(label) for label in self.labels])
        except ValueError:
            return None
        return values if len(values) and np.isfinite(values).all() else None

    def _refuse_repeats(self) -> None:
        keys, first, times = np.unique(
            self.item * max(len(self.annotators), 1) + self.annotator, return_index=True, return_counts=True
        )
        repeats = np.sort(first[times > 1])
        if len(repeats):
            item, person = self.items[self.item[repeats[0]]], self.annotators[self.annotator[repeats[0]]]
            raise UserError(
                f"{len(repeats)} of {len(keys)} answers are given twice by one person, first annotator {person!r} on "
                f"item {item!r}. Name the phase column with --by, or choose --repeats first or last"
            )


def quote_label(label: str) -> str:
    """Return a label as an error names it; a long one is no label but somebody's post, which errors never quote."""
    return repr(label) if len(label) <= 40 else f"of {len(label)} characters"


def split_labels(joined: str | None) -> tuple[str, ...]:
    """Return the labels of one cell, each once, in order of name; none for an empty cell."""
    return tuple(sorted(split_cell(joined)))


def order_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct labels: by value where all are numbers, else by name."""
    names = set(labels)
    try:
        return tuple(sorted(names, key=lambda name: (float(name), name)))
    except ValueError:
        return tuple(sorted(names))


def _codes(values: pl.Series, names: Sequence[str] = ()) -> tuple[Ints, tuple[str, ...]]:
    """Return each value's place among the names (default: in order of first appearance), and the names."""
    import polars as pl

    known = tuple(names) or tuple(values.unique(maintain_order=True).to_list())
    return values.cast(pl.Enum(known)).to_physical().to_numpy().astype(np.int64), known
