"""What a round and an entry are, before any store."""

import polars as pl
import pytest

from davy import schemes
from davy.rounds.frame import empty_frame
from davy.rounds.round import ENTRY_COLUMNS, Entry, EntryRules, Round


def test_a_frame_of_entries_has_the_columns_and_one_gold_a_question():
    frame = empty_frame(schemes.load("hatemoji"))
    assert frame.columns == [*ENTRY_COLUMNS, "hate.gold", "type.gold", "target.gold"]
    assert frame.schema["flips"] == pl.Boolean
    assert frame.schema["round"] == pl.Int64


def test_a_round_without_a_target_is_refused():
    with pytest.raises(ValueError, match="needs a target"):
        Round("r", "p", 1, "one", "phase", ())


@pytest.mark.parametrize("values", [{"set": "contrast"}, {"change": "emoji"}, {"set": "other"}, {"support": "theft"}])
def test_an_entry_is_an_original_or_a_contrast_with_its_original(values):
    with pytest.raises(ValueError, match=r"contrast|original|comes from"):
        Entry("e", "r", "e", "ann", "hateful", **values)


@pytest.mark.parametrize("values", [{"shortest": 0}, {"shortest": 9, "longest": 8}, {"longest": 9_999}])
def test_lengths_that_no_text_can_have_are_refused(values):
    with pytest.raises(ValueError, match="characters"):
        EntryRules(**values)
