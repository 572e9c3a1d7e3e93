"""Warn of topic words that give a class away: words that are not hurtful themselves but predict it.

A detector that learns such a word flags its topic, not hate (Wiegand et al.
2019). A word is listed when it goes with the class clearly (NPMI), in enough
posts, and so often that chance would hardly bring it about, given how many words
were looked at: among thousands, some go with any class by chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, lgamma, log, log1p

import polars as pl

CLEAR = 0.1
"""NPMI from which a word goes with a class clearly."""
CHANCE = 0.05
"""The chance, over all words and classes of a question, that any is listed though labels were given out blindly."""
MOST = 15
OFTEN = 10
"""Posts that must hold a word: in fewer, it is chance more often than not."""


@dataclass(frozen=True, slots=True)
class TopicWord:
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


def topic_words(
    words: pl.DataFrame, question: str, shares: dict[str, float], *, clear: float = CLEAR
) -> list[TopicWord]:
    """Return the warnings of a question, the clearest first; `words` is what `words.by_class` gave."""
    from davy.measure.intervals import wilson

    listed: list[TopicWord] = []
    often = words.filter(pl.col("posts_with_word") >= OFTEN)
    limit = CHANCE / max(1, len(often))
    for label, base in shares.items():
        near = often.filter((pl.col("class") == label) & (pl.col("npmi") >= clear)).sort("npmi", descending=True)
        found = 0
        for row in near.iter_rows(named=True):
            both, held = row["posts"], row["posts_with_word"]
            if found == MOST or binomial_tail(both, held, base) > limit or is_hurtful(row["word"]):
                continue
            found += 1
            low, high = wilson(both, held)
            listed.append(
                TopicWord(question, label, row["word"], both, held, row["npmi"], both / held, low, high, base)
            )
    return listed


def binomial_tail(both: int, held: int, share: float) -> float:
    """Return the chance that of `held` posts at least `both` are in a class with this share (binomial, exact)."""
    if both <= 0 or share >= 1:
        return 1.0
    if share <= 0:
        return 0.0
    start = lgamma(held + 1) - lgamma(both + 1) - lgamma(held - both + 1) + both * log(share)
    term = total = exp(start + (held - both) * log1p(-share))
    for k in range(both, held):
        term *= (held - k) / (k + 1) * share / (1 - share)
        total += term
        if term < total * 1e-17:
            break
    return min(1.0, total)


def is_hurtful(word: str) -> bool:
    """Return whether masking knows the word: then it says hate by itself and is no mere topic."""
    from davy.text.mask import mask

    return mask(word) != word
