"""A project that was made before its scheme was translated is read in German, and its own words stay as they are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from davy import schemes
from davy.annotation.project import project_creation, project_file
from davy.annotation.project.project_scheme import current_guideline, publish_guideline, scheme_of
from davy.core import UserError, Wording
from davy.store import events

PLAN = b"name: p\npreset: edos\n"


def in_english(wording: Wording) -> Wording:
    return Wording(wording["en"])


def edos_of_old():
    """The scheme as it was before anybody had translated it."""
    edos = schemes.load("edos")
    questions = []
    for question in edos.questions:
        labels = [
            replace(
                label,
                title=in_english(label.title),
                definition=in_english(label.definition),
                examples=tuple(map(in_english, label.examples)),
            )
            for label in question.labels
        ]
        words = {"title": in_english(question.title), "definition": in_english(question.definition)}
        questions.append(replace(question, **words, labels=tuple(labels)))
    guideline = edos.guidelines[0]
    notes = {name: in_english(said) for name, said in guideline.notes.items()}
    return replace(
        edos,
        title=in_english(edos.title),
        description=in_english(edos.description),
        warning=in_english(edos.warning),
        questions=tuple(questions),
        guidelines=(replace(guideline, text=in_english(guideline.text), notes=notes),),
    )


@pytest.fixture
def project(store):
    """A project of a database that an older Davy made."""
    old = edos_of_old()
    assert {lang for wording in schemes.wordings(old) for lang in wording} == {"en"}
    with store.write() as db:
        plan = project_file.parse_plan(PLAN, "p.yaml")
        made = project_creation.create_project(db, plan, by=events.SHELL, scheme=(old, schemes.to_yaml(old)))
    return made.project


def test_a_project_that_was_made_in_english_is_read_in_german_too(store, project):
    with store.read() as db:
        assert scheme_of(db, project) == schemes.load("edos")


def test_another_project_can_still_be_made_with_the_scheme(store, project):
    with store.write() as db:
        plan = project_file.parse_plan(PLAN.replace(b"name: p", b"name: q"), "q.yaml")
        other = project_creation.create_project(db, plan, by=events.SHELL).project
    with store.read() as db:
        assert scheme_of(db, other) == schemes.load("edos")


def test_words_that_a_project_wrote_itself_get_no_translation_of_others(store, project):
    with store.write() as db:
        shipped = current_guideline(db, project).text
        with pytest.raises(UserError, match="Change something first"):
            publish_guideline(db, project, scheme_of(db, project), shipped, changes="none", by=events.SHELL)
        publish_guideline(db, project, scheme_of(db, project), {"en": "# Ours"}, changes="ours", by=events.SHELL)
    with store.read() as db:
        found = scheme_of(db, project)
    assert dict(found.guidelines[0].text) == dict(shipped)
    assert dict(found.guideline.text) == {"en": "# Ours"}
    assert set(found.guideline.notes["women"]) == {"en", "de"}


def test_a_scheme_of_ones_own_keeps_its_words():
    old = edos_of_old()
    first, *rest = old.questions
    own = replace(old, questions=(replace(first, title=Wording({"en": "Is the post sexist?", "de": "Eigenes"})), *rest))
    assert schemes.with_translations(own).questions[0].title["de"] == "Eigenes"
    assert schemes.with_translations(replace(old, name="mine")) == replace(old, name="mine")
