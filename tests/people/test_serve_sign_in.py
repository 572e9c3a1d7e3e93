"""Signing in and out: the right password, the wrong one, and what an attacker would try."""

from __future__ import annotations

import re
import time
from datetime import timedelta

import pytest
from sqlalchemy import select, update

from davy.people.store import sessions, tables, users
from davy.store import events
from davy.store.columns import now
from web_site import PASSWORD, post, token_in


def sign_in(client, login="expert", password=PASSWORD, next="/score"):
    return post(client, "/sign-in", {"login": login, "password": password, "next": next}, page="/sign-in")


def test_the_right_password_opens_a_session_and_goes_on(site):
    client = site.visitor()
    answer = sign_in(client)
    assert (answer.status_code, answer.headers["location"]) == (303, "/score")
    assert client.get("/score").status_code == 200
    cookie = next(c for c in answer.headers.get_list("set-cookie") if c.startswith("davy-session="))
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert "Path=/" in cookie


def test_signing_in_deletes_sessions_that_expired_long_ago(site):
    person = site.people["annotator"].id
    with site.store.write() as db:
        old, _ = sessions.start(db, person, lasts=timedelta(days=-31))
        recent, _ = sessions.start(db, person, lasts=timedelta(days=-1))
    sign_in(site.visitor())
    with site.store.read() as db:
        kept = set(db.scalars(select(tables.sessions.c.id).where(tables.sessions.c.user_id == person)))
    assert kept == {recent.id}
    assert old.id not in kept


@pytest.mark.parametrize(("login", "password"), [("expert", "wrong password"), ("nobody", PASSWORD), ("", "")])
def test_a_wrong_login_and_a_wrong_password_get_the_same_answer(site, login, password):
    answer = sign_in(site.visitor(), login, password)
    assert answer.status_code == 401
    assert "match an account" in answer.text
    assert "davy-session" not in answer.headers.get("set-cookie", "")


def test_an_unknown_login_takes_about_as_much_work_as_a_known_one(site):
    def seconds(login: str) -> float:
        client = site.visitor()
        token = token_in(client.get("/sign-in").text)
        began = time.process_time()  # of this process: what else the machine does can't disturb it
        client.post("/sign-in", data={"csrf": token, "login": login, "password": "wrong password"})
        return time.process_time() - began

    known, unknown = min(seconds("expert") for _ in range(3)), min(seconds("nobody") for _ in range(3))
    assert 0.5 < known / unknown < 2


def test_a_disabled_account_can_not_sign_in_and_is_not_told_why(site):
    with site.store.write() as db:
        users.disable(db, site.people["expert"].id, by="shell")
    answer = sign_in(site.visitor())
    assert answer.status_code == 401
    assert "match an account" in answer.text


def test_a_session_planted_before_sign_in_is_worth_nothing_after_it(site):
    client = site.visitor()
    client.cookies.set("davy-session", "planted-by-somebody-else", domain="127.0.0.1")
    answer = sign_in(client)
    assert answer.status_code == 303
    fresh = client.cookies.get("davy-session")
    assert fresh != "planted-by-somebody-else"
    other = site.visitor()
    other.cookies.set("davy-session", "planted-by-somebody-else", domain="127.0.0.1")
    assert other.get("/score").status_code == 303


def test_signing_in_again_ends_the_earlier_session_of_this_browser(site):
    client = site.visitor()
    sign_in(client)
    with site.store.read() as db:
        first = sessions.of_user(db, site.people["expert"].id)[0].id
    token = token_in(client.get("/").text)
    client.post("/sign-in", data={"csrf": token, "login": "expert", "password": PASSWORD})
    with site.store.read() as db:
        assert first not in {it.id for it in sessions.of_user(db, site.people["expert"].id)}


def test_signing_out_ends_the_session_on_the_server_too(site):
    client = site.as_("expert")
    kept = client.cookies.get("davy-session")
    assert post(client, "/sign-out").status_code == 303
    thief = site.visitor()
    thief.cookies.set("davy-session", kept, domain="127.0.0.1")
    assert thief.get("/score").status_code == 303


@pytest.mark.parametrize(
    "target",
    [
        "//evil.example",
        "https://evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "/\tevil",
        "/x\r\nSet-Cookie: a=b",
        "javascript:alert(1)",
        "/ok\\..\\evil",
    ],
)
def test_after_sign_in_nobody_is_sent_to_another_site(site, target):
    answer = sign_in(site.visitor(), next=target)
    assert answer.headers["location"] == "/"
    assert "a=b" not in str(answer.headers)
    assert site.as_("expert").get("/sign-in", params={"next": target}).headers["location"] == "/"


