"""Statements of reasons (DSA, article 17) as the European Commission's transparency database takes them.

Decisions in, JSON for `POST /api/v1/statements` out. Fields and their rules are those of the database's own validator,
`StatementsStoreRequest` in github.com/digital-services-act/transparency-database at 2014d1ff, for version 1 of its API.
Nothing is sent. What only the platform knows is for it to check: the date of the content is the day it was decided on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from davy.core.errors import UserError
from davy.moderation.decision_records import DecisionRecord, iter_records
from davy.moderation.store.communities import Community, Policy
from davy.store import Connection

SCHEMA = "DSA transparency database, API v1, StatementsStoreRequest at 2014d1ff"
CATEGORY = "STATEMENT_CATEGORY_ILLEGAL_OR_HARMFUL_SPEECH"
LONGEST_GROUND, LONGEST_EXPLANATION, LONGEST_FACTS = 500, 2_000, 5_000


def statements_of(db: Connection, community: Community, *, decision: str | None = None) -> Iterator[dict[str, Any]]:
    """Yield a statement for each decision that restricts a post and holds, or for the one that is named."""
    found = 0
    for record in iter_records(db, community):
        if decision is not None and decision not in (record.decision.id, record.decision.reference):
            continue
        found += 1
        if record.final == "flag":
            yield statement(record, community)
    if decision is not None and not found:
        raise UserError(f"Community {community.name!r} has no decision {decision[:80]!r}.", status=404)


def statement(record: DecisionRecord, community: Community) -> dict[str, Any]:
    """Return the statement of reasons of a decision that restricts a post."""
    policy = record.decision.policy or community.policy
    if policy is None:
        raise UserError(
            f"Community {community.name!r} has no policy, and a statement of reasons names its ground. Set one: "
            "davy community set NAME --policy F",
            status=409,
        )
    lang = (record.decision.lang or "").partition("-")[0]
    found: dict[str, Any] = {
        "decision_visibility": [f"DECISION_VISIBILITY_CONTENT_{policy.action.upper()}"],
        **_ground(policy),
        "category": CATEGORY,
        "content_type": ["CONTENT_TYPE_TEXT"],
        "content_date": f"{record.decision.at:%Y-%m-%d}",
        "application_date": f"{_applied(record):%Y-%m-%d}",
        "decision_facts": facts(record)[:LONGEST_FACTS],
        "source_type": "SOURCE_VOLUNTARY",
        "automated_detection": "Yes",
        "automated_decision": "AUTOMATED_DECISION_FULLY" if record.automated else "AUTOMATED_DECISION_PARTIALLY",
        "puid": record.decision.id,
    }
    return found | ({"content_language": lang.upper()} if len(lang) == 2 else {})


def facts(record: DecisionRecord) -> str:
    """Return the facts of a decision in plain English: how it was found, who decided, and what an appeal came to."""
    one = record.decision
    reason = one.reasons[0] if one.reasons else None
    found = f"An automated detector ({one.model}) looked at the post on {one.at:%Y-%m-%d}."
    if reason is not None:
        name = reason.get("question") or reason.get("attribute")
        found += f" {name}: {reason['probability']:.3f}, threshold {reason['threshold']:.3f}."
    said = {"flag": "It was decided automatically.", "review": "It was sent to people for review."}
    parts = [found, said.get(one.decision, "")]
    if record.review is not None and record.reviewed is not None:
        parts.append(_reviewed("Reviewer", record.review.reviewers, f"{record.review.at:%Y-%m-%d}", record.reviewed))
    if record.appeal is not None:
        parts.append(f"The decision was appealed on {record.appeal.at:%Y-%m-%d}.")
        if record.appeal.outcome is not None and record.appeal.reviewed_at is not None:
            at = f"{record.appeal.reviewed_at:%Y-%m-%d}"
            parts.append(_reviewed("Another reviewer", record.appeal.reviewers, at, record.appeal.outcome))
    return " ".join(part for part in parts if part)


def _reviewed(who: str, names: Any, at: str, outcome: str) -> str:
    verdict = "the post breaks the rule" if outcome == "flag" else "the post does not break the rule"
    return f"{who} {', '.join(names)} decided on {at}: {verdict}."


def _ground(policy: Policy) -> dict[str, Any]:
    ground, explanation = policy.ground[:LONGEST_GROUND], (policy.explanation or policy.ground)[:LONGEST_EXPLANATION]
    kind = "illegal" if policy.illegal else "incompatible"
    name = "legal_ground" if policy.illegal else "ground"
    found = {
        "decision_ground": f"DECISION_GROUND_{kind.upper()}_CONTENT",
        f"{kind}_content_{name}": ground,
        f"{kind}_content_explanation": explanation,
    }
    return found | ({"decision_ground_reference_url": policy.url} if policy.url else {})


def _applied(record: DecisionRecord) -> Any:
    """Return since when the decision holds that restricts the post."""
    if record.appeal is not None and record.appeal.state == "reversed" and record.appeal.reviewed_at is not None:
        return record.appeal.reviewed_at
    if record.decision.decision != "flag" and record.review is not None:
        return record.review.at
    return record.decision.at
