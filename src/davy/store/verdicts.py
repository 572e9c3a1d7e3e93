"""Verdicts: the settled answers, with their basis. A later verdict does not erase an earlier one.

The first verdict on a question about a post has turn 1; deciding again adds
turn 2. The newest turn counts. Two who decide at once can't both be next.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice
from typing import Any

from sqlalchemy import ColumnElement, Connection, exists, func, insert, select
from sqlalchemy.engine import Row
from sqlalchemy.exc import IntegrityError

from davy.core import Scheme, UserError, Verdict
from davy.store import events
from davy.store.columns import new_id, now
from davy.store.tables import annotations, posts, verdict_annotations, verdicts

CHUNK = 5_000


def add(db: Connection, verdict: Verdict, scheme: Scheme, *, by: str, again: bool = False) -> str:
    """Add a verdict and return its id. Where there is one already, it takes `again` to decide anew."""
    _check(verdict, scheme)
    if not db.execute(select(posts.c.id).where(posts.c.id == verdict.post)).first():
        raise UserError(f"There is no post {verdict.post!r} in this database.", status=404)
    rests_on = list(dict.fromkeys(verdict.annotations))
    there = select(func.count()).where(annotations.c.id.in_(rests_on), annotations.c.post == verdict.post)
    if db.execute(there).scalar_one() != len(rests_on):
        raise UserError(f"The verdict rests on annotations that are not about post {verdict.post!r}.", status=404)
    turn = _turns(db, verdict, scheme)
    if turn and not again:
        raise UserError(f"Post {verdict.post!r} has a verdict on {verdict.question!r} already.", status=409)
    row = _row(verdict, scheme, by=by, turn=turn + 1, at=now())
    try:
        db.execute(insert(verdicts).values(row))
    except IntegrityError:
        raise UserError(f"Someone else just decided on post {verdict.post!r}. Look again.", status=409) from None
    if rests_on:
        db.execute(insert(verdict_annotations), [{"verdict": row["id"], "annotation": it} for it in rests_on])
    what = "verdict changed" if turn else "verdict given"
    events.record(db, by=by, what=what, about=f"verdict {row['id']}", basis=verdict.basis)
    return str(row["id"])


def add_published(db: Connection, published: Iterable[Verdict], scheme: Scheme, *, by: str) -> int:
    """Add the verdicts that a corpus came with, in one pass, and return how many."""
    at, n = now(), 0
    for part in _parts(published, CHUNK):
        for verdict in part:
            _check(verdict, scheme)
        try:
            db.execute(insert(verdicts), [_row(it, scheme, by=by, turn=1, at=at) for it in part])
        except IntegrityError:
            raise UserError(
                f"Of the verdicts {n + 1:,} to {n + len(part):,}, one is about a post that is not in this database "
                "or has a verdict on that question already; none was added.",
                status=409,
            ) from None
        n += len(part)
    events.record(db, by=by, what="verdicts published", about=f"scheme {scheme.name} {scheme.version}", n=n)
    return n


def of_post(db: Connection, post: str, *, scheme: str, version: int) -> dict[str, Verdict]:
    """Return a post's verdicts that count, by question."""
    query = select(verdicts).where(
        verdicts.c.post == post, verdicts.c.scheme == scheme, verdicts.c.scheme_version == version, newest()
    )
    return {row.question: _verdict(db, row) for row in db.execute(query)}


def history(db: Connection, post: str, question: str, *, scheme: str, version: int) -> list[Verdict]:
    """Return every verdict on a question about a post, oldest first."""
    key = (verdicts.c.scheme == scheme, verdicts.c.scheme_version == version, verdicts.c.question == question)
    query = select(verdicts).where(*key, verdicts.c.post == post)
    return [_verdict(db, row) for row in db.execute(query.order_by(verdicts.c.turn))]


def settled(db: Connection, *, scheme: str, version: int, question: str) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Yield (post, labels, basis) of the verdicts that count on a question, by post."""
    key = (verdicts.c.scheme == scheme, verdicts.c.scheme_version == version, verdicts.c.question == question)
    query = select(verdicts.c.post, verdicts.c.labels, verdicts.c.basis).where(*key, newest())
    for post, labels, basis in db.execute(query.order_by(verdicts.c.post)):
        yield post, tuple(labels), basis


def newest() -> ColumnElement[bool]:
    """Return the condition that no later turn follows a verdict."""
    later = verdicts.alias("later")
    same = (later.c[name] == verdicts.c[name] for name in ("scheme", "scheme_version", "question", "post"))
    return ~exists().where(*same, later.c.turn > verdicts.c.turn)


def _check(verdict: Verdict, scheme: Scheme) -> None:
    """Refuse a label that the question does not have. Whether the question applies is the caller's rule to keep."""
    names = [question.name for question in scheme.questions]
    if verdict.question not in names:
        raise UserError(f"Scheme {scheme.name!r} has no question {verdict.question!r}; it asks {', '.join(names)}.")
    question = scheme.question(verdict.question)
    unknown = [label for label in verdict.labels if label not in question.label_names]
    if unknown and not question.open:
        known = ", ".join(question.label_names)
        raise UserError(f"{unknown[0]!r} is not a label of {question.name!r}; it has {known}.")
    if question.kind != "many" and len(verdict.labels) != 1:
        raise UserError(f"{question.name!r} takes one label, got {len(verdict.labels)}.")


def _turns(db: Connection, verdict: Verdict, scheme: Scheme) -> int:
    query = select(func.max(verdicts.c.turn)).where(
        verdicts.c.scheme == scheme.name,
        verdicts.c.scheme_version == scheme.version,
        verdicts.c.question == verdict.question,
        verdicts.c.post == verdict.post,
    )
    return db.scalar(query) or 0


def _row(verdict: Verdict, scheme: Scheme, *, by: str, turn: int, at: datetime) -> dict[str, Any]:
    return {
        "id": new_id(),
        "post": verdict.post,
        "scheme": scheme.name,
        "scheme_version": scheme.version,
        "question": verdict.question,
        "labels": list(verdict.labels),
        "basis": verdict.basis,
        "reason": verdict.reason,
        "at": at,
        "by": by,
        "turn": turn,
    }


def _verdict(db: Connection, row: Row[Any]) -> Verdict:
    query = select(verdict_annotations.c.annotation).where(verdict_annotations.c.verdict == row.id)
    rests_on = tuple(db.scalars(query.order_by(verdict_annotations.c.annotation)))
    return Verdict(row.post, row.question, tuple(row.labels), row.basis, rests_on, row.reason)


def _parts(verdicts: Iterable[Verdict], size: int) -> Iterator[list[Verdict]]:
    """Yield the verdicts in lists of `size`."""
    rest = iter(verdicts)
    while part := list(islice(rest, size)):
        yield part
