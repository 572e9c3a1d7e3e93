"""Drafts of schemes: what they lack, what follows a new name, and that a copy of every shipped scheme is complete."""

import pytest

from davy import schemes
from davy.scheme_editor import draft


def question(name="wet", *labels, **more):
    return {"name": name, "kind": "one", "labels": [{"name": label} for label in labels or ("dry", "wet")], **more}


def written(*questions, name="weather"):
    return {**draft.blank_draft(name, {"en": "Weather"}), "questions": list(questions)}


def found(values):
    return [(it.key, it.question, it.label) for it in draft.problems(values)]


@pytest.mark.parametrize("name", schemes.names())
def test_a_copy_of_a_shipped_scheme_is_complete_and_asks_the_same(name):
    scheme = schemes.load(name)
    copy = draft.draft_of(scheme, name="copied")
    assert draft.problems(copy) == []
    assert schemes.digest(draft.finished(copy)) == schemes.digest(scheme)


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        (written(), [("no_questions", None, None)]),
        (written(question(), name="edos"), [("scheme_shipped", None, None)]),
        (written(question(), name="Große"), [("scheme_name", None, None)]),
        (written(question("text")), [("question_taken", 0, None)]),
        (written(question("9 lives")), [("question_name", 0, None)]),
        (written(question(), question()), [("question_twice", 1, None)]),
        (written(question("wet", "dry")), [("too_few_labels", 0, None)]),
        (written(question("wet", "dry", "DRY ")), [("label_twice", 0, 1)]),
        (written(question("wet", "dry", "")), [("label_name", 0, 1)]),
        (written(question("wet", "dry", "a|b")), [("label_signs", 0, 1)]),
        (written(question("rain", under={"wet": ["wet"]}), question()), [("parent_after", 0, None)]),
        (written(question(), question("rain", under={"wet": ["moist"]})), [("parent_answer_gone", 1, None)]),
        (written(question(), question("rain", under={"wet": []})), [("parent_answers", 1, None)]),
        (written(question(), question("rain", derived={"wet": {"dry": "none"}})), [("derived", 1, None)]),
        (written(question(), question("rain", kind="span")), [("question_kind", 1, None)]),
    ],
)
def test_what_is_missing_is_named_with_its_place(values, wanted):
    assert found(values) == wanted


def test_labels_beneath_an_answer_that_does_not_lead_there_and_answers_without_a_label_are_named():
    below = question("rain", "drizzle", "flakes", under={"wet": ["wet", "dry"]})
    for label in below["labels"]:
        label["under"] = ["wet"]
    assert found(written(question(), below)) == [("no_label_beneath", 1, None)]
    below["labels"][0]["under"] = ["moist"]
    assert ("label_beneath", 1, 0) in found(written(question(), below))


def test_whatever_hangs_on_a_name_follows_a_new_one():
    below = question("rain", "drizzle", "flakes", under={"wet": ["wet"]})
    below["labels"][0]["under"] = ["wet"]
    values = written(question(positive="wet"), below, question("damp", "a", "b", derived={"wet": {"wet": "a"}}))
    values["questions"][0]["name"] = "moist"
    draft.rename_question(values, "wet", "moist")
    values["questions"][0]["labels"][1]["name"] = "soaked"
    draft.rename_labels(values, "moist", {"wet": "soaked"})
    assert draft.problems(values) == []
    scheme = draft.finished(values)
    assert scheme.question("moist").positive == "soaked"
    assert scheme.question("rain").under == ("moist", ("soaked",))
    assert scheme.question("rain").labels[0].under == ("soaked",)
    assert scheme.question("damp").derived == ("moist", {"soaked": "a"})


def test_names_are_made_of_what_people_call_things():
    assert draft.plain_name("Ist der Beitrag böse?") == "ist-der-beitrag-boese"
    assert draft.plain_name("Text") == "text-2"
    assert draft.plain_name("2.1 Insults", ["insults"]) == "insults-2"
    assert draft.plain_name("仇恨") == "question"
    assert draft.label_name("Threats | Plans > Harm") == "threats, plans, harm"
    assert draft.copy_name("edos", ["my-edos"]) == "my-edos-2"
