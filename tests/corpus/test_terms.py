"""Words of a list in many posts at once: the quick way finds what folding every text would find."""

import polars as pl
import pytest

from davy.text.column_match import ColumnMatcher, fold_series
from davy.text.lexicons import Lexicon, LexiconEntry


@pytest.mark.parametrize(
    "text",
    ["a GRUMBLEFOP!", "ｇｒｕｍｂｌｅｆｏｐ", "ⓖⓡⓤⓜⓑⓛⓔⓕⓞⓟ", "gru\u200dmblefop", "grúmblefop", "grumble\u00adfop",
     "grummmblefop", "x-grumblefop-y", "nice 🍑", "one 🍑🍑 two", "über Müller", "ueber MUELLER"],
)  # fmt: skip
def test_a_word_is_found_however_it_is_written(text):
    terms = ColumnMatcher(Lexicon.of("grumblefop", "🍑", "müller"))
    assert terms.contains_any(pl.Series([text])).to_list() == [True]


@pytest.mark.parametrize("text", ["grumble fop", "grumblefops", "a 🍒 and “quotes”", "mülle", "", None])
def test_other_words_are_left_alone(text):
    assert ColumnMatcher(Lexicon.of("grumblefop", "🍑", "müller")).contains_any(
        pl.Series([text], dtype=pl.String)
    ).to_list() == [False]


def test_endings_and_modes_of_entries_count():
    terms = ColumnMatcher(
        [
            LexiconEntry("mopwick", lang="en", inflect="s"),
            LexiconEntry("fop", mode="end"),
            LexiconEntry("grum", kind="harmless"),
        ]
    )
    assert terms.contains_any(pl.Series(["mopwicks", "grumblefop", "grum", "fops"])).to_list() == [
        True,
        True,
        False,
        False,
    ]


def test_folded_texts_are_words_with_single_spaces_around_them():
    assert fold_series(pl.Series(["Straße, ÄRGER!\n😀"])).to_list() == [" strasse aerger 😀 "]


def test_a_list_without_words_finds_nothing():
    assert ColumnMatcher([]).contains_any(pl.Series(["a", None])).to_list() == [False, False]
