"""Making a project: all of it or nothing, posts used again, and each phase with the posts it should have."""

from __future__ import annotations

import itertools

import polars as pl
import pytest

from davy.annotation.labelling.store import items
from davy.annotation.project import project_creation, project_file
from davy.annotation.project.post_allocation import allocate_posts
from davy.annotation.project.store import members, phases, posts, projects
from davy.core.errors import UserError
from davy.people.store import invitations, users
from davy.schemes import load
from davy.store import events


def frame(n: int, prefix: str = "p", **columns: object) -> pl.DataFrame:
    ids = [f"{prefix}{i:03}" for i in range(n)]
    return pl.DataFrame({"id": ids, "text": [f"words of {it}" for it in ids], **columns})


def plan(text: str) -> project_file.ProjectPlan:
    return project_file.parse_plan(text.encode(), "plan.yaml")


GERMAN = "name: ours\npreset: gmhp7k\nphases: {'1': {posts: 2}, 2a: {posts: 4}, 2b: {posts: 3}, 2c: {posts: 4}}\n"


def test_phases_take_from_the_pool_in_turn_and_no_post_is_in_two(store):
    with store.write() as db:
        made = project_creation.create_project(db, plan(GERMAN), by=events.SHELL, posts_in=[frame(12), frame(8, "q")])
    with store.read() as db:
        found = {phase.name: items.of_phase(db, phase.id) for phase in phases.of_project(db, "ours")}
    assert [phase.size for phase in made.phases] == [2, 4, 3, 4, 7]
    assert {name: len(rows) for name, rows in found.items()} == {"1": 2, "2a": 4, "2b": 3, "2c": 4, "3": 7}
    everything = [item.post for rows in found.values() for item in rows]
    assert len(set(everything)) == len(everything) == 20
    assert everything != sorted(everything)


def test_the_same_seed_deals_the_same_posts_and_another_seed_others():
    dealt = [allocate_posts(plan(GERMAN + f"seed: {seed}\n"), load("gmhp7k"), [frame(40)], {}) for seed in (1, 1, 2)]
    assert dealt[0] == dealt[1] != dealt[2]


def test_too_few_posts_change_nothing_and_say_which_phase_lacks_them(store):
    with pytest.raises(UserError, match=r"Phase '2b' takes 3 posts.* has 1 left"), store.write() as db:
        project_creation.create_project(db, plan(GERMAN), by=events.SHELL, posts_in=[frame(7)])
    with store.read() as db:
        assert projects.list_projects(db) == []
        assert posts.count(db) == 0


def test_two_projects_take_posts_of_the_same_ids_and_one_refuses_other_words_under_an_id(store):
    other = frame(20).with_columns(pl.lit("other words").alias("text"))
    with store.write() as db:
        for name, given in (("ours", frame(20)), ("second", other)):
            asked = plan(GERMAN.replace("ours", name))
            assert project_creation.create_project(db, asked, by=events.SHELL, posts_in=[given]).posts == 20
        project, phase = projects.get(db, "ours"), phases.by_name(db, "ours", "3")
        scheme = load("gmhp7k")
    with pytest.raises(UserError, match="other words or another image") as error, store.write() as db:
        project_creation.add_posts(db, project, phase, other, scheme, by=events.SHELL)
    assert "words of" not in error.value.message
    with store.read() as db:
        assert posts.count(db) == 40


SCREENED = "name: s\npreset: edos\nphases: {screening: {posts: gold.csv}, main: {posts: rest}}\n"


def test_a_screening_needs_right_answers_and_reads_their_spellings(store):
    gold = frame(3, "g").with_columns(
        pl.Series("sexist.gold", ["sexist", "not sexist", "sexist"]),
        pl.Series("category.gold", ["2. derogation", "none", "animosity"]),
    )
    with store.write() as db:
        made = project_creation.create_project(
            db, plan(SCREENED), by=events.SHELL, posts_in=[frame(5)], files={"gold.csv": gold}
        )
        rows = items.of_phase(db, made.phases[0].id)
    assert [row.gold for row in rows] == [
        {"sexist": ("sexist",), "category": ("derogation",)},
        {"sexist": ("not sexist",)},
        {"sexist": ("sexist",), "category": ("animosity",)},
    ]
    for files, said in (
        ({}, "was not given"),
        ({"gold.csv": frame(3, "g")}, "needs its right answers"),
        ({"gold.csv": gold.with_columns(pl.lit("sexy").alias("sexist.gold"))}, "no label of 'sexist'"),
        ({"gold.csv": gold.rename({"sexist.gold": "sexst.gold"})}, "Did you mean 'sexist'"),
        ({"gold.csv": gold.with_columns(pl.lit("not sexist").alias("sexist.gold"))}, "don't fit"),
    ):
        again = plan(SCREENED.replace("name: s", "name: t"))
        with pytest.raises(UserError, match=said), store.write() as db:
            project_creation.create_project(db, again, by=events.SHELL, posts_in=[frame(5)], files=files)


