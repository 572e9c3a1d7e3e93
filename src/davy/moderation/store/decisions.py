"""What was decided for communities, and how scores were spread over the days. No texts.

A decision that is sent twice, under the same id and with the same text, is kept once. Decisions are kept until their
community is removed; counts are sums, added to by every process of the server.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import (
    CheckConstraint,
    ColumnElement,
    Connection,
    Select,
    UniqueConstraint,
    and_,
    delete,
    func,
    or_,
    select,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from davy.annotation.labelling.store.tables import verdicts
from davy.moderation.store.appeals import appeals
from davy.moderation.store.communities import Policy, communities
from davy.store.columns import new_id, now, table_index
from davy.store.rows import Rows

BUCKETS = 20
OUTCOMES: tuple[str, ...] = ("flag", "review", "not_judged", "pass")
REVIEWS = 5_000
"""Verdicts of one call of `take_reviewed`; the next call takes more."""
_KEY = ("day", "community", "model", "question", "lang", "bucket")


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision: `reasons` has each question's probability, threshold and label."""

    community: str
    model: str
    decision: str
    reasons: Sequence[Mapping[str, Any]]
    reference: str | None = None
    """The sender's own id of the post; `post` is the one in the review project."""
    lang: str | None = None
    post: str | None = None
    policy: Policy | None = None
    """What the community's rule was then."""
    sent_key: str | None = None
    """Equal for a post that is sent again under the same id; None where the sender gave no id."""
    id: str = field(default_factory=new_id)
    at: datetime = field(default_factory=now)


@dataclass(frozen=True, slots=True)
class ScoreCount:
    """How many posts of a day had a probability in one twentieth. `community` is empty for posts of none."""

    day: str
    community: str
    model: str
    question: str
    lang: str
    bucket: int
    n: int


_ROWS = Rows(
    Decision,
    "decisions",
    CheckConstraint("decision IN ('pass', 'flag', 'review', 'not_judged')", name="decision"),
    UniqueConstraint("community", "sent_key", name="uq_decisions_sent"),
    table_index("ix_decisions_reference", "community", "reference", where="reference IS NOT NULL"),
    table_index("ix_decisions_community", "community", "id"),
    table_index("ix_decisions_post", "post", where="post IS NOT NULL"),
    references={"community": "communities.name", "post": "posts.id"},
)
decisions = _ROWS.table
_COUNTS = Rows(ScoreCount, "score_counts", key=_KEY)
score_counts = _COUNTS.table


def add(db: Connection, made: Sequence[Decision]) -> set[str]:
    """Keep decisions but those that were sent before; return the ids of those that are new."""
    if not made:
        return set()
    add_row = (sqlite.insert if db.dialect.name == "sqlite" else postgresql.insert)(decisions)
    db.execute(
        add_row.on_conflict_do_nothing(index_elements=["community", "sent_key"]), [_ROWS.values(one) for one in made]
    )
    ids = [one.id for one in made]
    new: set[str] = set()
    for start in range(0, len(ids), 500):
        new.update(db.scalars(select(decisions.c.id).where(decisions.c.id.in_(ids[start : start + 500]))))
    return new


def sent_key(salt: str, *parts: str) -> str:
    """Return what tells a post that is sent again, without its text: a keyed hash of its id, text and decision."""
    return hashlib.blake2b("\0".join(parts).encode("utf-8", "replace"), key=salt.encode(), digest_size=16).hexdigest()


def find(db: Connection, community: str, id_or_reference: str) -> Decision | None:
    """Return a community's decision by its id, else the newest under the sender's id."""
    mine = decisions.c.community == community
    found = _ROWS.get(db, mine, decisions.c.id == id_or_reference)
    if found is not None:
        return found
    query = _ROWS.select(mine, decisions.c.reference == id_or_reference).order_by(decisions.c.id.desc()).limit(1)
    return next(iter(_ROWS.list(db, query)), None)


def set_post(db: Connection, decision_id: str, post: str) -> None:
    """Note which post of the review project a decision became."""
    _ROWS.update(db, decisions.c.id == decision_id, post=post)


def add_counts(db: Connection, counts: Iterable[ScoreCount]) -> None:
    """Add sums to what is there."""
    make = sqlite.insert if db.dialect.name == "sqlite" else postgresql.insert
    for count in counts:
        made = make(score_counts).values(_COUNTS.values(count))
        db.execute(
            made.on_conflict_do_update(index_elements=list(_KEY), set_={"n": score_counts.c.n + made.excluded.n})
        )


def list_counts(db: Connection, community: str, *, since: str = "") -> list[ScoreCount]:
    """Return the counts of a community, or of posts of none (""), from a day on."""
    query = _COUNTS.select(score_counts.c.community == community, score_counts.c.day >= since)
    return _COUNTS.list(db, query.order_by(*(score_counts.c[name] for name in _KEY)))


def get_many(db: Connection, ids: Sequence[str]) -> list[Decision]:
    """Return decisions by their ids, oldest first."""
    return _ROWS.list(db, _ROWS.select(decisions.c.id.in_(list(ids))).order_by(decisions.c.id))


