"""A scheme's questions as the form shows them, and a form's fields as answers: for every scheme that ships."""

from __future__ import annotations

import itertools

import pytest
from starlette.datastructures import FormData

from davy import schemes
from davy.annotation.labelling.pages.questions import note_on_flag, question_views, read_answers
from davy.core import Guideline, Wording
from davy.web.errors import LocalizedError
from davy.web.markdown import render_markdown

SHIPPED = ("edos", "gmhp7k", "harmeme", "hate", "hate-offensive", "hateful-memes", "hatemoji", "misogyny", "offensive")


def form(**fields: object) -> FormData:
    pairs = [(name, it) for name, value in fields.items() for it in (value if isinstance(value, list) else [value])]
    return FormData([(name.replace("__", "."), str(value)) for name, value in pairs])


@pytest.mark.parametrize("name", SHIPPED)
def test_conditions_name_only_questions_that_people_are_asked_and_agree_with_the_scheme(name):
    scheme = schemes.load(name)
    asked = question_views(scheme, scheme.guideline, "en")
    names = [question.name for question in asked]
    for question in asked:
        assert question.under is None or question.under[0] in names[: names.index(question.name)]
    # What the script would show by comparing names is what the scheme asks, for each answer to the first question.
    first = asked[0]
    for label in first.options:
        expected = {it.name for it in scheme.asked({first.name: (label.name,)})}
        shown = {
            it.name for it in asked if it.under is None or (it.under[0] == first.name and label.name in it.under[1])
        }
        assert shown == expected


def test_a_question_that_hangs_on_a_derived_one_hangs_on_what_that_follows_from():
    asked = {it.name: it for it in question_views(schemes.load("hateful-memes"), None, "en")}
    assert list(asked) == ["rating", "protected", "attack"]
    assert asked["attack"].under == ("rating", ("definitely hateful",))
    assert [it.digit for it in asked["rating"].options] == ["1", "2", "3"]


def test_words_are_in_the_readers_language_and_else_in_english():
    scheme = schemes.load("gmhp7k")
    german, english = (question_views(scheme, scheme.guideline, lang) for lang in ("de", "en"))
    assert german[0].title != english[0].title
    assert german[0].options[0].definition != english[0].options[0].definition
    own = schemes.parse(
        "name: w\nversion: 1\nquestions:\n"
        "  - {name: q, title: Is the post sexist?, labels: [{name: a, definition: Fine.}, b]}\n"
    )
    there, here = (question_views(own, None, lang)[0] for lang in ("de", "en"))
    assert there.title != here.title  # as the shipped one is called
    assert there.options[0].definition == here.options[0].definition == "Fine."


def test_long_lists_get_a_box_and_short_ones_their_definitions():
    hate, kind, target = question_views(schemes.load("hatemoji"), None, "en")
    assert (hate.worded, hate.long, kind.worded) == (True, False, True)
    assert (target.worded, target.long) == (False, True)
    vector = question_views(schemes.load("edos"), None, "en")[2]
    assert vector.worded  # eleven vectors, but never more than four beneath one category


def test_every_path_through_edos_is_read_as_it_was_sent():
    scheme = schemes.load("edos")
    for vector in scheme.question("vector").labels:
        category = vector.under[0]
        given = read_answers(
            scheme, form(answer__sexist="sexist", answer__category=category, answer__vector=vector.name)
        )
        assert not given.missing
        assert not scheme.faults(given.answers, complete=True)
    # A vector of another category was left over from an earlier choice: it is asked for again.
    one, other = itertools.islice({it.under[0]: it for it in scheme.question("vector").labels}.values(), 2)
    crossed = form(answer__sexist="sexist", answer__category=one.under[0], answer__vector=other.name)
    assert read_answers(scheme, crossed).missing == ("vector",)


def test_none_of_these_is_an_answer_only_to_a_question_that_was_shown():
    scheme = schemes.load("hateful-memes")
    rated = {"answer__rating": "definitely hateful", "answer__attack": "exclusion"}
    assert read_answers(scheme, form(**rated)).missing == ("protected",)
    assert read_answers(scheme, form(**rated, asked="protected")).missing == ("protected",)  # it needs a label
    assert read_answers(scheme, form(**rated, answer__protected=["gender", "gender"])).answers["protected"] == (
        "gender",
    )
    with pytest.raises(LocalizedError):
        read_answers(scheme, form(answer__rating="purple"))


def test_notes_belong_to_a_question_a_flag_or_the_first_question():
    scheme = schemes.load("gmhp7k")
    notes = {
        "a": Wording("one"),
        "misogynistic: b": Wording("two"),
        "unsure": Wording("three"),
        "x: y": Wording("four"),
    }
    guideline = Guideline(2, Wording(""), notes)
    hate, misogynistic = question_views(scheme, guideline, "en")
    assert hate.notes == (("a", "one"), ("x: y", "four"))
    assert misogynistic.notes == (("b", "two"),)
    assert note_on_flag(guideline, "unsure", "en") == "three"
    assert note_on_flag(None, "unsure", "en") == ""


def test_markdown_of_strangers_can_not_hurt():
    html = str(
        render_markdown(
            "<script>x</script> <b onclick=x>y</b> ![p](http://e.example/p.png) [a](javascript:alert(1)) "
            "[b](data:text/html,x) [c](https://ok.example) | *em*"
        )
    )
    assert "<script" not in html
    assert "<b " not in html
    assert "<img" not in html
    assert 'href="javascript' not in html
    assert 'href="data' not in html
    assert '<a href="https://ok.example">c</a>' in html
    assert "<em>em</em>" in html


def test_labels_are_called_by_their_code_wherever_answers_are_shown():
    vector = question_views(schemes.load("edos"), None, "en")[-1]
    assert vector.title_of("descriptive attacks") == "2.1 Descriptive attacks"  # cases, discussions, training
    assert {option.code for option in vector.options} >= {"1.1", "2.1", "4.2"}
    assert question_views(schemes.load("hate"), None, "en")[0].title_of("hateful") == "Hateful"
