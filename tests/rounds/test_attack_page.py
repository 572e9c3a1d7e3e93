"""The attacker's page: who may open it, an attack from start to proposals, what is recorded, what exports demand."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from davy.annotation.exchange.data_statement import RELEASE_TERMS
from davy.annotation.labelling.store import items
from davy.annotation.project import project_creation, project_file
from davy.annotation.project.store import members, phases, posts
from davy.core import Post
from davy.detectors import store as detectors
from davy.detectors.load import load
from davy.jobs import store as jobs
from davy.rounds.open_round import open_round
from davy.rounds.round import ADVERSARIAL
from davy.rounds.store import round_seeds, rounds
from davy.store import events
from web_site import Site, post

TEXTS = "Grumblefop women should kill the lamps\nA lamp is a lamp"
ATTACK = "/projects/duel/attack"


@pytest.fixture
def duel(site: Site, words_file: Path) -> Site:
    """A project with an open round against a word list; the annotator has the role for adversarial texts."""
    source = f"keywords:{words_file}"
    version = load(source).version
    with site.store.write() as db:
        detectors.add(db, name="words", version=version, source=source, questions=["hate"], by="shell")
        plan = project_file.parse_plan(b"name: duel\npreset: rounds\n", "rounds.yaml")
        project = project_creation.create_project(db, plan, by="shell").project
        roles = {"admin": ["manager"], "expert": ["manager", "adversarial"], "annotator": ["annotator", "adversarial"]}
        for person, given in roles.items():
            members.add(db, "duel", site.people[person].id, given, by="shell")
            members.consent(db, "duel", site.people[person].id)
        open_round(db, project, targets=[f"words@{version}"], by="shell", anyway="a test")
    return site


def attacked(site: Site, person: str = "annotator", **form: str) -> jobs.Job:
    """Start an attack on the page and wait until it is done."""
    client = site.as_(person)
    with site.store.read() as db:
        target = rounds.current(db, "duel").targets[0]
    sent = post(client, ATTACK, {"target": target, "texts": TEXTS, "tries": "2", **form}, page=ATTACK)
    assert sent.status_code == 303, sent.text
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with site.store.read() as db:
            job = jobs.latest(db, kind="attack a target", project="duel", limit=1)[0]
        if job.state not in ("waiting", "running"):
            return job
        time.sleep(0.05)
    raise AssertionError("the attack did not end")


def recorded(site: Site) -> list[str]:
    with site.store.read() as db:
        return [event.what for event in events.latest(db, about="project duel")]


def test_neither_a_manager_nor_an_admin_opens_the_page_without_the_role(duel):
    manager = duel.as_("admin")
    assert manager.get(ATTACK).status_code == 403
    assert ATTACK not in manager.get("/projects/duel").text
    assert duel.as_("annotator").get(ATTACK).status_code == 200


def test_an_attack_lists_what_got_through_masked_with_the_terms_and_is_recorded(duel):
    job = attacked(duel)
    assert job.state == "done", job.error
    assert job.result["seeds"] == 2
    assert job.result["proposals"] >= 1
    assert "texts" not in job.arguments, "the texts lie in a file, not in the job's row"
    page = duel.as_("annotator").get(ATTACK).text
    assert "Release terms" in page
    assert "gr*mblefop" in page.lower() or 'class="masked-text"' not in page
    assert "attack started" in recorded(duel)


def test_the_file_carries_the_terms_and_each_fetch_is_recorded(duel):
    job = attacked(duel)
    answer = duel.as_("annotator").get(f"{ATTACK}/{job.id}/proposals.jsonl")
    rows = [json.loads(line) for line in answer.text.splitlines()]
    assert rows
    assert {row["release_terms"] for row in rows} == {RELEASE_TERMS}
    assert answer.headers["content-disposition"].startswith("attachment")
    assert "adversarial export fetched" in recorded(duel)
    assert duel.as_("admin").get(f"{ATTACK}/{job.id}/proposals.jsonl").status_code == 403
    assert duel.as_("annotator").get(f"{ATTACK}/{job.id}/seeds.jsonl").status_code == 404


def test_chosen_proposals_wait_in_the_round_for_people_and_once_each(duel):
    job = attacked(duel)
    client = duel.as_("annotator")
    for _ in range(2):
        sent = post(client, f"{ATTACK}/{job.id}/propose", {"proposal": ["0"]}, page=ATTACK)
        assert sent.status_code == 303
    with duel.store.read() as db:
        round_ = rounds.current(db, "duel")
        assert round_seeds.counts(db, round_.id) == {"proposal": 1}
        seed = round_seeds.next_seed(db, round_, "proposal", duel.people["annotator"].id)
        kept = posts.get(db, posts.find_key(db, "duel", seed.id))
    assert kept.source.name == "attacker"
    assert kept.source.licence == ADVERSARIAL
    assert seed.predictions[0].label == "not hateful"
    assert "proposals put into a round" in recorded(duel)


@pytest.mark.parametrize("form", [{"target": "words@0"}, {"tries": "99"}, {"tries": "x"}])
def test_bad_input_is_refused_and_nothing_starts(duel, form):
    client = duel.as_("annotator")
    with duel.store.read() as db:
        target = rounds.current(db, "duel").targets[0]
    sent = post(client, ATTACK, {"target": target, "texts": "a lamp", **form}, page=ATTACK)
    assert sent.status_code == 422
    nothing = post(client, ATTACK, {"target": target, "texts": " \n "}, page=ATTACK)
    assert nothing.status_code == 422
    assert "nothing to start from" in nothing.text
    with duel.store.read() as db:
        assert not jobs.latest(db, kind="attack a target", project="duel", limit=5)


def test_an_export_of_a_round_takes_the_role_and_is_recorded(duel):
    form = {"format": "long", "phases": ["round 1"], "table": "csv"}
    refused = post(duel.as_("admin"), "/projects/duel/exports", form, page="/projects/duel/exports")
    assert refused.status_code == 403
    assert "adversarial texts" in refused.text
    both = duel.as_("expert")
    assert post(both, "/projects/duel/exports", form, page="/projects/duel/exports").status_code == 303
    assert "adversarial export asked for" in recorded(duel)
    with duel.store.read() as db:
        job = jobs.latest(db, kind="export project", project="duel", limit=1)[0]
    assert duel.as_("admin").get(f"/projects/duel/exports/{job.id}/duel-long.csv").status_code == 403


def test_the_api_lists_entries_of_a_round_for_the_role_alone_and_records_it(duel):
    entry, other = "You are a gentle lamp", "A lamp that nobody attacked"
    with duel.store.write() as db:
        round_ = rounds.current(db, "duel")
        posts.add(db, Post("e", entry), project="duel", by="shell")
        posts.add(db, Post("o", other), project="duel", by="shell")
        items.add(db, phases.get(db, round_.phase), [("e", None, None)], by="shell")
    address = "/api/projects/duel"
    for path in ("posts", "results"):
        without = duel.as_("admin").get(f"{address}/{path}?limit=1").json()
        assert [it["id"] for it in without["posts"]] == ["o"]
    assert "adversarial posts fetched" not in recorded(duel)
    both = duel.as_("expert")
    assert [it["id"] for it in both.get(f"{address}/results").json()["posts"]] == ["e", "o"]
    assert both.get(f"{address}/posts?after=e").json()["posts"] == [
        {"id": "o", "results": {}, "text": other, "lang": None}
    ]
    assert "adversarial posts fetched" not in recorded(duel)  # no text of a round has left
    assert [it["text"] for it in both.get(f"{address}/posts").json()["posts"]] == [entry, other]
    with duel.store.read() as db:
        event = events.latest(db, about="project duel")[0]
    assert (event.what, event.by, event.details) == ("adversarial posts fetched", duel.people["expert"].id, {"n": 1})


def test_the_data_statement_of_a_round_has_the_release_terms(duel, tmp_path):
    from davy.annotation.exchange.exchange import ExportRequest, export_project

    statement = tmp_path / "statement.md"
    export_project(duel.store, ExportRequest("duel", "long", ("round 1",)), tmp_path / "out.csv", statement=statement)
    assert RELEASE_TERMS in " ".join(statement.read_text().split())
