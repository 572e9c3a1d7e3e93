"""Cases: what waits for an expert about a post, who holds it, and what came of it.

A case is held by one expert at a time, under a lease that runs out. Nobody is
offered a case about a post that they labelled or wrote, nor one that they have
decided: while a rule wants another expert the case stays open, with the
decisions so far in its `outcome`. What annotators flagged is kept here too, as
a case of kind `flag`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    Text,
    and_,
    bindparam,
    case,
    exists,
    func,
    insert,
    or_,
    select,
    text,
    type_coerce,
    update,
)
from sqlalchemy.engine import Row

from davy.annotation.labelling.store.tables import annotations, assignments, cases
from davy.annotation.project.store.tables import items, posts
from davy.core import UserError
from davy.store import events
from davy.store.columns import new_id, now
from davy.store.statements import PreparedStatement

LEASE = timedelta(minutes=30)


@dataclass(frozen=True, slots=True)
class AdjudicationCase:
    """One case. `why` has a word for each of its `questions`, or one for all of them."""

    id: str
    project: str
    item: str
    post: str
    kind: str
    questions: tuple[str, ...]
    why: tuple[str, ...]
    state: str
    opened_at: datetime
    held_by: str | None = None
    leased_until: datetime | None = None
    settled_by: str | None = None
    settled_at: datetime | None = None
    outcome: Mapping[str, Any] = field(default_factory=dict)
    reason: str | None = None
    doubt: float | None = None


@dataclass(frozen=True, slots=True)
class AuditFigures:
    """How audits went: posts sent back, still waiting, confirmed as they stood, overturned, dropped."""

    sent: int
    waiting: int
    confirmed: int
    overturned: int
    dropped: int


def add(
    db: Connection,
    *,
    project: str,
    item: str,
    post: str,
    kind: str,
    questions: Sequence[str] = (),
    why: Sequence[str] = (),
    by: str,
    state: str = "open",
    outcome: Mapping[str, Any] | None = None,
    doubt: float | None = None,
) -> str:
    """Open a case, or with another `state` note one that needs nobody, and return its id."""
    at = now()
    row = {
        "id": new_id(),
        "project": project,
        "item": item,
        "post": post,
        "kind": kind,
        "questions": "|".join(questions),
        "why": "|".join(why),
        "state": state,
        "opened_at": at,
        "held_by": None,
        "leased_until": None,
        "reason": None,
        "outcome": dict(outcome) if outcome else None,
        "doubt": doubt,
        "settled_by": None if state == "open" else by,
        "settled_at": None if state == "open" else at,
    }
    _ADD.send(db, {f"its_{name}": value for name, value in row.items()})
    what = "case opened" if state == "open" else "case noted"
    events.record(db, by=by, what=what, about=f"case {row['id']}", project=project, kind=kind)
    return str(row["id"])


def get(db: Connection, case_id: str) -> AdjudicationCase:
    """Return the case with this id."""
    row = db.execute(select(cases).where(cases.c.id == case_id)).one_or_none()
    if row is None:
        raise UserError(f"There is no case {case_id[:60]!r}.", status=404)
    return _case(row)


def of_item(db: Connection, item_id: str) -> list[AdjudicationCase]:
    """Return an item's cases, oldest first."""
    return [_case_from(row) for row in _OF_ITEM.rows(db, {"of": item_id})]


def prefetch_item(db: Connection, item_id: str) -> None:
    """Send early what `of_item` reads."""
    _OF_ITEM.prefetch(db, {"of": item_id})


def take(
    db: Connection,
    project: str,
    user: str,
    *,
    at: datetime | None = None,
    kind: str | None = None,
    not_this: str | None = None,
) -> AdjudicationCase | None:
    """Return the case that this expert holds, else lease them the next that they may settle; None if there is none."""
    at = at or now()
    held_first = case((cases.c.held_by == user, 0), else_=1)
    query = _offered(project, user, at, kind).order_by(held_first, *_order())
    query = query if not_this is None else query.where(cases.c.id != not_this)
    row = db.execute(query.limit(1).with_for_update(of=cases, skip_locked=True)).first()
    if row is None:
        return None
    db.execute(update(cases).where(cases.c.id == row.id).values(held_by=user, leased_until=at + LEASE))
    return get(db, row.id)


def hold(db: Connection, case_id: str, user: str, *, at: datetime | None = None) -> bool:
    """Lease a case to an expert or lengthen their lease; False where it is settled or another holds it."""
    at = at or now()
    free = or_(cases.c.held_by.is_(None), cases.c.held_by == user, cases.c.leased_until < at)
    query = update(cases).where(cases.c.id == case_id, cases.c.state == "open", free)
    return db.execute(query.values(held_by=user, leased_until=at + LEASE)).rowcount == 1


