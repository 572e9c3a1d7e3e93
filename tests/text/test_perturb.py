"""Perturbations: each changes what it says and nothing else, the same way every time."""

import unicodedata

import pytest

from davy.text.perturb import CHANGES, NEUTRAL, perturb

TEXT = "@someone the baker sold seventeen loaves today, see https://example.org/Loaves #bread"


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_made_the_same_way_every_time_and_leaves_addresses_alone(change):
    made = perturb(TEXT, change, seed=3)
    assert made is not None
    assert made != TEXT
    assert made == perturb(TEXT, change, seed=3)
    for part in ("@someone", "https://example.org/Loaves", "#bread"):
        assert part in made


def test_swapping_keeps_the_letters_and_the_ends_of_words():
    made = perturb(TEXT, "character swaps")
    assert sorted(made) == sorted(TEXT)
    for before, after in zip(TEXT.split(), made.split(), strict=True):
        assert before[0] == after[0]


def test_spacing_changes_nothing_but_spaces():
    assert perturb(TEXT, "spacing").replace(" ", "") == TEXT.replace(" ", "")


def test_homoglyphs_look_the_same_and_are_of_another_script():
    made = perturb(TEXT, "homoglyphs")
    new = [char for char, old in zip(made, TEXT, strict=True) if char != old]
    assert new
    assert all(unicodedata.name(char).startswith("CYRILLIC") for char in new)


def test_masking_folds_homoglyphs_back():
    from davy.text.normalise import LOOK_ALIKES
    from davy.text.perturb import HOMOGLYPHS

    assert all(LOOK_ALIKES[other] == plain.lower() for plain, other in HOMOGLYPHS.items())


def test_casing_turns_capitals_down_and_the_rest_up():
    assert perturb("Fine day", "casing") == "FINE DAY"
    assert perturb("FINE DAY", "casing") == "fine day"


def test_a_neutral_emoji_comes_after_the_text():
    made = perturb("Fine day ", "neutral emoji")
    assert made.startswith("Fine day ")
    assert made.removeprefix("Fine day ") in NEUTRAL


@pytest.mark.parametrize("change", [name for name in CHANGES if name != "neutral emoji"])
def test_a_text_without_words_can_t_change(change):
    assert perturb("🙂 12 !!", change) is None
