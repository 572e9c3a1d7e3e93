"""Appeals against decisions: who asked for another look, which post carries it, and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, Connection, func, select, update

from davy.core.errors import UserError
from davy.people.store.personal_data import PersonDeletion, plain_rows
from davy.store.columns import new_id, now, table_index
from davy.store.rows import Rows


@dataclass(frozen=True, slots=True)
class Appeal:
    """One appeal: `before` is what held until then, `outcome` what holds now, each `flag` or `pass`.

    It is `upheld` where the decision stands and `reversed` where it does not.
    """

    community: str
    decision: str
    by: str
    before: str
    statement: str | None = None
    """What whoever appeals has to say."""
    key: str | None = None
    post: str | None = None
    """The post of the review project that others than the first reviewers look at."""
    id: str = field(default_factory=new_id)
    at: datetime = field(default_factory=now)
    state: str = "open"
    outcome: str | None = None
    reviewed_at: datetime | None = None
    reviewers: tuple[str, ...] = ()
    """Pseudonyms of those who decided about it."""


_ROWS = Rows(
    Appeal,
    "appeals",
    CheckConstraint("state IN ('open', 'upheld', 'reversed')", name="state"),
    table_index("ix_appeals_decision", "decision", unique=True),
    table_index("ix_appeals_community", "community", "state", "id"),
    table_index("ix_appeals_post", "post", where="post IS NOT NULL"),
    references={"community": "communities.name", "post": "posts.id"},
)
appeals = _ROWS.table


def add(db: Connection, appeal: Appeal) -> None:
    """Keep an appeal."""
    _ROWS.insert(db, appeal)


def get(db: Connection, appeal_id: str) -> Appeal:
    """Return an appeal by its id."""
    found = _ROWS.get(db, appeals.c.id == appeal_id)
    if found is None:
        raise UserError(f"There is no appeal {appeal_id[:80]!r}.", status=404)
    return found


def by_decision(db: Connection, decisions: Sequence[str]) -> dict[str, Appeal]:
    """Return the appeals against decisions, by the decision's id."""
    found: dict[str, Appeal] = {}
    for start in range(0, len(decisions), 500):
        query = _ROWS.select(appeals.c.decision.in_(list(decisions[start : start + 500])))
        found |= {one.decision: one for one in _ROWS.list(db, query)}
    return found


def list_open(db: Connection, community: str, *, limit: int = 500) -> list[Appeal]:
    """Return a community's open appeals, oldest first."""
    query = _ROWS.select(appeals.c.community == community, appeals.c.state == "open")
    return _ROWS.list(db, query.order_by(appeals.c.id).limit(limit))


def count_open(db: Connection, community: str) -> int:
    """Return how many appeals of a community wait."""
    query = select(func.count()).where(appeals.c.community == community, appeals.c.state == "open")
    return int(db.execute(query).scalar_one())


def get_many(db: Connection, ids: Sequence[str]) -> list[Appeal]:
    """Return appeals by their ids, oldest first."""
    return _ROWS.list(db, _ROWS.select(appeals.c.id.in_(list(ids))).order_by(appeals.c.id))


def settle(db: Connection, appeal: Appeal, outcome: str, *, reviewed_at: datetime, reviewers: Sequence[str]) -> bool:
    """Note what became of an appeal; False where somebody else noted it already."""
    values: dict[str, Any] = {
        "state": "upheld" if outcome == appeal.before else "reversed",
        "outcome": outcome,
        "reviewed_at": reviewed_at,
        "reviewers": tuple(reviewers),
    }
    return _ROWS.update(db, appeals.c.id == appeal.id, appeals.c.state == "open", **values) == 1


def personal_data(db: Connection, user_id: str, project_id: str | None) -> dict[str, Any]:
    """Return the appeals that a person's keys sent; nothing of a project."""
    return {} if project_id is not None else {"appeals": plain_rows(db, appeals, appeals.c.by == user_id)}


def forget_person(db: Connection, deletion: PersonDeletion) -> None:
    """Take a deleted account's key off its appeals."""
    db.execute(update(appeals).where(appeals.c.by == deletion.user.id).values(key=None))
