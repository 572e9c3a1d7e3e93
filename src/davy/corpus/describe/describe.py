"""Describe a corpus: one frame of posts in, a `CorpusStatistics` out that becomes a page, JSON and papers.

Everything is counted here once; `page.py`, `documents.py` and the shell only show it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import polars as pl

from davy.core.scheme import Scheme
from davy.corpus.describe import counts, word_counts
from davy.corpus.describe.word_counts import TopicWord, topic_words
from davy.files.data_hash import data_hash

TOP = 20
CLASSES = 12
"""Questions with more labels than this are counted, but get no words and clouds of their own."""
EN_DE = ("en", "de")


@dataclass(frozen=True)
class CorpusStatistics:
    """What is in a corpus. `words` holds for every question the figures of words by label; `top` the most frequent."""

    name: str
    posts: int
    texts: int
    empty: int
    repeated: int
    images: int
    data: str
    levels: list[counts.LabelLevel]
    origins: dict[str, list[tuple[str, int]]]
    across: dict[str, list[tuple[str, str, int]]]
    lengths: dict[str, dict[str, counts.LengthSpread]]
    histogram: dict[str, list[int]]
    emoji: counts.EmojiCounts
    emoji_by_class: dict[str, counts.EmojiCounts]
    top: dict[str, dict[str, list[dict[str, Any]]]]
    words: dict[str, pl.DataFrame]
    pairs: pl.DataFrame
    topics: list[TopicWord]
    least: int
    times: tuple[str, str] | None = None
    collected: tuple[str, str] | None = None
    found: list[tuple[str, int]] = field(default_factory=list)
    scheme: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it; words are as they are, since this is data."""
        kept = {
            name: getattr(self, name)
            for name in (
                "name", "posts", "texts", "empty", "repeated", "images", "data", "scheme", "times", "collected",
                "origins", "across", "top", "least", "found",
            )
        }  # fmt: skip
        whole = {
            **kept,
            "levels": [asdict(level) for level in self.levels],
            "lengths": {c: {k: asdict(s) for k, s in both.items()} for c, both in self.lengths.items()},
            "emoji": asdict(self.emoji),
            "emoji_by_class": {name: asdict(found) for name, found in self.emoji_by_class.items()},
            "words": {
                question: {
                    label: frame.filter(pl.col("class") == label).head(100).drop("class").to_dicts()
                    for label in frame["class"].unique(maintain_order=True)
                }
                for question, frame in self.words.items()
            },
            "pairs": self.pairs.to_dicts(),
            "topic_words": [asdict(topic) for topic in self.topics],
        }
        return counts.plain_value(whole)  # type: ignore[no-any-return]


def describe(
    posts: pl.DataFrame,
    *,
    name: str,
    scheme: Scheme | None = None,
    least: int = 5,
    langs: tuple[str, ...] = EN_DE,
    split_of: Mapping[str, str] | None = None,
) -> CorpusStatistics:
    """Return what is in a frame of posts; words in fewer than `least` posts are left out of all word figures.

    `split_of` names the column of splits of questions that have one of their own.
    """
    text = posts["text"].cast(pl.String)
    given = counts.levels(posts, scheme)
    questions = [level.question for level in given if 0 < sum(n > 0 for n in level.labels.values()) <= CLASSES]
    classes = {question: counts.members(posts, question) for question in questions}
    held = word_counts.words_by_post(text, langs)
    figured = {q: word_counts.words_by_class(held, found, len(posts), least=least) for q, found in classes.items()}
    shares = {q: {label: float(m.mean() or 0.0) for label, m in found.items()} for q, found in classes.items()}  # type: ignore[arg-type]
    every = _frames_by_class(posts, classes)
    splits = {question: (split_of or {}).get(question, "split") for question in questions}
    columns = [c for c in ("source", "origin", "platform", "sampler") if _varies(posts, c)]
    return CorpusStatistics(
        name=name,
        posts=len(posts),
        texts=int(text.is_not_null().sum()),
        empty=int((text.is_null() | (text.str.strip_chars() == "")).sum()),
        repeated=len(text.drop_nulls()) - text.drop_nulls().n_unique(),
        images=len(posts["image"].drop_nulls()) if "image" in posts.columns else 0,
        data=data_hash(posts),
        levels=given,
        origins=counts.origins(posts),
        across={
            f"{q} by {c}": counts.cross_counts(posts, q, c, next(g for g in given if g.question == q))
            for q in questions
            for c in ([splits[q]] if _varies(posts, splits[q]) else []) + columns
        },
        lengths={n: _spreads(part) for n, part in every.items()},
        histogram={n: _lengths(part) for n, part in every.items()},
        emoji=counts.emojis(posts),
        emoji_by_class={n: counts.emojis(part) for n, part in every.items() if n != "all posts"},
        top={q: {label: _top(frame, label) for label in classes[q]} for q, frame in figured.items()},
        words=figured,
        pairs=word_counts.word_pairs(held, len(posts), least=least),
        topics=[topic for q, frame in figured.items() for topic in topic_words(frame, q, shares[q])],
        least=least,
        times=_span(posts, "time"),
        collected=_span(posts, "collected_at"),
        found=_count_found(posts),
        scheme=f"{scheme.name} {scheme.version}" if scheme else "",
    )


def _varies(posts: pl.DataFrame, column: str) -> bool:
    return column in posts.columns and posts[column].n_unique() > 1


def _frames_by_class(posts: pl.DataFrame, classes: Mapping[str, Mapping[str, pl.Series]]) -> dict[str, pl.DataFrame]:
    """Return all posts, and those of each class under `question: label`."""
    parts = {"all posts": posts}
    for question, found in classes.items():
        parts |= {f"{question}: {label}": posts.filter(which) for label, which in found.items()}
    return parts


def _spreads(posts: pl.DataFrame) -> dict[str, counts.LengthSpread]:
    measured = counts.lengths(posts)
    return {column: counts.LengthSpread.of(measured[column]) for column in measured.columns}


def _lengths(posts: pl.DataFrame) -> list[int]:
    """Return the words of each post for a picture, long ones at the 99th percentile so that they don't squeeze it."""
    n = counts.lengths(posts)["words"]
    cap = n.quantile(0.99, "higher") if len(n) else None
    return n.clip(upper_bound=int(cap) if cap is not None else None).to_list()


def _top(frame: pl.DataFrame, label: str) -> list[dict[str, Any]]:
    """Return the words in most posts of a class, with the share of its posts that hold them."""
    some = frame.filter(pl.col("class") == label).sort("posts", "word", descending=[True, False]).head(TOP)
    return some.select("word", "posts", "share", "npmi").to_dicts()


def _span(posts: pl.DataFrame, column: str) -> tuple[str, str] | None:
    """Return the first and the last time in a column, which sort as text."""
    if column not in posts.columns:
        return None
    given = posts[column].cast(pl.String).drop_nulls()
    return (str(given.min()), str(given.max())) if len(given) else None


def _count_found(posts: pl.DataFrame) -> list[tuple[str, int]]:
    """Return how posts were found; row numbers behind file names are left out, so that like goes with like."""
    if "found" not in posts.columns or posts["found"].null_count() == len(posts):
        return []
    ways = posts.select(pl.col("found").cast(pl.String).str.replace(r":\d+$", "").fill_null("(not said)").alias("way"))
    counted = ways.group_by("way").len().sort("len", "way", descending=[True, False]).head(counts.MOST)
    return [(str(way), int(n)) for way, n in counted.iter_rows()]
