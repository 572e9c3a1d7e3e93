"""Watching, calibration and screening on the web: who sees what, what opens what, and that nobody is named."""

from __future__ import annotations

import re
import threading
import time

import pytest

from davy.annotation.labelling.store import items
from davy.annotation.project import monitoring
from davy.annotation.project.store import members, messages, phases, projects
from davy.annotation.settling import agreement
from davy.annotation.settling.agreement import scheme_of
from davy.annotation.settling.jobs import MEASURE_AGREEMENT as KIND
from davy.annotation.settling.jobs import enqueue_due_phases
from davy.annotation.settling.store import agreements, phase_answers
from davy.jobs import store as jobs
from davy.jobs.worker import JobWatcher
from davy.people.store import users
from davy.store import events
from simulated_people import SAID, Person, careful, gmhp7k, label, truth_of
from web_site import Site, post

PILOT = "/projects/gmhp7k"


@pytest.fixture
def team(site: Site):
    """The gmhp7k project: the site's expert manages it, three label 2a, and the site's annotator is one of them."""
    project, every, people = gmhp7k(site.store, posts=70, people=2, right=0.97, by=site.people["expert"].id, each=16)
    with site.store.write() as db:
        me = members.add(db, project.id, site.people["annotator"].id, ["annotator"], by=events.SHELL)
        phases.open_phase(db, every[0].id, by=events.SHELL)
        phases.close_phase(db, every[0].id, by=events.SHELL)
        phases.open_phase(db, every[1].id, by=events.SHELL)
    people.append(Person(me.user, careful(0.97), pseudonym=me.pseudonym))
    return project, every, people


def open_and_label(site, team, *, number=1, seed=0, most=None):
    """Let the team answer a phase, and return it."""
    project, every, people = team
    with site.store.write() as db:
        phase = phases.open_phase(db, every[number].id, by=events.SHELL)
    label(site.store, project, phase, people, seed, most=most)
    return phase


def test_the_page_shows_progress_agreement_and_everyone_under_pseudonyms(site, team):
    project, _, people = team
    open_and_label(site, team)
    manager = site.as_("expert")
    # The page itself measures what is small and at work.
    assert "without" in manager.get(f"{PILOT}/watch").text
    with site.store.read() as db:
        assert agreements.count(db, phases.by_name(db, project.id, "2a").id) == 1
    assert post(manager, f"{PILOT}/watch/measure", page=f"{PILOT}/watch").headers["location"] == f"{PILOT}/watch"
    page = manager.get(f"{PILOT}/watch").text
    assert "Measured. The figures below are up to date." in page
    for person in people:
        assert page.count(f"without {person.pseudonym}") == 1
    for word in ("48", "Fleiss", "Labels given in phase 2a", "n = 48 answers", 'class="band"', "κ with others, hate"):
        assert word in page
    assert not re.search(r"person0|Person 0|annotator person|style=", page)
    order = re.findall(r'<td data-name="Pseudonym">(A\d+)</td>', page)
    assert order == sorted(person.pseudonym for person in people)
    with site.store.read() as db:
        assert agreements.count(db, phases.by_name(db, project.id, "2a").id) == 1


def test_only_managers_see_people_and_annotators_see_only_themselves(site, team):
    project, _, people = team
    open_and_label(site, team)
    post(site.as_("expert"), f"{PILOT}/watch/measure", page=f"{PILOT}/watch")
    me, others = people[2], people[:2]
    annotator = site.as_("annotator")
    assert annotator.get(f"{PILOT}/watch").status_code == 403
    mine = annotator.get(f"{PILOT}/mine").text
    assert me.pseudonym in mine
    assert re.search(r"hate 0\.\d\d|hate 1\.00", mine)
    assert not any(other.pseudonym in mine for other in others)
    phase = annotator.get(f"{PILOT}/phases/2a").text
    assert "You have dealt with 16 of 16 posts." in phase
    assert not any(other.pseudonym in phase for other in others)
    with site.store.write() as db:
        members.set_roles(db, project.id, site.people["expert"].id, ["expert"], by=events.SHELL)
    seen = site.as_("expert").get(f"{PILOT}/watch").text
    assert "Without each person" in seen
    assert "People in phase" not in seen


