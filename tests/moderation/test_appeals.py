"""Appeals: tied to a decision, looked at by others than the first reviewers, told with their outcome."""

from __future__ import annotations

import csv
import io
from datetime import timedelta

import pytest

from davy.annotation.labelling import labelling
from davy.annotation.labelling.store import assignments
from davy.annotation.project.project_creation import create_project
from davy.annotation.project.project_file import read_plan
from davy.annotation.project.store import members, phases, projects
from davy.annotation.settling.store import cases
from davy.jobs import store as jobs
from davy.moderation.appeals import settle_appeals
from davy.moderation.decision_records import iter_records
from davy.moderation.moderation_decisions import Decider
from davy.moderation.server_part import Moderation
from davy.moderation.store import appeals, communities, suggestions
from davy.moderation.store.communities import Community
from davy.moderation.store.decisions import decisions
from davy.moderation.store.retention import RETENTION
from davy.people.store import keys
from davy.store.columns import new_id, now

HATEFUL, FINE = {"hate": ("hateful",)}, {"hate": ("not hateful",)}


@pytest.fixture
def key(site):
    with site.store.write() as db:
        return keys.create(db, name="bot", owner=site.people["expert"].id, scopes=["score"], by="shell")


@pytest.fixture
def forum(site, key):
    """A community that sends everything to review, with two reviewers."""
    with site.store.write() as db:
        made = create_project(db, read_plan("moderation"), by=site.people["admin"].id)
        for name in ("annotator", "expert"):
            members.add(db, made.project.id, site.people[name].id, ["annotator"], by="shell")
            members.consent(db, made.project.id, site.people[name].id)
        phases.open_phase(db, made.phases[0].id, by="shell")
        fields = {"keys": (key[0].id,), "low": 0.0, "high": 0.6, "project": made.project.id}
        communities.create(db, Community("forum", "hate", thresholds={"hate": 0.5}, **fields), by="shell")
    site.app.state.context.part(Moderation).decider.refresh()
    return made.project.id


def api(site, key):
    return site.visitor(authorization=f"Bearer {key[1]}")


def send(site, key, **posts):
    sent = [{"text": text, "id": name} for name, text in posts.items()]
    answer = api(site, key).post("/v1/score", json={"posts": sent, "community": "forum"})
    site.app.state.context.part(Moderation).decider.flush()
    return [it["decision"] for it in answer.json()["results"]]


def appeal(site, key, decision, **more):
    return api(site, key).post("/v1/appeals", json={"community": "forum", "decision": decision, **more})


def next_sheet(db, site, project, person):
    return labelling.next_sheet(db, projects.get(db, project), members.get(db, project, site.people[person].id))


def answer(site, project, person, labels):
    """Give a person's answer to the next post that they get; None where there is none."""
    with site.store.write() as db:
        sheet = next_sheet(db, site, project, person)
        if sheet is None:
            return None
        labelling.save(db, sheet, labels, annotation_id=new_id())
        return sheet.post.text


def records(site):
    with site.store.read() as db:
        return {it.decision.reference: it for it in iter_records(db, communities.get(db, "forum"))}


def settle(site):
    Decider(site.store, settling=timedelta(0)).flush()


def test_an_appeal_goes_to_others_than_the_first_reviewers_and_its_outcome_holds(site, key, forum):
    assert send(site, key, c1="a quiet thing") == ["review"]
    assert appeal(site, key, "c1").status_code == 409, "a review comes first"
    assert answer(site, forum, "annotator", HATEFUL) == "a quiet thing"
    filed = appeal(site, key, "c1", statement="It was a joke.")
    assert (filed.status_code, filed.json()["state"], filed.json()["before"]) == (200, "open", "flag")
    assert appeal(site, key, "c1").json() == filed.json(), "sent twice, filed once"
    assert records(site)["c1"].state == "appealed"
    assert answer(site, forum, "annotator", HATEFUL) is None, "the first reviewer does not get it"
    assert answer(site, forum, "expert", FINE) == "a quiet thing"
    settle(site)
    told = api(site, key).get(f"/v1/appeals/{filed.json()['id']}").json()
    assert (told["state"], told["outcome"]) == ("reversed", "pass")
    record = records(site)["c1"]
    assert (record.state, record.final, record.automated) == ("reversed", "pass", False)
    assert set(record.review.reviewers).isdisjoint(record.appeal.reviewers)
    row = next(csv.DictReader(io.StringIO(site.as_("admin").get("/communities/forum/decisions.csv").text)))
    assert (row["decision"], row["final"], row["appeal_state"], row["appeal_outcome"]) == (
        "review",
        "pass",
        "reversed",
        "pass",
    )
    assert row["reviewers"] == record.review.reviewers[0]
    assert row["reviewed_at"] < row["appeal_reviewed_at"]


