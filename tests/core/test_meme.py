"""Kinds of meme, by the text of the Hateful Memes paper (sections 2.3.4 and 2.4)."""

import pytest

from davy.core.meme import (
    BENIGN_IMAGE,
    BENIGN_TEXT,
    FLIPPED,
    MEME_KINDS,
    MULTIMODAL_HATE,
    NOT_FOUND,
    NOTHING_FLIPS,
    RANDOM_NOT_HATEFUL,
    UNDETERMINED,
    UNIMODAL_HATE,
    hateful_kind,
    meme_kind,
)
from davy.corpus.split import plan


@pytest.mark.parametrize(
    ("image", "text", "kind"),
    [
        # "multimodal hate, where benign confounders were found for both modalities"
        (FLIPPED, FLIPPED, MULTIMODAL_HATE),
        # "if it is not possible to find a replacement text that flips the label, the image itself is hateful"
        (FLIPPED, NOTHING_FLIPS, UNIMODAL_HATE),
        (NOTHING_FLIPS, FLIPPED, UNIMODAL_HATE),
        # "one or both modalities were already hateful on their own"
        (NOTHING_FLIPS, NOTHING_FLIPS, UNIMODAL_HATE),
        (NOTHING_FLIPS, NOT_FOUND, UNIMODAL_HATE),
        # "it might be that it was simply not possible to find a suitable replacement image"
        (NOT_FOUND, FLIPPED, UNDETERMINED),
        (FLIPPED, NOT_FOUND, UNDETERMINED),
        (NOT_FOUND, NOT_FOUND, UNDETERMINED),
        # a side that nobody has answered, or whose confounder is not settled yet
        (FLIPPED, None, UNDETERMINED),
        (None, None, UNDETERMINED),
        (None, NOTHING_FLIPS, UNIMODAL_HATE),
    ],
)
def test_the_kind_of_a_hateful_meme_follows_from_what_could_be_flipped(image, text, kind):
    assert hateful_kind(image, text) == kind
    assert meme_kind(True, image=image, text=text) == kind


def test_a_confounder_is_benign_on_the_side_that_it_replaces_unless_people_still_call_it_hateful():
    assert meme_kind(False, side="image") == BENIGN_IMAGE
    assert meme_kind(False, side="text") == BENIGN_TEXT
    assert meme_kind(True, side="text") == UNDETERMINED


def test_a_harmless_meme_that_is_no_confounder_is_a_random_one():
    assert meme_kind(False) == RANDOM_NOT_HATEFUL


def test_the_kinds_are_those_of_the_split_and_the_undetermined_ones_never_come_to_dev_or_test():
    composed = plan.load("memes").composition
    assert set(composed.shares) == set(MEME_KINDS) - {UNDETERMINED}


def test_an_unknown_answer_or_side_is_refused():
    with pytest.raises(ValueError, match="perhaps"):
        hateful_kind("perhaps", None)
    with pytest.raises(ValueError, match="font"):
        meme_kind(False, side="font")
