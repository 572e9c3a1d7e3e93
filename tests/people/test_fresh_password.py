"""Keys, people, roles and exports want the password again, half an hour after it was given."""

from datetime import timedelta

import pytest
from sqlalchemy import update

from davy.people.store import keys
from davy.people.store.tables import sessions as sessions_table
from davy.store.columns import now
from web_site import BASE, PASSWORD, token_in

KEY = {"name": "mine", "scope": "score", "days": "30"}


@pytest.fixture
def admin(site):
    return site.as_("admin")


def age(site, **by):
    """Make every session as old as that."""
    with site.store.write() as db:
        db.execute(update(sessions_table).values(created_at=now() - timedelta(**by), seen_at=now()))


def send(client, page, path, **fields):
    form = {"csrf": token_in(client.get(page).text), **fields}
    return client.post(path, data=form, headers={"referer": f"{BASE}{page}"})


def count_keys(site):
    with site.store.read() as db:
        return len(keys.list_keys(db))


def test_a_fresh_sign_in_is_enough(site, admin):
    age(site, minutes=29)
    assert send(admin, "/keys", "/keys", **KEY).status_code == 200
    assert count_keys(site) == 1


def test_later_the_act_leads_to_the_password_and_back(site, admin):
    age(site, minutes=31)
    asked = send(admin, "/keys", "/keys", **KEY)
    assert asked.status_code == 403
    assert 'name="next" value="/keys"' in asked.text
    assert count_keys(site) == 0
    refused = send(admin, "/confirm?next=/keys", "/confirm", next="/keys", password="not my password")
    assert refused.status_code == 403
    assert send(admin, "/keys", "/keys", **KEY).status_code == 403
    right = send(admin, "/confirm?next=/keys", "/confirm", next="/keys", password=PASSWORD)
    assert (right.status_code, right.headers["location"]) == (303, "/keys")
    assert send(admin, "/keys", "/keys", **KEY).status_code == 200
    assert count_keys(site) == 1


def test_the_mark_is_worth_nothing_in_another_session(site, admin):
    age(site, minutes=31)
    send(admin, "/confirm?next=/keys", "/confirm", next="/keys", password=PASSWORD)
    mark = admin.cookies["davy-confirmed"]
    other = site.as_("admin")
    age(site, minutes=31)
    other.cookies.set("davy-confirmed", mark, domain="127.0.0.1")
    assert send(other, "/keys", "/keys", **KEY).status_code == 403
    forged = site.as_("admin")
    age(site, minutes=31)
    forged.cookies.set("davy-confirmed", "forged", domain="127.0.0.1")
    assert send(forged, "/keys", "/keys", **KEY).status_code == 403


@pytest.mark.parametrize("act", ["disable", "enable", "end-sessions", "new-password"])
def test_what_admins_do_to_people_wants_it_too(site, admin, act):
    age(site, hours=5)
    person = site.people["annotator"].id
    answer = send(admin, "/people", f"/people/{person}/{act}")
    assert 'name="next" value="/people"' in answer.text
    assert f'name="resume" value="/people/{person}/{act}"' in answer.text
    invited = send(admin, "/people", "/people/invite", role="admin", days="7")
    assert 'name="resume" value="/people/invite"' in invited.text


def test_it_leads_to_no_other_site_and_wrong_tries_are_limited(site, admin):
    age(site, hours=5)
    form = {"csrf": token_in(admin.get("/keys").text), **KEY}
    away = admin.post("/keys", data=form, headers={"referer": "https://elsewhere.example/keys"})
    assert 'name="next" value="/"' in away.text
    for name in ("next", "resume"):
        sent = send(admin, "/confirm", "/confirm", **{name: "//elsewhere.example"}, password=PASSWORD)
        assert sent.headers["location"] == "/"
    codes = [send(admin, "/confirm", "/confirm", password="wrong one").status_code for _ in range(30)]
    assert 429 in codes
