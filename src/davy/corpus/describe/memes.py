"""What is in a corpus of memes, as the Hateful Memes paper describes one: kinds by split, words and objects by class.

Posts in (with `kind` where it is known, and pictures), a `MemeStatistics` out. A class is a meme's kind, or without
kinds the answer to the first question. As in the paper, words and objects are counted on the test part, protected
categories and types of attack on the dev part; without such a part, the nearest one stands in and is named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from davy.core.meme import MEME_KINDS
from davy.corpus.describe.word_counts import stopwords, tokens

if TYPE_CHECKING:
    from davy.detectors.object_boxes import ObjectDetector
    from davy.image.picture_names import Pictures

TOP = 10
"""Words and objects a class, as in the paper."""
EXAMPLES = 3
"""Pictures a class in the report."""
TEST_PARTS = ("test_seen", "test", "dev_seen", "dev", "val")
DEV_PARTS = ("dev_seen", "dev", "val", "test_seen", "test")
PAPER_KINDS = {
    "multimodal hate": 0.4, "unimodal hate": 0.1, "benign image": 0.2, "benign text": 0.2, "random non-hateful": 0.1
}  # fmt: skip
"""Shares of dev and test in the Hateful Memes paper, section 2.4."""
PAPER_PARTS = {"train": 8500, "dev": 500, "dev_seen": 500, "test": 1000, "test_seen": 1000}
"""Memes a part in the paper: 85, 5 and 10 % of 10,000."""


@dataclass(frozen=True, slots=True)
class Frequent:
    """A word or an object's label: how often it stands in a class, and its share of all that were counted there."""

    name: str
    n: int
    share: float


@dataclass(frozen=True)
class MemeStatistics:
    """A corpus of memes in figures. `parts` say which split each table is of, "" for the whole corpus."""

    class_by: str
    """`kind`, or the question whose answers are the classes."""
    words_part: str
    answers_part: str
    classes_by_part: dict[str, dict[str, int]]
    """Split → class → memes."""
    words: dict[str, list[Frequent]]
    answers: dict[str, dict[str, int]]
    """Question below the first → label → memes, on the dev part."""
    answered: dict[str, int]
    tokens: dict[str, list[int]]
    """Class or `question: label` → tokens of each meme's text."""
    objects: dict[str, list[Frequent]] = field(default_factory=dict)
    objects_note: str = ""
    """Why there are no objects, where there are none."""
    examples: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    """Class → memes that are shown: `id`, `image` and `text`."""

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON has them; the examples' texts and pictures are left out."""
        record = asdict(self)
        record["examples"] = {name: [meme["id"] for meme in memes] for name, memes in self.examples.items()}
        return record


def describe_memes(
    posts: pl.DataFrame, questions: Sequence[str], *, langs: Sequence[str] = ("en", "de")
) -> MemeStatistics:
    """Return the figures of posts with pictures, without objects. `questions` are those with answers, in order."""
    class_by = "kind" if _has(posts, "kind") else questions[0] if questions else ""
    classed = posts.with_columns(_class=_classes(class_by))
    words_on, words_part = _part(classed, TEST_PARTS)
    answers_on, answers_part = _part(classed, DEV_PARTS)
    names = _ordered(classed["_class"].drop_nulls().unique().to_list())
    first = f"{questions[0]}.gold" if questions else ""
    return MemeStatistics(
        class_by,
        words_part,
        answers_part,
        _by_part(classed, names),
        {name: top_words(words_on.filter(pl.col("_class") == name)["text"], langs) for name in names},
        {q: _labels(answers_on, q) for q in questions[1:] if answers_on[f"{q}.gold"].drop_nulls().len()},
        {q: answers_on[f"{q}.gold"].drop_nulls().len() for q in questions[1:]},
        _token_counts(classed, names, first),
        examples={name: _examples(words_on.filter(pl.col("_class") == name)) for name in names},
    )


def top_words(texts: pl.Series, langs: Sequence[str] = ("en", "de")) -> list[Frequent]:
    """Return the most frequent words of texts, as shares of all their words; function words are left out of both."""
    stop = {word for lang in langs for word in stopwords(lang)}
    counted = Counter(
        word for words in tokens(texts).to_list() for word in words or () if word not in stop and len(word) > 1
    )
    return _most(counted)