def test_experts_who_decided_first_are_not_asked_either(site, key, forum):
    send(site, key, c1="a quiet thing")
    with site.store.write() as db:
        members.set_roles(db, forum, site.people["annotator"].id, ["annotator", "expert"], by="shell")
    answer(site, forum, "annotator", HATEFUL)
    filed = appeal(site, key, "c1").json()
    with site.store.read() as db:
        post = appeals.get(db, filed["id"]).post
        assert cases.has_labelled(db, post, site.people["annotator"].id)
        assert not cases.has_labelled(db, post, site.people["expert"].id)


def test_the_text_of_an_automated_decision_comes_with_the_appeal_and_is_the_one_that_was_decided(site, key, forum):
    assert send(site, key, c1="a grumblefop") == ["flag"]
    assert "Send it with the appeal" in appeal(site, key, "c1").json()["error"]
    assert appeal(site, key, "c1", text="something else").status_code == 409
    assert appeal(site, key, "c1", text="a grumblefop").json()["before"] == "flag"
    assert records(site)["c1"].automated
    assert answer(site, forum, "expert", HATEFUL) == "a grumblefop"
    settle(site)
    assert (records(site)["c1"].state, records(site)["c1"].automated) == ("upheld", False)


@pytest.mark.parametrize(
    ("sent", "status", "words"),
    [
        ({"decision": "nobody"}, 404, "no decision 'nobody', or it was deleted"),
        ({"decision": "c1", "community": "club"}, 403, "no community 'club' that this API key may use"),
        ({"decision": ""}, 422, "decision"),
        ({"decision": "c1", "statement": "x" * 6_000, "text": "a grumblefop"}, 413, "at most 5,000"),
        ({"decision": "c1", "extra": 1}, 422, "extra"),
    ],
)
def test_an_appeal_that_can_t_be_filed_is_one_clear_answer(site, key, forum, sent, status, words):
    send(site, key, c1="a grumblefop")
    refused = api(site, key).post("/v1/appeals", json={"community": "forum", **sent})
    assert refused.status_code == status
    assert words in refused.text
    with site.store.read() as db:
        assert not appeals.count_open(db, "forum")


def test_an_appeal_against_a_deleted_decision_is_refused_and_an_open_one_keeps_its_decision(site, key, forum):
    send(site, key, c1="a grumblefop", c2="another grumblefop")
    appeal(site, key, "c2", text="another grumblefop")
    with site.store.write() as db:
        old = RETENTION["decisions"].old(now() + timedelta(days=1), "")
        db.execute(decisions.delete().where(*old))
    assert set(records(site)) == {"c2"}
    assert appeal(site, key, "c1", text="a grumblefop").status_code == 404


def test_a_correction_against_a_decision_is_an_appeal_and_any_other_stays_a_correction(site, key, forum):
    send(site, key, c1="a grumblefop", c2="another grumblefop")

    def suggest(token, text, value):
        body = {
            "comment": {"text": text},
            "attributeScores": {"IDENTITY_ATTACK": {"summaryScore": {"value": value}}},
            "languages": ["en"],
            "communityId": "forum",
            "clientToken": token,
        }
        return site.visitor().post(f"/v1alpha1/comments:suggestscore?key={key[1]}", json=body).json()

    assert "davy" not in suggest("c1", "a grumblefop", 0.9), "it agrees with the decision"
    assert "davy" not in suggest("c9", "a quiet thing", 0.0), "nothing was decided about it"
    filed = suggest("c2", "another grumblefop", 0.0)
    assert filed["clientToken"] == "c2"
    assert records(site)["c2"].appeal.id == filed["davy"]["appeal"]
    with site.store.read() as db:
        assert len(suggestions.list_open(db, community="forum")) == 2


def test_an_appeals_outcome_is_told_once(site, key, forum, monkeypatch):
    monkeypatch.setenv("DAVY_WEBHOOK_NETWORKS", "127.0.0.0/8")
    with site.store.write() as db:
        communities.change(db, "forum", by="shell", webhook="http://127.0.0.1:9/hook")
    send(site, key, c1="a grumblefop")
    filed = appeal(site, key, "c1", text="a grumblefop").json()
    answer(site, forum, "expert", FINE)
    settle(site)
    settle(site)
    with site.store.write() as db:
        told = [job.arguments["appeals"] for job in jobs.latest(db, limit=50) if "appeals" in job.arguments]
        assert settle_appeals(db, communities.get(db, "forum"), before=now()) == []
    assert told == [[filed["id"]]]


def test_barred_people_keep_their_tallies(site, key, forum):
    send(site, key, c1="a quiet thing")
    answer(site, forum, "annotator", HATEFUL)
    appeal(site, key, "c1")
    with site.store.read() as db:
        phase = phases.of_project(db, forum)[0]
        barred = [it for it in db.execute(assignments.assignments.select()) if it.state == "barred"]
    assert [it.annotator for it in barred] == [site.people["annotator"].id]
    assert phase.size == 2
