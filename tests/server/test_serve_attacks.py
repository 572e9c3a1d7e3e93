"""What an attacker would try against the forms, the pages and the headers."""

from __future__ import annotations

import logging
import re

import pytest

import challenge_case
from davy.annotation.project import project_creation, project_file
from davy.annotation.project.project import PROJECT_ROLES
from davy.annotation.project.store import members
from davy.challenges.store import teams
from davy.jobs import store as jobs
from davy.people.store import keys, sessions, users
from davy.server.routers import load_routers
from davy.store import events
from web_site import post, token_in

FORMS = (
    "/sign-in",
    "/sign-out",
    "/language",
    "/people/invite",
    "/people/x/disable",
    "/people/x/enable",
    "/people/x/end-sessions",
    "/people/x/new-password",
    "/people/invitations/x/revoke",
    "/account",
    "/account/password",
    "/confirm",
    "/account/sessions/x/end",
    "/keys",
    "/keys/x/revoke",
    "/jobs/x/cancel",
    "/score",
    "/invitation/x",
    "/new-password/x",
    "/invitation/x/join",
    "/account/delete",
    "/detectors",
    "/detectors/x/default",
    "/detectors/x/x",
    "/projects/new/upload",
    "/projects/sample",
    "/projects/restore",
    "/challenges/new/labelled/upload",
    "/challenges/new/upload",
    "/communities",
    "/communities/x",
    "/communities/x/corrections",
    "/communities/x/delete",
    "/communities/x/fit",
    "/communities/x/secret",
    "/communities/x/webhook-test",
    "/account/labelling",
    "/people/x/role",
    "/retention",
    "/runs/x/upload",
    "/runs/x/x",
    "/schemes",
    "/schemes/x",
    "/schemes/x/bring-back/x",
    "/schemes/x/questions",
    "/schemes/x/questions/x",
    "/schemes/x/questions/x/x",
    "/schemes/x/x",
    "/score/upload",
)
FOR_PROGRAMS = {
    "/v1/appeals",
    "/v1/score",
    "/v1/moderations",
    "/v1alpha1/comments:analyze",
    "/v1alpha1/comments:suggestscore",
    "/api/challenges/{challenge_id}/submissions/upload",
    "/api/projects/{project_id}/posts",
    "/api/projects/{project_id}/label",
    "/api/projects/{project_id}/label/{assignment_id}",
}
"""Doors that take a key, so that no page can send somebody to them."""


def posted() -> set[str]:
    """Return the address of every form that the app takes, with x for what varies."""
    routes = [route for router in load_routers() for route in router.routes]
    paths = {route.path for route in routes if "POST" in route.methods} - FOR_PROGRAMS
    return {re.sub(r"\{\w+\}", "x", path) for path in paths}


IN_A_PROJECT = sorted(path for path in posted() if path.startswith("/projects/x/"))
IN_A_CHALLENGE = sorted(path for path in posted() if path.startswith("/challenges/x/"))
SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(2)>"


def test_every_form_of_the_app_is_in_the_list_above():
    assert posted() - set(IN_A_PROJECT) - set(IN_A_CHALLENGE) == set(FORMS)


@pytest.fixture
def project(site):
    """A project called x, in which the admin has every role and nobody else has any."""
    with site.store.write() as db:
        plan = project_file.parse_plan(b"name: x\ntitle: X\npreset: hatemoji-check\n", "x.yaml")
        project_creation.create_project(db, plan, by=site.people["admin"].id)
        members.set_roles(db, "x", site.people["admin"].id, PROJECT_ROLES, by=events.SHELL)


