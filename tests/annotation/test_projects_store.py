"""Projects, their members and phases, on both databases."""

from __future__ import annotations

from datetime import timedelta

import pytest

from davy.annotation.project.store import members, phases, projects
from davy.core import Label, Question, Scheme, UserError
from davy.people.store import users
from davy.schemes.store import schemes
from davy.store import Store, columns, events

SCHEME = Scheme("grumble", 1, (Question("grumpy", (Label("yes"), Label("no")), positive="yes"),))


@pytest.fixture
def people(store: Store) -> list[str]:
    """A scheme and three accounts."""
    with store.write() as db:
        schemes.save(db, SCHEME, "name: grumble", by="shell")
        return [users.add(db, login=name, name=name, role="annotator", by="shell").id for name in ("ada", "lin", "kim")]


def make(store: Store, name: str = "pilot") -> None:
    with store.write() as db:
        projects.create(db, id=name, title="Pilot", scheme="grumble", scheme_version=1, settings={"care": {}}, by="u")


def test_a_project_is_made_once_with_a_scheme_that_is_there(store, people):
    make(store)
    with store.write() as db, pytest.raises(UserError, match="already"):
        projects.create(db, id="pilot", title="x", scheme="grumble", scheme_version=1, settings={}, by="u")
    with store.write() as db, pytest.raises(UserError, match="not in this database"):
        projects.create(db, id="other", title="x", scheme="grumble", scheme_version=2, settings={}, by="u")
    for name in ("", "Pilot", "-x", "a/b", "x" * 61):
        with store.write() as db, pytest.raises(UserError, match="can't name a project"):
            projects.create(db, id=name, title="x", scheme="grumble", scheme_version=1, settings={}, by="u")
    with store.read() as db:
        assert [project.id for project in projects.list_projects(db)] == ["pilot"]
        with pytest.raises(UserError, match="Did you mean 'pilot'"):
            projects.get(db, "pilott")


def test_changed_settings_and_a_closed_project_are_in_the_record(store, people):
    make(store)
    with store.write() as db:
        projects.change_settings(db, "pilot", {"care": {"daily_minutes": 60}, "languages": ["de"]}, by="u")
        closed = projects.close(db, "pilot", by="u")
        assert closed.state == "closed"
        assert closed.closed_at is not None
        again = projects.reopen(db, "pilot", by="u")
        assert (again.state, again.closed_at) == ("open", None)
        found = events.latest(db, about="project pilot")
    assert [event.what for event in found][:3] == ["project reopened", "project closed", "project settings changed"]
    assert found[2].details == {"sections": ["care", "languages"]}


def test_a_pseudonym_stays_with_a_person_who_leaves_and_comes_back(store, people):
    make(store)
    ada, lin, _ = people
    with store.write() as db:
        first = members.add(db, "pilot", ada, ["annotator"], by="u", pool="trained")
        other = members.add(db, "pilot", lin, ["expert", "manager"], by="u")
        assert first.pseudonym != other.pseudonym
        assert other.roles == ("manager", "expert")
        with pytest.raises(UserError, match="already"):
            members.add(db, "pilot", ada, ["annotator"], by="u")
        members.leave(db, "pilot", ada, by=ada)
        assert [m.user for m in members.of_project(db, "pilot")] == [lin]
        assert projects.of_user(db, ada) == []
        back = members.add(db, "pilot", ada, ["expert"], by="u")
        assert (back.pseudonym, back.roles, back.pool) == (first.pseudonym, ("expert",), "trained")
        assert [m.user for m in members.of_project(db, "pilot", role="manager")] == [lin]
        assert [project.id for project, _ in projects.of_user(db, ada)] == ["pilot"]


def test_roles_that_are_none_or_unknown_are_refused(store, people):
    make(store)
    with store.write() as db:
        with pytest.raises(UserError, match="'boss' is not a role"):
            members.add(db, "pilot", people[0], ["boss"], by="u")
        with pytest.raises(UserError, match="at least one role"):
            members.add(db, "pilot", people[0], [], by="u")
        with pytest.raises(UserError, match="Invite them first"):
            members.set_roles(db, "pilot", people[0], ["expert"], by="u")


def test_consent_and_choices_are_kept_and_can_be_taken_back(store, people):
    make(store)
    with store.write() as db:
        members.add(db, "pilot", people[0], ["annotator"], by="u")
        at = members.consent(db, "pilot", people[0]).consented_at
        assert members.consent(db, "pilot", people[0]).consented_at == at
        members.choose(db, "pilot", people[0], veil="plain", pictures="grey")
        assert members.choose(db, "pilot", people[0], veil=None).choices == {"pictures": "grey"}
        until = columns.now() + timedelta(seconds=1)
        members.read_until(db, "pilot", people[0], until)
        assert members.get(db, "pilot", people[0]).read_until == until


def test_many_members_all_get_pseudonyms_of_their_own(store, people):
    make(store)
    with store.write() as db:
        for n in range(130):
            user = users.add(db, login=f"p{n}", name=f"P {n}", role="annotator", by="shell")
            members.add(db, "pilot", user.id, ["annotator"], by="u")
        assert len({m.pseudonym for m in members.of_project(db, "pilot")}) == 130


def test_phases_keep_their_order_and_say_when_they_were_opened(store, people):
    make(store)
    with store.write() as db:
        for name, kind in (("1", "discussion"), ("2a", "calibration"), ("3", "production")):
            phases.add(db, "pilot", name=name, kind=kind, answers=None, in_corpus=name == "3", settings={}, by="u")
        with pytest.raises(UserError, match="already"):
            phases.add(db, "pilot", name="2a", kind="calibration", answers=1, in_corpus=False, settings={}, by="u")
        with pytest.raises(UserError, match="Did you mean 'calibration'"):
            phases.add(db, "pilot", name="4", kind="calibrate", answers=1, in_corpus=False, settings={}, by="u")
        found = phases.of_project(db, "pilot")
        assert [(p.name, p.position, p.state, p.in_corpus) for p in found] == [
            ("1", 1, "waiting", False),
            ("2a", 2, "waiting", False),
            ("3", 3, "waiting", True),
        ]
        opened = phases.open_phase(db, found[0].id, by="u")
        closed = phases.close_phase(db, found[0].id, by="u")
        assert opened.opened_at == closed.opened_at is not None
        assert closed.closed_at is not None
        phases.grow(db, found[1].id, 46)
        assert phases.by_name(db, "pilot", "2a").size == 46
        with pytest.raises(UserError, match="It has 1, 2a, 3"):
            phases.by_name(db, "pilot", "2z")
