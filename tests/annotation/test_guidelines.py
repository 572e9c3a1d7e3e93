"""A new guideline says what changed, is announced, and puts the answers it affects before their people again."""

from __future__ import annotations

import polars as pl
import pytest

from davy.annotation.labelling import labelling
from davy.annotation.project import project_creation, project_file, project_scheme
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.store import members, messages, phases
from davy.annotation.project.store import projects as guidelines_store
from davy.core.errors import UserError
from davy.people.store import users
from davy.schemes import load
from davy.store import events
from davy.store.columns import new_id


@pytest.fixture
def labelled(store):
    """A project whose one annotator called two posts hateful and two not."""
    plan = project_file.parse_plan(b"name: p\npreset: hatemoji-check\nphases: {validation: {answers: 1}}\n", "p.yaml")
    frame = pl.DataFrame({"id": list("abcd"), "text": list("abcd")})
    with store.write() as db:
        project = project_creation.create_project(db, plan, by=events.SHELL, posts_in=[frame]).project
        user = users.add(db, login="ada", name="Ada", role="annotator", by=events.SHELL)
        member = members.add(db, "p", user.id, ["annotator"], by=events.SHELL)
        phases.open_phase(db, phases.by_name(db, "p", "validation").id, by=events.SHELL)
        while sheet := labelling.next_sheet(db, project, member):
            said = ("hateful",) if sheet.post.id in "ab" else ("not hateful",)
            labelling.save(db, sheet, {"hate": said}, annotation_id=new_id())
    return project, member


def publish(store, project, text: str, **more):
    with store.write() as db:
        return project_scheme.publish_guideline(
            db, project, load("hate"), {"en": text}, changes="clearer", by=events.SHELL, **more
        )


def test_only_the_answers_that_it_affects_come_back_and_a_new_answer_is_given_under_it(store, labelled):
    project, member = labelled
    made = publish(store, project, "# New", again=project_scheme.SecondLook("hate", ("hateful",)))
    assert made.again == 2
    with store.write() as db:
        seen = set()
        while sheet := labelling.next_sheet(db, project, member):
            seen.add(sheet.post.id)
            assert sheet.before is not None
            saved = labelling.save(db, sheet, {"hate": ("not hateful",)}, annotation_id=new_id())
            assert saved.annotation.guideline_version == made.guideline.version
    assert seen == {"a", "b"}


def test_all_answers_come_back_where_asked_and_none_where_not(store, labelled):
    project, _ = labelled
    assert publish(store, project, "# One").again == 0
    assert publish(store, project, "# Two", again=project_scheme.SecondLook()).again == 4


def test_it_is_announced_in_its_own_project_and_changes_no_other_with_the_same_scheme(store, labelled):
    project, _ = labelled
    with store.write() as db:
        plan = project_file.parse_plan(b"name: q\npreset: hatemoji-check\n", "q.yaml")
        other = project_creation.create_project(db, plan, by=events.SHELL).project
    with store.read() as db:
        before = scheme_of(db, other)
    made = publish(store, project, "# New", announcement="Leitfaden {version}: {changes}")
    with store.read() as db:
        assert [thread.first.text for thread in messages.threads(db, "p")] == [
            f"Leitfaden {made.guideline.version}: clearer"
        ]
        assert scheme_of(db, project).guidelines[-1].text["en"] == "# New"
        assert messages.threads(db, "q") == []
        assert scheme_of(db, other) == before


@pytest.mark.parametrize(
    ("text", "more", "said"),
    [
        ("  ", {}, "empty"),
        ("x" * 100_001, {}, "at most 100,000"),
        ("# New", {"again": project_scheme.SecondLook("hte")}, "Did you mean 'hate'"),
        ("# New", {"again": project_scheme.SecondLook("hate", ("hatful",))}, "Did you mean 'hateful'"),
    ],
)
def test_what_cannot_be_published_changes_nothing(store, labelled, text, more, said):
    project, _ = labelled
    with pytest.raises(UserError, match=said):
        publish(store, project, text, **more)
    with store.read() as db:
        assert len(guidelines_store.guidelines_of(db, project.id)) == len(load("hate").guidelines)


def test_the_same_words_are_no_new_version(store, labelled):
    project, _ = labelled
    publish(store, project, "# New")
    with pytest.raises(UserError, match="Change something first"):
        publish(store, project, "# New\r\n")


def test_a_difference_names_what_is_new_and_what_is_gone():
    assert project_scheme.guideline_difference("a\nb\nc", "a\nB\nc") == [
        ("same", "a"),
        ("gone", "b"),
        ("new", "B"),
        ("same", "c"),
    ]
