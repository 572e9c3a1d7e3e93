"""Keys for one project: what they open, the walls around it, their quotas, the page and the shell that make them."""

from __future__ import annotations

import re
from typing import Any

import pytest
from test_routes import lines
from typer.testing import CliRunner

from davy.annotation.labelling.store import annotations
from davy.annotation.project.store import members, phases
from davy.core.errors import UserError
from davy.people.store import keys
from davy.shell.app import app
from davy.store import events
from two_projects import SECRET, fill, fill_rooms
from web_site import Site, post

GREEN, BLUE = SECRET["p"], SECRET["q"]
COMMENT = {"comment": {"text": "hi"}, "requestedAttributes": {"TOXICITY": {}}}
NONSENSE = [{"per_day": "²"}, {"per_day": "0"}, {"days": "1"}, {"scope": "admin"}, {"scope": ""}]


@pytest.fixture
def ids(site: Site) -> dict[str, Any]:
    return fill(site)


def make_key(site: Site, who: str = "manager", *, project: str | None = "p", scopes=("read", "annotate"), **more):
    with site.store.write() as db:
        return keys.create(
            db, name="bot", owner=site.people[who].id, scopes=scopes, by="shell", project=project, **more
        )


def ask(site: Site, path: str, secret: str, body: Any = None):
    headers = {"Authorization": f"Bearer {secret}", "accept": "application/json"}
    client = site.visitor(address="203.0.113.99")
    return client.get(path, headers=headers) if body is None else client.post(path, json=body, headers=headers)


def test_a_key_reads_its_project_and_not_another(site, ids):
    _, secret = make_key(site)
    got = ask(site, "/api/projects/p/posts", secret).json()
    assert got["posts"][0] == {"id": "1", "text": GREEN, "lang": None, "results": {"hate": ["hateful"]}}
    results = ask(site, "/api/projects/p/results", secret)
    assert GREEN not in results.text
    assert results.json()["posts"][0] == {"id": "1", "results": {"hate": ["hateful"]}}
    assert ask(site, "/api/projects/p", secret).json()["name"] == "p"
    for path in ("", "/posts", "/results"):
        refused = ask(site, f"/api/projects/q{path}", secret)
        assert refused.status_code == 403
        assert BLUE not in refused.text


def test_pages_of_posts_go_on_after_the_last_id(site, ids):
    _, secret = make_key(site)
    first = ask(site, "/api/projects/p/results?limit=1", secret).json()
    second = ask(site, f"/api/projects/p/results?limit=1&after={first['next']}", secret).json()
    assert [it["id"] for it in (*first["posts"], *second["posts"])] == ["1", "2"]


def test_even_an_admin_who_is_in_both_projects_has_a_key_for_one(site, ids):
    _, secret = make_key(site, "admin")
    assert ask(site, "/api/projects/p/results", secret).status_code == 200
    assert ask(site, "/api/projects/q/results", secret).status_code == 403


def test_no_other_route_is_open_to_a_key_of_a_project(site):
    """Every route of the app is tried with an admin's key for `p`; only p's API, and what needs no key, answers."""
    values = fill_rooms(site)
    _, secret = make_key(site, "admin", limits=keys.KeyLimits(per_minute=1_000_000))
    for number, (method, path, marks) in enumerate(lines()):
        if marks[0] == "+" or path.startswith("/api/projects/{project_id}"):
            continue
        wanted = re.sub(r"\{(\w+)(:path)?\}", lambda it: values.get(it[1], "none"), path)
        client = site.visitor(address=f"203.0.113.{number % 250}")
        headers = {"Authorization": f"Bearer {secret}"}
        text = {"text": "hi"} if path.startswith("/v1/") else {"comment": {"text": "hi"}, "requestedAttributes": {}}
        got = (
            client.get(wanted, headers=headers) if method == "GET" else client.post(wanted, headers=headers, json=text)
        )
        assert got.status_code in (303, 401, 403), (method, path, got.status_code)


def test_a_key_loses_with_its_owner_what_the_owner_loses(site, ids):
    _, secret = make_key(site, "expert")
    assert ask(site, "/api/projects/p/results", secret).status_code == 200
    sent = {"phase": ids["phase of p"], "posts": [{"id": "9", "text": "a lamp"}]}
    assert ask(site, "/api/projects/p/posts", secret, sent).status_code == 403  # experts add no posts
    with site.store.write() as db:
        members.set_roles(db, "p", site.people["expert"].id, ["annotator"], by="shell")
    assert ask(site, "/api/projects/p/results", secret).status_code == 403
    with site.store.write() as db:
        members.leave(db, "p", site.people["expert"].id, by="shell")
    assert ask(site, "/api/projects/p", secret).status_code == 403


def test_posts_come_in_once_and_all_or_none(site, ids):
    _, secret = make_key(site)
    sent = {"phase": ids["phase of p"], "posts": [{"id": "9", "text": "a lamp"}, {"id": "10", "text": "two lamps"}]}
    assert ask(site, "/api/projects/p/posts", secret, sent).json() == {"added": 2, "known": 0}
    assert ask(site, "/api/projects/p/posts", secret, sent).json() == {"added": 0, "known": 2}
    clash = {**sent, "posts": [{"id": "11", "text": "three"}, {"id": "9", "text": "another lamp"}]}
    refused = ask(site, "/api/projects/p/posts", secret, clash)
    assert (refused.status_code, "another text" in refused.text) == (409, True)
    listed = ask(site, "/api/projects/p/results", secret).json()["posts"]
    assert {it["id"] for it in listed} == {"1", "2", "9", "10"}


