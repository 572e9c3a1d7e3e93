"""The words of posts, by class: how often, in how many posts, and how strongly they go together.

Texts and classes in, frames of counts and figures out. Words are in lower case;
names that cleaning put in (`[URL]`, `@user`), links, mentions and function words
are left out. A word is counted once a post, as GMHP7k's equations have it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources

import polars as pl

from davy.corpus.describe.npmi import npmi, pmi

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
