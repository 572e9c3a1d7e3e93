"""Swaps of emoji: opposite in tone, named in both languages, whatever skin tone; names held against Unicode's own."""

from __future__ import annotations

import json
from importlib import resources

import pytest

from davy.text import emoji
from davy.text.emoji import OPPOSITE_TONE, find, plain, suggest_swaps, tones


@pytest.mark.parametrize(
    ("emoji", "among"),
    [("🤮", "😍"), ("😍", "🤮"), ("🔪", "💐"), ("🐀", "🐱"), ("👎🏿", "👍"), ("❤️", "💔"), ("❤", "💔"), ("♿", "🍕")],
)
def test_a_swap_is_of_the_same_family_and_the_opposite_tone(emoji, among):
    swaps = suggest_swaps(emoji, "en")
    assert among in [swap.emoji for swap in swaps]
    assert all(swap.tone in {OPPOSITE_TONE[tone] for tone in tones(emoji)} for swap in swaps)
    assert plain(emoji) not in [plain(swap.emoji) for swap in swaps]


def test_an_emoji_without_a_family_gets_some_of_both_tones():
    assert not tones("🧭")
    assert {swap.tone for swap in suggest_swaps("🧭")} == {"positive", "negative"}


def test_names_come_in_the_language_asked_for():
    assert suggest_swaps("👎", "en")[0].name == "thumbs up"
    assert suggest_swaps("👎", "de")[0].name == "Daumen hoch"


def test_every_row_is_one_emoji_and_every_family_has_both_tones():
    families = emoji._families()
    for (family, tone), rows in families.items():
        assert (family, OPPOSITE_TONE[tone]) in families, family
        assert all(len(find(emoji)) == 1 and find(emoji)[0].emoji == emoji for emoji, _, _ in rows)


def test_names_are_unicodes_own():
    vendor = resources.files("davy.web").joinpath("static", "vendor")
    for lang, column in (("en", 1), ("de", 2)):
        published = json.loads(vendor.joinpath(f"emoji.{lang}.json").read_text())
        names = {plain(row["emoji"]): row["annotation"] for row in published}
        for rows in emoji._families().values():
            for row in rows:
                assert row[column] == names[plain(row[0])]
