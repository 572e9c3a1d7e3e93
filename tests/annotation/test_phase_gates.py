"""Phases go on when their rule says so: everyone done, a gate passed, a screening decided, all posts settled."""

from __future__ import annotations

import polars as pl
import pytest

from davy.annotation.labelling import labelling
from davy.annotation.labelling.store import items
from davy.annotation.project import phase_gates, project_creation, project_file, roster
from davy.annotation.project.store import members, phases, projects
from davy.core.errors import UserError
from davy.people.store import personal_data, users
from davy.store import events
from davy.store.columns import new_id
from davy.web.i18n import catalogue
from work_project import make_bench

HATE = ("hateful",)
FINE = ("not hateful",)


def people(db, project: str, n: int) -> list:
    made = [users.add(db, login=f"u{i}", name=f"U{i}", role="annotator", by=events.SHELL) for i in range(n)]
    return [members.add(db, project, user.id, ["annotator"], by=events.SHELL) for user in made]


def make(db, phases_yaml: str, posts: int, *, preset: str = "hatemoji-check", **more):
    plan = project_file.parse_plan(f"name: p\npreset: {preset}\nphases:\n{phases_yaml}".encode(), "p.yaml")
    ids = [f"p{i:02}" for i in range(posts)]
    frame = pl.DataFrame({"id": ids, "text": ids, **more})
    return project_creation.create_project(db, plan, by=events.SHELL, posts_in=[frame]).project


def label(db, project, member, say, *, most: int = 1000) -> int:
    """Answer all that a person can get; `say` maps a post to its label."""
    n = 0
    member = members.get(db, project.id, member.user)
    while n < most and (sheet := labelling.next_sheet(db, project, member)):
        labelling.save(db, sheet, {"hate": say(sheet.post.id)}, annotation_id=new_id())
        n += 1
    return n


def reason(db, project, name: str, which: str) -> str | None:
    found = phase_gates.phase_status(db, project, phases.by_name(db, project.id, name))
    why = getattr(found, which)
    return None if why is None else why.key


CALIBRATED = """\
  - {name: 2a, kind: calibration, posts: 4, gate: {at-least: 0.6}}
  - {name: "3", kind: production, posts: rest, answers: 1}
"""


def odd(post: str) -> tuple[str, ...]:
    return HATE if int(post[1:]) % 2 else FINE


def test_production_waits_until_a_calibration_passed_its_gate(store):
    with store.write() as db:
        project = make(db, CALIBRATED, 12)
        assert reason(db, project, "2a", "opens") == "no_people"
        two = people(db, "p", 2)
        first = phases.by_name(db, "p", "2a")
        with pytest.raises(UserError, match="comes first"):
            phase_gates.open_phase(db, project, phases.by_name(db, "p", "3"), by=events.SHELL)
        phase_gates.open_phase(db, project, first, by=events.SHELL)
        assert label(db, project, two[0], odd) == 4
        assert reason(db, project, "2a", "closes") == "not_done"
        label(db, project, two[1], lambda post: FINE if odd(post) == HATE else HATE)
        phase_gates.close_phase(db, project, phases.by_name(db, "p", "2a"), by=events.SHELL)
        found = {it.phase.name: it for it in phase_gates.phase_statuses(db, project)}
        assert found["2a"].next == "add set"
        assert (found["2a"].answers, found["2a"].per_person) == (8, 4)
        assert found["3"].opens.key == "gate_shut"
        assert "hate -1.00" in str(found["3"].opens)
        second = project_creation.next_set(db, project, first, n=3, by=events.SHELL)
        assert second.name == "2b"
        phase_gates.open_phase(db, project, second, by=events.SHELL)
        for member in two:
            label(db, project, member, odd)
        phase_gates.close_phase(db, project, phases.get(db, second.id), by=events.SHELL)
        phase_gates.open_phase(db, project, phases.by_name(db, "p", "3"), by=events.SHELL)
        assert phases.by_name(db, "p", "3").state == "open"


def test_a_manager_goes_on_anyway_with_a_reason_that_is_kept(store):
    with store.write() as db:
        project = make(db, CALIBRATED, 12)
        people(db, "p", 2)
        third = phases.by_name(db, "p", "3")
        phase_gates.open_phase(db, project, third, by=events.SHELL, anyway="the pilot was enough")
        kept = [it for it in events.latest(db, about="project p") if it.what == "phase opened anyway"]
        assert kept[0].details["reason"] == "the pilot was enough"
        assert kept[0].details["phase"] == "3"


def test_an_empty_phase_never_opens_and_a_closed_project_opens_nothing(store):
    with store.write() as db:
        project = make(db, CALIBRATED, 4)
        people(db, "p", 2)
        with pytest.raises(UserError, match="no posts"):
            phase_gates.open_phase(db, project, phases.by_name(db, "p", "3"), by=events.SHELL, anyway="please")
        closed = projects.close(db, "p", by=events.SHELL)
        with pytest.raises(UserError, match="project is closed"):
            phase_gates.open_phase(db, closed, phases.by_name(db, "p", "2a"), by=events.SHELL, anyway="please")