def test_pages_name_questions_and_labels_and_give_times_in_the_projects_zone(site, team):
    project, _, _ = team
    open_and_label(site, team)
    post(site.as_("expert"), f"{PILOT}/watch/measure", page=f"{PILOT}/watch")
    with site.store.write() as db:
        care = {**(project.settings.get("care") or {}), "timezone": "Europe/Berlin"}
        projects.change_settings(db, project.id, {**project.settings, "care": care}, by="shell")
        for person in ("annotator", "expert"):
            users.set_language(db, site.people[person].id, "de", by="shell")
    page = site.as_("expert").get(f"{PILOT}/phases/2a/review").text
    shown = re.findall(r"<dt>([^<]+)</dt>", page) + re.findall(r"<dd><strong>([^<]+)</strong>", page)
    with site.store.read() as db:
        asked = scheme_of(db, project).questions
    assert shown
    assert not {*shown} & {name for it in asked for name in (it.name, *(label.name for label in it.labels))}
    assert "Ist der Beitrag Hassrede?" in page
    assert re.search(r"Hass −?[01],\d\d", site.as_("annotator").get(f"{PILOT}/mine").text)
    assert re.search(r"\d\d:\d\d CES?T</time>", site.as_("expert").get(f"{PILOT}/audit").text)


def test_odd_choices_of_coefficient_and_phase_fall_back(site, team):
    open_and_label(site, team, most=40)
    client = site.as_("expert")
    post(client, f"{PILOT}/watch/measure", page=f"{PILOT}/watch")
    for query in ("coefficient=%3Cscript%3E", "phase=nowhere", "coefficient=&phase=", "coefficient=alpha&phase=2a"):
        assert client.get(f"{PILOT}/watch?{query}").status_code == 200
    assert client.get(f"{PILOT}/phases/nowhere").status_code == 404
    assert client.get(f"{PILOT}/phases/2a/review?page=99999").status_code == 200
    assert client.get(f"{PILOT}/phases/2a/review?page=x").status_code == 422
    assert client.get(f"{PILOT}/phases/3/review").status_code == 404


def test_a_calibration_closes_when_all_are_done_and_its_gate_opens_the_next_phase(site, team):
    project, _, people = team
    people[1].confusion = careful(0.97)
    open_and_label(site, team, most=30)
    manager, here = site.as_("expert"), f"{PILOT}/phases/2a"
    refused = post(manager, f"{here}/go-on", {"do": "close"}, page=here)
    assert refused.status_code == 409
    assert "people have posts left to answer" in refused.text
    open_and_label(site, team, seed=1)
    page = manager.get(here).text
    assert "The gate is open" in page
    assert "Close the phase" in page
    assert post(manager, f"{here}/go-on", {"do": "close"}, page=here).status_code == 303
    assert "Open phase 1" not in manager.get(here).text
    assert "Open phase 3" in manager.get(here).text
    answer = post(manager, f"{here}/go-on", {"do": "open"}, page=here)
    assert answer.headers["location"] == f"{PILOT}/phases/3"
    with site.store.read() as db:
        states = {it.name: it.state for it in phases.of_project(db, project.id)}
    assert states == {"1": "closed", "2a": "closed", "2b": "waiting", "2c": "waiting", "3": "open"}
    assert post(site.as_("annotator"), f"{here}/go-on", {"do": "close"}, page=here).status_code == 403


def test_a_shut_gate_leads_to_the_review_and_the_next_set(site, team):
    project, _, people = team
    for number, person in enumerate(people):
        person.confusion = careful(0.5 + 0.1 * number)
    open_and_label(site, team)
    manager, here = site.as_("expert"), f"{PILOT}/phases/2a"
    post(manager, f"{here}/go-on", {"do": "close"}, page=here)
    page = manager.get(here).text
    assert "The gate is shut" in page
    assert "Talk about the disagreements" in page
    answer = post(manager, f"{here}/go-on", {"do": "next set"}, page=here)
    assert answer.headers["location"] == f"{PILOT}/phases/2b"
    assert "Phase 2b is open." in manager.get(f"{PILOT}/phases/2b").text
    with site.store.read() as db:
        assert phases.by_name(db, project.id, "2b").state == "open"


