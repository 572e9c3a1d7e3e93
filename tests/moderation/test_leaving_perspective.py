"""A team leaves Perspective: a log, thresholds by language, a community, posts, review, an appeal, what is told of it.

One way from its first file to its last, readable from top to bottom. Texts, scores and words are made up.
"""

from __future__ import annotations

import csv
import io
import json
import random
import time
from datetime import timedelta

import pytest
from webhook_receiver import receiving

from davy.annotation.labelling import labelling
from davy.annotation.project.project_creation import create_project
from davy.annotation.project.project_file import read_plan
from davy.annotation.project.store import members, phases, projects
from davy.moderation import webhooks
from davy.moderation.communities import create_community
from davy.moderation.moderation_decisions import Decider
from davy.moderation.policy_file import read_policy
from davy.moderation.server_part import Moderation
from davy.moderation.threshold_file import read_thresholds
from davy.people.store import keys
from davy.shell.app import run
from davy.store.columns import new_id
from page_blocks import blocks

WORDS = "grumblefop\t0.9\nmurkel\t0.8\nfripon\t0.7\nzarpado\t0.6\nmeh\t0.38\n"
"""The detector: made-up words of four languages with their weights, and a doubtful one."""
RUDE = {"en": "grumblefop", "de": "murkel", "fr": "fripon", "es": "zarpado"}
CALM = {"en": "what a lovely garden", "de": "ein schöner Garten", "fr": "un beau jardin", "es": "un jardín bonito"}
POLICY = """
ground: House rules, section 3
explanation: We remove posts that attack people.
url: https://example.org/rules#3
action: removed
"""


@pytest.fixture
def words_file(tmp_path):
    """The word list that the server's detector is made of."""
    path = tmp_path / "words.txt"
    path.write_text(WORDS, encoding="utf-8")
    return path


@pytest.fixture
def hook(monkeypatch):
    """A receiver of webhooks: what it got, by the kind of news."""
    monkeypatch.setenv(webhooks.NETWORKS, "127.0.0.0/8")
    got: list[dict] = []
    with receiving(got.append) as address:
        yield address, got


