"""What a scheme accepts as answers: children under parents, derived answers, one or many labels."""

import pytest

from davy.core import Guideline, Label, Question, Scheme, Wording
from davy.core.scheme import fold_spelling


def question(name, *labels, **more):
    return Question(name=name, labels=tuple(it if isinstance(it, Label) else Label(it) for it in labels), **more)


@pytest.fixture
def scheme():
    return Scheme(
        name="weather",
        version=1,
        questions=(
            question("wet", "dry", "wet", positive="wet"),
            question("kind", "rain", "snow", under=("wet", ("wet",))),
            question(
                "drops",
                Label("drizzle", code="1.1", under=("rain",), aliases=("1.1 drizzle",)),
                Label("downpour", under=("rain",)),
                Label("flakes", under=("snow",)),
                under=("kind", ("rain", "snow")),
            ),
            question("places", "town", "coast", kind="many", under=("wet", ("wet",)), open=True, required=True),
            question("mood", "1", "2", "3", kind="scale"),
            question("happy", "no", "yes", positive="yes", derived=("mood", {"1": "no", "3": "yes"})),
            question("why", "sun", "work", kind="many", under=("happy", ("yes",))),
        ),
    )


def asked(scheme, **answers):
    return [q.name for q in scheme.asked({name: (label,) for name, label in answers.items()})]


def test_a_child_is_asked_only_under_its_parents_answer(scheme):
    assert asked(scheme) == ["wet", "mood"]
    assert asked(scheme, wet="dry") == ["wet", "mood"]
    assert asked(scheme, wet="wet") == ["wet", "kind", "places", "mood"]
    assert asked(scheme, wet="wet", kind="snow") == ["wet", "kind", "drops", "places", "mood"]


def test_a_grandchild_is_not_asked_when_the_root_says_no(scheme):
    assert "drops" not in asked(scheme, wet="dry", kind="rain")
    faults = scheme.faults({"wet": ("dry",), "kind": ("rain",), "drops": ("drizzle",)})
    assert len(faults) == 2
    assert "'kind' is answered, but it applies only where 'wet' is wet" in faults[0]


def test_a_derived_question_is_never_asked_and_opens_its_children(scheme):
    assert "happy" not in asked(scheme, mood="3")
    assert "why" in asked(scheme, mood="3")
    assert "why" not in asked(scheme, mood="2")
    assert scheme.completed({"mood": ("3",)})["happy"] == ("yes",)
    assert "happy" not in scheme.completed({"mood": ("2",)})


def test_an_answer_against_what_it_follows_from_is_a_fault(scheme):
    assert scheme.faults({"mood": ("3",), "happy": ("yes",)}) == []
    (fault,) = scheme.faults({"mood": ("3",), "happy": ("no",)})
    assert "follows from 'mood'" in fault
    assert "makes it yes, not no" in fault


def test_a_derived_answer_that_a_corpus_came_with_stands_alone(scheme):
    assert scheme.faults({"happy": ("yes",), "why": ("sun", "work")}) == []


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        (
            {"wett": ("wet",)},
            "has no question 'wett'; it asks wet, kind, drops, places, mood, happy, why. Did you mean",
        ),
        ({"wet": ("wett",)}, "'wett' is not a label of 'wet'; it has dry, wet. Did you mean 'wet'?"),
        ({"wet": ("wet", "dry")}, "'wet' takes one label, got 2"),
        ({"wet": ()}, "'wet' takes one label, got 0"),
        ({"mood": ("1", "2")}, "'mood' takes one label, got 2"),
        ({"wet": ("wet",), "kind": ("rain",), "drops": ("flakes",)}, "'flakes' belongs under snow, not under rain"),
        ({"wet": ("wet",), "kind": ("rain",), "drops": ("1.1 drizzle",)}, "Write 'drizzle'."),
        ({"wet": ("wet",), "places": ("town", "town")}, "'places' names 'town' twice"),
        ({"wet": ("wet",), "places": (" ",)}, "'places' has an empty label"),
        ({"kind": ("rain",)}, "applies only where 'wet' is wet"),
    ],
)
def test_a_wrong_answer_is_named_with_what_to_do(scheme, answers, said):
    assert any(said in fault for fault in scheme.faults(answers)), scheme.faults(answers)


