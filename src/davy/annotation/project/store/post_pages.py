"""Posts of a project, or of the shelf, as a page shows them: filtered, a screenful at a time, with verdicts.

Pages follow the id, so that the thousandth costs as much as the first. Counting
stops at `MOST`, and a filter looks at `LOOKED_AT` posts for a page: a large table
should not be read for every click.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, Text, func, select, type_coerce

from davy.annotation.labelling.store.tables import verdicts
from davy.annotation.project.phase_kind import PHASE_KINDS
from davy.annotation.project.store.picture_locks import UNLOCKED
from davy.annotation.project.store.posts import owned_by
from davy.annotation.project.store.tables import items, phases, posts
from davy.annotation.settling.store.verdicts import is_newest
from davy.store.distinct_values import distinct_values

MOST = 10_000
LOOKED_AT = 10_000
"""Posts that a filter looks at for one page; the next page goes on behind them."""
NEWEST = 2_000
"""Verdicts on a question whose labels can be chosen, beside those of the scheme."""
KINDS: tuple[str, ...] = ("text", "meme")


def is_present(rows: Select[Any]) -> ColumnElement[bool]:
    """Return the condition that a query has a row for the post: looked up post by post.

    For EXISTS, PostgreSQL may read the whole table into a hash first, which takes longer the larger the project.
    """
    return rows.correlate(posts).limit(1).scalar_subquery().is_not(None)


IN_ROUND: ColumnElement[bool] = is_present(
    select(items.c.id).where(
        items.c.post == posts.c.id,
        items.c.phase == phases.c.id,
        phases.c.kind.in_([name for name, kind in PHASE_KINDS.items() if kind.from_round]),
    )
)
"""Whether a post is an entry of a round: a text that was made to get past a detector."""


@dataclass(frozen=True, slots=True)
class PostFilter:
    """Which posts to show; None or empty lets all through. A post matches a label that some verdict gave it."""

    lang: str | None = None
    label: str | None = None
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class ListedPost:
    """One post for display; `verdicts` are (scheme, question, labels), in the order in which they were given."""

    id: str
    text: str
    lang: str | None
    image: str | None
    hidden: bool
    in_round: bool
    verdicts: tuple[tuple[str, str, tuple[str, ...]], ...] = ()


def page(
    db: Connection,
    project: str | None,
    wanted: PostFilter,
    *,
    with_verdicts: bool,
    hidden: bool = False,
    entries: bool = True,
    after: str = "",
    until: str | None = None,
    limit: int = 50,
) -> list[ListedPost]:
    """Return a project's posts, or the shelf's, by id, after the id `after` and up to `until`; `hidden` ones, too.

    Without `entries` those of rounds are left out.
    """
    columns = (posts.c.id, posts.c.public_id, posts.c.text, posts.c.lang, posts.c.image, posts.c.hidden)
    query = select(*columns, IN_ROUND.label("in_round"))
    query = query.where(*_between(after, until), *_conditions(project, wanted, hidden=hidden))
    query = query if entries else query.where(~IN_ROUND)
    rows = db.execute(query.order_by(posts.c.public_id).limit(limit)).all()
    given = _verdicts(db, project, [row.id for row in rows]) if with_verdicts else {}
    return [
        ListedPost(
            row.public_id,
            row.text or "",
            row.lang,
            row.image,
            bool(row.hidden),
            bool(row.in_round),
            tuple(given.get(row.id, ())),
        )
        for row in rows
    ]


def end_of_look(db: Connection, project: str | None, after: str = "") -> str | None:
    """Return the id up to which a filter looks for one page after `after`; None where it reaches the last post."""
    query = select(posts.c.public_id).where(owned_by(project), posts.c.public_id > after)
    return db.scalar(query.order_by(posts.c.public_id).offset(LOOKED_AT - 1).limit(1))


def count(
    db: Connection, project: str | None, wanted: PostFilter, *, hidden: bool = False, until: str | None = None
) -> int:
    """Return how many posts match, up to the id `until`, and at most `MOST`."""
    conditions = [*_between("", until), *_conditions(project, wanted, hidden=hidden)]
    matching = select(posts.c.id).where(*conditions).limit(MOST).subquery()
    return db.execute(select(func.count()).select_from(matching)).scalar_one()


def languages(db: Connection, project: str | None) -> list[str]:
    """Return the languages that posts of a project, or of the shelf, have."""
    return distinct_values(db, posts.c.lang, owned_by(project), posts.c.lang.is_not(None))


def labels(db: Connection, project: str | None) -> list[str]:
    """Return the labels that a project's newest verdicts gave, or on the shelf published ones, sorted."""
    newest = select(verdicts.c.labels).where(_given_by(project)).order_by(verdicts.c.id.desc()).limit(NEWEST)
    # The index of a project's verdicts is by question.
    asked = distinct_values(db, verdicts.c.question, _given_by(project)) if project is not None else []
    queries = [newest.where(verdicts.c.question == question) for question in asked] or [newest]
    lists = [found for query in queries for found in db.scalars(select(query.subquery()).distinct())]
    return sorted({label for found in lists for label in found})


def _between(after: str, until: str | None) -> list[ColumnElement[bool]]:
    return [posts.c.public_id > after, *([] if until is None else [posts.c.public_id <= until])]


def _conditions(project: str | None, wanted: PostFilter, *, hidden: bool) -> list[ColumnElement[bool]]:
    conditions = [owned_by(project), UNLOCKED]
    if not hidden:
        conditions.append(posts.c.hidden == 0)
    if wanted.lang:
        conditions.append(posts.c.lang == wanted.lang)
    if wanted.kind in KINDS:
        conditions.append(posts.c.image.is_(None) if wanted.kind == "text" else posts.c.image.is_not(None))
    if wanted.label:
        # Labels are a JSON list kept as text: a label is in it with its quotes, so that no part of another matches.
        held = type_coerce(verdicts.c.labels, Text).contains(json.dumps(wanted.label), autoescape=True)
        given = select(verdicts.c.id).where(verdicts.c.post == posts.c.id, held, _given_by(project))
        conditions.append(is_present(given.where(is_newest(project))))
    return conditions


def _given_by(project: str | None) -> ColumnElement[bool]:
    return verdicts.c.project.is_(None) if project is None else verdicts.c.project == project


def _verdicts(
    db: Connection, project: str | None, keys: list[str]
) -> dict[str, list[tuple[str, str, tuple[str, ...]]]]:
    query = select(verdicts.c.post, verdicts.c.scheme, verdicts.c.question, verdicts.c.labels)
    query = query.where(verdicts.c.post.in_(keys), _given_by(project), is_newest(project))
    found: dict[str, list[tuple[str, str, tuple[str, ...]]]] = {}
    for row in db.execute(query.order_by(verdicts.c.id)):
        found.setdefault(row.post, []).append((row.scheme, row.question, tuple(row.labels)))
    return found
