"""Contrasts: one of two rules, as small as can be, flipping the label; and what becomes of pairs."""

import pytest

from davy.rounds import entries
from davy.rounds.entries import EntryRefused
from davy.rounds.frame import entries_frame
from davy.rounds.round import PAIR_DROPPED
from davy.rounds.store import entries as stored
from round_project import HARMLESS, HATEFUL, TARGET, make_round

ORIGINAL = "they sing all day and we 🤮 that"


@pytest.fixture
def bench(store):
    return make_round(store)


def why(bench, original, text, answers=None, **more):
    with pytest.raises(EntryRefused) as error:
        bench.contrast("bo", original, text, answers, **more)
    return error.value.why


@pytest.mark.parametrize(
    ("contrast", "words", "emoji", "kind"),
    [
        ("they sing all day and we 💖 that", 0, 1, "emoji"),
        ("they sing all day and we 🤮 rain", 1, 0, "text"),
        ("they sing all night and we 💖 that", 1, 1, "both"),
        (ORIGINAL, 0, 0, "neither"),
        ("they sing  all day and 🤮 we that", 0, 0, "neither"),
        ("they sing all day and we 🤮\ufe0f that", 0, 0, "neither"),
        ("they sing all day and we 👍🏿 that", 0, 1, "emoji"),
        ("they don't sing all day and we 🤮 that", 1, 0, "text"),
    ],
)
def test_a_change_is_measured_in_words_and_emoji(contrast, words, emoji, kind):
    change = entries.measure_change(ORIGINAL, contrast)
    assert (change.words, change.emoji, change.kind) == (words, emoji, kind)


@pytest.mark.parametrize(
    ("one", "other", "edits"), [("kitten", "sitting", 3), ("saturday", "sunday", 3), ("ab", "", 2)]
)
def test_the_fewest_edits_are_those_of_the_textbook(one, other, edits):
    assert entries.measure_change(" ".join(one), " ".join(other)).words == edits


def test_the_difference_joins_to_both_texts():
    left, right = entries.difference(ORIGINAL, "they sing all night and we 💖 that")
    assert "".join(piece.text for piece in left) == ORIGINAL
    assert [piece.text for piece in left if piece.kind == "gone"] == ["day", "🤮"]
    assert [piece.text for piece in right if piece.kind == "new"] == ["night", "💖"]


def test_a_contrast_swaps_the_emoji_or_changes_few_words_and_flips(bench):
    original = bench.settled("ada", ORIGINAL)
    contrast = bench.contrast("bo", original, "they sing all day and we 💖 that", change="emoji")
    assert (contrast.set, contrast.change, contrast.parent) == ("contrast", "emoji", original.id)


def test_a_contrast_that_changes_both_or_neither_is_refused(bench):
    original = bench.settled("ada", ORIGINAL)
    assert why(bench, original, "they sing all night and we 💖 that") == "both"
    assert why(bench, original, "they sing all day and 🤮 we that") == "neither"
    with bench.store.read() as db:
        assert stored.contrast_of(db, bench.project.id, original.id) is None


def test_a_contrast_keeps_to_the_rule_that_was_chosen(bench):
    original = bench.settled("ada", ORIGINAL)
    assert why(bench, original, "they sing all day and we 🤮 rain", change="emoji") == "wrong_change"


def test_a_contrast_that_changes_most_words_is_refused(bench):
    original = bench.settled("ada", ORIGINAL)
    assert why(bench, original, "nobody in this town ever slept 🤮 again") == "much"


def test_a_contrast_that_does_not_flip_is_refused(bench):
    original = bench.settled("ada", ORIGINAL)
    assert why(bench, original, "they sing all day and we 💖 that", HATEFUL) == "no_flip"


def test_an_entry_waits_for_its_label_and_gets_one_contrast(bench):
    entry = bench.enter("ada", ORIGINAL)
    assert why(bench, entry, "they sing all day and we 💖 that") == "unsettled"
    bench.label("bo")
    bench.label("cy")
    with bench.store.read() as db:
        assert [row.entry.id for row in stored.to_contrast(db, bench.round.id)] == [entry.id]
    contrast = bench.contrast("di", entry, "they sing all day and we 💖 that")
    assert why(bench, entry, "they sing all day and we 👍 that") == "taken"
    assert why(bench, contrast, "they sing all day and we 👎 that", HATEFUL) == "not_original"
    with bench.store.read() as db:
        assert stored.to_contrast(db, bench.round.id) == []


def test_a_pair_that_does_not_flip_is_kept_and_marked(bench):
    original = bench.settled("ada", ORIGINAL)
    contrast = bench.contrast("ada", original, "they sing all day and we 👍 that")
    bench.label("bo", HATEFUL)
    bench.label("cy", HATEFUL)
    bench.decide("eve", {"hate": ("hateful",)})
    assert bench.now(contrast).settled == "hateful"
    with bench.store.read() as db:
        frame = entries_frame(db, bench.round)
    assert frame["flips"].to_list() == [False, False]
    assert frame["dropped"].to_list() == [None, None]


def test_an_original_leaves_with_a_contrast_that_is_dropped(bench):
    original = bench.settled("ada", ORIGINAL)
    bench.contrast("ada", original, "they sing all day and we 👍 that")
    bench.label("bo", HARMLESS, flags=("ambiguous",))
    bench.label("cy", HARMLESS)
    bench.drop("eve", "reads both ways")
    with bench.store.write() as db:
        assert entries_frame(db, bench.round)["dropped"].to_list() == [PAIR_DROPPED, "reads both ways"]
        assert stored.leave_with_contrasts(db, bench.round, by="shell") == 1
        assert stored.leave_with_contrasts(db, bench.round, by="shell") == 0
        frame = entries_frame(db, bench.round)
    assert frame["dropped"].to_list() == [PAIR_DROPPED, "reads both ways"]
    assert frame["hate.gold"].to_list() == [None, None]


def test_the_frame_says_what_people_and_the_target_said(bench):
    original = bench.settled("ada", ORIGINAL, seconds=12.5, strategy="emoji for a verb", lang="en")
    bench.contrast("bo", original, "they sing all day and we 💖 that")
    bench.label("ada", HARMLESS, flags=("unrealistic",))
    with bench.store.read() as db:
        frame = entries_frame(db, bench.round)
    first, second = frame.rows(named=True)
    pseudonyms = {name: it.pseudonym for name, it in bench.people.items()}
    assert (first["author"], second["author"]) == (pseudonyms["ada"], pseudonyms["bo"])
    assert (first["pair"], second["pair"]) == (original.id, original.id)
    assert (first["labels"], second["labels"]) == ("hateful|hateful|hateful", "not hateful|not hateful")
    assert (first["model"], first["model.label"], first["model.probability"]) == (TARGET, "not hateful", 0.1)
    assert (first["hate.gold"], first["type.gold"], first["target.gold"]) == ("hateful", "derogation", "women")
    assert (second["hate.gold"], second["flips"], second["flags"]) == (None, None, "unrealistic")
    assert (first["seconds"], first["strategy"], first["lang"]) == (12.5, "emoji for a verb", "en")
    assert (first["reviewed"], second["reviewed"]) == (False, False)