def test_no_form_of_a_project_takes_a_missing_token_another_site_or_a_stranger(site, project):
    admin, stranger = site.as_("admin"), site.as_("expert")
    token = token_in(admin.get("/").text)
    assert len(IN_A_PROJECT) > 20
    for path in IN_A_PROJECT:
        bare = admin.post(path, data={"do": "save"})
        assert (bare.status_code, "too old" in bare.text) == (403, True), path
        foreign = admin.post(path, data={"csrf": token}, headers={"origin": "https://evil.example"})
        assert (foreign.status_code, "another site" in foreign.text) == (403, True), path
        outside = post(stranger, path)
        assert (outside.status_code, "not in such a project" in outside.text) == (403, True), path
        assert site.visitor().post(path).status_code in (401, 403), path


def test_no_form_of_a_challenge_takes_a_missing_token_or_another_site(site, tmp_path):
    challenge_case.make(site.store, tmp_path / "challenge", organiser=site.people["admin"].id)
    organiser, person = site.as_("admin"), site.as_("annotator")
    with site.store.write() as db:
        captain = site.people["annotator"].id
        teams.accept_rules(db, "mill-valley", captain)
        teams.create(db, "mill-valley", "Ours", "ours", by=captain, captain=captain)
    assert len(IN_A_CHALLENGE) > 5
    for path in IN_A_CHALLENGE:
        here = path.replace("/x/", "/mill-valley/", 1)
        client = organiser if "/organise/" in path or "/baselines/" in path else person
        bare = client.post(here, data={"do": "save"})
        assert (bare.status_code, "too old" in bare.text) == (403, True), path
        token = token_in(client.get("/").text)
        foreign = client.post(here, data={"csrf": token}, headers={"origin": "https://evil.example"})
        assert (foreign.status_code, "another site" in foreign.text) == (403, True), path
        assert site.visitor().post(here).status_code in (401, 403), path


@pytest.mark.parametrize("path", FORMS)
def test_a_form_without_a_token_does_nothing(site, path):
    answer = site.as_("admin").post(path, data={"login": "eve", "role": "admin", "days": "1", "text": "hello"})
    assert answer.status_code == 403
    assert "too old" in answer.text


