"""Find which of many posts hold a word of a list, a column at a time, as people write the words.

A lexicon and a text column in, yes or no for each post out. Both sides are
folded inside polars: case, `ä` and `ae`, accents and punctuation make no
difference, and drawn-out letters ("sooo") count as the word. One automaton then
looks for thousands of words at once. `davy.text.match` says where in one text a
word stands and sees through more disguises, at a hundred times the cost.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from davy.text.words import inflected_forms

if TYPE_CHECKING:
    import polars as pl

    from davy.text.lexicons.read import LexiconEntry

_SPELLINGS = {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"}
_DRAWN_OUT = re.compile(r"([^\W\d_])\1{2,}")
_RUNS = "|".join(letter * 3 for letter in "abcdefghijklmnopqrstuvwxyz")
_CAREFUL = (  # letters that are not ASCII, invisible characters among letters, letters in circles, drawn-out letters
    r"[[\p{L}\p{M}\p{N}\p{Cf}]--[\x00-\x7f\x{fe0f}\x{200d}]]|\p{L}\x{200d}|[\x{2460}-\x{24ff}\x{1f110}-\x{1f189}]"
    rf"|(?i:{_RUNS})"
)


class ColumnMatcher:
    """The words of a list, made ready. Words match as a whole unless an entry's mode says otherwise."""

    def __init__(self, entries: Iterable[LexiconEntry]) -> None:
        self.patterns = _patterns(entries)
        self._tripled = any(_DRAWN_OUT.search(pattern) for pattern in self.patterns)
        # A text without any of these that gives no cause for care holds no word: most go no further.
        self._hints = list(dict.fromkeys(max(pattern.split(), key=len) for pattern in self.patterns))

    def __len__(self) -> int:
        return len(self.patterns)

    def contains_any(self, texts: pl.Series) -> pl.Series:
        """Return whether each text holds one of the words; null texts do not."""
        import polars as pl

        if not self.patterns:
            return pl.Series(texts.name, [False], dtype=pl.Boolean).new_from_index(0, len(texts))
        hint = texts.str.contains_any(self._hints, ascii_case_insensitive=True)
        rows = (hint | texts.str.contains(_CAREFUL)).fill_null(False).arg_true()
        nothing = pl.Series(texts.name, [False], dtype=pl.Boolean).new_from_index(0, len(texts))
        return nothing.scatter(rows, self._found(texts.gather(rows))) if len(rows) else nothing

    def _found(self, texts: pl.Series) -> pl.Series:
        import polars as pl

        folded = fold_series(texts)
        hit = folded.str.contains_any(self.patterns)
        # A drawn-out letter may stand for one letter, two or three (xxx): all are tried where there is one.
        drawn = (folded.str.contains(_RUNS) & ~hit).arg_true()
        if len(drawn):
            for kept in (r"\1", r"\1\1", r"\1\1\1")[: 2 + self._tripled]:
                short = pl.Series([_DRAWN_OUT.sub(kept, text) for text in folded.gather(drawn)], dtype=pl.String)
                hit = hit.scatter(drawn, hit.gather(drawn) | short.str.contains_any(self.patterns))
        return hit


def fold_series(texts: pl.Series) -> pl.Series:
    """Return texts as words in one spelling, with one space before, between and after them."""
    import polars as pl

    spelt = pl.col("t").str.to_lowercase()
    if texts.str.len_bytes().sum() != texts.str.len_chars().sum():  # plain ASCII needs none of it
        spelt = spelt.str.normalize("NFKC").str.replace_many(list(_SPELLINGS), list(_SPELLINGS.values()))
        spelt = spelt.str.normalize("NFKD").str.replace_all(r"[\p{M}\p{Cf}]+", "")
        spelt = spelt.str.replace_all(r"(\p{So})", " $1 ")  # each emoji is a word of its own
    words = spelt.str.replace_all(r"[^\p{L}\p{N}\p{So}]+", " ").str.strip_chars()
    frame = texts.alias("t").to_frame()
    return frame.select(pl.concat_str([pl.lit(" "), words, pl.lit(" ")]).alias(texts.name)).to_series()


def _patterns(entries: Iterable[LexiconEntry]) -> list[str]:
    """Return every spelling of every word as it stands in a folded text."""
    import polars as pl

    spelt = [(entry, spelling) for entry in entries if entry.kind != "harmless" for spelling in inflected_forms(entry)]
    folded = fold_series(pl.Series("t", [spelling for _, spelling in spelt], dtype=pl.String))
    patterns: dict[str, None] = {}
    for (entry, _), text in zip(spelt, folded, strict=True):
        if core := text.strip():
            before, after = entry.mode in ("word", "start"), entry.mode in ("word", "end")
            patterns[f"{' ' * before}{core}{' ' * after}"] = None
    return list(patterns)
