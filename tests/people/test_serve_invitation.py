"""Invitations: one link, one account, and a clear page when it is over."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from davy.people.store import invitations, users
from web_site import PASSWORD, post

FORM = {"name": "Ada Lamp", "login": "ada", "password": PASSWORD, "again": PASSWORD}


def invite(site, **more):
    with site.store.write() as db:
        invitation, token = invitations.create(db, role="annotator", by="shell", **more)
    return invitation, f"/invitation/{token}"


def test_an_invitation_makes_an_account_and_signs_it_in(site):
    _, link = invite(site)
    client = site.visitor()
    assert "annotator" in client.get(link).text
    answer = post(client, link, FORM, page=link)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    html = client.get("/").text
    assert "Hello, Ada Lamp" in html
    assert "Your account is ready" in html
    assert "Your account is ready" not in client.get("/").text


def test_an_invitation_works_once(site):
    _, link = invite(site)
    post(site.visitor(), link, FORM, page=link)
    second = site.visitor().get(link)
    assert second.status_code == 410
    assert "already used" in second.text
    again = post(site.visitor(), link, {**FORM, "login": "eve"})
    assert again.status_code == 410
    with site.store.read() as db:
        assert users.by_login(db, "eve") is None


def test_an_expired_a_revoked_and_an_unknown_invitation_say_so(site):
    import time

    _, expired = invite(site, lasts=timedelta(milliseconds=1))
    time.sleep(0.01)
    revoked, link = invite(site)
    with site.store.write() as db:
        invitations.revoke(db, revoked.id, by="shell")
    client = site.visitor()
    for path, status, words in (
        (expired, 410, "expired"),
        (link, 410, "taken back"),
        ("/invitation/x", 404, "not known"),
    ):
        answer = client.get(path)
        assert (answer.status_code, words in answer.text) == (status, True)


def test_what_was_typed_stays_when_something_is_wrong(site):
    _, link = invite(site)
    client = site.visitor()
    for change, words in (
        ({"again": "another one"}, "two passwords differ"),
        ({"password": "short", "again": "short"}, "at least 10"),
        ({"login": "has spaces"}, "no spaces"),
        ({"login": "admin"}, "taken"),
        ({"name": ""}, "name has 1 to 200"),
    ):
        answer = post(client, link, {**FORM, **change}, page=link)
        assert answer.status_code in (400, 409), change
        assert words in answer.text
        assert 'value="Ada Lamp"' in answer.text or change == {"name": ""}
        assert PASSWORD not in answer.text
    assert post(client, link, FORM, page=link).status_code == 303


def test_an_invitation_for_one_login_works_for_no_other(site):
    _, link = invite(site, login="ada@example.org")
    answer = post(site.visitor(), link, {**FORM, "login": "mallory"}, page=link)
    assert answer.status_code == 403
    with site.store.read() as db:
        assert users.by_login(db, "mallory") is None


def test_two_people_with_one_link_get_one_account_between_them(site):
    _, link = invite(site)

    def accept(number: int) -> int:
        return post(site.visitor(), link, {**FORM, "login": f"twin{number}"}, page=link).status_code

    with ThreadPoolExecutor(4) as pool:
        codes = sorted(pool.map(accept, range(4)))
    assert codes.count(303) == 1
    with site.store.read() as db:
        assert users.count(db) == 4


def test_an_admin_invites_and_the_link_is_shown_only_once(site):
    client = site.as_("admin")
    answer = post(client, "/people/invite", {"login": "", "role": "expert", "days": "1"}, page="/people")
    link = answer.text.partition('id="invitation-link">')[2].partition("<")[0]
    assert link.startswith(f"{site.settings.base_url}/invitation/")
    token = link.rpartition("/")[2]
    assert token not in client.get("/people").text
    assert token not in client.get("/audit").text
    assert site.visitor().get(f"/invitation/{token}").status_code == 200


def test_a_new_person_speaks_the_language_of_the_form(site):
    _, link = invite(site)
    client = site.visitor(**{"accept-language": "de-AT,de;q=0.9,en;q=0.5"})
    assert "Konto anlegen" in client.get(link).text
    post(client, link, FORM, page=link)
    with site.store.read() as db:
        found = users.by_login(db, "ada")
    assert found is not None
    assert found.language == "de"
