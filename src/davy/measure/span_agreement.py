"""How far people agree on words that they marked: each word as an item, and how much of their marks overlap.

Posts with people's marks in; ratings of words, and token and IoU F1 between people, out. The one thing to know: words
of a post stand or fall together, so intervals are resampled over posts, not over words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from davy.core import Metric
from davy.core.answers import SEPARATOR
from davy.core.spans import parse_spans
from davy.measure.intervals import Bootstrap, Ints
from davy.measure.ratings import Ratings
from davy.measure.rationales import stretch_f1, stretches, unit_f1
from davy.text.words import find_words, marked_words

MARKED, UNMARKED = "marked", "not marked"
OVERLAPS: tuple[str, ...] = ("token_f1", "iou_f1")


@dataclass(frozen=True, slots=True)
class MarkedPost:
    """One post's text, and what each person marked in it; who was not asked is not there."""

    item: str
    text: str
    given: Mapping[str, Sequence[str]]

    def words_of(self, person: str) -> dict[str, set[int]]:
        """Return the places of the words that a person marked, by label; the label is empty where there is none."""
        spans = parse_spans(self.given[person])
        labels = {span.label for span in spans}
        return {label: marked_words(self.text, (span for span in spans if span.label == label)) for label in labels}


def word_ratings(posts: Iterable[MarkedPost], labels: Sequence[str] = ()) -> tuple[Ratings, Ints]:
    """Return people's marks as ratings of words, and for each word the number of its post.

    A word is `marked` or `not marked`; where marks have `labels`, it is what it was marked as.
    """
    rows: list[tuple[str, str, str]] = []
    clusters: list[int] = []
    for number, post in enumerate(posts):
        words = find_words(post.text)
        by_person = {person: post.words_of(person) for person in post.given}
        for place in range(len(words)) if by_person else ():
            clusters.append(number)
            for person, marks in by_person.items():
                found = sorted(label or MARKED for label, places in marks.items() if place in places)
                rows.append((f"{post.item} {place}", person, SEPARATOR.join(found) or UNMARKED))
    items, people, cells = zip(*rows, strict=True) if rows else ((), (), ())
    among = () if labels else (MARKED, UNMARKED)
    return Ratings.from_rows(items, people, cells, among=among), np.array(clusters, dtype=np.int64)


def overlap_metrics(posts: Iterable[MarkedPost], *, bootstrap: Bootstrap | None = None) -> list[Metric]:
    """Return the mean token F1 and IoU F1 of pairs of people, as HateXplain and ERASER measure rationales.

    A post counts once, by the mean of its pairs; a pair of which neither marked anything says nothing about overlap.
    """
    rows = []
    for post in posts:
        pairs = [_overlaps(post, one, other) for one, other in combinations(sorted(post.given), 2)]
        counted = [pair for pair in pairs if pair is not None]
        if counted:
            rows.append([*np.mean(counted, axis=0), 1.0])
    bootstrap = bootstrap or Bootstrap()
    if not rows:
        why = "not defined: no post has two answers with a mark"
        return [Metric(name, None, 0, level=bootstrap.level, note=why) for name in OVERLAPS]
    return bootstrap.metrics(OVERLAPS, np.array(rows), lambda sums: sums[..., :2] / sums[..., 2:])


def _overlaps(post: MarkedPost, one: str, other: str) -> tuple[float, float] | None:
    first, second = post.words_of(one), post.words_of(other)
    if not first and not second:
        return None
    tokens = [{(label, place) for label, places in marks.items() for place in places} for marks in (first, second)]
    units = {unit: number for number, unit in enumerate(sorted(tokens[0] | tokens[1]))}
    shared = unit_f1([units[it] for it in tokens[0]], [units[it] for it in tokens[1]])
    # Stretches of different labels must not meet, so each label has a text of its own, one after the other.
    size, labels = len(find_words(post.text)) + 1, sorted({*first, *second})
    runs = [
        [(a + n * size, b + n * size) for n, label in enumerate(labels) for a, b in stretches(marks.get(label, ()))]
        for marks in (first, second)
    ]
    return shared, (stretch_f1(runs[0], runs[1]) + stretch_f1(runs[1], runs[0])) / 2
