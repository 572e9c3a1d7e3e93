"""The pages that close a round and tell the story so far."""

from __future__ import annotations

import re

import pytest

from davy.annotation.project.store import members
from davy.jobs import store as jobs
from davy.people.store import users
from davy.rounds.close_round import CloseSettings, close_project_round
from davy.rounds.jobs import CLOSE_ROUND
from davy.rounds.store import rounds
from davy.web.i18n import Translator
from round_project import HARMLESS, HATEFUL, RoundBench, make_round
from web_site import Site, post

FORM = {"architecture": "tfidf", "times": "1"}


@pytest.fixture
def bench(site: Site) -> RoundBench:
    """A project with a round, and its manager."""
    made = make_round(site.store)
    with site.store.write() as db:
        site.people["mo"] = users.add(db, login="mo", name="mo", role="annotator", by="shell")
        members.add(db, "duel", site.people["mo"].id, ["manager"], by="shell")
        for name, member in made.people.items():
            site.people[name] = users.get(db, member.user)
            members.consent(db, "duel", member.user)
    return made


def play(bench: RoundBench, n: int = 30) -> None:
    for i in range(n):
        yes = i % 2 == 0
        text = f"{'wuzzle grumblefop' if yes else 'lovely garden'} {i * 7919} number {i} {'🐍' if yes else '🌻'}"
        answers = HATEFUL if yes else HARMLESS
        words = f"{chr(97 + i % 26) * 12} {text} {chr(97 + i * 3 % 26) * 9}"  # near duplicates would be refused
        bench.enter("ada", words, answers, said="not hateful", seconds=30.0, strategy="irony or mockery")
        for name in ("bo", "cy"):
            bench.label(name, answers)


def test_a_manager_closes_a_round_and_the_job_makes_the_next_target(site: Site, bench, tmp_path):
    play(bench)
    mo = site.as_("mo")
    page = mo.get("/projects/duel/rounds/1/close").text
    assert "tfidf" in page
    assert "Close the round" in mo.get("/projects/duel/rounds/1").text
    answer = post(mo, "/projects/duel/rounds/1/close", FORM, page="/projects/duel/rounds/1/close")
    assert answer.status_code == 303, answer.text
    with site.store.read() as db:
        (job,) = jobs.latest(db, kind=CLOSE_ROUND, project="duel", limit=5)
        assert rounds.get(db, bench.round.id).state == "closing"
    assert job.arguments["times"] == [1]
    assert "goes on where it was" in mo.get("/projects/duel/rounds/1/close").text
    live = mo.get("/projects/duel/rounds/1/close", headers={"HX-Request": "true"})
    assert "HX-Refresh" not in live.headers
    assert 'hx-trigger="every 2s"' in live.text
    close_project_round(site.store, "duel", tmp_path, CloseSettings(times=(1,)), by="shell")
    closed = mo.get("/projects/duel/rounds/1/close").text
    assert "duel-target@" in closed
    assert 'class="warning few"' in closed  # it was chosen by few posts
    assert "How often people fool the target" in closed
    assert re.search(r'0\.50 <span class="quiet">.*?<td class="number">30</td>', closed, flags=re.S)
    listed = mo.get("/projects/duel/rounds").text
    (target,) = set(re.findall(r'value="(duel-target@[^"]*)" checked', listed))
    opening = {"target": target, "anyway": "a test"}
    refused = post(mo, "/projects/duel/rounds", opening, page="/projects/duel/rounds")
    assert refused.status_code == 422
    assert f"{target} was measured on" in refused.text
    assert re.search(f'value="{target}" checked', refused.text)
    ended = mo.get("/projects/duel/rounds/1/close", headers={"HX-Request": "true"})
    assert ended.headers["HX-Refresh"] == "true"
    with site.store.read() as db:
        assert [it.number for it in rounds.of_project(db, "duel")] == [1]
    assert "tfidf, emoji leave, ×1" in closed
    for path in ("1", "1/close"):  # what is closed offers no closing
        page = mo.get(f"/projects/duel/rounds/{path}").text
        assert "How it closed" in page
        assert "Close the round" not in page
    story = site.as_("ada").get("/projects/duel/rounds/story")
    assert story.status_code == 200
    for words in ("How often people fool the target", "Quality of the labels", "What the rounds are made of", "🐍"):
        assert words in story.text
    assert "wuzzle" not in story.text, "it shows no text"
    with site.store.write() as db:
        users.set_language(db, site.people["ada"].id, "de", by="shell")
        users.set_language(db, site.people["mo"].id, "de", by="shell")
        outcome = dict(rounds.get(db, bench.round.id).outcome)
        outcome |= {"incumbent": {"name": "old@1"}, "worse": [{"on": "emoji-de", "now": 0.5, "then": 0.9}]}
        rounds.set_state(db, bench.round.id, "closed", by="shell", outcome=outcome)
    closed = mo.get("/projects/duel/rounds/1/close").text
    assert "emoji-de: 0,500, davor 0,900" in closed
    assert ">Runde 1</a>" in closed
    assert Translator("de").table_word("this round's target") == "Ziel dieser Runde"
    german = site.as_("ada").get("/projects/duel/rounds/story").text
    for head in ("Runde", "Einträge vorher", "geprüft", "Wert", "R1: Anteil richtig", "oberes Viertel (s)"):
        assert f">{head}</th>" in german, head
    assert "Randolphs κ" in german


