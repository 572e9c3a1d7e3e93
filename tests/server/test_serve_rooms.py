"""Keys, jobs, audit, account, posts, health and metrics: what each page does."""

from __future__ import annotations

import re

import pytest

import exchange_case
from davy.annotation.project.store import posts, projects
from davy.core import Post
from davy.jobs import store as jobs
from davy.jobs.kinds import job_kinds
from davy.people.store import keys
from davy.runs.jobs.training import TRAIN
from davy.web.i18n import LANGUAGES, Translator
from web_site import make_key, post


def test_a_key_is_shown_once_works_and_can_be_revoked(site):
    client = site.as_("expert")
    answer = post(client, "/keys", {"name": "forum bot", "scope": "score", "days": "30"}, page="/keys")
    secret = answer.text.partition('id="key-secret">')[2].partition("<")[0]
    assert secret.startswith("davy_")
    assert secret not in client.get("/keys").text
    bearer = {"authorization": f"Bearer {secret}"}
    assert site.visitor(**bearer).post("/v1/score", json={"text": "a"}).status_code == 200
    with site.store.read() as db:
        key = keys.list_keys(db)[0]
    assert key.used_at is not None
    post(client, f"/keys/{key.id}/revoke")
    assert site.visitor(**bearer).post("/v1/score", json={"text": "a"}).status_code == 401
    assert "revoked" in client.get("/keys").text


def test_a_key_needs_a_name_and_a_scope_that_there_is(site):
    client = site.as_("expert")
    for data in ({"name": "", "scope": "score"}, {"name": "x"}, {"name": "x", "scope": "fly"}):
        answer = post(client, "/keys", {"days": "", **data})
        assert answer.status_code == 400
        assert 'role="alert"' in answer.text
    assert post(client, "/keys", {"name": "x", "scope": "score", "days": "9999"}).status_code == 400


def test_jobs_show_their_state_and_can_be_cancelled(site):
    with site.store.write() as db:
        job = jobs.enqueue(db, kind="count lamps", arguments={}, owner=site.people["expert"].id)
    client = site.as_("expert")
    listed = client.get("/jobs").text
    assert "count lamps" in listed
    assert 'hx-trigger="every 2s"' in listed
    part = client.get("/jobs", headers={"hx-request": "true"}).text
    assert "<html" not in part
    assert post(client, f"/jobs/{job.id}/cancel").headers["location"] == f"/jobs/{job.id}"
    html = client.get(f"/jobs/{job.id}").text
    assert "cancelled" in html
    assert "every 2s" not in html
    assert client.get("/api/jobs").json()[0]["state"] == "cancelled"
    assert post(client, f"/jobs/{job.id}/cancel").status_code == 409


def test_jobs_are_told_apart_by_what_they_do_and_for_which_project_in_both_languages(site):
    exchange_case.fill(site.store)
    with site.store.write() as db:
        job = jobs.enqueue(db, kind=TRAIN, arguments={}, owner=site.people["expert"].id, project="tea-1")
        title = projects.get(db, "tea-1").title
    client = site.as_("expert")
    for path in ("/jobs", f"/jobs/{job.id}"):
        page = client.get(path).text
        assert "train a detector" in page
        assert title in page
    post(client, "/language", {"lang": "de", "next": "/"})
    assert "Detektor trainieren" in client.get("/jobs").text


def test_every_kind_of_job_has_words(site):
    for lang in LANGUAGES:
        assert not [kind for kind in job_kinds() if not Translator(lang).has(f"jobs.does.{kind.replace(' ', '_')}")]


def test_empty_pages_say_what_to_do_first(site):
    client = site.as_("admin")
    assert "Jobs appear here when" in client.get("/jobs").text
    assert "Make one above" in client.get("/keys").text
    assert "davy collect" in client.get("/posts").text


def test_the_audit_has_every_change_with_who_did_it(site):
    client = site.as_("admin")
    post(client, "/people/invite", {"login": "", "role": "expert", "days": "7"})
    post(client, f"/people/{site.people['annotator'].id}/disable")
    html = client.get("/audit").text
    assert "invitation created" in html
    assert "user disabled" in html
    assert "admin person" in html
    found = client.get("/api/events").json()
    assert found[0]["what"] == "user disabled"
    assert site.as_("expert").get("/api/events").status_code == 403


def test_the_account_page_saves_the_language_and_how_words_are_shown(site):
    client = site.as_("expert")
    assert post(client, "/account", {"lang": "de", "plain": "yes"}).status_code == 303
    html = client.get("/account").text
    assert "Gespeichert." in html
    assert 'value="yes" checked' in html
    assert post(client, "/account", {"lang": "xx", "plain": "yes"}).status_code == 400


def test_a_wrong_current_password_changes_nothing(site):
    client = site.as_("expert")
    new = "eight new candles"
    answer = post(client, "/account/password", {"current": "wrong", "password": new, "again": new})
    assert (answer.status_code, "not your current password" in answer.text) == (403, True)