def release(db: Connection, project: str, user: str, *, case_id: str | None = None) -> int:
    """Give back one case that a person holds, or all of them, and return how many."""
    query = update(cases).where(_open(project), cases.c.held_by == user)
    query = query if case_id is None else query.where(cases.c.id == case_id)
    return db.execute(query.values(held_by=None, leased_until=None)).rowcount


def has_labelled(db: Connection, post: str, user: str) -> bool:
    """Return whether a person labelled a project's post, wrote it or is barred from it: then they may not settle it."""
    labels = select(annotations.c.id).where(annotations.c.post == post, annotations.c.annotator == user)
    wrote = select(posts.c.id).where(posts.c.id == post, posts.c.author == user)
    barred = select(assignments.c.id).join(items, items.c.id == assignments.c.item).where(items.c.post == post)
    barred = barred.where(assignments.c.annotator == user, assignments.c.state == "barred")
    return any(db.execute(query.limit(1)).first() is not None for query in (labels, wrote, barred))


def list_waiting(
    db: Connection,
    project: str,
    user: str,
    *,
    kind: str | None = None,
    question: str | None = None,
    skip: int = 0,
    limit: int = 50,
    at: datetime | None = None,
) -> list[AdjudicationCase]:
    """Return the cases that this expert may settle now, in the order that they are offered.

    `question` is the first one that a case asks; empty for those that ask none.
    """
    query = _offered(project, user, at or now(), kind)
    if question is not None:
        first = cases.c.questions.startswith(f"{question}|", autoescape=True)
        query = query.where(or_(cases.c.questions == question, first))
    return [_case(row) for row in db.execute(query.order_by(*_order()).offset(skip).limit(limit))]


def count_offered(
    db: Connection, project: str, user: str, *, at: datetime | None = None
) -> dict[tuple[str, str, str], int]:
    """Return how many cases this expert may settle now, by kind, why and questions (as they are kept)."""
    found = _offered(project, user, at or now(), None).subquery()
    key = (found.c.kind, found.c.why, found.c.questions)
    return {(row[0], row[1], row[2]): int(row[3]) for row in db.execute(select(*key, func.count()).group_by(*key))}


def count_waiting(db: Connection, project: str, user: str, *, most: int = 1_000) -> int:
    """Return how many cases this expert may settle now, at most `most`."""
    mine = _offered(project, user, now(), None).with_only_columns(cases.c.id).limit(most)
    return db.execute(select(func.count()).select_from(mine.subquery())).scalar_one()


def counts(db: Connection, project: str) -> dict[tuple[str, str], int]:
    """Return how many cases a project has, by kind and state."""
    query = select(cases.c.kind, cases.c.state, func.count()).where(cases.c.project == project)
    return {(kind, state): int(n) for kind, state, n in db.execute(query.group_by(cases.c.kind, cases.c.state))}


def audit_figures(db: Connection, project: str) -> AuditFigures:
    """Return how a project's audits went."""
    query = select(cases.c.state, cases.c.outcome).where(cases.c.project == project, cases.c.kind == "audit")
    audited = [(row.state, row.outcome or {}) for row in db.execute(query)]
    kept = [outcome for state, outcome in audited if state == "settled" and "answers" in outcome]
    same = sum(
        all(
            ("|".join(sorted(outcome["answers"].get(name, ()))) or "none") == doubt["settled"]
            for name, doubt in outcome["doubts"].items()
        )
        for outcome in kept
    )
    states = [state for state, _ in audited]
    return AuditFigures(len(audited), states.count("open"), same, len(kept) - same, states.count("dropped"))


def change(db: Connection, case_id: str, *, questions: Sequence[str], why: Sequence[str]) -> None:
    """Replace what an open case asks, as when an answer was changed before an expert came to it."""
    values = {"questions": "|".join(questions), "why": "|".join(why)}
    db.execute(update(cases).where(cases.c.id == case_id, cases.c.state == "open").values(**values))


def keep_decision(db: Connection, case_id: str, *, by: str, outcome: Mapping[str, Any]) -> None:
    """Keep one expert's decision and give the case back; it stays open for the next one."""
    query = update(cases).where(cases.c.id == case_id, cases.c.state == "open", cases.c.held_by == by)
    if db.execute(query.values(outcome=dict(outcome), held_by=None, leased_until=None)).rowcount != 1:
        raise UserError("Someone else just decided on this case. Take the next one.", status=409)
    events.record(db, by=by, what="case decided once", about=f"case {case_id}")


