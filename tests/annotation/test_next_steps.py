"""What comes next in a project, for each of its people: from posts to a detector in use."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import update

from davy.annotation.exchange import jobs as exchange_jobs
from davy.annotation.project import next_steps, phase_gates, project_creation, project_file
from davy.annotation.project.next_steps import NextSteps
from davy.annotation.project.pages.project_access import PROJECT_MAY
from davy.annotation.project.project import Member
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.store import members, phases, projects
from davy.annotation.project.store.tables import phases as phase_table
from davy.annotation.settling import expert_cases
from davy.jobs import store as jobs
from davy.memes.store import image_library
from davy.memes.store.image_library import LibraryImage
from davy.people.store import users
from davy.rounds.round import RoundGoals
from davy.rounds.store import rounds
from davy.runs.jobs import tasks, training
from drawn_memes import draw
from meme_project import PLAN, keep, make_memes
from round_project import HARMLESS, HATEFUL, make_round
from web_site import post
from work_project import NO, YES, Bench, make_bench


def may(member: Member) -> Callable[[str], bool]:
    return lambda act: bool(set(member.roles) & set(PROJECT_MAY[act]))


def coming(bench, name: str) -> NextSteps:
    with bench.store.read() as db:
        member = bench.people[name]
        return next_steps.next_steps(db, projects.get(db, bench.project.id), member, may(member))


def acts(bench, name: str) -> list[str]:
    return [step.act for step in coming(bench, name).mine]


def states(bench, name: str) -> dict[str, str]:
    return {step.name: step.state for step in coming(bench, name).checklist}


def add_person(bench, name: str, *roles: str) -> None:
    with bench.store.write() as db:
        user = users.by_login(db, name) or users.add(db, login=name, name=name, role="expert", by="shell")
        bench.people[name] = members.add(db, bench.project.id, user.id, roles, by="shell")


def work(bench, kind: str, result: object = None, *, end: bool = True) -> None:
    """Note a job of the project, done unless it goes on."""
    with bench.store.write() as db:
        jobs.enqueue(db, kind, {}, owner="shell", project=bench.project.id)
        if end:
            jobs.finish(db, jobs.lease(db, [kind], worker="w", seconds=60), result)


@pytest.fixture
def bench(store) -> Bench:
    made = make_bench(store, n=3, people=["ada", "bo"], answers=2)
    add_person(made, "max", "manager")
    return made


def test_the_names_of_jobs_are_those_that_workers_know():
    assert next_steps.EXPORT == exchange_jobs.EXPORT
    assert (next_steps.TRAIN, next_steps.CHECK) == (training.TRAIN, tasks.CHECK)


def test_while_others_label_nothing_waits_for_the_manager_who_sees_for_whom_it_waits(bench):
    assert acts(bench, "ada") == ["label"]
    seen = coming(bench, "max")
    assert seen.mine == ()
    assert [(step.act, step.permission) for step in seen.others] == [("follow", "label posts")]


def test_who_has_answered_everything_has_nothing_to_do(bench):
    while bench.answer("ada"):
        pass
    assert acts(bench, "ada") == []
    assert acts(bench, "bo") == ["label"]


def test_an_expert_is_asked_for_where_cases_wait_for_nobody(bench):
    while bench.answer("ada", YES):
        pass
    while bench.answer("bo", NO):
        pass
    assert acts(bench, "max") == ["name_expert"]
    add_person(bench, "eve", "expert")
    assert acts(bench, "max") == []
    assert acts(bench, "eve") == ["settle"]


def test_one_more_expert_is_asked_for_where_two_have_to_decide_and_one_has(store):
    bench = make_bench(store, n=1, people=["ada", "bo"], answers=2)
    rules = {"grumpy": {"rule": "unanimous", "experts": 2}, "about": {"otherwise": "open"}}
    with store.write() as db:
        bench.project = projects.change_settings(db, bench.project.id, {"adjudication": rules}, by="shell")
    add_person(bench, "max", "manager")
    add_person(bench, "eve", "expert")
    bench.answer("ada", YES)
    bench.answer("bo", NO)
    assert acts(bench, "eve") == ["settle"]
    with store.write() as db:
        scheme = scheme_of(db, bench.project)
        case = expert_cases.take_case(db, bench.project, bench.people["eve"])
        expert_cases.decide(db, bench.project, case.id, bench.people["eve"], scheme, NO, "by the guideline")
    assert acts(bench, "eve") == []
    assert acts(bench, "max") == ["another_expert"]
    add_person(bench, "fay", "expert")
    assert acts(bench, "fay") == ["settle"]
    assert acts(bench, "max") == []


def test_after_the_last_phase_come_agreement_export_training_a_check_and_use(bench):
    for name in ("ada", "bo"):
        while bench.answer(name):
            pass
    assert acts(bench, "max") == ["close"]
    with bench.store.write() as db:
        phase_gates.close_phase(db, bench.project, phases.get(db, bench.phase.id), by="shell")
    assert acts(bench, "max") == ["agreement", "export", "train"]
    work(bench, next_steps.EXPORT)
    assert acts(bench, "max") == ["agreement", "train"]
    work(bench, next_steps.TRAIN, end=False)
    assert states(bench, "max")["train"] == "busy"
    with bench.store.write() as db:
        jobs.finish(db, jobs.lease(db, [next_steps.TRAIN], worker="w", seconds=60), {"model": "/models/one"})
    assert acts(bench, "max") == ["agreement", "check", "use"]
    work(bench, next_steps.CHECK)
    assert acts(bench, "max") == ["agreement", "use"]
    assert acts(bench, "ada") == []


def test_a_closed_project_has_no_next_step(bench):
    with bench.store.write() as db:
        projects.close(db, bench.project.id, by="shell")
    assert coming(bench, "max").checklist == ()
    assert acts(bench, "ada") == []


def test_in_a_round_people_are_told_to_enter_texts_and_to_write_contrasts(store):
    bench = make_round(store)
    name = next(iter(bench.people))
    assert coming(bench, name).main.act == "enter"
    assert coming(bench, name).main.path == "/rounds/1/enter"


def test_a_round_is_closed_once_its_goal_is_reached_and_nothing_of_it_waits(store):
    bench = make_round(store, goals=RoundGoals(goal_all=1))
    add_person(bench, "max", "manager")
    assert acts(bench, "eve") == ["enter"]
    original = bench.enter("ada", "what a lovely lot they are 🐍")
    bench.label("bo")
    bench.label("cy", HARMLESS)
    assert acts(bench, "eve") == ["settle", "enter"], "an expert settles before writing"
    assert acts(bench, "bo")[0] == "enter"
    assert "close_round" not in acts(bench, "max")
    bench.decide("eve", {"hate": HATEFUL["hate"]})
    assert acts(bench, "bo")[:2] == ["contrasts", "enter"], "the round has its entries"
    assert "close_round" not in acts(bench, "max")
    bench.contrast("bo", original, "what a lovely lot they are 💖")
    bench.label("ada", HARMLESS)
    bench.label("cy", HARMLESS)
    assert coming(bench, "max").main.path == "/rounds/1/close"
    with store.write() as db:
        rounds.set_state(db, bench.round.id, "closing", by="shell")
    assert "close_round" not in acts(bench, "max")
    assert states(bench, "max")["settle"] == next_steps.BUSY


def test_a_project_of_rounds_begins_with_opening_one_and_not_with_a_file(store):
    with store.write() as db:
        user = users.add(db, login="max", name="Max", role="admin", by="shell")
        plan = project_file.read_plan("rounds")
        made = project_creation.create_project(db, plan, by=user.id, preset=True, consent_unread=True)
        member = members.get(db, made.project.id, user.id)
        found = next_steps.next_steps(db, made.project, member, may(member))
    assert [step.act for step in found.mine] == ["open_round", "invite", "consent"]


def test_phases_of_memes_that_wait_for_others_are_not_to_be_closed(store, tmp_path, monkeypatch):
    monkeypatch.setenv("DAVY_IMAGES", str(tmp_path / "kept"))
    bench = make_memes(store)
    add_person(bench, "max", "manager")
    assert "close" not in acts(bench, "max")
    assert acts(bench, "ada") == ["memes"]


@pytest.fixture
def waiting_memes(store, tmp_path, monkeypatch):
    """A project of memes: two annotators, a rating of three answers, no phase open but the filter."""
    monkeypatch.setenv("DAVY_IMAGES", str(tmp_path / "kept"))
    bench = make_memes(store, people=["ada", "bo"], plan=PLAN.replace(b"answers: 2", b"answers: 3"))
    add_person(bench, "max", "manager")
    with store.write() as db:
        later = [it for it in phases.of_project(db, bench.project.id) if it.kind in ("build", "rating", "confounders")]
        db.execute(update(phase_table).where(phase_table.c.id.in_([it.id for it in later])).values(state="waiting"))
    return bench


def test_a_project_of_memes_asks_for_pictures_until_the_library_has_some(waiting_memes):
    bench = waiting_memes
    assert acts(bench, "max") == ["invite", "fill_library", "open"]
    assert states(bench, "max")["library"] == "now"
    picture = keep(bench.store, draw(40), "shelf.png")
    with bench.store.write() as db:
        image_library.add(db, [LibraryImage(picture, "shelf", "")], by="shell")
    assert states(bench, "max")["library"] == "done"
    assert "fill_library" not in acts(bench, "max")


def test_a_phase_that_only_waits_for_people_says_how_many_and_what_it_feeds_is_not_opened_before_it(waiting_memes):
    bench = waiting_memes
    with bench.store.write() as db:
        phases.open_phase(db, phases.by_name(db, bench.project.id, "build").id, by="shell")
    seen = coming(bench, "max")
    assert [step.values for step in seen.mine if step.act == "invite"] == [{"n": 1}]
    (held,) = [step for step in seen.checklist if step.name == "open"]
    assert (held.state, held.values) == ("later", {"phase": "rating"})
    assert str(held.reason) == "Annotators needed: 3. On the roster: 2."
    add_person(bench, "cy", "annotator")
    seen = coming(bench, "max")
    assert [step.act for step in seen.mine] == ["fill_library", "open"]
    assert [step.phase.name for step in seen.mine if step.phase] == ["rating"]


def test_home_overview_and_phase_page_name_the_same_next_step(site):
    admin = site.as_("admin")
    fields = {"start": "scheme:hate", "name": "pilot", "title": "Pilot", "posts": "later"}
    assert post(admin, "/projects/new/upload", fields, page="/projects/new?start=scheme:hate").status_code == 303
    for path in ("/", "/projects/pilot", "/projects/pilot/phases/main"):
        html = admin.get(path).text
        assert "Add posts to phase main" in html, path
        assert "Nothing waits" not in html, path
    assert "Remove" not in admin.get("/projects/pilot").text
