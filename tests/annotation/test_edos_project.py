"""A whole project by the `edos` preset: a screening, three answers a post in every combination of splits, experts."""

from collections import Counter
from itertools import combinations_with_replacement

import polars as pl
import pytest

from davy.annotation.labelling import labelling, screening
from davy.annotation.labelling.store import items
from davy.annotation.project import project_creation, project_file
from davy.annotation.project.store import members, phases, posts
from davy.annotation.settling import expert_cases
from davy.annotation.settling.rules import applicable_verdicts
from davy.annotation.settling.store import cases, verdicts
from davy.core import UserError
from davy.people.store import users
from davy.schemes import load
from davy.store.columns import new_id

FILE = b"""
name: scripted
title: Scripted
preset: edos
phases: {screening: {posts: gold.csv}}
"""
SCHEME = load("edos")
VECTORS = {label.code: label for label in SCHEME.question("vector").labels}
OPTIONS = (None, "2.1", "2.2", "3.1", "4.1")
SPLITS = {f"p{n:02}": split for n, split in enumerate(combinations_with_replacement(OPTIONS, 3))}
TRUTHS = {post: OPTIONS[n % len(OPTIONS)] for n, post in enumerate(SPLITS)}
"""What the expert thinks of each post."""
GOLD = {"g0": "2.1", "g1": None}


def answers(code):
    """What somebody says who finds this vector in a post, or with None nothing sexist."""
    if code is None:
        return {"sexist": ("not sexist",)}
    label = VECTORS[code]
    return {"sexist": ("sexist",), "category": label.under, "vector": (label.name,)}


def by_the_paper(split, truth):
    """The rule in other words: which levels an expert labels, and what comes out if they always say `truth`."""
    asked = []
    sexist = split[0] is not None
    if len({code is None for code in split}) == 2:
        asked.append("sexist")
        sexist = truth is not None
    if not sexist:
        return asked, None
    codes = [code for code in split if code is not None]
    category, n = Counter(code[0] for code in codes).most_common(1)[0]
    if n < 2:
        asked.append("category")
        category = (truth or "3.1")[0]
    vectors = Counter(code for code in codes if code[0] == category).most_common(1)
    if vectors and vectors[0][1] >= 2:
        return asked, vectors[0][0]
    return [*asked, "vector"], said_beneath(category, truth)


def said_beneath(category, truth):
    """The vector that the expert chooses once the category is settled: their own, else the first there is."""
    return truth if truth and truth[0] == category else f"{category}.1"


def gold_rows():
    found = {"id": list(GOLD), "text": ["…"] * len(GOLD)}
    for question in ("sexist", "category", "vector"):
        found[f"{question}.gold"] = [next(iter(answers(code).get(question, ())), None) for code in GOLD.values()]
    return pl.DataFrame(found)


def make(store):
    """The project with three annotators and an expert."""
    with store.write() as db:
        people = {
            name: users.add(db, login=name, name=name, role="annotator", by="shell").id
            for name in ("ada", "bob", "cat", "xena")
        }
        plan = project_file.parse_plan(FILE, "scripted.yaml")
        posts = pl.DataFrame({"id": list(SPLITS), "text": ["…"] * len(SPLITS)})
        project = project_creation.create_project(
            db, plan, by="shell", posts_in=[posts], files={"gold.csv": gold_rows()}
        ).project
        for name, user in people.items():
            members.add(db, project.id, user, ["expert" if name == "xena" else "annotator"], by="shell")
            members.consent(db, project.id, user)
    return project, people


def label_all(store, project, people, says):
    """Let the annotators answer everything that they are given; return how many answers that took."""
    n = 0
    for place, name in enumerate(("ada", "bob", "cat")):
        while True:
            with store.write() as db:
                member = members.get(db, project.id, people[name])
                sheet = labelling.next_sheet(db, project, member)
                if sheet is None:
                    break
                labelling.save(db, sheet, answers(says(sheet.post.id, place)), annotation_id=new_id())
                n += 1
    return n


