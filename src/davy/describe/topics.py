"""Warn of topic words that give a class away: words that are not hurtful themselves but predict it.

A detector that learns such a word flags its topic, not hate (Wiegand et al.
2019). A word is listed when it goes with the class clearly (NPMI), in enough
posts, and when even the low end of its interval is above the class's share.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

CLEAR = 0.1
"""NPMI from which a word goes with a class clearly."""
OFTEN = 10
"""Posts that must hold a word: in fewer, it is chance more often than not."""
MOST = 15


@dataclass(frozen=True, slots=True)
class Topic:
    """A word that predicts a class: of the posts that hold it, `rate` are in the class, whose share is `base`."""

    question: str
    label: str
    word: str
    posts: int
    posts_with_word: int
    npmi: float
    rate: float
    low: float
    high: float
    base: float


def topics(words: pl.DataFrame, question: str, shares: dict[str, float], *, clear: float = CLEAR) -> list[Topic]:
    """Return the warnings of a question, the clearest first; `words` is what `words.by_class` gave."""
    from davy.measure.intervals import wilson

    listed: list[Topic] = []
    for label, base in shares.items():
        near = words.filter(
            (pl.col("class") == label) & (pl.col("npmi") >= clear) & (pl.col("posts_with_word") >= OFTEN)
        ).sort("npmi", descending=True)
        found = 0
        for row in near.iter_rows(named=True):
            if found == MOST:
                break
            low, high = wilson(row["posts"], row["posts_with_word"])
            if low <= base or hurtful(row["word"]):
                continue
            found += 1
            rate = row["posts"] / row["posts_with_word"]
            listed.append(
                Topic(
                    question,
                    label,
                    row["word"],
                    row["posts"],
                    row["posts_with_word"],
                    row["npmi"],
                    rate,
                    low,
                    high,
                    base,
                )
            )
    return listed


def hurtful(word: str) -> bool:
    """Return whether masking knows the word: then it says hate by itself and is no mere topic."""
    from davy.text.mask import mask

    return mask(word) != word
