"""What was decided for communities, and how scores were spread over the days. No texts.

Decisions are kept until their community is removed; counts are sums, added to by every process of the server.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, func, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Row

from davy.store.columns import new_id, now
from davy.store.decision_tables import decisions, score_counts
from davy.store.tables import verdicts
from davy.store.verdicts import is_newest

BUCKETS = 20
_KEY = ("day", "community", "model", "question", "lang", "bucket")


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision: `reasons` has each question's probability, threshold and label."""

    community: str
    model: str
    decision: str
    reasons: Sequence[Mapping[str, Any]]
    reference: str | None = None
    lang: str | None = None
    post: str | None = None
    id: str = field(default_factory=new_id)
    at: datetime = field(default_factory=now)


@dataclass(frozen=True, slots=True)
class ScoreCount:
    """How many posts of a day had a probability in one twentieth."""

    day: str
    community: str
    model: str
    question: str
    lang: str
    bucket: int
    n: int


def add(db: Connection, made: Sequence[Decision]) -> None:
    """Keep decisions."""
    if made:
        db.execute(insert(decisions), [{**asdict(one), "reasons": list(one.reasons)} for one in made])


def set_post(db: Connection, decision_id: str, post: str) -> None:
    """Note which post of the review project a decision became."""
    db.execute(update(decisions).where(decisions.c.id == decision_id).values(post=post))


def add_counts(db: Connection, counts: Iterable[ScoreCount]) -> None:
    """Add sums to what is there."""
    make = sqlite.insert if db.dialect.name == "sqlite" else postgresql.insert
    for count in counts:
        made = make(score_counts).values(asdict(count))
        db.execute(
            made.on_conflict_do_update(index_elements=list(_KEY), set_={"n": score_counts.c.n + made.excluded.n})
        )


def list_counts(db: Connection, community: str, *, since: str = "") -> list[ScoreCount]:
    """Return the counts of a community, or of posts of none (""), from a day on."""
    query = select(score_counts).where(score_counts.c.community == community, score_counts.c.day >= since)
    rows = db.execute(query.order_by(*(score_counts.c[name] for name in _KEY)))
    return [ScoreCount(**row._mapping) for row in rows]


def get_many(db: Connection, ids: Sequence[str]) -> list[Decision]:
    """Return decisions by their ids, oldest first."""
    return [_decision(row) for row in db.execute(
        select(decisions).where(decisions.c.id.in_(list(ids))).order_by(decisions.c.id)
    )]  # fmt: skip


def totals(db: Connection, community: str) -> dict[str, int]:
    """Return how often each decision was made."""
    query = select(decisions.c.decision, func.count()).where(decisions.c.community == community)
    return {name: int(n) for name, n in db.execute(query.group_by(decisions.c.decision))}


def iter_decisions(
    db: Connection, community: str, project: str | None = None, *, chunk: int = 5_000
) -> Iterator[tuple[Decision, str | None]]:
    """Yield a community's decisions, oldest first, each with what its reviewers settled on: `question=label; …`."""
    after = ""
    while True:
        query = select(decisions).where(decisions.c.community == community, decisions.c.id > after)
        rows = db.execute(query.order_by(decisions.c.id).limit(chunk)).all()
        if not rows:
            return
        reviewed = _reviewed(db, [row.post for row in rows if row.post], project)
        for row in rows:
            yield _decision(row), reviewed.get(row.post) if row.post else None
        after = rows[-1].id


def _reviewed(db: Connection, posts: Sequence[str], project: str | None) -> dict[str, str]:
    if not posts or project is None:
        return {}
    settled: dict[str, list[str]] = {}
    for start in range(0, len(posts), 500):
        part = list(posts[start : start + 500])
        query = select(verdicts.c.post, verdicts.c.question, verdicts.c.labels).where(
            verdicts.c.post.in_(part), verdicts.c.project == project, is_newest(project)
        )
        for post, question, labels in db.execute(query):
            settled.setdefault(post, []).append(f"{question}={'|'.join(labels)}")
    return {post: "; ".join(sorted(answers)) for post, answers in settled.items()}


def _decision(row: Row[Any]) -> Decision:
    got = row._mapping
    return Decision(**{name: got[name] for name in Decision.__dataclass_fields__})