def test_an_open_question_takes_labels_that_it_does_not_list(scheme):
    assert scheme.faults({"wet": ("wet",), "places": ("coast", "the moon")}) == []


def test_complete_answers_lack_nothing_that_is_asked(scheme):
    missing = scheme.faults({"wet": ("wet",), "kind": ("rain",)}, complete=True)
    assert missing == ["'drops' is not answered", "'places' is not answered", "'mood' is not answered"]
    full = {"wet": ("wet",), "kind": ("rain",), "drops": ("drizzle",), "places": ("town",), "mood": ("3",)}
    assert scheme.faults(full, complete=True) == []  # `why` takes any number of labels, none too


def test_a_label_is_found_by_name_code_or_alias_in_any_case_and_spacing(scheme):
    drops = scheme.question("drops")
    for spelling in ("drizzle", "DRIZZLE", "1.1", " 1.1  Drizzle "):
        assert drops.label(spelling).name == "drizzle"
    with pytest.raises(KeyError):
        drops.label("hail")
    assert fold_spelling("  A\tB ") == "a b"


def test_a_spelling_can_mean_that_the_question_does_not_apply():
    kind = question("kind", "rain", "snow", absent=("none",))
    assert kind.is_absent("None")
    assert kind.is_absent("  ")
    assert not kind.is_absent("rain")


def test_english_stands_in_for_a_missing_language():
    wording = Wording({"en": "rain", "de": "Regen"})
    assert wording.said_in("de") == "Regen"
    assert wording.said_in("fr") == "rain"
    assert Wording({"de": "Regen"}).said_in("en") == "Regen"
    assert Wording().said_in("en") == ""


def test_an_empty_wording_is_false_and_equals_another():
    assert not Wording("")
    assert Wording("") == Wording({}) == Wording({"en": ""})
    assert hash(Wording("a")) == hash(Wording({"en": "a"}))
    assert str(Wording("a")) == "a"


def test_the_newest_guideline_is_in_force():
    old, new = Guideline(1, Wording("old")), Guideline(3, Wording("new"))
    scheme = Scheme("w", 1, (question("wet", "dry", "wet"),), guidelines=(new, old))
    assert scheme.guideline is new
    assert Scheme("w", 1, ()).guideline is None


def test_a_scheme_speaks_the_languages_that_all_of_it_is_worded_in():
    whole = Label("a", title=Wording({"de": "A", "en": "a"}), definition=Wording({"ar": "ب", "de": "B", "en": "b"}))
    assert Scheme("w", 1, (question("q", whole, "unworded"),)).languages == ("en", "de")
    assert Scheme("w", 1, (question("q", whole, Label("b", title=Wording("b"))),)).languages == ("en",)
    assert Scheme("w", 1, (question("q", "a", "b"),)).languages == ()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: question("q", "a", "b", kind="two"), "unknown kind 'two'"),
        (lambda: question("q", "a", "a"), "two labels of one name"),
        (lambda: question("q", "a", "b", positive="c"), "'c' is not one of its labels"),
        (lambda: Scheme("s", 1, (question("q", "a"), question("q", "b"))), "two questions called 'q'"),
        (lambda: Scheme("s", 1, (question("q", "a", under=("p", ("b",))),)), "names a parent 'p'"),
        (
            lambda: Scheme("s", 1, (question("p", "a"), question("q", "a", under=("p", ("b",))))),
            "needs an answer that 'p' does not have",
        ),
    ],
)
def test_a_scheme_made_in_code_can_not_break_its_own_rules(make, said):
    with pytest.raises(ValueError, match=said):
        make()