@pytest.mark.parametrize("path", FORMS)
def test_a_form_from_another_site_does_nothing_even_with_a_token(site, path):
    client = site.as_("admin")
    token = token_in(client.get("/").text)
    for header in ({"origin": "https://evil.example"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"}):
        answer = client.post(path, data={"csrf": token, "text": "hello"}, headers=header)
        assert answer.status_code == 403
        assert "another site" in answer.text


def test_our_own_origin_passes(site):
    client = site.as_("admin")
    answer = post(client, "/score", {"text": "hello"}, headers={"origin": site.settings.base_url})
    assert answer.status_code == 200


def test_a_token_of_one_person_does_not_work_for_another(site):
    stolen = token_in(site.as_("annotator").get("/").text)
    answer = site.as_("admin").post("/people/invite", data={"csrf": stolen, "role": "admin", "days": "1"})
    assert answer.status_code == 403


def test_a_form_from_before_signing_out_can_not_be_replayed(site):
    client = site.as_("expert")
    old = token_in(client.get("/").text)
    post(client, "/sign-out")
    assert client.post("/score", data={"csrf": old, "text": "hello"}).status_code in (401, 403)


@pytest.mark.parametrize("token", ["", "0" * 64, "ü" * 64, "\ud800".encode("utf-8", "surrogatepass").decode("latin-1")])
def test_a_made_up_token_is_refused_and_not_a_crash(site, token):
    assert site.as_("admin").post("/score", data={"csrf": token, "text": "hello"}).status_code == 403


@pytest.mark.parametrize("role", ["expert", "annotator"])
def test_only_admins_may_change_people(site, role):
    client = site.as_(role)
    target = site.people["admin"].id
    for path in ("/people/invite", f"/people/{target}/disable", f"/people/{target}/end-sessions"):
        assert post(client, path, {"role": "admin", "days": "1"}).status_code == 403
    with site.store.read() as db:
        assert not users.get(db, target).disabled


def test_the_last_admin_can_not_switch_themselves_off(site):
    answer = post(site.as_("admin"), f"/people/{site.people['admin'].id}/disable")
    assert answer.status_code == 409


def test_nobody_ends_or_revokes_what_belongs_to_somebody_else(site):
    with site.store.write() as db:
        session, _ = sessions.start(db, site.people["admin"].id)
        key, _ = keys.create(db, name="bot", owner=site.people["admin"].id, scopes=["score"], by="shell")
    client = site.as_("expert")
    assert post(client, f"/account/sessions/{session.id}/end").status_code == 404
    assert post(client, f"/keys/{key.id}/revoke").status_code == 404
    with site.store.read() as db:
        assert keys.list_keys(db)[0].state == "active"


def test_an_expert_can_not_give_a_key_the_scope_admin(site):
    answer = post(site.as_("expert"), "/keys", {"name": "bot", "scope": "admin", "days": ""})
    assert answer.status_code == 403


def test_script_in_what_people_type_is_shown_as_text(site):
    admin = site.as_("admin")
    with site.store.write() as db:
        users.add(db, login="x<b>", name=SCRIPT, role="expert", by="shell")
        job = jobs.enqueue(db, kind="<i>job", arguments={}, owner=SCRIPT)
    pages = [
        admin.get("/people").text,
        admin.get("/audit").text,
        admin.get("/jobs").text,
        admin.get(f"/jobs/{job.id}").text,
        post(admin, "/score", {"text": SCRIPT}).text,
        post(admin, "/sign-in", {"login": SCRIPT, "password": "x"}).text,
        admin.get("/posts", params={"lang": SCRIPT, "label": SCRIPT}).text,
        admin.get("/audit", params={"before": SCRIPT}).text,
        admin.get(f"/nowhere/{SCRIPT}").text,
    ]
    for html in pages:
        assert "<script>alert" not in html
        assert "<img src=x" not in html


def test_a_huge_body_is_refused_whether_or_not_it_says_its_length(site):
    client = site.as_("admin")
    token = token_in(client.get("/").text)
    big = b"x" * (site.settings.max_body + 1)
    assert client.post("/score", content=big).status_code == 413

    def pieces():
        for _ in range(20):
            yield b"x" * (site.settings.max_body // 10)

    headers = {"x-csrf-token": token, "content-type": "application/x-www-form-urlencoded"}
    assert client.post("/score", content=pieces(), headers=headers).status_code == 413
    as_json = {"content-type": "application/json", "x-csrf-token": token}
    assert client.post("/v1/score", content=pieces(), headers=as_json).status_code == 413


def test_only_routes_for_uploads_take_large_bodies_whatever_an_address_ends_in(site):
    patterns = {route.path for router in load_routers() for route in router.routes if "POST" in route.methods}
    for_files = {re.sub(r"\{\w+\}", "x", path) for path in patterns if path.endswith("/upload")}
    chosen = {re.sub(r"\{\w+\}", "x", re.sub(r"\{\w+\}$", "upload", path)) for path in patterns if path[-1] == "}"}
    assert {"/invitation/upload", "/projects/x/label/upload", "/api/projects/x/label/upload"} <= chosen - for_files
    large = b"[" + b"{}," * (site.settings.max_body // 3) + b"{}]"
    client = site.visitor(**{"content-type": "application/json"})
    assert {path: client.post(path, content=large).status_code for path in chosen - for_files} == dict.fromkeys(
        chosen - for_files, 413
    )
    assert 413 not in {client.post(path, content=large).status_code for path in for_files}


def test_routes_for_uploads_look_at_who_asks_before_they_read_a_byte(site):
    read, statuses = [], {}

    async def receive():
        read.append("a piece")
        return {"type": "http.request", "body": b"x", "more_body": True}

    for path in sorted(path for path in posted() | FOR_PROGRAMS if path.endswith("/upload")):

        async def send(message, path=path):
            statuses.setdefault(path, message.get("status"))

        scope = {"type": "http", "method": "POST", "path": re.sub(r"\{\w+\}", "x", path), "query_string": b""}
        headers = [(b"host", b"127.0.0.1"), (b"content-length", b"5000000"), (b"content-type", b"multipart/form-data")]
        site.running.portal.call(site.app, {**scope, "headers": headers}, receive, send)
    assert set(statuses.values()) == {401}
    assert not read


@pytest.mark.parametrize("length", ["-1", "abc", "1e9"])
def test_a_nonsense_length_is_refused(site, length):
    assert site.visitor().post("/score", content=b"x", headers={"content-length": length}).status_code == 400


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "127.0.0.1:8460@evil.example", "a b"])
def test_another_host_name_is_refused(site, host):
    answer = site.visitor().get("/", headers={"host": host})
    assert answer.status_code == 400
    assert "does not go by that name" in answer.text
    assert answer.headers["content-security-policy"]


def test_two_host_headers_are_refused(site):
    client = site.visitor()
    request = client.build_request("GET", "/", headers=[("host", "127.0.0.1:8460"), ("host", "evil.example")])
    assert client.send(request).status_code == 400


def test_the_hosts_own_names_and_loopback_are_let_in(site):
    for host in ("127.0.0.1:8460", "localhost:8460", "LOCALHOST", "[::1]:8460"):
        assert site.visitor().get("/", headers={"host": host}).status_code == 200


def test_headers_can_not_be_smuggled_through_redirects_or_cookies(site):
    client = site.visitor()
    answer = post(client, "/language", {"lang": "de", "next": "/x\r\nX-Evil: 1"})
    assert answer.headers["location"] == "/"
    assert "x-evil" not in answer.headers
    assert post(client, "/language", {"lang": "de\r\nX-Evil: 1"}).status_code == 400


def test_a_forged_note_cookie_is_ignored(site):
    client = site.visitor()
    client.cookies.set("davy-note", "eyJrZXkiOiAic2F2ZWQifQ.forged.signature", domain="127.0.0.1")
    assert "Saved." not in client.get("/").text


def test_a_form_can_not_bring_files_or_thousands_of_fields(site):
    client = site.as_("admin")
    token = token_in(client.get("/").text)
    files = {"text": ("x.txt", b"hello")}
    assert client.post("/score", data={"csrf": token}, files=files).status_code == 400
    many = {"csrf": token, **{f"f{i}": "x" for i in range(500)}}
    assert client.post("/score", data=many).status_code == 400


def test_changing_the_password_ends_the_other_sessions_and_keeps_this_one(site):
    from web_site import PASSWORD

    here, there = site.as_("expert"), site.as_("expert")
    new = "eight new candles"
    answer = post(here, "/account/password", {"current": PASSWORD, "password": new, "again": new})
    assert answer.status_code == 303
    assert here.get("/account").status_code == 200
    assert there.get("/account").status_code == 303


def test_disabling_a_person_ends_their_sessions_and_can_be_undone(site):
    admin, expert = site.as_("admin"), site.as_("expert")
    target = site.people["expert"].id
    assert expert.get("/score").status_code == 200
    post(admin, f"/people/{target}/disable")
    assert expert.get("/score").status_code == 303
    html = admin.get("/people").text
    assert f'action="/people/{target}/enable"' in html
    assert "was switched off" in html
    post(admin, f"/people/{target}/enable")
    with site.store.read() as db:
        assert not users.get(db, target).disabled


def test_texts_and_tokens_are_not_in_the_log(site, caplog):
    for name in ("davy", "davy.access"):  # a command that ran before in this process may have made one quieter
        caplog.set_level(logging.DEBUG, logger=name)
    client = site.as_("admin")
    post(client, "/score", {"text": "a very private sentence"})
    client.get("/invitation/secret-token-in-the-path")
    client.get("/posts?label=private-filter")
    assert "POST /score 200" in caplog.text
    for secret in ("private", "secret-token"):
        assert secret not in caplog.text
