"""A decision with all that became of it: what reviewers settled, an appeal, what holds now, whether a person decided.

A community in; its decisions as records, and as the rows that exports, webhooks and pages show, out. No texts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.store import projects
from davy.core.scheme import Scheme
from davy.moderation.review_answers import deciding_answers, reviewed_decision
from davy.moderation.store import appeals, decisions
from davy.moderation.store.appeals import Appeal
from davy.moderation.store.communities import Community
from davy.moderation.store.decisions import Decision
from davy.moderation.store.reviews import Review, reviews_of
from davy.store import Connection

STATES: tuple[str, ...] = ("decided", "waiting", "reviewed", "appealed", "upheld", "reversed")


@dataclass(frozen=True, slots=True)
class DecisionRecord:
    """A decision; `reviewed` is what its reviewers decided, None while they have not."""

    decision: Decision
    review: Review | None = None
    reviewed: str | None = None
    appeal: Appeal | None = None

    @property
    def state(self) -> str:
        """How far it is: one of `STATES`."""
        if self.appeal is not None:
            return "appealed" if self.appeal.state == "open" else self.appeal.state
        if self.reviewed is not None:
            return "reviewed"
        return "waiting" if self.decision.post is not None else "decided"

    @property
    def final(self) -> str:
        """What holds now."""
        outcome = self.appeal.outcome if self.appeal is not None else None
        return outcome or self.reviewed or self.decision.decision

    @property
    def automated(self) -> bool:
        """Whether no person has decided about it."""
        return self.reviewed is None and (self.appeal is None or self.appeal.outcome is None)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        one, review, appeal, policy = self.decision, self.review, self.appeal, self.decision.policy
        return {
            "id": one.id,
            "at": one.at.isoformat(),
            "community": one.community,
            "reference": one.reference,
            "decision": one.decision,
            "model": one.model,
            "lang": one.lang,
            "reasons": list(one.reasons),
            "state": self.state,
            "final": self.final,
            "automated": self.automated,
            "reviewed": {} if review is None else dict(review.answers),
            "reviewers": [] if review is None else list(review.reviewers),
            "reviewed_at": None if review is None else review.at.isoformat(),
            "ground": None if policy is None else policy.ground,
            "action": policy.action if policy is not None and self.final == "flag" else None,
            "appeal": None if appeal is None else appeal_fields(appeal),
        }


def appeal_fields(appeal: Appeal) -> dict[str, Any]:
    """Return an appeal as JSON has it; its statement stays on the server."""
    return {
        "id": appeal.id,
        "at": appeal.at.isoformat(),
        "state": appeal.state,
        "before": appeal.before,
        "outcome": appeal.outcome,
        "reviewers": list(appeal.reviewers),
        "reviewed_at": None if appeal.reviewed_at is None else appeal.reviewed_at.isoformat(),
    }


COLUMNS: tuple[str, ...] = (
    *("id", "at", "community", "reference", "decision", "model", "lang", "reasons", "reviewed"),
    *("state", "final", "automated", "reviewers", "reviewed_at", "ground", "action"),
    *("appeal", "appeal_at", "appeal_state", "appeal_outcome", "appeal_reviewers", "appeal_reviewed_at"),
)
"""The columns of an export."""


def export_row(record: DecisionRecord) -> dict[str, str | None]:
    """Return a record as a row of an export."""
    row = record.to_dict()
    appeal = row["appeal"] or {}
    reviewed = sorted(f"{question}={'|'.join(labels)}" for question, labels in row["reviewed"].items())
    return {
        **{name: row[name] for name in COLUMNS[:7]},
        "reasons": json.dumps(row["reasons"], ensure_ascii=False),
        "reviewed": "; ".join(reviewed) or None,
        "state": row["state"],
        "final": row["final"],
        "automated": "yes" if row["automated"] else "no",
        "reviewers": "; ".join(row["reviewers"]) or None,
        "reviewed_at": row["reviewed_at"],
        "ground": row["ground"],
        "action": row["action"],
        "appeal": appeal.get("id"),
        **{f"appeal_{name}": appeal.get(name) for name in ("at", "state", "outcome", "reviewed_at")},
        "appeal_reviewers": "; ".join(appeal.get("reviewers", ())) or None,
    }


def iter_records(db: Connection, community: Community) -> Iterator[DecisionRecord]:
    """Yield a community's decisions with what became of them, oldest first."""
    for part in decisions.iter_parts(db, community.name):
        yield from records_of(db, community, part)


def records_of(db: Connection, community: Community, made: Sequence[Decision]) -> list[DecisionRecord]:
    """Return decisions of a community with what became of them."""
    reviews = reviews_of(db, [one.post for one in made if one.post], community.project)
    appealed = appeals.by_decision(db, [one.id for one in made])
    scheme = review_scheme(db, community)
    records = []
    for one in made:
        review = reviews.get(one.post or "")
        reviewed = None if review is None else settled_decision(scheme, community, review)
        records.append(DecisionRecord(one, review, reviewed, appealed.get(one.id)))
    return records


def review_scheme(db: Connection, community: Community) -> Scheme | None:
    """Return what the reviewers of a community are asked."""
    return None if community.project is None else scheme_of(db, projects.get(db, community.project))


def settled_decision(scheme: Scheme | None, community: Community, review: Review) -> str | None:
    """Return `flag` or `pass` by a review; None while what decides is open."""
    if scheme is None:
        return None
    return reviewed_decision(scheme, deciding_answers(scheme, community.question), review.answers)
