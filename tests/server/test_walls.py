"""Walls between projects: what one project has is not seen, copied or changed from another."""

from __future__ import annotations

import polars as pl
import pytest

from davy.annotation.project.store import members, messages, posts, projects
from davy.jobs import store as jobs
from two_projects import SECRET, fill
from web_site import post

WHITE, GREEN, BLUE = SECRET[None], SECRET["p"], SECRET["q"]


@pytest.fixture
def ids(site):
    return fill(site)


@pytest.mark.parametrize(
    ("who", "shelves"),
    [
        ("outsider", {}),
        ("left", {}),
        ("wellbeing", {}),
        ("annotator", {"p": GREEN}),
        ("expert", {"p": GREEN}),
        ("manager", {"p": GREEN}),
        ("server expert", {"": WHITE}),
        ("manager of q", {"": WHITE, "q": BLUE}),
        ("admin", {"": WHITE, "p": GREEN, "q": BLUE}),
    ],
)
def test_posts_are_browsed_by_those_who_work_with_them(site, ids, who, shelves):
    client = site.as_(who)
    for project in ("", "p", "q"):
        page = client.get(f"/posts?project={project}")
        if project and project not in shelves:
            assert page.status_code == 403
        for name, words in SECRET.items():
            own = shelves.get(project) or next(iter(shelves.values()), None)
            assert (words in page.text) == (page.status_code == 200 and words == own), (project, name)


def test_an_annotator_sees_no_verdicts_of_the_posts_to_label(site, ids):
    assert "hateful" in site.as_("expert").get("/posts?project=p").text
    client = site.as_("annotator")
    page = client.get("/posts?project=p").text
    assert GREEN in page
    assert "hateful" not in page
    assert GREEN in client.get("/posts?project=p&label=not hateful").text  # a label filters nothing for them


def test_hidden_posts_are_seen_by_those_who_run_the_project(site, ids):
    with site.store.write() as db:
        posts.set_hidden(db, "p", ["1"], hidden=True, by="shell")
        posts.set_hidden(db, None, ["1"], hidden=True, by="shell")
        messages.ask(db, "p", "What about it?", by=site.people["annotator"].id, post=posts.find_key(db, "p", "1"))
    assert '<span class="tag">Hidden</span>' in site.as_("manager").get("/posts?project=p").text
    for who, sees in (("annotator", False), ("expert", False), ("manager", True), ("admin", True)):
        client = site.as_(who)
        assert (GREEN in client.get("/posts?project=p").text) == sees, who
        if who != "annotator":
            assert (GREEN in client.get("/projects/p/verdicts").text) == sees, who
        if who != "admin":
            assert (GREEN in client.get("/projects/p/channel").text) == sees, who
            assert GREEN not in client.get("/projects/p/coding?show=all").text
    assert WHITE not in site.as_("server expert").get("/posts").text
    coded = post(site.as_("annotator"), "/projects/p/coding/posts", {"name": "Soup", "post": "1"})
    assert coded.status_code == 404


def test_a_code_takes_only_posts_of_its_own_project(site, ids):
    client = site.as_("annotator")
    with site.store.write() as db:
        posts.ensure(db, pl.DataFrame({"id": ["only-q"], "text": [BLUE]}), project="q", by="shell")
        key = posts.find_key(db, "q", "only-q")
    for foreign in ("only-q", key):
        for fields in ({"code": ids["code of p"]}, {"name": "Soup"}):
            sent = {**fields, "post": foreign}
            answer = post(client, "/projects/p/coding/posts", sent, headers={"HX-Request": "true"})
            assert answer.status_code == 404
            assert BLUE not in answer.text
        assert client.get(f"/projects/p/channel?post={foreign}").status_code == 404
        assert post(client, "/projects/p/channel/ask", {"text": "Hm?", "post": foreign}).status_code == 404


def test_a_project_from_the_shelf_takes_nothing_of_other_projects(site, ids):
    form = {"start": "scheme:hate", "name": "fresh", "title": "Fresh", "posts": "store", "lang": ""}
    client = site.as_("server expert")
    assert post(client, "/projects/new/upload", form, page="/projects/new").status_code == 303
    with site.store.read() as db:
        assert [it["text"].to_list() for it in posts.frames(db, project="fresh")] == [[WHITE]]


def test_a_guideline_is_published_in_one_project_alone(site, ids):
    form = {"text.en": "# Sign in again", "text.de": "", "changes": "please look", "again": "none"}
    page = "/projects/q/guideline/new"
    assert post(site.as_("manager of q"), page, form, page=page).status_code == 303
    with site.store.read() as db:
        assert projects.guidelines_of(db, "q")[-1].changes == "please look"
        assert messages.threads(db, "p") == []
    for path in ("guideline", "label", "channel"):
        assert "Sign in again" not in site.as_("annotator").get(f"/projects/p/{path}").text
        assert "please look" not in site.as_("annotator").get(f"/projects/p/{path}").text


@pytest.mark.parametrize(("who", "sees"), [("admin", True), ("manager of q", False), ("server expert", False)])
def test_jobs_are_seen_and_cancelled_by_those_who_run_the_project_or_started_them(site, ids, who, sees):
    job = ids["job of p"]
    client = site.as_(who)
    assert (job in client.get("/jobs").text) == sees
    assert (job in client.get("/api/jobs").text) == sees
    assert client.get(f"/jobs/{job}").status_code == (200 if sees else 404)
    assert post(client, f"/jobs/{job}/cancel").status_code == (303 if sees else 404)
    with site.store.read() as db:
        assert jobs.get(db, job).state == ("cancelled" if sees else "waiting")


def test_a_server_expert_sees_their_own_jobs_and_those_of_projects_they_manage_without_others_names(site, ids):
    with site.store.write() as db:
        own = jobs.enqueue(db, "none", {}, owner=site.people["server expert"].id).id
        members.add(db, "p", site.people["server expert"].id, ["manager"], by="shell")
        theirs = jobs.enqueue(db, "none", {}, owner=site.people["manager"].id, project="p").id
    page = site.as_("server expert").get("/jobs").text
    assert own in page
    assert theirs in page
    assert "Real Name of manager" not in page


def test_posts_are_hidden_from_the_shell(site, ids, tmp_path):
    from davy.shell.app import run

    (tmp_path / "ids.txt").write_text("1\n\n")
    database = ["--database", site.settings.database]
    assert run(["project", "hide", "p", str(tmp_path / "ids.txt"), "2", *database]) == 0
    assert GREEN not in site.as_("annotator").get("/posts?project=p").text
    assert run(["project", "hide", "p", "1", "--undo", *database]) == 0
    assert GREEN in site.as_("annotator").get("/posts?project=p").text
    assert run(["project", "hide", "p", "nowhere", *database]) == 2
