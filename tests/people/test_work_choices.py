"""How a person likes to label is kept on the account; the day above the post; a break of one's own; the start page."""

from __future__ import annotations

import re

import pytest

from davy.annotation.project.store import phases
from davy.people.store import sessions, users
from labelling import RUDE, make_lamps, send
from web_site import post


def chosen(site, role="annotator"):
    with site.store.read() as db:
        return users.get(db, site.people[role].id).choices or {}


def test_choices_are_kept_on_the_account_and_hold_in_another_browser(site):
    client = site.as_("annotator")
    fields = {"text_size": "large", "definitions": "off", "auto_advance": "on", "keys": "off", "goal": "80"}
    assert post(client, "/account/labelling", fields, page="/account").status_code == 303
    html = site.as_("annotator").get("/").text  # another session
    assert 'class="text-large no-definitions no-keys"' in html
    assert "data-auto-advance" in html
    assert chosen(site)["goal"] == 80
    assert "text-large" not in site.as_("expert").get("/").text
    # A script sends one choice alone; the others stay.
    one = post(client, "/account/labelling", {"definitions": "on"}, page="/account", headers={"hx-request": "true"})
    assert one.status_code == 204
    assert chosen(site)["definitions"] == "on"
    assert chosen(site)["text_size"] == "large"


def test_letters_can_be_changed_and_two_commands_never_share_one(site):
    client = site.as_("annotator")
    assert post(client, "/account/labelling", {"key.undo": "Z"}, page="/account").status_code == 303
    assert chosen(site)["letters"] == {"undo": "z"}
    assert 'data-letters="{&#34;u&#34;: &#34;z&#34;}"' in client.get("/").text
    for letter, says in (("s", "Two commands"), ("7", "from a to z"), ("é", "from a to z")):
        refused = post(client, "/account/labelling", {"key.undo": letter}, page="/account")
        assert refused.status_code == 422
        assert says in refused.text
    assert chosen(site)["letters"] == {"undo": "z"}


@pytest.mark.parametrize("fields", [{"text_size": "huge"}, {"goal": "0"}, {"goal": "lots"}, {"keys": "maybe"}])
def test_choices_that_are_not_offered_are_refused(site, fields):
    assert post(site.as_("annotator"), "/account/labelling", fields, page="/account").status_code == 400
    assert chosen(site) == {}


def test_the_day_stands_above_the_post_with_goal_pay_and_minutes_to_the_break(site):
    lamps = make_lamps(site, ["one", "two", "three"], settings={"pay": {"currency": "EUR", "per_hour": 30}})
    with site.store.write() as db:
        users.choose(db, site.people["annotator"].id, goal=20)
    client = site.as_("annotator")
    html = client.get(lamps.path).text
    assert "0 of 20 posts today" in html
    assert "50 minutes to the break" in html
    after = send(client, html, RUDE, seconds="600").text
    assert 'id="day" class="day small" hx-swap-oob="true"' in after
    assert "1 of 20 posts today" in after
    assert "5.00 EUR" in after  # ten minutes at 30 an hour
    assert "40 minutes to the break" in after
    with site.store.write() as db:
        users.choose(db, site.people["annotator"].id, day="off")
    assert 'id="day"' not in client.get(lamps.path).text


def test_a_break_can_be_taken_now_and_ends_when_the_person_likes(site):
    lamps = make_lamps(site, ["one", "two"], settings={"care": {"break_minutes": 8, "timezone": "Europe/Berlin"}})
    client = site.as_("annotator")
    send(client, client.get(lamps.path).text, RUDE, seconds="60")
    began = post(client, "/projects/lamps/rest", {"do": "now"}, page=lamps.path)
    assert began.headers["location"] == "/projects/lamps/rest?own=true"
    html = client.get(began.headers["location"]).text
    assert "A break of your own" in html
    assert "After 8 minutes" in html
    assert "two" in client.get(lamps.path).text