def test_the_review_has_the_most_divided_post_first_and_keeps_notes(site, team):
    project, _, people = team
    people[0].confusion = careful(0.5)
    phase = open_and_label(site, team)
    annotator, manager = site.as_("annotator"), site.as_("expert")
    here = f"{PILOT}/phases/2a"
    waits = annotator.get(f"{here}/review")
    assert waits.status_code == 403
    assert "once the phase is closed" in waits.text
    with site.store.read() as db:
        found = agreement.divided_posts(db, project, phase, scheme_of(db, project))
    assert [it.disagreement for it in found] == sorted((it.disagreement for it in found), reverse=True)
    page = manager.get(f"{here}/review").text
    assert re.findall(r'<li id="(\w{20})">', page) == [it.post for it in found[:10]]
    post(manager, f"{here}/go-on", {"do": "close"}, page=here)
    note = {"post": found[0].post, "text": "Irony <b>counts</b>.", "page": "1"}
    assert post(annotator, f"{here}/notes", note, page=f"{here}/review").status_code == 303
    again = manager.get(f"{here}/review").text
    assert "Irony &lt;b&gt;counts&lt;/b&gt;." in again
    assert post(annotator, f"{here}/notes", {**note, "post": "post69x"}, page=f"{here}/review").status_code == 404
    with site.store.read() as db:
        assert len(messages.notes_of(db, project.id, found[0].post)) == 1


@pytest.fixture
def screening(site: Site, team):
    """A screening of twelve posts that two finish, one well and one badly."""
    project, _, people = team
    with site.store.write() as db:
        phase = phases.add(
            db, project.id, name="gold", kind="screening", answers=None, in_corpus=False,
            settings={"pass": {"accuracy": 0.75, "questions": ["hate"]}}, by=events.SHELL,
        )  # fmt: skip
        items.add(db, phase, [(f"post{n}", SAID[truth_of(f"post{n}")], None) for n in range(12)], by=events.SHELL)
        phase = phases.open_phase(db, phase.id, by=events.SHELL)
    people[0].confusion = careful(1.0)
    people[2].confusion = careful(0.0)
    label(site.store, project, phase, [people[0], people[2]], seed=4)
    return phase


def test_a_screening_says_who_passed_and_shows_each_class(site, team, screening):
    people = team[2]
    manager, here = site.as_("expert"), f"{PILOT}/phases/gold"
    page = manager.get(here).text
    assert "The pass mark is 75.0% right. 1 passed, 1 failed, 1 still at it." in page
    assert "Class by class, everyone" in page
    assert "Not hate speech" in page
    one = manager.get(f"{here}?person={people[2].pseudonym}").text
    assert f"Class by class, {people[2].pseudonym}" in one
    assert "What was said instead" in one
    assert manager.get(f"{here}?person=nobody").status_code == 200
    own = site.as_("annotator").get(here).text
    assert "The mark was not reached this time" in own
    assert people[0].pseudonym not in own


def test_a_manager_decides_otherwise_with_a_reason_that_is_kept(site, team, screening):
    project, _, people = team
    manager, here = site.as_("expert"), f"{PILOT}/phases/gold"
    form = {"person": people[2].pseudonym, "state": "passed", "reason": "The gold was wrong."}
    assert (
        post(manager, f"{here}/decide", {**form, "reason": ""}, page=f"{here}?person={form['person']}").status_code
        == 400
    )
    assert (
        post(manager, f"{here}/decide", {**form, "state": "best"}, page=f"{here}?person={form['person']}").status_code
        == 400
    )
    assert (
        post(manager, f"{here}/decide", {**form, "person": "A00"}, page=f"{here}?person={form['person']}").status_code
        == 404
    )
    assert post(site.as_("annotator"), f"{here}/decide", form, page=here).status_code == 403
    assert post(manager, f"{here}/decide", form, page=f"{here}?person={form['person']}").status_code == 303
    page = manager.get(here).text
    assert "2 passed, 0 failed" in page
    assert "The gold was wrong." in page
    with site.store.read() as db:
        assert members.get(db, project.id, people[2].user).choices["screening"] == "passed"
        kept = events.latest(db, about=f"screening {screening.id}")[0]
    assert (kept.by, kept.details["reason"]) == (site.people["expert"].id, "The gold was wrong.")


