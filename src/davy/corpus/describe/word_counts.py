"""The words of posts, by class: how often, how strongly they go together, and which give a class away.

Texts and classes in, frames of counts and figures out. Words are in lower case; names that cleaning put in (`[URL]`,
`@user`), links, mentions and function words are left out. A word is counted once a post, as in GMHP7k's equations 6
to 9: P(x) is the share of posts that hold x. NPMI is 1 if two things only occur together, 0 if they are independent,
−1 if they never meet.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from math import exp, lgamma, log, log1p

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def pmi(both: ArrayLike, one: ArrayLike, other: ArrayLike, posts: ArrayLike) -> Floats:
    """Return log2 of how much more often two things meet than chance would have it; −inf where they never do."""
    n_both, n_one, n_other, n = _counts(both, one, other, posts)
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = np.log2(n_both) + np.log2(n) - np.log2(n_one) - np.log2(n_other)
    return found


def npmi(both: ArrayLike, one: ArrayLike, other: ArrayLike, posts: ArrayLike) -> Floats:
    """Return PMI over −log2 P(both), between −1 and 1; NaN where one of the two never occurs at all."""
    n_both, n_one, n_other, n = _counts(both, one, other, posts)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = pmi(n_both, n_one, n_other, n) / -np.log2(n_both / n)
    found = np.where(n_both == 0, -1.0, found)
    found = np.where(n_both == n, 1.0, found)  # in every post, both: only ever together
    made: Floats = np.where((n_one == 0) | (n_other == 0), np.nan, found)
    return made


def _counts(*given: ArrayLike) -> tuple[Floats, ...]:
    both, one, other, posts = np.broadcast_arrays(*(np.asarray(count, dtype=np.float64) for count in given))
    if (both > np.minimum(one, other)).any() or (np.maximum(one, other) > posts).any():
        raise ValueError("more posts hold both than hold one of the two, or more hold one than there are")
    return both, one, other, posts


PAIR_POSTS = 50_000
"""Pairs of words are counted on the first this many posts: beyond it their order hardly changes, the cost does."""
PAIR_WORDS = 1_000
_NOISE = r"(?i)https?://\S+|www\.\S+|\[(?:url|user|number|email|phone)\]|@[\w.]+|&\w+;|#"
_WORD = r"\p{L}[\p{L}\p{M}*]*(?:['’\-][\p{L}\p{M}]+)*"


def tokens(texts: pl.Series) -> pl.Series:
    """Return the words of each text in order, repeats kept; null texts have none."""
    clean = texts.cast(pl.String).fill_null("").str.replace_all(_NOISE, " ").str.to_lowercase()
    return clean.str.replace_all("’", "'", literal=True).str.extract_all(_WORD).alias("word")


def words_by_post(texts: pl.Series, langs: Iterable[str] = ("en", "de")) -> pl.DataFrame:
    """Return which post (its row) holds which word, each once; function words of the languages left out."""
    stop = [word for lang in langs for word in stopwords(lang)]
    return (
        tokens(texts)
        .to_frame()
        .with_row_index("post")
        .explode("word", empty_as_null=True)
        .filter(pl.col("word").is_not_null() & ~pl.col("word").is_in(stop) & (pl.col("word").str.len_chars() > 1))
        .unique(maintain_order=True)
    )


def words_by_class(held: pl.DataFrame, classes: Mapping[str, pl.Series], posts: int, *, least: int) -> pl.DataFrame:
    """Return for every class and word: posts with both, their share, PMI and NPMI; words in fewer posts left out.

    `classes` says for each class which posts are in it.
    """
    often = held.group_by("word").agg(pl.len().alias("posts_with_word")).filter(pl.col("posts_with_word") >= least)
    parts = []
    for name, members in classes.items():
        rows = members.arg_true().cast(held.schema["post"])
        size = len(rows)
        both = held.filter(pl.col("post").is_in(rows.implode())).group_by("word").agg(pl.len().alias("posts"))
        part = often.join(both, on="word", how="left").with_columns(pl.col("posts").fill_null(0))
        counts = (part["posts"].to_numpy(), part["posts_with_word"].to_numpy(), size, posts)
        parts.append(
            part.select(
                pl.lit(name).alias("class"),
                "word",
                pl.col("posts").cast(pl.Int64),
                pl.col("posts_with_word").cast(pl.Int64),
                (pl.col("posts") / max(size, 1)).alias("share"),
                pl.Series("pmi", pmi(*counts)),
                pl.Series("npmi", npmi(*counts)),
            )
        )
    empty = {"class": pl.String, "word": pl.String, "posts": pl.Int64, "posts_with_word": pl.Int64}
    figures = dict.fromkeys(("share", "pmi", "npmi"), pl.Float64)
    if not parts:
        return pl.DataFrame(schema={**empty, **figures})
    return pl.concat(parts).sort("class", "npmi", "posts", "word", descending=[False, True, True, False])


def word_pairs(held: pl.DataFrame, posts: int, *, least: int, most: int = 50) -> pl.DataFrame:
    """Return the pairs of words that go together most strongly, with the posts that hold both, PMI and NPMI."""
    n = min(posts, PAIR_POSTS)
    some = held.filter(pl.col("post") < n)
    often = some.group_by("word").agg(pl.len().alias("n")).filter(pl.col("n") >= least)
    often = often.sort("n", "word", descending=[True, False]).head(PAIR_WORDS)
    few = some.join(often, on="word")
    met = (
        few.join(few, on="post", suffix="_2")
        .filter(pl.col("word") < pl.col("word_2"))
        .group_by("word", "word_2")
        .agg(pl.len().alias("posts"), pl.first("n").alias("n_1"), pl.first("n_2"))
        .filter(pl.col("posts") >= least)
    )
    counts = (met["posts"].to_numpy(), met["n_1"].to_numpy(), met["n_2"].to_numpy(), n)
    figured = met.with_columns(pl.Series("pmi", pmi(*counts)), pl.Series("npmi", npmi(*counts)))
    figured = figured.sort("npmi", "posts", "word", "word_2", descending=[True, True, False, False]).head(most)
    return figured.select("word", "word_2", "posts", "pmi", "npmi")


@cache
def stopwords(lang: str) -> tuple[str, ...]:
    """Return a language's function words; none for a language that we have no list of."""
    file = resources.files("davy.corpus.describe.stopwords").joinpath(f"{lang}.txt")
    return tuple(file.read_text("utf-8").split()) if file.is_file() else ()


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