def test_guessing_a_password_is_slowed_down(site):
    client = site.visitor()
    token = token_in(client.get("/sign-in").text)
    codes = [
        client.post("/sign-in", data={"csrf": token, "login": "expert", "password": "wrong password"}).status_code
        for _ in range(10)
    ]
    assert codes[0] == 401
    assert codes[-1] == 429
    last = client.post("/sign-in", data={"csrf": token, "login": "expert", "password": PASSWORD})
    assert last.status_code == 429
    assert int(last.headers["retry-after"]) > 0


def test_over_tls_the_cookies_insist_on_it(site, settings, tmp_path, empty_database):
    from dataclasses import replace

    from web_site import make_site

    secure = replace(settings, base_url="https://davy.example.org", database=f"sqlite:///{tmp_path / 'tls.sqlite'}")
    made = make_site(secure, empty_database)
    with made.started():
        client = made.visitor()
        answer = sign_in(client)
        cookie = next(c for c in answer.headers.get_list("set-cookie") if "davy-session=" in c)
        assert cookie.startswith("__Host-davy-session=")
        assert "Secure" in cookie
        assert answer.headers["strict-transport-security"].startswith("max-age=")


def test_the_language_chosen_before_sign_in_becomes_the_accounts(site):
    client = site.visitor()
    post(client, "/language", {"lang": "de", "next": "/sign-in"})
    sign_in(client)
    assert '<html lang="de">' in client.get("/").text
    with site.store.read() as db:
        assert users.get(db, site.people["expert"].id).language == "de"


def test_strangers_who_guess_at_an_account_do_not_keep_its_owner_out(site):
    owner = site.visitor()
    assert sign_in(owner).status_code == 303
    post(owner, "/sign-out", {}, page="/score")
    for number in range(12):
        answer = sign_in(site.visitor(address=f"203.0.113.{number}"), password="a wrong guess here")
    assert answer.status_code == 429
    assert sign_in(owner).status_code == 303
    # A cookie that the owner's browser did not get here opens nothing.
    forger = site.visitor(address="203.0.113.99")
    forger.cookies.set("davy-device", "WyJtZSIsImRldmljZSJd.x.y", domain="127.0.0.1")
    assert sign_in(forger, password="a wrong guess here").status_code == 429


def test_guesses_on_a_known_browser_are_counted_too(site):
    client = site.visitor()
    sign_in(client)
    post(client, "/sign-out", {}, page="/score")
    codes = [sign_in(client, password="a wrong guess here").status_code for _ in range(10)]
    assert codes[0] == 401
    assert codes[-1] == 429


def test_a_session_that_nobody_used_for_days_has_ended(site):
    client = site.visitor()
    sign_in(client)
    with site.store.write() as db:
        db.execute(update(tables.sessions).values(seen_at=now() - sessions.IDLE - timedelta(minutes=1)))
    assert client.get("/score").status_code == 303


def test_a_wrong_password_is_in_the_audit_of_its_account(site):
    sign_in(site.visitor(), password="a wrong guess here")
    with site.store.read() as db:
        refused = [event for event in events.latest(db) if event.what == "sign-in refused"]
    assert [event.about for event in refused] == [f"user {site.people['expert'].id}"]


def test_an_admin_s_link_lets_a_person_choose_a_new_password_once(site):
    admin, person = site.as_("admin"), site.people["expert"]
    page = post(admin, f"/people/{person.id}/new-password", {}, page="/people").text
    path = re.search(r"/new-password/[\w.\-]+", page)[0]
    new = {"password": "seven blue kettles", "again": "seven blue kettles"}
    reader = site.visitor()
    assert "guessed first" in post(reader, path, {"password": "password12", "again": "password12"}, page=path).text
    assert post(reader, path, new, page=path).status_code == 303
    assert sign_in(site.visitor(), password="seven blue kettles").status_code == 303
    assert sign_in(site.visitor()).status_code == 401
    assert site.visitor().get(path).status_code == 410
    assert site.visitor().get("/new-password/made.up.token").status_code == 410


def test_a_refusal_is_logged_with_who_and_where_and_nothing_else(site, caplog):
    with caplog.at_level("WARNING", logger="davy.audit"):
        site.as_("annotator").get("/people")
    line = next(record for record in caplog.records if record.name == "davy.audit")
    assert {**line.fields, "ms": 0} == {
        "method": "GET",
        "route": "/people",
        "status": 403,
        "ms": 0,
        "user": site.people["annotator"].id,
    }