def test_the_edos_preset_adjudicates_exactly_the_posts_that_its_rules_name(store):
    project, people = make(store)
    with store.write() as db:
        first, main = phases.of_project(db, project.id)
        phases.open_phase(db, first.id, by="shell")
    assert label_all(store, project, people, lambda post, _: GOLD[post]) == 6
    with store.write() as db:
        phases.close_phase(db, first.id, by="shell")
        phases.open_phase(db, main.id, by="shell")
    assert label_all(store, project, people, lambda post, place: SPLITS[post][place]) == 3 * len(SPLITS)

    expected = {post: by_the_paper(split, TRUTHS[post]) for post, split in SPLITS.items()}
    with store.read() as db:
        found = cases.list_waiting(db, project.id, people["xena"], limit=100)
        waiting = {posts.get(db, it.post).id: it for it in found}
        states = {posts.get(db, it.post).id: it.state for it in items.iter_items(db, main.id)}
    assert {post: it.questions for post, it in waiting.items()} == {
        post: (asked[0],) for post, (asked, _) in expected.items() if asked
    }
    assert {post for post, state in states.items() if state == "settled"} == {
        p for p, (asked, _) in expected.items() if not asked
    }

    for post, case in waiting.items():
        settle_by_truth(store, project, people["xena"], case, TRUTHS[post], expected[post][0])
    with store.read() as db:
        for post, (asked, code) in expected.items():
            key = posts.find_key(db, project.id, post)
            found = verdicts.of_post(db, key, scheme="edos", version=1, project=project.id)
            kept = applicable_verdicts(SCHEME, found)
            assert {name: it.labels for name, it in kept.items()} == answers(code), post
            assert [name for name, it in kept.items() if it.basis == "expert"] == asked, post
        assert {it.state for it in items.iter_items(db, main.id)} == {"settled"}


def settle_by_truth(store, project, user, case, truth, asked):
    """Decide a case as an expert would who goes by `truth`: answering question by question what the page asks."""
    with store.write() as db:
        member = members.get(db, project.id, user)
        given = {}
        while True:
            here = expert_cases.open_case(db, project, member, case.id, SCHEME, given)
            if not here.missing:
                break
            name = here.missing[0]
            if name == "vector":
                settled = {it: verdict.labels for it, verdict in here.settled.items()}
                category = SCHEME.question("category").label(({**settled, **given})["category"][0]).code
                given["vector"] = (VECTORS[said_beneath(category, truth)].name,)
            elif name == "category":
                given["category"] = (VECTORS[truth or "3.1"].under[0],)
            else:
                given["sexist"] = answers(truth)["sexist"]
        assert list(given) == asked
        assert expert_cases.decide(db, project, case.id, member, SCHEME, given, "by the guideline") == "settled"


def test_a_screening_has_a_mark_on_every_level(store):
    project, people = make(store)
    with store.write() as db:
        phase, _ = phases.of_project(db, project.id)
        phases.open_phase(db, phase.id, by="shell")
    heard = ("2.1", "2.2", "3.1")  # all right; the wrong vector; the wrong category too
    label_all(store, project, people, lambda post, place: heard[place] if GOLD[post] else None)
    with store.read() as db:
        found = {it.user: it for it in screening.screening_results(db, project, phase, SCHEME)}
    reached = {name: [mark.reached for mark in found[people[name]].marks] for name in ("ada", "bob", "cat")}
    assert reached == {"ada": [True, True, True], "bob": [True, True, False], "cat": [True, False, False]}
    assert [found[people[name]].state for name in reached] == ["passed", "failed", "failed"]


@pytest.mark.parametrize("wrong", ["category", "category=high", "category=1.2"])
def test_a_mark_that_can_not_be_read_is_told(wrong):
    file = FILE.replace(b"{posts: gold.csv}", f"{{posts: gold.csv, pass: {{levels: ['{wrong}']}}}}".encode())
    with pytest.raises(UserError, match="question=accuracy"):
        project_file.parse_plan(file, "scripted.yaml")
