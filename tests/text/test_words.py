"""The words of a text as people mark them, and spans that are made of them."""

from itertools import pairwise

import pytest

from davy.core import Label, Question
from davy.core.spans import parse_spans
from davy.text.words import find_words, join_words, marked_words, snap_answer, span_texts

TEXT = "Dim lamps,  dim 🏳️‍🌈people🙂🙂 here"
WHY = Question("why", (), kind="spans")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (TEXT, ["Dim", "lamps,", "dim", "🏳️‍🌈", "people", "🙂", "🙂", "here"]),
        ("", []),
        (" \n ", []),
        ("one\ntwo", ["one", "two"]),
        ("מנורה עמומה", ["מנורה", "עמומה"]),
        ("灯が暗い", ["灯", "が", "暗", "い"]),
        ("(((they)))", ["(((they)))"]),
    ],
)
def test_words_are_runs_without_spaces_and_every_emoji_is_one(text, words):
    found = find_words(text)
    assert [text[start:end] for start, end in found] == words
    between = [text[one[1] : other[0]] for one, other in pairwise(found)]
    assert all(not gap.strip() for gap in between)


def test_spans_snap_to_whole_words_and_neighbours_become_one():
    assert snap_answer(WHY, TEXT, ["5-6", "13-14", "1-2"]) == ("0-15",)
    assert span_texts(TEXT, ("0-15",)) == ["Dim lamps,  dim"]
    assert snap_answer(WHY, TEXT, ["0-1", "14-15"]) == ("0-3", "12-15")
    assert snap_answer(WHY, TEXT, []) == ()
    assert snap_answer(WHY, TEXT, ["10-12"]) == ()  # nothing but space


def test_labels_are_snapped_each_on_its_own():
    tone = Question("tone", (Label("loud"), Label("sly")), kind="spans")
    assert snap_answer(tone, TEXT, ["4-5:sly", "0-3:loud", "4-8:loud"]) == ("0-10:loud", "4-10:sly")


def test_words_and_spans_lead_to_each_other():
    places = {0, 2, 3, 7}
    spans = join_words(TEXT, places)
    assert marked_words(TEXT, spans) == places
    assert [str(span) for span in spans] == ["0-3", f"12-{TEXT.index('people')}", f"{TEXT.index('here')}-{len(TEXT)}"]
    assert parse_spans(map(str, spans)) == spans


def test_a_long_text_with_a_thousand_marks_is_read_at_once():
    text = "word " * 20_000
    spans = parse_spans(f"{10 * n}-{10 * n + 4}" for n in range(1_000))
    assert marked_words(text, spans) == set(range(0, 2_000, 2))
    assert len(join_words(text, marked_words(text, spans))) == 1_000