def test_a_program_labels_in_its_owners_name(site, ids):
    _, secret = make_key(site, "annotator", scopes=["annotate"])
    sheet = ask(site, "/api/projects/p/label", secret, {}).json()
    assert sheet["post"]["text"]
    path = f"/api/projects/p/label/{sheet['assignment']}"
    wrong = ask(site, path, secret, {"answers": {"hate": ["lukewarm"]}})
    assert wrong.status_code == 400
    answer = {"id": "abc123", "answers": {"hate": ["not hateful"]}, "seconds": 2.0}
    assert [ask(site, path, secret, answer).json() for _ in range(2)] == [{"annotation": "abc123"}] * 2
    with site.store.read() as db:
        kept = annotations.get(db, "abc123")
    assert (kept.annotator, kept.answers) == (site.people["annotator"].id, {"hate": ("not hateful",)})
    assert ask(site, "/api/projects/p/results", secret).status_code == 403  # no scope, and annotators see no verdicts


def test_nobody_labels_by_key_who_has_not_agreed_to_the_work(site, ids):
    with site.store.write() as db:
        members.add(db, "p", site.people["outsider"].id, ["annotator"], by="shell")
    _, secret = make_key(site, "outsider", scopes=["annotate"])
    refused = ask(site, "/api/projects/p/label", secret, {})
    assert (refused.status_code, "/projects/p/consent" in refused.text) == (403, True)


def test_posts_that_are_read_or_sent_count_towards_the_quota(site, ids):
    _, secret = make_key(site, limits=keys.KeyLimits(per_day=4))
    sent = {"phase": ids["phase of p"], "posts": [{"id": "9", "text": "a lamp"}]}
    assert ask(site, "/api/projects/p/posts", secret, sent).status_code == 200
    assert ask(site, "/api/projects/p/results", secret).status_code == 200  # three posts by now
    refused = ask(site, "/api/projects/p/results", secret)
    assert (refused.status_code, "retry-after" in refused.headers) == (429, True)


def test_a_key_for_a_project_is_made_for_its_people_with_its_scopes(site, ids):
    for who, scopes, words in (
        ("manager", ["score"], "can't have the scope 'score'"),
        ("outsider", ["read"], "is not in project 'p'"),
        ("left", ["read"], "is not in project 'p'"),
        ("manager of q", ["read"], "is not in project 'p'"),
    ):
        with pytest.raises(UserError, match=words):
            make_key(site, who, scopes=scopes)


def test_a_manager_makes_sees_and_revokes_keys_on_a_page(site, ids):
    client = site.as_("manager")
    form = {"name": "nightly", "scope": ["read"], "days": "30", "per_day": "50", "per_minute": ""}
    made = post(client, "/projects/p/keys", form, page="/projects/p/keys")
    secret = re.search(r"davy_\w+_[\w-]+", made.text)[0]
    assert ask(site, "/api/projects/p/results", secret).status_code == 200
    page = client.get("/projects/p/keys").text
    assert "nightly" in page
    assert secret not in page
    with site.store.read() as db:
        (key,) = keys.list_keys(db, project="p")
        assert (key.project, key.per_day, key.scopes) == ("p", 50, ("read",))
        made_event = events.latest(db, about=f"key {key.id}")[0]
    assert (made_event.what, made_event.details["project"]) == ("key created", "p")
    other = site.as_("manager of q")
    assert post(other, f"/projects/q/keys/{key.id}/revoke", page="/projects/q/keys").status_code == 404
    assert post(client, f"/projects/p/keys/{key.id}/revoke", page="/projects/p/keys").status_code == 303
    assert ask(site, "/api/projects/p/results", secret).status_code == 401


def test_the_page_of_ones_own_keys_names_the_project_that_a_key_is_for(site, ids):
    make_key(site)
    make_key(site, project=None, scopes=("score",))
    shown = site.as_("admin").get("/keys").text
    assert shown.count("for “Test cases with emoji, as HatemojiCheck” alone") == 1


@pytest.mark.parametrize("wrong", NONSENSE)
def test_a_form_with_nonsense_is_told_so(site, ids, wrong):
    form = {"name": "bot", "scope": "read", "days": "30", "per_day": "", "per_minute": "", **wrong}
    got = post(site.as_("manager"), "/projects/p/keys", form, page="/projects/p/keys")
    assert 400 <= got.status_code < 500


def test_the_shell_makes_a_key_for_a_project(site, ids):
    database = ["--database", site.settings.database]
    create = ["key", "create", "--project", "p", "--scope", "read", "--per-day", "9", *database]
    told = CliRunner().invoke(app, create)
    assert told.exit_code != 0
    done = CliRunner().invoke(app, [*create, "--owner", "manager@example.org"])
    assert done.exit_code == 0, done.output
    assert ask(site, "/api/projects/p/results", done.stdout.strip().splitlines()[-1]).status_code == 200
    listed = CliRunner().invoke(app, ["key", "list", "--json", *database])
    assert '"project": "p"' in listed.output


def test_a_key_without_a_project_reads_those_of_its_owner(site, ids):
    _, secret = make_key(site, "manager of q", project=None)
    assert ask(site, "/api/projects/q/results", secret).status_code == 200
    assert ask(site, "/api/projects/p/results", secret).status_code == 403
    assert ask(site, "/api/projects/none/results", secret).status_code == 403
    with site.store.read() as db:
        assert phases.of_project(db, "q")
