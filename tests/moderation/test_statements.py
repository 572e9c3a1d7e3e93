"""Statements of reasons have the fields and values that the Commission's validator asks for."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime

import pytest

from davy.core.errors import UserError
from davy.moderation.decision_records import DecisionRecord
from davy.moderation.statements import facts, statement, statements_of
from davy.moderation.store import communities, decisions
from davy.moderation.store.appeals import Appeal
from davy.moderation.store.communities import ACTIONS, Community, Policy
from davy.moderation.store.decisions import Decision
from davy.moderation.store.reviews import Review
from davy.shell.app import run
from davy.store import open_store

RULES = Policy("House rules, section 3", "We remove posts that attack people.", "https://example.org/rules#3")
REASONS = ({"question": "hate", "probability": 0.93, "threshold": 0.76, "label": "hateful"},)
DAY = datetime(2026, 11, 2, 9, tzinfo=UTC)

REQUIRED = (
    *("decision_ground", "content_type", "category", "content_date", "application_date", "decision_facts"),
    *("source_type", "automated_detection", "automated_decision", "puid"),
)
VALUES = {
    "decision_ground": {"DECISION_GROUND_ILLEGAL_CONTENT", "DECISION_GROUND_INCOMPATIBLE_CONTENT"},
    "source_type": {
        "SOURCE_ARTICLE_16",
        "SOURCE_TRUSTED_FLAGGER",
        "SOURCE_TYPE_OTHER_NOTIFICATION",
        "SOURCE_VOLUNTARY",
    },
    "automated_detection": {"Yes", "No"},
    "automated_decision": {
        "AUTOMATED_DECISION_FULLY",
        "AUTOMATED_DECISION_PARTIALLY",
        "AUTOMATED_DECISION_NOT_AUTOMATED",
    },
    "category": {"STATEMENT_CATEGORY_ILLEGAL_OR_HARMFUL_SPEECH"},
}
VISIBILITIES = {
    f"DECISION_VISIBILITY_CONTENT_{it}"
    for it in ("REMOVED", "DISABLED", "DEMOTED", "AGE_RESTRICTED", "INTERACTION_RESTRICTED", "LABELLED")
}
LONGEST = {"decision_facts": 5_000, "puid": 500, "decision_ground_reference_url": 500}


def faults(made):
    """Return what the validator of the transparency database (2014d1ff) would refuse."""
    found = [f"{name} is missing" for name in REQUIRED if not made.get(name)]
    found += [f"{name}: {made[name]}" for name, known in VALUES.items() if made.get(name) not in known]
    found += [f"{name} is too long" for name, most in LONGEST.items() if len(made.get(name, "")) > most]
    found += [
        f"{name}" for name in ("content_date", "application_date") if not re.fullmatch(r"\d{4}-\d\d-\d\d", made[name])
    ]
    if not set(made["decision_visibility"]) <= VISIBILITIES or not made["decision_visibility"]:
        found.append("decision_visibility")
    kind, ground = ("illegal", "legal_ground") if "ILLEGAL" in made["decision_ground"] else ("incompatible", "ground")
    for name, most in ((f"{kind}_content_{ground}", 500), (f"{kind}_content_explanation", 2_000)):
        if not 0 < len(made.get(name, "")) <= most:
            found.append(name)
    if not re.fullmatch(r"[a-zA-Z0-9_-]+", made["puid"]) or not re.fullmatch(
        "[A-Z]{2}", made.get("content_language", "EN")
    ):
        found.append("puid or content_language")
    return found


def decision(outcome="flag", policy=RULES, **more):
    return Decision("forum", "embedded-en@1", outcome, REASONS, "c1", lang="en-GB", policy=policy, at=DAY, **more)


def test_an_automated_decision_names_its_ground_its_detector_and_that_no_person_decided():
    made = statement(DecisionRecord(decision()), Community("forum", "hate"))
    assert faults(made) == []
    assert made["automated_decision"] == "AUTOMATED_DECISION_FULLY"
    assert made["incompatible_content_ground"] == "House rules, section 3"
    assert made["decision_ground_reference_url"] == "https://example.org/rules#3"
    assert (made["content_language"], made["application_date"]) == ("EN", "2026-11-02")
    assert "embedded-en@1" in made["decision_facts"]
    assert "hate: 0.930, threshold 0.760" in made["decision_facts"]


def test_a_reviewed_and_appealed_decision_says_who_decided_by_pseudonym_and_when():
    review = Review(datetime(2026, 11, 3, tzinfo=UTC), {"hate": ["not hateful"]}, ["red fox"])
    appeal = Appeal(
        *("forum", "d", "me", "pass"),
        at=datetime(2026, 11, 4, tzinfo=UTC),
        state="reversed",
        outcome="flag",
        reviewed_at=datetime(2026, 11, 5, tzinfo=UTC),
        reviewers=("blue owl",),
    )
    record = DecisionRecord(decision("review", post="p"), review, "pass", appeal)
    made = statement(record, Community("forum", "hate"))
    assert faults(made) == []
    assert (made["automated_decision"], made["application_date"]) == ("AUTOMATED_DECISION_PARTIALLY", "2026-11-05")
    assert "red fox decided on 2026-11-03: the post does not break the rule." in facts(record)
    assert "Another reviewer blue owl decided on 2026-11-05: the post breaks the rule." in facts(record)


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("illegal", [True, False])
def test_every_action_and_ground_is_one_that_the_database_knows(action, illegal):
    policy = Policy("§ 130 StGB" * 100, "", "", illegal, action)
    assert faults(statement(DecisionRecord(decision(policy=policy)), Community("forum", "hate"))) == []


def test_only_decisions_that_restrict_a_post_have_a_statement_and_the_shell_writes_them(tmp_path, capsys):
    database = f"sqlite:///{tmp_path / 'davy.sqlite'}"
    assert run(["database", "create", "--database", database]) == 0
    with open_store(database) as store, store.write() as db:
        communities.create(db, Community("forum", "hate", policy=RULES), by="shell")
        decisions.add(db, [decision(), decision("pass", None, sent_key="a"), decision("not_judged", sent_key="b")])
        made = list(statements_of(db, communities.get(db, "forum")))
        with pytest.raises(UserError, match="no decision 'nobody'"):
            list(statements_of(db, communities.get(db, "forum"), decision="nobody"))
        decisions.add(db, [decision(policy=None, sent_key="c")])
        communities.change(db, "forum", by="shell", policy=None)
        with pytest.raises(UserError, match="has no policy"):
            list(statements_of(db, communities.get(db, "forum")))
        communities.change(db, "forum", by="shell", policy=RULES)
    assert [it["puid"] for it in made] == [made[0]["puid"]]
    out = tmp_path / "statements.json"
    assert run(["community", "reasons", "forum", "--out", str(out), "--database", database]) == 0
    written = json.loads(out.read_text(encoding="utf-8"))["statements"]
    assert len(written) == 2
    assert all(faults(it) == [] for it in written)
    assert "2 statements of reasons" in capsys.readouterr().err
