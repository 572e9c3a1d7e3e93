"""Spans as answers: how they are written, what a question makes of them, and what is refused."""

import pytest

from davy.core import Label, Question, Scheme
from davy.core.answers import UnknownLabel, parse_cell
from davy.core.spans import TextSpan, overlap, parse_span

WHY = Question("why", (), kind="spans")
TONE = Question("tone", (Label("loud", aliases=("noisy",)), Label("sly")), kind="spans", required=True)
SCHEME = Scheme("lamps", 1, (WHY, TONE))


def test_a_span_is_read_and_written_the_same():
    for answer in ("0-4", "12-17:sly", "3-5:a label: with a colon"):
        assert str(parse_span(answer)) == answer
    assert WHY.span("3-9") == TextSpan(3, 9)
    assert TONE.span("3-9: NOISY") == TextSpan(3, 9, "loud")


@pytest.mark.parametrize(
    ("question", "answer", "said"),
    [
        (WHY, "lamp", "'lamp' is no span such as 12-17"),
        (WHY, "-3-5", "is no span"),
        (WHY, "5-5", "span 5-5 ends before it starts"),
        (WHY, "9-3", "span 9-3 ends before it starts"),
        (WHY, "3-9:loud", "has one kind of span"),
        (TONE, "3-9", "says not as what it is marked; add one of loud, sly"),
        (TONE, "3-9:luod", "'luod' is no label of 'tone'; it has loud, sly. Did you mean 'loud'?"),
    ],
)
def test_what_is_no_span_is_refused_in_one_line(question, answer, said):
    with pytest.raises(ValueError, match=r"^[^\n]*$") as error:
        question.span(answer)
    assert said in str(error.value)
    assert any(said in line for line in SCHEME.faults({question.name: (answer,)}))


def test_spans_lie_within_the_text_and_a_text_without_words_needs_none():
    given = {"why": ("0-4",), "tone": ("5-9:sly",)}
    assert SCHEME.faults(given, complete=True, text="dim lamp!") == []
    assert SCHEME.faults(given, text="dim lamp") == ["'tone' marks 5-9, but the text has 8 characters"]
    assert SCHEME.faults({"why": ()}, complete=True, text="dim lamp") == ["'tone' is not answered"]
    assert SCHEME.faults({"why": ()}, complete=True, text=" \n") == []


def test_a_cell_holds_several_spans_or_none():
    assert parse_cell("0-4|12-17", WHY) == ("0-4", "12-17")
    assert parse_cell("none", WHY) == ()
    assert parse_cell("", WHY) == ()
    assert parse_cell(None, WHY) is None
    assert parse_cell("0-4:Noisy", TONE) == ("0-4:loud",)
    with pytest.raises(UnknownLabel, match="spans such as 12-17:loud"):
        parse_cell("loud", TONE)


def test_overlap_counts_characters_that_both_mark_as_the_same():
    assert overlap(("0-4",), ("2-6",)) == 2 / 6
    assert overlap(("0-4:loud",), ("0-4:sly",)) == 0
    assert overlap((), ()) == 1