def settle(
    db: Connection, case_id: str, *, by: str, outcome: Mapping[str, Any], reason: str | None, state: str = "settled"
) -> None:
    """Settle or drop an open case; two who press at once can't both."""
    query = update(cases).where(cases.c.id == case_id, cases.c.state == "open")
    values = {"state": state, "settled_by": by, "settled_at": now(), "outcome": dict(outcome), "reason": reason}
    if db.execute(query.values(**values, held_by=None, leased_until=None)).rowcount != 1:
        raise UserError("This case was settled a moment ago. Take the next one.", status=409)
    events.record(db, by=by, what=f"case {state}", about=f"case {case_id}")


def reopen(db: Connection, case_id: str, *, by: str, outcome: Mapping[str, Any], held: bool = True) -> None:
    """Open a case again whose decision its expert takes back; with `held` it is theirs for a while."""
    lease = {"held_by": by, "leased_until": now() + LEASE} if held else {"held_by": None, "leased_until": None}
    values = {"state": "open", "settled_by": None, "settled_at": None, "reason": None, "outcome": dict(outcome)}
    db.execute(update(cases).where(cases.c.id == case_id).values(**values, **lease))
    events.record(db, by=by, what="case reopened", about=f"case {case_id}")


def decided_by(db: Connection, project: str, user: str, *, limit: int = 10) -> list[AdjudicationCase]:
    """Return the cases that an expert decided last, the newest first, also those that wait for another expert."""
    mine = type_coerce(cases.c.outcome, Text).contains(f'"by":"{user}"', autoescape=True)
    query = select(cases).where(cases.c.project == project, mine)
    query = query.order_by(func.coalesce(cases.c.settled_at, cases.c.opened_at).desc(), cases.c.id.desc())
    return [_case(row) for row in db.execute(query.limit(limit))]


def close_open(
    db: Connection, item_id: str, why: str, *, by: str, reason: str | None = None, state: str = "settled"
) -> None:
    """Close the cases of an item that are still open, since its post is dropped; `why` is kept in their outcome."""
    for one in of_item(db, item_id):
        if one.state == "open":
            settle(db, one.id, by=by, outcome={**one.outcome, "why": why}, reason=reason, state=state)


def recent_reasons(db: Connection, project_id: str, user_id: str, *, most: int = 8) -> list[str]:
    """Return the reasons that an expert gave last in a project, each once, the newest first."""
    mine = (cases.c.project == project_id, cases.c.settled_by == user_id, cases.c.reason.is_not(None))
    query = select(cases.c.reason).where(*mine).group_by(cases.c.reason)
    return [str(reason) for reason in db.scalars(query.order_by(func.max(cases.c.settled_at).desc()).limit(most))]


def _open(project: str) -> ColumnElement[bool]:
    # Written out, because neither database uses a partial index for a value that it learns only when it runs.
    return and_(cases.c.project == project, text("cases.state = 'open'"))


def _offered(project: str, user: str, at: datetime, kind: str | None) -> Select[Any]:
    free = or_(cases.c.held_by.is_(None), cases.c.held_by == user, cases.c.leased_until < at)
    decided = type_coerce(cases.c.outcome, Text).contains(f'"by":"{user}"', autoescape=True)
    first = or_(cases.c.outcome.is_(None), ~decided)
    labels = exists().where(annotations.c.post == cases.c.post, annotations.c.annotator == user)
    wrote = exists().where(posts.c.id == cases.c.post, posts.c.author == user)
    theirs = and_(assignments.c.item == cases.c.item, assignments.c.annotator == user)
    barred = exists().where(theirs, assignments.c.state == "barred")
    query = select(cases).where(_open(project), free, first, ~labels, ~wrote, ~barred)
    return query if kind is None else query.where(cases.c.kind == kind)


def _order() -> tuple[ColumnElement[Any], ...]:
    """Disagreements before audits, the most doubtful audit first, then the oldest."""
    return (func.coalesce(cases.c.doubt, 2.0).desc(), cases.c.id)


_COLUMNS = [cases.c[name] for name in AdjudicationCase.__dataclass_fields__]
_ADD = PreparedStatement(insert(cases).values({column.name: bindparam(f"its_{column.name}") for column in cases.c}))
_OF_ITEM = PreparedStatement(
    select(*_COLUMNS).where(cases.c.item == bindparam("of")).order_by(cases.c.opened_at, cases.c.id)
)


def _case(row: Row[Any]) -> AdjudicationCase:
    return _case_from([getattr(row, name) for name in AdjudicationCase.__dataclass_fields__])


def _case_from(values: Sequence[Any]) -> AdjudicationCase:
    """Return the case of a row that has the columns of `_COLUMNS`."""
    kept = dict(zip(AdjudicationCase.__dataclass_fields__, values, strict=True))
    for name in ("questions", "why"):
        kept[name] = tuple(part for part in kept[name].split("|") if part)
    return AdjudicationCase(**{**kept, "outcome": kept["outcome"] or {}})