def count_objects(
    posts: pl.DataFrame,
    found: MemeStatistics,
    pictures: Pictures,
    detector: ObjectDetector,
    *,
    min_score: float,
    progress: Callable[[], None] = lambda: None,
) -> dict[str, list[Frequent]]:
    """Return the most frequent labels of boxes on the pictures of each class; each box counts."""
    some, _ = _part(posts.with_columns(_class=_classes(found.class_by)), TEST_PARTS)
    counted: dict[str, Counter[str]] = {name: Counter() for name in found.words}
    for name, image in some.select("_class", "image").iter_rows():
        progress()
        if name in counted and image:
            boxes = detector.find(pictures(image))
            counted[name].update(box.label for box in boxes if box.score >= min_score and box.label)
    return {name: _most(labels) for name, labels in counted.items()}


def objects_total(posts: pl.DataFrame) -> int:
    """Return how many pictures `count_objects` will look at."""
    return len(_part(posts, TEST_PARTS)[0])


def _most(counted: Counter[str]) -> list[Frequent]:
    total = counted.total()
    ranked = sorted(counted.items(), key=lambda item: (-item[1], item[0]))[:TOP]
    return [Frequent(name, n, n / total) for name, n in ranked]


def _has(posts: pl.DataFrame, column: str) -> bool:
    return column in posts.columns and posts[column].drop_nulls().len() > 0


def _classes(class_by: str) -> pl.Expr:
    if not class_by:
        return pl.lit("all memes")
    return pl.col("kind" if class_by == "kind" else f"{class_by}.gold").cast(pl.String)


def _part(posts: pl.DataFrame, parts: Sequence[str]) -> tuple[pl.DataFrame, str]:
    """Return the memes of the first of these splits that has memes with a class, and its name."""
    if _has(posts, "split"):
        known = posts.filter(pl.col("_class").is_not_null()) if "_class" in posts.columns else posts
        names = set(known["split"].cast(pl.String).drop_nulls())
        for name in parts:
            if name in names:
                return posts.filter(pl.col("split").cast(pl.String) == name), name
    return posts, ""


def _ordered(names: list[str]) -> list[str]:
    known = [kind for kind in MEME_KINDS if kind in names]
    return [*known, *sorted(name for name in names if name not in known)]


def _by_part(posts: pl.DataFrame, names: list[str]) -> dict[str, dict[str, int]]:
    part = pl.col("split").cast(pl.String).fill_null("(none)") if "split" in posts.columns else pl.lit("all")
    counted = Counter(posts.select(part.alias("part"), "_class").rows())
    parts = list(dict.fromkeys(name for name, _ in counted))
    return {each: {name: counted[each, name] for name in names} for each in sorted(parts, key=_part_order)}


def _part_order(name: str) -> tuple[int, str]:
    stems = ("train", "dev", "val", "test")
    return next((place for place, stem in enumerate(stems) if name.startswith(stem)), len(stems)), name


def _labels(posts: pl.DataFrame, question: str) -> dict[str, int]:
    cells = posts[f"{question}.gold"].drop_nulls().cast(pl.String)
    return dict(Counter(label for cell in cells for label in cell.split("|") if label).most_common())


def _token_counts(posts: pl.DataFrame, names: list[str], first: str) -> dict[str, list[int]]:
    """Return how many tokens the text of each meme has, by class, and by the first question where classes are kinds."""
    n = tokens(posts["text"]).list.len()
    counted = posts.with_columns(_n=n)
    found = {name: counted.filter(pl.col("_class") == name)["_n"].to_list() for name in names}
    if first and f"{first}" in posts.columns and _has(posts, "kind"):
        for label in sorted(posts[first].drop_nulls().unique()):
            found[f"{first.removesuffix('.gold')}: {label}"] = counted.filter(pl.col(first) == label)["_n"].to_list()
    return found


def _examples(posts: pl.DataFrame) -> list[dict[str, str]]:
    """Return the first memes of a class, in the order of their ids' hashes, so that neighbours are not alike."""
    some = posts.filter(pl.col("image").is_not_null())
    some = some.with_columns(_place=pl.col("id").cast(pl.String).hash(0)).sort("_place").head(EXAMPLES)
    return [dict(zip(("id", "image", "text"), row, strict=True)) for row in some.select("id", "image", "text").rows()]