def test_entries_that_nobody_validated_ask_what_to_do(site: Site, bench):
    play(bench, 4)
    bench.enter("ada", "nobody has read this one yet, not one of them 🐍")
    mo = site.as_("mo")
    assert "One entry is not validated yet" in mo.get("/projects/duel/rounds/1/close").text
    answer = post(mo, "/projects/duel/rounds/1/close", FORM, page="/projects/duel/rounds/1/close")
    assert answer.status_code == 409
    assert "or tick that they are left out" in answer.text
    with site.store.read() as db:
        assert rounds.get(db, bench.round.id).state == "open"
    answer = post(
        mo, "/projects/duel/rounds/1/close", {**FORM, "pending": "drop"}, page="/projects/duel/rounds/1/close"
    )
    assert answer.status_code == 303


@pytest.mark.parametrize("ended", ["failed", "cancelled"])
def test_a_close_that_ended_early_begins_again_with_the_new_choices(site: Site, bench, ended):
    mo, page = site.as_("mo"), "/projects/duel/rounds/1/close"
    post(mo, page, FORM, page=page)
    with site.store.write() as db:
        (job,) = jobs.latest(db, kind=CLOSE_ROUND, project="duel", limit=5)
        if ended == "failed":
            jobs.fail(db, jobs.lease(db, [CLOSE_ROUND], worker="w", seconds=60), "no room on the disk")
        else:
            jobs.ask_cancel(db, job.id, by="shell")
    assert post(mo, page, {**FORM, "times": "5"}, page=page).status_code == 303
    with site.store.read() as db:
        (again,) = jobs.latest(db, kind=CLOSE_ROUND, project="duel", limit=5)
    assert (again.id, again.state, again.arguments["times"]) == (job.id, "waiting", [5])


@pytest.mark.parametrize("form", [{"times": "1"}, {**FORM, "times": "3"}, {**FORM, "architecture": "../../etc"}])
def test_a_choice_that_was_not_offered_is_refused(site: Site, bench, form):
    answer = post(site.as_("mo"), "/projects/duel/rounds/1/close", form, page="/projects/duel/rounds/1/close")
    assert answer.status_code == 422


def test_only_managers_close_and_the_story_of_nothing_says_so(site: Site, bench):
    assert site.as_("ada").get("/projects/duel/rounds/1/close").status_code in (403, 404)
    assert "It begins with the first entry" in site.as_("ada").get("/projects/duel/rounds/story").text
