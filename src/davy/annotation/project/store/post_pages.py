"""Posts of a project, or of the shelf, as a page shows them: filtered, a screenful at a time, with verdicts.

Pages follow the id, so that the thousandth costs as much as the first. Counting
stops at `MOST`: nobody reads on by number, and a large table should not be
counted for every click.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, Text, exists, func, select, type_coerce

from davy.annotation.labelling.store.tables import verdicts
from davy.annotation.project.phase_kind import PHASE_KINDS
from davy.annotation.project.store.picture_locks import UNLOCKED
from davy.annotation.project.store.posts import owned_by
from davy.annotation.project.store.tables import items, phases, posts
from davy.annotation.settling.store.verdicts import is_newest

MOST = 10_000
KINDS: tuple[str, ...] = ("text", "meme")
IN_ROUND: ColumnElement[bool] = exists().where(
    items.c.post == posts.c.id,
    items.c.phase == phases.c.id,
    phases.c.kind.in_([name for name, kind in PHASE_KINDS.items() if kind.from_round]),
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
    limit: int = 50,
) -> list[ListedPost]:
    """Return a project's posts, or the shelf's, by id, beginning after the id `after`; `hidden` ones, too.

    Without `entries` those of rounds are left out.
    """
    columns = (posts.c.id, posts.c.public_id, posts.c.text, posts.c.lang, posts.c.image, posts.c.hidden)
    query = select(*columns, IN_ROUND.label("in_round"))
    query = query.where(posts.c.public_id > after, *_conditions(project, wanted, hidden=hidden))
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


def count(db: Connection, project: str | None, wanted: PostFilter, *, hidden: bool = False) -> int:
    """Return how many posts match, at most `MOST`."""
    matching = select(posts.c.id).where(*_conditions(project, wanted, hidden=hidden)).limit(MOST).subquery()
    return db.execute(select(func.count()).select_from(matching)).scalar_one()


def languages(db: Connection, project: str | None) -> list[str]:
    """Return the languages that posts of a project, or of the shelf, have."""
    query = select(posts.c.lang).where(owned_by(project), posts.c.lang.is_not(None)).distinct()
    return [str(lang) for lang in db.scalars(query.order_by(posts.c.lang))]


def labels(db: Connection, project: str | None) -> list[str]:
    """Return the labels that a project's verdicts gave, or on the shelf published ones, sorted."""
    query = select(verdicts.c.labels).where(_given_by(project)).distinct()
    return sorted({label for found in db.scalars(query) for label in found})


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
        conditions.append(exists().where(verdicts.c.post == posts.c.id, held, _given_by(project), is_newest(project)))
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
