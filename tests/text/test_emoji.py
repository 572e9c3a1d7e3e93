"""Emoji sequences, against sequences and counts from Unicode's own emoji charts."""

import pytest

from davy.text import emoji

SEQUENCES = [
    "😀",
    "❤️",
    "☺️",
    "👍🏽",
    "👩‍🚀",
    "👨‍👩‍👧‍👦",
    "🏳️‍🌈",
    "🏴‍☠️",
    "🏴󠁧󠁢󠁥󠁮󠁧󠁿",
    "🇩🇪",
    "1️⃣",
    "#️⃣",
    "🐈‍⬛",
    "❤️‍🔥",
    "🧑🏻‍❤️‍💋‍🧑🏿",
    "🙅🏾‍♀️",
]


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_a_sequence_is_one_emoji(sequence: str) -> None:
    text = f"so {sequence}, {sequence}{sequence}!"
    assert [found.emoji for found in emoji.find(text)] == [sequence] * 3
    assert "".join(piece for piece, _ in emoji.split(text)) == text
    assert emoji.replace(text) == "so , !"


@pytest.mark.parametrize("text", ["", "plain 123 #tag *", "© 2020 ™", "→ ✓", "a\u200db", "↔ ☺", "\ufe0f\u200d", "🇩"])
def test_text_signs_and_stray_glue_are_no_emoji(text: str) -> None:
    assert emoji.count(text) == 0


def test_flags_in_a_row_are_cut_in_pairs() -> None:
    assert [found.emoji for found in emoji.find("🇩🇪🇫🇷🇬")] == ["🇩🇪", "🇫🇷"]


@pytest.mark.parametrize(
    ("sequence", "words"),
    [
        ("🐍", "snake"),
        ("👩🏽‍🚀", "woman, skin tone 4, rocket"),
        ("🇩🇪", "flag: DE"),
        ("🏴󠁧󠁢󠁳󠁣󠁴󠁿", "flag: gbsct"),
        ("7️⃣", "keycap: 7"),
    ],
)
def test_an_emoji_has_a_name_in_words(sequence: str, words: str) -> None:
    assert emoji.name(sequence) == words
    assert emoji.replace(f"a{sequence}", None) == f"a:{words}:"


def test_variants_count_together_when_plain() -> None:
    assert {emoji.plain(variant) for variant in ("👍", "👍🏽", "👍🏿")} == {"👍"}


def test_time_grows_with_length_alone() -> None:
    assert emoji.count("👩‍" * 50_000) == 1
    assert emoji.count("🏴" + "\U000e0067" * 100_000) == 1