def test_production_closes_when_every_post_is_full_and_settled(store):
    with store.write() as db:
        project = make(db, '  - {name: "3", kind: production, posts: rest, answers: 2}\n', 3)
        two = people(db, "p", 2)
        phase = phases.by_name(db, "p", "3")
        phase_gates.open_phase(db, project, phase, by=events.SHELL)
        label(db, project, two[0], odd)
        assert reason(db, project, "3", "closes") == "not_full"
        label(db, project, two[1], odd)
        assert reason(db, project, "3", "closes") is None
        phase_gates.close_phase(db, project, phases.get(db, phase.id), by=events.SHELL)
        assert {it.state for it in items.of_phase(db, phase.id)} == {"settled"}


def test_production_stays_open_while_a_case_waits(store):
    with store.write() as db:
        project = make(db, '  - {name: "3", kind: production, posts: rest, answers: 2}\n', 2)
        two = people(db, "p", 2)
        phase = phases.by_name(db, "p", "3")
        phase_gates.open_phase(db, project, phase, by=events.SHELL)
        label(db, project, two[0], lambda _: HATE)
        label(db, project, two[1], lambda _: FINE)
        assert reason(db, project, "3", "closes") == "cases"


def closes(bench) -> tuple[str, int] | None:
    with bench.store.read() as db:
        why = phase_gates.phase_status(db, bench.project, phases.get(db, bench.phase.id)).closes
    return None if why is None else (why.key, why.values["n"])


def test_production_that_everyone_answers_closes_when_its_posts_are_settled(store):
    bench = make_bench(store, n=2, people=("ada", "bo", "cy"), answers=None)
    for name in ("ada", "bo"):
        while bench.answer(name):
            pass
    assert closes(bench) == ("not_full", 2), "two people did all, but no post has all its answers"
    bench.answer("cy")
    assert closes(bench) == ("not_full", 1)
    bench.answer("cy")
    assert closes(bench) is None


@pytest.mark.parametrize("how", ["leaves", "refuses", "was deleted", "is no annotator"])
def test_posts_that_everyone_answers_are_settled_when_nobody_is_left_to_answer(store, how):
    bench = make_bench(store, n=2, people=("ada", "bo", "cy"), answers=None)
    cy = bench.people["cy"]
    for name in ("ada", "bo"):
        while bench.answer(name):
            pass
    assert [(it.state, it.given) for it in bench.everything()] == [("open", 2)] * 2
    with store.write() as db:
        if how == "leaves":
            labelling.leave(db, bench.project, cy.user, by="shell")
        elif how == "was deleted":
            projects.change_settings(db, "pilot", {"deletion": {"answers": "delete"}}, by="shell")
            labelling.save(db, labelling.next_sheet(db, bench.project, cy), {"grumpy": ("no",)}, annotation_id="cy")
            personal_data.delete_account(db, cy.user, by="shell")
        elif how == "is no annotator":
            members.set_roles(db, "pilot", cy.user, ["manager"], by="shell")
            roster.settle_complete(db, bench.project)
        else:
            while sheet := labelling.next_sheet(db, bench.project, cy):
                labelling.refuse(db, sheet, annotation_id=new_id())
    assert [(it.state, it.given) for it in bench.everything()] == [("settled", 2)] * 2
    assert closes(bench) is None


def test_who_left_is_not_counted_for_those_who_are_still_to_answer(store):
    bench = make_bench(store, n=1, people=("ada", "bo", "cy"), answers=None)
    bench.answer("cy")
    with store.write() as db:
        labelling.leave(db, bench.project, bench.people["cy"].user, by="shell")
    bench.answer("ada")
    assert bench.everything()[0].state == "open", "Bo has not answered"
    bench.answer("bo")
    assert (bench.everything()[0].state, bench.everything()[0].given) == ("settled", 3)


def test_a_screening_closes_when_everyone_is_decided_and_only_those_who_passed_go_on(store):
    gold = ["hateful" if i % 2 else "not hateful" for i in range(4)] + [None] * 4
    screened = "  - {name: s, kind: screening, posts: 4, pass: {accuracy: 0.8}}\n"
    screened += "  - {name: main, kind: production, posts: rest, answers: 1}\n"
    with store.write() as db:
        project = make(db, screened, 8, **{"hate.gold": gold})
        good, bad = people(db, "p", 2)
        phase = phases.by_name(db, "p", "s")
        phase_gates.open_phase(db, project, phase, by=events.SHELL)
        assert label(db, project, good, odd) == 4
        assert reason(db, project, "s", "closes") == "undecided"
        label(db, project, bad, lambda _: HATE)
        phase_gates.close_phase(db, project, phases.get(db, phase.id), by=events.SHELL)
        assert members.get(db, "p", good.user).choices["screening"] == "passed"
        phase_gates.open_phase(db, project, phases.by_name(db, "p", "main"), by=events.SHELL)
        assert label(db, project, bad, odd) == 0
        assert label(db, project, good, odd) == 4


def test_one_post_is_spoken_of_as_one():
    assert str(phase_gates.GateReason("not_full", {"n": 1})) == "One post still needs answers."
    assert str(phase_gates.GateReason("not_full", {"n": 2})) == "2 posts still need answers."


def test_pages_say_the_reasons_in_the_same_english_words():
    said = {key.removeprefix("going."): text for key, text in catalogue("en").items() if key.startswith("going.")}
    assert said == dict(phase_gates.SENTENCES)