def old_log(path):
    """Write 3,000 answers of Perspective in four languages: rude comments have 0.9, and one calm one in 100."""
    draw, lines = random.Random(3), []
    for i in range(3_000):
        lang = ("en", "de", "fr", "es")[i % 4]
        rude = draw.random() < 0.1
        text = f"{CALM[lang]} {i} {RUDE[lang] if rude else ''}"
        value = 0.9 if rude or draw.random() < 0.01 else draw.random() * 0.5
        scores = {"IDENTITY_ATTACK": {"summaryScore": {"value": value, "type": "PROBABILITY"}}}
        lines.append(json.dumps({"comment": {"text": text}, "languages": [lang], "attributeScores": scores}))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_a_team_leaves_perspective(site, words_file, tmp_path, hook):
    # The log, and thresholds by language.
    log, out = tmp_path / "perspective.jsonl", tmp_path / "migration"
    old_log(log)
    model = f"keywords:{words_file}@hate"
    assert run(["migrate", "compare", str(log), "--model", model, "--flagged-from", "0.7", "--out", str(out)]) == 0
    compared = json.loads((out / "compare.json").read_text(encoding="utf-8"))["attributes"]["IDENTITY_ATTACK"]
    assert {lang: it["posts"] for lang, it in compared["languages"].items()} == dict.fromkeys(RUDE, 750)
    assert all(it["kept_flags"]["value"] > 0.8 for it in compared["languages"].values())
    assert all(it["kappa"]["value"] > 0.8 for it in compared["languages"].values())
    assert "Flagged before, not now" in (out / "disagreements.html").read_text(encoding="utf-8")
    thresholds = read_thresholds(out / "thresholds.yaml")
    assert set(thresholds.languages) == set(RUDE)

    # A review project with two reviewers, and a community that decides by those thresholds.
    (tmp_path / "policy.yaml").write_text(POLICY, encoding="utf-8")
    url, got = hook
    with site.store.write() as db:
        key, secret = keys.create(db, name="site", owner=site.people["admin"].id, scopes=["score"], by="shell")
        project = create_project(db, read_plan("moderation"), by=site.people["admin"].id)
        for person in ("annotator", "expert"):
            members.add(db, project.project.id, site.people[person].id, ["annotator"], by="shell")
            members.consent(db, project.project.id, site.people[person].id)
        phases.open_phase(db, project.phases[0].id, by="shell")
        common = thresholds.common["hate"]
        fields = {
            "thresholds": thresholds.common,
            "language_thresholds": thresholds.languages,
            "low": common - 0.1,
            "high": common + 0.1,
            "keys": (key.id,),
            "project": project.project.id,
            "webhook": url,
            "policy": read_policy(tmp_path / "policy.yaml"),
        }
        create_community(db, "forum", fields, by="shell")
    decider = site.app.state.context.part(Moderation).decider
    decider.refresh()
    decider.flush()  # what was settled before this moment is not told

    # 600 posts in four languages: a twentieth is rude, a twentieth doubtful.
    caller = site.visitor(authorization=f"Bearer {secret}")
    sent, wanted = [], []
    for i in range(600):
        lang = ("en", "de", "fr", "es")[i % 4]
        word, decision = {0: (RUDE[lang], "flag"), 1: ("meh", "review")}.get(i // 4 % 20, ("", "pass"))
        sent.append({"text": f"{CALM[lang]} {i} {word}", "id": f"c{i}", "lang": lang})
        wanted.append(decision)
    for start in range(0, 600, 100):
        answer = caller.post("/v1/score", json={"community": "forum", "posts": sent[start : start + 100]})
        assert [it["decision"] for it in answer.json()["results"]] == wanted[start : start + 100]
        # Sent twice, counted once.
        caller.post("/v1/score", json={"community": "forum", "posts": sent[start : start + 100]})
        decider.flush()
    flagged, doubtful = wanted.count("flag"), wanted.count("review")

    # A reviewer decides about the doubtful ones.
    settling = Decider(site.store, settling=timedelta(0))
    reviewed = {answer_next(site, project.project.id, "annotator", "hateful") for _ in range(doubtful)}
    assert reviewed == {post["text"] for post, decision in zip(sent, wanted, strict=True) if decision == "review"}
    settling.flush()

    # The author of one appeals: somebody else looks, and the decision is reversed.
    appealed = next(post for post, decision in zip(sent, wanted, strict=True) if decision == "review")
    asked = {"community": "forum", "decision": appealed["id"], "statement": "It was a joke."}
    appeal = caller.post("/v1/appeals", json=asked).json()
    assert (appeal["before"], appeal["state"]) == ("flag", "open")
    assert answer_next(site, project.project.id, "annotator", "hateful") is None
    assert answer_next(site, project.project.id, "expert", "not hateful") == appealed["text"]
    settling.flush()
    assert caller.get(f"/v1/appeals/{appeal['id']}").json()["outcome"] == "pass"

    # The webhook told all of it, without texts.
    def told(what):
        return [one for news in got for one in news.get(what, ())]

    wait_for(lambda: told("appeals") and len(told("reviews")) == doubtful)
    assert [it["decision"] for it in told("decisions")].count("flag") == flagged
    assert all(it["reviewed"] == {"hate": ["hateful"]} for it in told("reviews"))
    assert [(it["reference"], it["final"]) for it in told("appeals")] == [(appealed["id"], "pass")]
    assert "garden" not in json.dumps(got)
    for shown in (json.loads(block.text) for block in blocks("clients.md") if block.language == "json"):
        [what] = set(shown) - {"community"}
        assert_has_fields(told(what)[0], shown[what][0])

    # The export says what holds now, and who decided.
    admin = site.as_("admin")
    rows = list(csv.DictReader(io.StringIO(admin.get("/communities/forum/decisions.csv").text)))
    assert [row["decision"] for row in rows] == wanted
    last = next(row for row in rows if row["reference"] == appealed["id"])
    assert (last["decision"], last["final"], last["state"], last["automated"]) == ("review", "pass", "reversed", "no")
    assert last["reviewers"]
    assert last["reviewers"] != last["appeal_reviewers"]
    assert admin.get("/communities/forum/decisions?state=reversed").text.count(f">{appealed['id']}</div>") == 1

    # Each restriction that holds has its statement of reasons; the one that was reversed has none.
    statements = admin.get("/communities/forum/reasons.json").json()["statements"]
    automated = [it["automated_decision"] for it in statements]
    assert automated.count("AUTOMATED_DECISION_FULLY") == flagged
    assert automated.count("AUTOMATED_DECISION_PARTIALLY") == doubtful - 1
    assert {it["incompatible_content_ground"] for it in statements} == {"House rules, section 3"}
    assert {it["content_language"] for it in statements} == {"EN", "DE", "FR", "ES"}


def answer_next(site, project, person, label):
    """Give a person's answer to the next post that they get, and return its text; None where there is none."""
    with site.store.write() as db:
        member = members.get(db, project, site.people[person].id)
        sheet = labelling.next_sheet(db, projects.get(db, project), member)
        if sheet is None:
            return None
        labelling.save(db, sheet, {"hate": (label,)}, annotation_id=new_id())
        return sheet.post.text


def assert_has_fields(sent, shown):
    """Whether what is sent has each field of an example, within its parts too."""
    assert set(shown) <= set(sent)
    for name, part in shown.items():
        if isinstance(part, dict) and name != "reviewed":  # whose names are questions
            assert_has_fields(sent[name], part)
        if isinstance(part, list) and part and isinstance(part[0], dict):
            assert_has_fields(sent[name][0], part[0])


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)