def test_a_phase_may_have_an_odd_name(site, team):
    from urllib.parse import quote

    project, _, people = team
    name = 'a ?#&% "<b>'
    with site.store.write() as db:
        phase = phases.add(
            db, project.id, name=name, kind="calibration", answers=None, in_corpus=False,
            settings={"gate": {"at_least": 0.9}}, by=events.SHELL,
        )  # fmt: skip
        items.add(db, phase, [(f"post{n}", None, None) for n in range(20)], by=events.SHELL)
        phase = phases.open_phase(db, phase.id, by=events.SHELL)
    people[0].confusion = careful(0.4)
    label(site.store, project, phase, people, seed=2)
    manager, here = site.as_("expert"), f"{PILOT}/phases/{quote(name, safe='')}"
    watched = manager.get(f"{PILOT}/watch").text
    assert "<b>" not in watched
    address = re.search(r'href="([^"]*/phases/a[^"]*)"', watched).group(1)
    assert manager.get(address).status_code == 200
    answer = post(manager, f"{here}/go-on", {"do": "close"}, page=here)
    assert manager.get(answer.headers["location"]).status_code == 200
    with site.store.read() as db:
        first = agreement.divided_posts(db, project, phase, scheme_of(db, project))[0].post
    answer = post(manager, f"{here}/notes", {"post": first, "text": "So."}, page=f"{here}/review")
    assert "So." in manager.get(answer.headers["location"]).text


def test_a_phase_is_measured_in_the_background_once_for_each_state(site, team):
    project, _, _ = team
    phase = open_and_label(site, team, most=30)
    assert enqueue_due_phases(site.store) == 1
    assert enqueue_due_phases(site.store) == 1
    with site.store.read() as db:
        assert [job.kind for job in jobs.latest(db)] == [KIND]
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with site.store.read() as db:
            if agreements.newest(db, phase.id):
                break
        time.sleep(0.1)
    with site.store.read() as db:
        made = agreements.newest(db, phase.id)
        assert made.answers == 30
    assert enqueue_due_phases(site.store) == 0
    open_and_label(site, team, seed=7, most=10)
    assert enqueue_due_phases(site.store) == 0, "ten answers within ten minutes are no reason to measure again"
    with site.store.read() as db:
        late = made.at + monitoring.timedelta(minutes=11)
        assert [it.id for it in monitoring.due_phases(db, at=late)] == [phase.id]
    assert project.id == phase.project


def test_the_last_answers_of_a_phase_are_measured_as_soon_as_it_is_closed(site, team):
    project, _, _ = team
    phase = open_and_label(site, team, most=30)
    monitoring.take_snapshot(site.store, phase.id)
    open_and_label(site, team, seed=7, most=10)
    with site.store.read() as db:
        assert monitoring.due_phases(db) == []
    with site.store.write() as db:
        phases.close_phase(db, phase.id, by=events.SHELL)
    with site.store.read() as db:
        assert [it.id for it in monitoring.due_phases(db)] == [phase.id]
        board = monitoring.load_dashboard(db, project)
    assert monitoring.catch_up(site.store, board)
    with site.store.read() as db:
        assert monitoring.due_phases(db) == []
        assert not monitoring.catch_up(site.store, monitoring.load_dashboard(db, project))


def test_the_watcher_looks_until_it_is_stopped(site, team):
    open_and_label(site, team, most=10)
    watcher = JobWatcher(site.store, [enqueue_due_phases], seconds=0.05).start()
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with site.store.read() as db:
            if any(job.kind == KIND for job in jobs.latest(db)):
                break
        time.sleep(0.05)
    watcher.stop()
    assert "davy-watcher" not in {it.name for it in threading.enumerate() if it is watcher._thread and it.is_alive()}
    with site.store.read() as db:
        assert any(job.kind == KIND for job in jobs.latest(db))


def test_pages_of_watching_read_a_few_rows_by_an_index_and_never_items_or_answers(site, team):
    from sqlalchemy import event

    project, _, _ = team
    phase = open_and_label(site, team)
    monitoring.take_snapshot(site.store, phase.id)
    ran: dict[str, object] = {}

    def note(_db, _cursor, statement, parameters, _context, _many):
        ran.setdefault(statement, parameters)

    event.listen(site.store.engine, "before_cursor_execute", note)
    with site.store.read() as db:
        monitoring.load_dashboard(db, project)
        phase_answers.tallies_of(db, [phase.id], annotator="x")
        monitoring.gate_of(db, project, phase)
    event.remove(site.store.engine, "before_cursor_execute", note)
    with site.store.read() as db:
        plans = {
            statement: [row[3] for row in db.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)]
            for statement, parameters in ran.items()
            if statement.startswith("SELECT")
        }
    assert len(plans) >= 5
    for statement, plan in plans.items():
        assert not re.search(r"\b(items|answers|annotations|posts|assignments)\b", statement.partition("FROM")[2])
        assert not [step for step in plan if "SCAN" in step and "USING" not in step and "anon_" not in step]
