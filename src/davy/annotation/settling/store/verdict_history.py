"""The verdicts of a project as a page shows them: filtered, newest first, and each post's turns with their time.

Who decided is not here: a verdict shows its basis and its reason, never a name.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Select, Text, exists, func, select, type_coerce

from davy.annotation.labelling.store.tables import verdict_annotations, verdicts
from davy.annotation.project.project import Project
from davy.annotation.project.store.picture_locks import UNLOCKED
from davy.annotation.project.store.tables import posts
from davy.annotation.settling.store.verdicts import is_newest

MOST_COUNTED = 20_000
"""Verdicts that are counted by basis or by label, the newest; to count them all would slow the page."""


@dataclass(frozen=True, slots=True)
class VerdictTurn:
    """One verdict on one question about one post; `answers` is how many annotations it rests on."""

    question: str
    labels: tuple[str, ...]
    basis: str
    reason: str | None
    at: datetime
    answers: int


@dataclass(frozen=True, slots=True)
class SettledPost:
    """A settled post: its text, and its turns by question, oldest first."""

    key: str
    """What `before` takes to page on."""
    post: str
    """The id that people see."""
    text: str
    lang: str | None
    image: str | None
    turns: dict[str, list[VerdictTurn]]


def page(
    db: Connection,
    project: Project,
    question: str,
    *,
    label: str | None = None,
    basis: str | None = None,
    before: str | None = None,
    until: str | None = None,
    limit: int = 25,
    hidden: bool = False,
) -> list[SettledPost]:
    """Return the posts whose verdict on a question counts and fits, the newest verdict first; `hidden` ones, too.

    Only verdicts before the id `before` and not before `until` are looked at.
    """
    query = _counting(project, question, label, basis)
    shown = [posts.c.id == verdicts.c.post, UNLOCKED, *([] if hidden else [posts.c.hidden == 0])]
    query = query.where(exists().where(*shown))
    query = query if before is None else query.where(verdicts.c.id < before)
    query = query if until is None else query.where(verdicts.c.id >= until)
    rows = db.execute(query.order_by(verdicts.c.id.desc()).limit(limit)).all()
    turns = _turns(db, project, [row.post for row in rows])
    columns = (posts.c.id, posts.c.public_id, posts.c.text, posts.c.lang, posts.c.image)
    named = select(*columns).where(posts.c.id.in_([row.post for row in rows]))
    texts = {row.id: row for row in (db.execute(named) if rows else ())}
    return [
        SettledPost(row.id, post.public_id, post.text or "", post.lang, post.image, turns[row.post])
        for row in rows
        for post in (texts[row.post],)
    ]


def end_of_look(db: Connection, project: Project, question: str, before: str | None = None) -> str | None:
    """Return the id of the oldest verdict that a filter looks at for one page; None where it reaches the first."""
    query = select(verdicts.c.id).where(verdicts.c.project == project.id, verdicts.c.question == question)
    query = query if before is None else query.where(verdicts.c.id < before)
    return db.scalar(query.order_by(verdicts.c.id.desc()).offset(MOST_COUNTED - 1).limit(1))


def count_bases(db: Connection, project: Project, question: str) -> dict[str, int]:
    """Return how many verdicts that count rest on each basis, of the newest twenty thousand."""
    some = _counting(project, question, None, None).order_by(verdicts.c.id.desc()).limit(MOST_COUNTED).subquery()
    query = select(some.c.basis, func.count()).group_by(some.c.basis)
    return {basis: int(n) for basis, n in db.execute(query)}


def count_labels(db: Connection, project: Project, question: str) -> dict[str, int]:
    """Return how often each label was settled on among the newest twenty thousand, the most frequent first.

    Several labels of a post count each.
    """
    newest = _counting(project, question, None, None).add_columns(verdicts.c.labels)
    some = newest.order_by(verdicts.c.id.desc()).limit(MOST_COUNTED).subquery()
    counts: Counter[str] = Counter()
    for labels, n in db.execute(select(some.c.labels, func.count()).group_by(some.c.labels)):
        counts.update(dict.fromkeys(labels, int(n)))
    return dict(counts.most_common())


def _counting(project: Project, question: str, label: str | None, basis: str | None) -> Select[tuple[str, str, str]]:
    query = select(verdicts.c.id, verdicts.c.post, verdicts.c.basis).where(
        verdicts.c.question == question,
        verdicts.c.scheme == project.scheme,
        verdicts.c.scheme_version == project.scheme_version,
        is_newest(project.id),
    )
    if label is not None:
        query = query.where(type_coerce(verdicts.c.labels, Text).contains(json.dumps(label), autoescape=True))
    return query if basis is None else query.where(verdicts.c.basis == basis)


def _turns(db: Connection, project: Project, ids: Sequence[str]) -> dict[str, dict[str, list[VerdictTurn]]]:
    rests_on = (
        select(func.count())
        .where(verdict_annotations.c.verdict == verdicts.c.id)
        .correlate(verdicts)
        .scalar_subquery()
        .label("n")
    )
    query = select(verdicts, rests_on).where(
        verdicts.c.post.in_(list(ids)),
        verdicts.c.scheme == project.scheme,
        verdicts.c.scheme_version == project.scheme_version,
        verdicts.c.project == project.id,
    )
    by_post: dict[str, dict[str, list[VerdictTurn]]] = {post: {} for post in ids}
    for row in db.execute(query.order_by(verdicts.c.turn)) if ids else ():
        turn = VerdictTurn(row.question, tuple(row.labels), row.basis, row.reason, row.at, row.n)
        by_post[row.post].setdefault(row.question, []).append(turn)
    return by_post
