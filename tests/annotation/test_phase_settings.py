"""The settings of a phase as a form: answers a post, people, quota, deadline, batches, gate and pass mark."""

from __future__ import annotations

import pytest

from davy.annotation.labelling.store import items
from davy.annotation.project.store import phases
from labelling import RUDE, make_lamps, send
from web_site import post

PAGE = "/projects/lamps/phases/one/settings"


def phase_of(site):
    with site.store.read() as db:
        return phases.by_name(db, "lamps", "one")


def test_quota_deadline_people_and_answers_are_kept(site):
    lamps = make_lamps(site, ["one", "two", "three"])
    client = site.as_("admin")
    fields = {"answers": "4", "quota": "2", "deadline": "2027-03-31", "lease_minutes": "45"}
    fields |= {"people": [lamps.user("annotator"), "nobody"]}
    assert post(client, PAGE, fields, page=PAGE).status_code == 303
    phase = phase_of(site)
    assert phase.answers == 4
    assert phase.settings == {
        "quota": 2, "deadline": "2027-03-31", "lease_minutes": 45.0, "people": [lamps.user("annotator")],
    }  # fmt: skip
    with site.store.read() as db:
        assert {item.room for item in items.iter_items(db, phase.id)} == {4}
    assert 'value="2027-03-31"' in client.get(PAGE).text
    # Only the person named gets posts of it.
    assert "one" in site.as_("annotator").get(lamps.path).text
    assert "Nothing for you" in site.as_("expert").get(lamps.path).text


def test_answers_a_post_stay_once_somebody_works(site):
    lamps = make_lamps(site, ["one", "two"])
    annotator = site.as_("annotator")
    send(annotator, annotator.get(lamps.path).text, RUDE)
    client = site.as_("admin")
    assert 'name="answers"' not in client.get(PAGE).text
    refused = post(client, PAGE, {"answers": "5"}, page=PAGE)
    assert refused.status_code == 409
    assert phase_of(site).answers == 2


def test_batches_are_kept_and_posts_dealt_out_in_turns(site):
    lamps = make_lamps(site, ["one", "two", "three"])
    client = site.as_("admin")
    fields = {"batch.0.name": "north", "batch.0.people": [lamps.user("annotator")], "batch.0.quota": "5"}
    fields |= {"batch.1.name": "south", "batch.1.deadline": "2027-01-31", "deal": "yes"}
    assert post(client, PAGE, fields, page=PAGE).status_code == 303
    batches = phase_of(site).settings["batches"]
    assert batches["north"] == {"people": [lamps.user("annotator")], "quota": 5, "deadline": None}
    assert batches["south"]["deadline"] == "2027-01-31"
    with site.store.read() as db:
        assert items.count_batches(db, phase_of(site).id) == {"north": 2, "south": 1}
    html = client.get(PAGE).text
    assert "2 posts" in html
    assert post(client, PAGE, {"deal": "yes"}, page=PAGE).status_code == 303
    assert "batches" not in phase_of(site).settings
    with site.store.read() as db:
        assert items.count_batches(db, phase_of(site).id) == {}


def test_a_gate_and_a_pass_mark_are_kept_where_the_kind_has_them(site):
    make_lamps(site, ["one"], kind="calibration", answers=None)
    client = site.as_("admin")
    fields = {"gate.coefficient": "gwet ac1", "gate.at_least": "0,7", "gate.questions": ["rude"]}
    assert post(client, PAGE, {"answers": "everyone", **fields}, page=PAGE).status_code == 303
    assert phase_of(site).settings["gate"] == {"coefficient": "gwet ac1", "at_least": 0.7, "questions": ["rude"]}
    assert phase_of(site).answers is None
    assert "pass" not in phase_of(site).settings


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"quota": "many"}, "“many”"),
        ({"deadline": "soon"}, "2026-12-31"),
        ({"answers": "0"}, "how many people"),
        ({"batch.0.name": "a", "batch.1.name": "a"}, "Two batches"),
        ({"lease_minutes": "long"}, "“long”"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_changed(site, fields, says):
    make_lamps(site, ["one"])
    before = phase_of(site)
    answer = post(site.as_("admin"), PAGE, fields, page=PAGE)
    assert 400 <= answer.status_code < 500
    assert says in answer.text
    assert phase_of(site) == before
