"""Appeals: tie one to its decision, give it to other people than the first ones, and note what they settle.

A program's request in, an `Appeal` out. The appeal's post joins the review project as a post of its own, so that nobody
sees the first verdict. Whoever answered or settled the first post never gets it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from davy.annotation.labelling.store import assignments
from davy.annotation.project.store import posts
from davy.core.errors import UserError
from davy.moderation.communities import PostForReview, queue_posts
from davy.moderation.decision_records import records_of, review_scheme, settled_decision
from davy.moderation.store import appeals, communities, decisions
from davy.moderation.store.appeals import Appeal
from davy.moderation.store.communities import Community
from davy.moderation.store.decisions import Decision, sent_key
from davy.moderation.store.reviews import first_reviewers, reviews_of
from davy.scoring.result import repair_text
from davy.store import Connection, events

LONGEST_STATEMENT = 5_000


@dataclass(frozen=True, slots=True)
class AppealRequest:
    """What somebody appeals against: a decision's id or the sender's id of the post, with the text if it isn't kept."""

    decision: str
    text: str | None = None
    statement: str | None = None
    wanted: str | None = None
    """The outcome that is wanted, `flag` or `pass`, where that is known."""


def file_appeal(db: Connection, community: Community, asked: AppealRequest, *, by: str, key: str | None) -> Appeal:
    """Keep an appeal and queue its post; one that was filed already is returned as it is."""
    decision = decisions.find(db, community.name, asked.decision)
    if decision is None:
        raise UserError(
            f"Community {community.name!r} has no decision {asked.decision[:80]!r}, or it was deleted. Send the post "
            "again for a new decision.",
            status=404,
        )
    known = appeals.by_decision(db, [decision.id]).get(decision.id)
    if known is not None:
        return known
    if community.project is None:
        raise UserError(f"Community {community.name!r} has no project in which people could look again.", status=409)
    if len(asked.statement or "") > LONGEST_STATEMENT:
        raise UserError(f"A statement has at most {LONGEST_STATEMENT:,} characters.", status=413)
    record = records_of(db, community, [decision])[0]
    if record.final not in ("flag", "pass"):
        raise UserError(
            f"The decision {asked.decision[:80]!r} has no outcome yet ({record.final}). "
            "A review comes before an appeal.",
            status=409,
        )
    if asked.wanted == record.final:
        raise UserError(f"The decision {asked.decision[:80]!r} is {record.final} already.", status=409)
    appeal = Appeal(community.name, decision.id, by, record.final, asked.statement, key)
    text = _text(db, community, decision, asked.text)
    post = PostForReview(appeal.id, text, decision.lang, {"community": community.name})
    keys = queue_posts(db, community.project, [post], source=f"community {community.name}", by=events.SYSTEM)
    appeal = replace(appeal, post=keys[appeal.id])
    if decision.post is not None:
        assignments.bar(db, keys[appeal.id], first_reviewers(db, decision.post, community.project))
    appeals.add(db, appeal)
    events.record(db, by=by, what="appeal filed", about=f"community {community.name}", decision=decision.id)
    return appeal


def _text(db: Connection, community: Community, decision: Decision, text: str | None) -> str:
    """Return the text that was decided about: the review project's, else the one that is sent again."""
    if decision.post is not None:
        return posts.get(db, decision.post).text
    if text is None or not text.strip():
        raise UserError("The text of this decision was not kept. Send it with the appeal, as text.", status=422)
    sent = repair_text(text)
    parts = (decision.reference or "", sent, decision.decision, decision.model)
    if decision.sent_key is not None and sent_key(community.salt, *parts) != decision.sent_key:
        raise UserError("This is not the text that was decided about. Send it as it was then.", status=409)
    return sent


def settle_appeals(db: Connection, community: Community, *, before: datetime) -> list[str]:
    """Note what reviewers have settled about open appeals until a time; return the ids of these appeals."""
    waiting = appeals.list_open(db, community.name)
    scheme = review_scheme(db, community)
    reviews = reviews_of(db, [one.post for one in waiting if one.post], community.project)
    settled = []
    for one in waiting:
        review = reviews.get(one.post or "")
        if review is None or review.at >= before:
            continue
        outcome = settled_decision(scheme, community, review)
        if outcome and appeals.settle(db, one, outcome, reviewed_at=review.at, reviewers=review.reviewers):
            settled.append(one.id)
            events.record(
                db,
                by=events.SYSTEM,
                what="appeal decided",
                about=f"community {one.community}",
                decision=one.decision,
                outcome=outcome,
            )
    return settled


def community_of_key(db: Connection, name: str, key: str) -> Community:
    """Return a community that a key may use; another is as unknown as one that is not there."""
    found = communities.find(db, name)
    if found is None or key not in found.keys:
        raise UserError(f"There is no community {name[:80]!r} that this API key may use.", status=403)
    return found