@dataclass(frozen=True, slots=True)
class DecisionFilter:
    """Which decisions are shown; "" is any. `find` is the start of the sender's id, or a decision's id."""

    decision: str = ""
    state: str = ""
    find: str = ""
    before: str = ""


def page_of(
    db: Connection, community: str, wanted: DecisionFilter, *, project: str | None, limit: int
) -> list[Decision]:
    """Return a community's decisions that a filter lets through, newest first."""
    query = _ROWS.select(decisions.c.community == community).order_by(decisions.c.id.desc()).limit(limit)
    if wanted.decision:
        query = query.where(decisions.c.decision == wanted.decision)
    if wanted.before:
        query = query.where(decisions.c.id < wanted.before)
    if wanted.find:
        named = decisions.c.reference.startswith(wanted.find, autoescape=True)
        query = query.where(or_(named, decisions.c.id == wanted.find))
    if wanted.state:
        query = query.where(_in_state(wanted.state, project))
    return _ROWS.list(db, query)


def _in_state(state: str, project: str | None) -> ColumnElement[bool]:
    appeal = select(appeals.c.id).where(appeals.c.decision == decisions.c.id)
    if state in ("appealed", "upheld", "reversed"):
        return appeal.where(appeals.c.state == ("open" if state == "appealed" else state)).exists()
    settled = select(verdicts.c.id).where(verdicts.c.post == decisions.c.post, verdicts.c.project == project).exists()
    posted = {"decided": decisions.c.post.is_(None), "waiting": and_(decisions.c.post.is_not(None), ~settled)}
    return and_(posted.get(state, settled), ~appeal.exists())


def has_new_reviews(db: Connection, community: str, project: str, *, before: datetime) -> bool:
    """Return whether `take_reviewed` has something to do. One small read: servers ask every few seconds."""
    told = _reviews_told(db, community)
    return told is None or db.execute(_new_verdicts(told, project, before).limit(1)).first() is not None


def take_reviewed(db: Connection, community: str, project: str, *, before: datetime) -> list[str]:
    """Return the ids of decisions that reviewers settled since the last call, and remember that they were told.

    What was settled before the first call is not told. Verdicts from `before` on wait: an older one may still be on its
    way. Of two servers that ask at once, one gets them.
    """
    told = _reviews_told(db, community)
    if told is None:
        last = db.execute(select(func.max(verdicts.c.id))).scalar_one() or ""
    else:
        new = db.execute(_new_verdicts(told, project, before).order_by(verdicts.c.id).limit(REVIEWS))
        last = max(new.scalars(), default=told)
    moved = db.execute(
        update(communities)
        .where(communities.c.name == community, communities.c.reviews_told.is_not_distinct_from(told))
        .values(reviews_told=last)
    )
    if told is None or last == told or moved.rowcount != 1:
        return []
    query = (
        select(decisions.c.id)
        .join(verdicts, verdicts.c.post == decisions.c.post)
        .where(decisions.c.community == community, verdicts.c.project == project)
        .where(verdicts.c.id > told, verdicts.c.id <= last)
    )
    return sorted(set(db.execute(query).scalars()))


def _reviews_told(db: Connection, community: str) -> str | None:
    told: str | None = db.execute(
        select(communities.c.reviews_told).where(communities.c.name == community)
    ).scalar_one_or_none()
    return told


def _new_verdicts(told: str, project: str, before: datetime) -> Select[Any]:
    return select(verdicts.c.id).where(verdicts.c.id > told, verdicts.c.project == project, verdicts.c.at < before)


def count_unreviewed(db: Connection, community: str, project: str) -> int:
    """Return how many posts of a community wait in its project without a verdict."""
    settled = select(verdicts.c.id).where(verdicts.c.post == decisions.c.post, verdicts.c.project == project).exists()
    query = select(func.count()).where(decisions.c.community == community, decisions.c.post.is_not(None), ~settled)
    return int(db.execute(query).scalar_one())


def remove_all(db: Connection, community: str) -> int:
    """Delete a community's decisions, appeals and counts; return how many decisions there were."""
    db.execute(delete(appeals).where(appeals.c.community == community))
    db.execute(delete(score_counts).where(score_counts.c.community == community))
    return db.execute(delete(decisions).where(decisions.c.community == community)).rowcount


def totals(db: Connection, community: str) -> dict[str, int]:
    """Return how often each decision was made."""
    query = select(decisions.c.decision, func.count()).where(decisions.c.community == community)
    return {name: int(n) for name, n in db.execute(query.group_by(decisions.c.decision))}


def iter_parts(db: Connection, community: str, *, chunk: int = 5_000) -> Iterator[list[Decision]]:
    """Yield a community's decisions, oldest first, some thousands at once."""
    after = ""
    while True:
        query = _ROWS.select(decisions.c.community == community, decisions.c.id > after)
        rows = _ROWS.list(db, query.order_by(decisions.c.id).limit(chunk))
        if not rows:
            return
        yield rows
        after = rows[-1].id
