"""A refused form comes back as it was sent, with the error beside its field, and is kept until a password is given."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from sqlalchemy import update

from davy.core.errors import UserError
from davy.people.store import keys
from davy.people.store.tables import sessions as sessions_table
from davy.store.columns import now
from davy.web.filled_form import fill_form
from two_projects import fill_rooms
from web_site import BASE, PASSWORD, post, token_in

PAGE = """<form action="/other"><input name="title" value="other"></form>
<form method="post" action="/things"><input type="hidden" name="csrf" value="new">
<input type="hidden" name="do" value="add">
<input id="title" name="title" value="" aria-describedby="title-hint"><input type="password" name="secret">
<input type="checkbox" name="tick" value="a" checked><input type="checkbox" name="tick" value="b">
<select name="kind"><option value="x" selected>X</option><option>second one</option></select>
<textarea name="note">
old</textarea></form><input form="apart" name="far"><form id="apart" action="/far"></form>"""
SENT = [
    *[("csrf", "old"), ("do", "add"), ("title", 'a "b" <c>'), ("tick", "b"), ("secret", "hidden away")],
    *[("kind", "second one"), ("note", "two\nlines & more")],
]


def filled(sent=SENT, action="/things", error=None, message="No."):
    return fill_form(PAGE, action, sent, error or UserError(message), message)


def test_every_kind_of_field_is_filled_in_again_but_passwords_and_the_token():
    html = filled()
    assert '<input name="title" value="other">' in html
    assert 'value="a &quot;b&quot; &lt;c&gt;"' in html
    assert 'name="tick" value="a">' in html
    assert 'name="tick" value="b" checked="">' in html
    assert '<option value="x">X</option><option selected="">second one</option>' in html
    assert '<textarea name="note">\ntwo\nlines &amp; more</textarea>' in html
    assert 'name="csrf" value="new"' in html
    assert "hidden away" not in html


def test_a_form_for_something_else_at_the_same_address_stays_as_it_was():
    assert filled([("do", "remove"), ("title", "typed")]) == PAGE
    assert '<input form="apart" name="far" value="typed">' in filled([("far", "typed")], action="/far")


def test_two_fields_of_one_name_keep_their_own_values():
    select = '<select name="which"><option>a</option><option selected>b</option></select>'
    html = fill_form(
        f'<form action="/x">{select}{select}</form>', "/x", [("which", "b"), ("which", "a")], UserError("No."), ""
    )
    chosen = '<option selected="">{}</option>'
    assert html.index(chosen.format("b")) < html.index(chosen.format("a"))
    assert html.count("selected") == 2


def test_the_error_stands_beside_the_field_that_it_names_or_quotes():
    error = UserError("Too long.")
    error.field = "title"
    html = filled(error=error, message="Too <long>.")
    assert '<p class="wrong" id="title-refused">Too &lt;long&gt;.</p><input id="title"' in html
    assert 'aria-invalid="true" aria-describedby="title-hint title-refused">' in html
    quoted = [("do", "add"), ("title", "mug"), ("note", "something else")]
    assert 'id="title-refused"' in filled(quoted, message="There is a 'mug' already.")
    assert "-refused" not in filled(quoted, message="There is a 'jug' already.")
    assert "-refused" not in filled([*quoted[:2], ("note", "mug")], message="There is a 'mug' already.")


def test_a_refused_webhook_keeps_the_whole_form_of_a_community(site):
    form = {"name": "forum", "threshold": "0.61", "low": "0.4", "high": "0.7", "webhook": "http://10.0.0.1/hook"}
    shown = post(site.as_("admin"), "/communities", form, page="/communities")
    assert shown.status_code >= 400
    for value in form.values():
        assert f'value="{value}"' in shown.text
    assert 'id="webhook-refused"' in shown.text


def test_a_form_whose_route_has_no_page_comes_back_on_the_page_that_it_was_sent_from(site):
    fill_rooms(site)
    client = site.as_("manager")
    page = "/projects/p/channel"
    form = {"csrf": token_in(client.get(page).text), "text": "Where is it?", "post": "no such post"}
    shown = client.post(f"{page}/ask", data=form, headers={"referer": f"{BASE}{page}"})
    assert shown.status_code in (404, 422)
    assert "Where is it?" in shown.text
    assert '<main id="main" tabindex="-1"><div class="fault" role="alert"><p>' in shown.text
    elsewhere = client.post(f"{page}/ask", data=form, headers={"referer": f"https://elsewhere.example{page}"})
    assert elsewhere.status_code == shown.status_code
    assert "Where is it?" not in elsewhere.text


def test_a_form_from_another_site_brings_nothing_back(site):
    form = {"csrf": "0" * 64, "name": "theirs", "webhook": "http://theirs.example"}
    shown = site.as_("admin").post("/communities", data=form, headers={"referer": "https://elsewhere.example/"})
    assert shown.status_code == 403
    assert "theirs" not in shown.text


@pytest.fixture
def admin(site):
    client = site.as_("admin")
    with site.store.write() as db:
        db.execute(update(sessions_table).values(created_at=now() - timedelta(hours=1), seen_at=now()))
    return client


def hidden_fields(html: str) -> dict[str, str]:
    return dict(
        re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', html.partition('action="/confirm"')[2])
    )


def test_a_form_waits_for_the_password_and_is_sent_then(site, admin):
    form = {"csrf": token_in(admin.get("/keys").text), "name": "my key", "scope": "score", "days": "30"}
    asked = admin.post("/keys", data=form, headers={"referer": f"{BASE}/keys"})
    assert asked.status_code == 403
    assert "What you entered is kept" in asked.text
    wrong = admin.post("/confirm", data={**hidden_fields(asked.text), "password": "not mine"})
    assert wrong.status_code == 403
    kept = hidden_fields(wrong.text)
    assert kept["name"] == "my key"
    right = admin.post("/confirm", data={**kept, "password": PASSWORD})
    assert (right.status_code, right.headers["location"]) == (307, "/keys")
    made = admin.post("/keys", data={**kept, "password": PASSWORD})
    assert made.status_code == 200
    with site.store.read() as db:
        assert [key.name for key in keys.list_keys(db)] == ["my key"]


def test_another_sites_form_is_not_kept_for_the_password(admin):
    asked = admin.post("/keys", data={"csrf": "0" * 64, "name": "theirs"}, headers={"referer": f"{BASE}/keys"})
    assert asked.status_code == 303
    assert "theirs" not in asked.text
