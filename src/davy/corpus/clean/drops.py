"""Steps of a recipe that drop posts; their fields are their parameters.

Most look at one post at a time: posts in, yes for those that go. They run in any process. Steps that compare
posts have two halves: `arrays` looks at one batch, in any process, and returns a few bytes for each post; `kept`
gets the arrays of all batches and says who stays. The first of those alike stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from davy.core.errors import nearest
from davy.text import duplicates, post_entities

if TYPE_CHECKING:
    import polars as pl

    from davy.text.column_match import ColumnMatcher

    Array = np.ndarray[Any, np.dtype[Any]]
    Arrays = Mapping[str, Array]
    Parts = Mapping[str, Sequence[Array]]


_COUNTED = ("characters", "words")
_MODES = ("word", "start", "end", "inside")
_ONLY = (*post_entities.KINDS, "emoji", "signs", "digits")


class DropStep:
    """A step that drops posts."""

    def dropped(self, posts: pl.DataFrame) -> pl.Series:
        """Return which posts go; `posts` has at least the column `text`."""
        raise NotImplementedError


@dataclass(frozen=True)
class DropEmpty(DropStep):
    """Posts without a text, or with white space alone."""

    def dropped(self, posts: pl.DataFrame) -> pl.Series:
        """Return which posts have no text."""
        return ~posts["text"].str.contains(r"[^\s\p{Cc}\p{Cf}\x{fe0f}]").fill_null(False)


@dataclass(frozen=True)
class DropOneWord(DropStep):
    """Posts of one word; an emoji next to it does not make it two.

    `hyphens: part` counts `a-b` as two words; `reply-names: skip` does not count the names that a reply starts with.
    """

    hyphens: str = "join"
    reply_names: str = "count"

    def __post_init__(self) -> None:
        require_known((self.hyphens,), ("join", "part"), "choice for hyphens")
        require_known((self.reply_names,), ("count", "skip"), "choice for reply-names")

    def dropped(self, posts: pl.DataFrame) -> pl.Series:
        """Return which posts have exactly one word."""
        texts = posts["text"]
        if self.reply_names == "skip":
            texts = texts.str.replace(r"^\s*(?:@[\p{L}\p{M}\p{N}_]+[\s:,]*)+", "")
        if self.hyphens == "part":
            texts = texts.str.replace_all("-", " ", literal=True)
        return (count_words(texts) == 1).fill_null(False)


@dataclass(frozen=True)
class DropOnly(DropStep):
    """Posts that are nothing but links, mentions, hashtags, emoji, signs: whatever `of` lists."""

    of: tuple[str, ...]
    masks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require_known(self.of, _ONLY, "kind of thing")

    def dropped(self, posts: pl.DataFrame) -> pl.Series:
        """Return which posts are nothing but these."""
        return post_entities.has_only(posts["text"], self.of, self.masks)


@dataclass(frozen=True)
class KeepLanguages(DropStep):
    """Only posts in these languages. A post goes when the detector is `sure` that it is in another one.

    Short posts are hard to tell, so what nobody can tell stays unless `unsure: drop` is said.
    """

    languages: tuple[str, ...]
    sure: float = 0.5
    unsure: str = "keep"

    def __post_init__(self) -> None:
        require_known((self.unsure,), ("keep", "drop"), "choice for unsure")
        require_between("sure", self.sure, 0, 1)
        odd = [code for code in self.languages if not (2 <= len(code) <= 3 and code.isalpha() and code.islower())]
        if odd:
            raise ValueError(f"{odd[0]!r} is not a language code such as en or de")

    def dropped(self, posts: pl.DataFrame) -> pl.Series:
        """Return which posts are in another language."""
        import polars as pl

        from davy.text.language import detect_many, is_surely

        plain = post_entities.remove_kinds(posts["text"])
        settled = pl.Series([False], dtype=pl.Boolean).new_from_index(0, len(plain))
        for lang in self.languages:
            settled = settled | is_surely(plain, lang)
        wanted = frozenset(self.languages)
        kept_if_unsure = self.unsure == "keep"
        asked = (~settled).arg_true()
        gone = [
            lang not in wanted if share >= self.sure else not kept_if_unsure
            for lang, share in detect_many(plain.gather(asked))
        ]
        dropped = pl.Series("text", [False], dtype=pl.Boolean).new_from_index(0, len(plain))
        return dropped.scatter(asked, pl.Series(gone, dtype=pl.Boolean))


@dataclass(frozen=True)
class DropLength(DropStep):
    """Posts that are too short or too long, in `characters` or `words`."""

    min: int = 0
    max: int | None = None
    in_: str = "characters"

    def __post_init__(self) -> None:
        require_known((self.in_,), _COUNTED, "way to count")
        if self.min < 0 or (self.max is not None and self.max < self.min):
            raise ValueError(f"min {self.min} and max {self.max} leave no length that fits")

    def dropped(self, posts: pl.DataFrame) -> pl.Series:
        """Return which posts are too short or too long; one without a text has the length 0."""
        texts = posts["text"].fill_null("")
        length = count_words(texts) if self.in_ == "words" else texts.str.len_chars()
        short = length < self.min
        return short if self.max is None else short | (length > self.max)


@dataclass(frozen=True)
class DropWords(DropStep):
    """Posts that hold one of these words, as people write them; `called` is what the funnel calls them."""

    words: tuple[str, ...]
    mode: str = "word"
    called: str = ""

    def __post_init__(self) -> None:
        require_known((self.mode,), _MODES, "mode")
        if not all(word.strip() for word in self.words):
            raise ValueError("an empty word would drop every post")

    @cached_property
    def _terms(self) -> ColumnMatcher:
        from davy.text.column_match import ColumnMatcher
        from davy.text.lexicons.read import LexiconEntry

        return ColumnMatcher(LexiconEntry(word, mode=self.mode) for word in self.words)

    def dropped(self, posts: pl.DataFrame) -> pl.Series:
        """Return which posts hold one of the words."""
        return self._terms.contains_any(posts["text"])


@dataclass(frozen=True)
class DropLexicon(DropStep):
    """Posts with a word of a word list: a file, or a shipped lexicon by `kinds` (slur, insult, …)."""

    lexicon: str
    kinds: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        from davy.text.lexicons.read import KINDS

        require_known(self.kinds, KINDS, "kind of word")
        if not len(self._terms):
            raise ValueError(f"lexicon {self.lexicon!r} has no word of these kinds")

    @cached_property
    def _terms(self) -> ColumnMatcher:
        from davy.text.column_match import ColumnMatcher
        from davy.text.lexicons.read import load

        return ColumnMatcher(entry for entry in load(self.lexicon) if not self.kinds or entry.kind in self.kinds)

    def dropped(self, posts: pl.DataFrame) -> pl.Series:
        """Return which posts hold one of the words."""
        return self._terms.contains_any(posts["text"])


def count_words(texts: pl.Series) -> pl.Series:
    """Return how many words each text has: runs of letters and digits, with apostrophes and hyphens inside."""
    return texts.str.count_matches(r"[\p{L}\p{M}\p{N}_]+(?:['’\-][\p{L}\p{M}\p{N}_]+)*")


def require_known(given: tuple[str, ...], known: tuple[str, ...], what: str) -> None:
    """Raise where one of the words given is not known."""
    for one in given:
        if one not in known:
            raise ValueError(f"there is no {what} {one!r}; known: {', '.join(known)}.{nearest(one, list(known))}")


def require_between(name: str, value: float, low: float, high: float) -> None:
    """Raise where a number is outside its bounds."""
    if not low <= value <= high:
        raise ValueError(f"{name} is {value}; it should be {low} to {high}")


class DuplicateStep:
    """A step that needs to have seen all posts."""

    def arrays(self, posts: pl.DataFrame) -> Arrays:
        """Return what is kept of a batch to compare posts by; `is_present` marks the posts that have a value."""
        raise NotImplementedError

    def rows_to_keep(self, parts: Parts) -> Array:
        """Return which posts stay, from the arrays of all batches."""
        raise NotImplementedError


@dataclass(frozen=True)
class DropDuplicates(DuplicateStep):
    """Posts whose text, or id, another one before them has. `fold` takes case and white space for equal."""

    by: str = "text"
    fold: bool = False

    def __post_init__(self) -> None:
        require_known((self.by,), ("text", "id"), "thing to compare by")

    def arrays(self, posts: pl.DataFrame) -> Arrays:
        """Return eight bytes a post."""
        import polars as pl

        texts = posts[self.by].cast(pl.String)
        return {"keys": duplicates.keys(texts, fold=self.fold), "is_present": texts.is_not_null().to_numpy()}

    def rows_to_keep(self, parts: Parts) -> Array:
        """Return which posts are the first with their text; posts without one are no duplicates."""
        kept: Array = duplicates.first_of(np.concatenate(parts["keys"])) | ~np.concatenate(parts["is_present"])
        return kept


@dataclass(frozen=True)
class DropNearDuplicates(DuplicateStep):
    """Posts that share most of their pairs of neighbouring words with one before them that stays.

    `threshold` is the Jaccard index, as estimated by MinHash; `words` neighbouring words make a feature.
    """

    threshold: float = 0.8
    words: int = 2

    def __post_init__(self) -> None:
        require_between("threshold", self.threshold, 0.3, 1)
        require_between("words", self.words, 1, 8)

    def arrays(self, posts: pl.DataFrame) -> Arrays:
        """Return the sketches of a batch."""
        made = duplicates.sketch(posts["text"], self.threshold, words=self.words)
        return {"bands": made.bands, "bits": made.bits, "is_present": posts["text"].is_not_null().to_numpy()}

    def rows_to_keep(self, parts: Parts) -> Array:
        """Return which posts are like none before them that stays; posts without a text are like none."""
        is_present = np.concatenate(parts["is_present"])
        bands = (np.concatenate(band) for band in zip(*parts["bands"], strict=True))
        pairs = duplicates.near_pairs(bands, np.concatenate(parts["bits"]), self.threshold)
        kept: Array = duplicates.keep_first(pairs, len(is_present)) | ~is_present
        return kept