def test_a_screening_from_the_pool_has_some_of_every_class():
    rare = ["sexist"] * 2 + ["not sexist"] * 98
    pool = frame(100).with_columns(pl.Series("sexist.gold", rare))
    asked = plan("name: s\npreset: edos\nphases: {screening: {posts: 10}}\n")
    dealt = allocate_posts(asked, load("edos"), [pool], {})
    classes = [gold["sexist"] for _, gold, _ in dealt["screening"]]
    assert len(classes) == 10
    assert classes.count(("sexist",)) == 2
    assert all(gold is None for _, gold, _ in dealt["main"])


def test_the_roster_has_accounts_at_once_and_others_by_invitation(store):
    text = "name: r\npreset: hatemoji-check\nroster:\n  - {login: ada, roles: [expert]}\n  - {login: lin@example.org}\n"
    with store.write() as db:
        ada = users.add(db, login="ada", name="Ada", role="expert", by=events.SHELL)
        boss = users.add(db, login="boss", name="Boss", role="admin", by=events.SHELL)
        made = project_creation.create_project(db, plan(text), by=boss.id)
    assert [login for login, _ in made.links] == ["lin@example.org"]
    with store.write() as db:
        assert {it.user: it.roles for it in members.of_project(db, "r")} == {ada.id: ("expert",), boss.id: ("manager",)}
        lin = invitations.accept(db, made.links[0][1], login="lin@example.org", name="Lin", password_hash="x")
        assert members.get(db, "r", lin.id).roles == ("annotator",)


def test_batches_share_the_posts_and_name_people_on_the_roster(store):
    text = """
name: b
preset: hatemoji-check
phases: {validation: {batches: {north: {people: [ada]}, south: {people: [ada], posts: 3}}}}
roster: [{login: ada}]
"""
    with store.write() as db:
        ada = users.add(db, login="ada", name="Ada", role="annotator", by=events.SHELL)
        made = project_creation.create_project(db, plan(text), by=events.SHELL, posts_in=[frame(10)])
        batches = [item.batch for item in items.of_phase(db, made.phases[0].id)]
    assert (batches.count("north"), batches.count("south")) == (7, 3)
    assert made.phases[0].settings["batches"]["north"]["people"] == [ada.id]
    pooled = text.replace("[ada]", "[trained]").replace("{login: ada}", "{login: ada, pool: trained}")
    with store.write() as db:
        made = project_creation.create_project(
            db, plan(pooled.replace("name: b", "name: d")), by=events.SHELL, posts_in=[frame(10)]
        )
    assert made.phases[0].settings["batches"]["north"]["people"] == ["trained"]
    with pytest.raises(UserError, match="'bob'"), store.write() as db:
        project_creation.create_project(
            db, plan(text.replace("[ada]", "[bob]").replace("name: b", "name: c")), by=events.SHELL
        )


def test_the_next_calibration_set_comes_from_the_posts_that_wait_and_stands_before_production(store):
    short = "name: ours\npreset: gmhp7k\nphases:\n  - {name: 2a, kind: calibration, posts: 3}\n"
    short += "  - {name: '3', kind: production, posts: rest, answers: 1}\n"
    with store.write() as db:
        made = project_creation.create_project(db, plan(short), by=events.SHELL, posts_in=[frame(10)])
        added = project_creation.next_set(db, made.project, made.phases[0], n=4, by=events.SHELL)
        found = phases.of_project(db, "ours")
        assert [(it.name, it.size) for it in found] == [("2a", 3), ("2b", 4), ("3", 3)]
        assert added.settings == made.phases[0].settings
        left = {item.post for item in items.of_phase(db, found[2].id)}
        assert not left & {item.post for item in items.of_phase(db, added.id)}
        phases.open_phase(db, found[2].id, by=events.SHELL)
    with pytest.raises(UserError, match="No production phase waits"), store.write() as db:
        project_creation.next_set(db, made.project, made.phases[0], n=1, by=events.SHELL)


@pytest.mark.parametrize(
    "column",
    [
        pl.Series("severity", [3 if i < 5 else 0 for i in range(50)]),
        pl.Series("meta", ['{"severity": 2}' if i < 5 else None for i in range(50)]),
        pl.Series("category.label", ["threats, plans to harm and incitement" if i < 5 else None for i in range(50)]),
    ],
    ids=lambda it: it.name,
)
def test_hard_posts_are_spread_out(store, column):
    with store.write() as db:
        asked = plan("name: s\npreset: edos\nphases: {screening: {posts: 0}}\n")
        made = project_creation.create_project(db, asked, by=events.SHELL, posts_in=[frame(50).with_columns(column)])
        keys = [item.post for item in items.of_phase(db, made.phases[1].id)]
        shown = posts.public_ids(db, keys)
        order = [shown[key] for key in keys]
    places = [place for place, post in enumerate(order) if post in {f"p{i:03}" for i in range(5)}]
    assert len(places) == 5
    assert min(later - earlier for earlier, later in itertools.pairwise(places)) >= 4


@pytest.mark.parametrize(
    ("name", "taken", "after"),
    [("2a", [], "2b"), ("2a", ["2b"], "2c"), ("set 9", [], "set 10"), ("more", [], "more-2"), ("calib", [], "calib-2")],
)
def test_the_next_set_has_the_next_name(name, taken, after):
    assert project_creation.next_name(name, taken) == after