def test_a_rest_that_is_due_says_its_end_where_the_project_is_and_for_the_readers_clock(site):
    care = {"break_after_minutes": 5, "break_minutes": 9, "timezone": "Europe/Berlin"}
    lamps = make_lamps(site, ["one", "two"], settings={"care": care})
    client = site.as_("annotator")
    send(client, client.get(lamps.path).text, RUDE, seconds="400")
    html = client.get("/projects/lamps/rest").text
    assert "(CET)" in html or "(CEST)" in html
    assert "data-local-time" in html
    assert 'data-many="in {n} minutes"' in html


def test_the_start_page_leads_to_the_next_post_with_one_click(site):
    make_lamps(site, ["one"])
    html = site.as_("annotator").get("/").text
    assert 'href="/projects/lamps/label">Label posts' in html
    assert "Lamps &amp; lights" in html
    with site.store.write() as db:
        phases.close_phase(db, phases.by_name(db, "lamps", "one").id, by="shell")
    assert "Nothing waits for you here right now" in site.as_("annotator").get("/").text


def test_the_sign_in_page_begins_in_the_login_field_and_says_what_to_do_without_a_password(site):
    html = site.visitor().get("/sign-in").text
    assert 'name="login" type="text" value="" required autofocus' in html
    assert "Forgot your password?" in html


def test_a_discussion_that_is_through_leads_on_and_its_manager_closes_it(site):
    lamps = make_lamps(site, ["one"], kind="discussion", answers=1)
    client = site.as_("annotator")
    page = client.get("/projects/lamps/discussion").text
    assert send(client, page, RUDE, htmx=False, comment="together").status_code == 303
    assert "This discussion is through" in client.get(lamps.path).text
    assert "Talk about phase" not in client.get("/projects/lamps").text
    assert "Go on to label posts" not in client.get("/projects/lamps/discussion").text
    assert "Close phase one" in site.as_("admin").get("/projects/lamps").text


def test_a_choice_is_part_of_ones_data_and_goes_with_the_account(site):
    with site.store.write() as db:
        users.choose(db, site.people["annotator"].id, text_size="large")
        sessions.end_all(db, site.people["annotator"].id, by="shell")
    assert site.as_("annotator").get("/account/my-data.json").json()["account"]["choices"] == {"text_size": "large"}


def test_ones_own_answers_are_found_by_their_words_and_corrected(site):
    lamps = make_lamps(site, ["a lamp shines", "a LAMP smokes", "the rain falls"])
    client = site.as_("annotator")
    for _ in range(3):
        send(client, client.get(lamps.path).text, RUDE)
    html = client.get("/projects/lamps/mine/answers?q=lamp").text
    assert html.index("a LAMP smokes") < html.index("a lamp shines")  # newest first
    assert "the rain falls" not in html
    assert "None of the posts" in client.get("/projects/lamps/mine/answers?q=100%25").text
    assert "a lamp shines" not in site.as_("expert").get("/projects/lamps/mine/answers").text
    which = re.findall(r'name="assignment" value="([^"]+)"', html)[1]
    opened = post(client, f"{lamps.path}/undo", {"assignment": which}, page=lamps.path)
    assert opened.status_code == 303
    assert "This answer of yours is open again" in client.get(opened.headers["location"]).text
    with site.store.write() as db:
        phases.close_phase(db, lamps.phase.id, by="shell")
    assert "Change this answer" not in client.get("/projects/lamps/mine/answers").text


def test_an_admin_changes_a_role_but_never_their_own(site):
    admin = site.as_("admin")
    person = site.people["annotator"].id
    assert post(admin, f"/people/{person}/role", {"role": "expert"}, page="/people").status_code == 303
    with site.store.read() as db:
        assert users.get(db, person).role == "expert"
    assert post(admin, f"/people/{person}/role", {"role": "queen"}, page="/people").status_code == 400
    own = post(admin, f"/people/{site.people['admin'].id}/role", {"role": "annotator"}, page="/people")
    assert own.status_code == 409
    with site.store.read() as db:
        assert users.get(db, site.people["admin"].id).role == "admin"