def test_other_sessions_are_listed_and_can_be_ended(site):
    here, there = site.as_("expert"), site.as_("expert", **{"user-agent": "Mozilla/5.0 (X11; Linux) Firefox/140.0"})
    html = here.get("/account").text
    link = html.partition('action="/account/sessions/')[2].partition('"')[0]
    post(here, f"/account/sessions/{link}")
    assert (here.get("/account").status_code, there.get("/account").status_code) == (200, 303)


def test_posts_are_masked_filtered_and_paged(site):
    with site.store.write() as db:
        for number in range(60):
            row = Post(f"p{number:03d}", f"post {number}", "de" if number % 2 else "en")
            posts.add(db, row, project=None, by="shell")
    client = site.as_("expert")
    first = client.get("/posts").text
    assert "60 posts" in first
    assert "post 49" in first
    assert "post 50" not in first
    link = first.partition('class="button" href="')[2].partition('"')[0].replace("&amp;", "&")
    assert "post 59" in client.get(link).text
    german = client.get("/posts?lang=de").text
    assert "30 Beiträge" in german or "30 posts" in german
    assert "post 2<" not in german
    for odd in ("lang=%00", "label=%25", "label=%22", "kind=x", "after=~~~", f"label={'x' * 301}"):
        assert client.get(f"/posts?{odd}").status_code in (200, 400, 422), odd


def test_a_large_collection_is_not_counted_to_the_end(site, monkeypatch):
    from davy.annotation.project.store import post_pages

    monkeypatch.setattr(post_pages, "MOST", 3)
    with site.store.write() as db:
        for number in range(5):
            posts.add(db, Post(f"p{number}", "text"), project=None, by="shell")
    assert "3 posts or more" in site.as_("expert").get("/posts").text


def test_healthz_is_well_and_says_so_when_it_is_not(site):
    answer = site.visitor().get("/healthz")
    assert answer.status_code == 200
    assert answer.json()["database"] == "ok"
    assert answer.json()["model"]["name"].startswith("keywords:")
    database = site.settings.database.removeprefix("sqlite:///")
    site.store.engine.dispose()
    with open(database, "r+b") as file:
        file.write(b"not a database any more, sorry" * 200)
    assert site.visitor().get("/healthz").status_code == 503


def test_monitors_that_ask_only_for_the_head_get_it(site):
    for path in ("/", "/healthz"):
        answer = site.visitor().head(path)
        assert (answer.status_code, answer.content) == (200, b"")


def test_metrics_count_without_texts_tokens_or_paths(site):
    post(site.as_("admin"), "/score", {"text": "a very private sentence"})
    site.visitor().get("/invitation/secret-token")
    site.visitor().get("/made-up-path")
    assert site.visitor().get("/metrics").status_code == 401
    answer = site.as_("admin").get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    route = '{method="GET",route="/invitation/{token}",status="404",worker="0"}'
    assert f"davy_requests_total{route} 1" in answer.text
    assert re.search(r'davy_texts_scored_total\{model="keywords:[^"]+"\} 1\n', answer.text)
    for secret in ("private", "secret-token", "made-up-path"):
        assert secret not in answer.text


def test_metrics_are_in_the_form_that_prometheus_reads(site):
    text = site.as_("admin").get("/metrics").text
    line = re.compile(r'^[a-z_]+(\{([a-z]+="(\\.|[^"\\])*",?)*\})? [0-9.e+-]+$')
    assert all(line.match(it) for it in text.splitlines() if not it.startswith("#"))


def test_a_key_of_the_scope_metrics_reads_them_and_nothing_else(site):
    _, secret = make_key(site, scopes=("metrics",))
    _, other = make_key(site, scopes=("score",))
    asked = site.visitor(authorization=f"Bearer {secret}", accept="application/json")
    assert "davy_worker_up" in asked.get("/metrics").text
    assert asked.post("/v1/score", json={"text": "a day"}).status_code == 403
    refused = site.visitor(authorization=f"Bearer {other}", accept="application/json").get("/metrics")
    assert (refused.status_code, "no scope 'metrics'" in refused.json()["error"]) == (403, True)


def test_probes_are_not_counted(site):
    for path in ("/healthz", "/readyz", "/metrics", "/"):
        site.as_("admin").get(path)
    text = site.as_("admin").get("/metrics").text
    assert 'route="/"' in text
    assert not any(f'route="{path}"' in text for path in ("/healthz", "/readyz", "/metrics"))
    assert 'davy_jobs{state="waiting"} 0' in text


@pytest.mark.parametrize(("agent", "shown"), [
    ("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0 Safari/537.36", "Chrome, Linux"),
    ("Mozilla/5.0 (Windows NT 10.0) Gecko/20100101 Firefox/140.0", "Firefox, Windows"),
    ("Mozilla/5.0 (iPhone; CPU iPhone OS 18) Version/18.0 Safari/604.1", "Safari, iPhone"),
    ("curl/8.5.0", "curl/8.5.0"), ("", "?"), ("x" * 500, "x" * 40),
])  # fmt: skip
def test_browsers_are_named_as_people_know_them(agent, shown):
    from davy.people.pages.sign_in import _shown_client

    assert _shown_client(agent) == shown
