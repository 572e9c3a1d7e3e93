"""Posts as a page shows them: filtered, a screenful at a time, each with the verdicts that count.

Pages follow the id, so that the thousandth costs as much as the first. Counting
stops at `MOST`: nobody reads on by number, and a large table should not be
counted for every click.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, Text, exists, func, select, type_coerce

from davy.store.tables import posts, verdicts
from davy.store.verdicts import is_newest

MOST = 10_000
KINDS: tuple[str, ...] = ("text", "meme")


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
    verdicts: tuple[tuple[str, str, tuple[str, ...]], ...] = ()


def page(db: Connection, wanted: PostFilter, *, after: str = "", limit: int = 50) -> list[ListedPost]:
    """Return posts by id, beginning after the id `after`."""
    columns = (posts.c.id, posts.c.text, posts.c.lang, posts.c.image)
    query = select(*columns).where(posts.c.id > after, *_conditions(wanted)).order_by(posts.c.id).limit(limit)
    rows = db.execute(query).all()
    given = _verdicts(db, [row.id for row in rows])
    return [ListedPost(row.id, row.text or "", row.lang, row.image, tuple(given.get(row.id, ()))) for row in rows]


def count(db: Connection, wanted: PostFilter) -> int:
    """Return how many posts match, at most `MOST`."""
    matching = select(posts.c.id).where(*_conditions(wanted)).limit(MOST).subquery()
    return db.execute(select(func.count()).select_from(matching)).scalar_one()


def languages(db: Connection) -> list[str]:
    """Return the languages that posts have."""
    query = select(posts.c.lang).where(posts.c.lang.is_not(None)).distinct().order_by(posts.c.lang)
    return [str(lang) for lang in db.scalars(query)]


def labels(db: Connection) -> list[str]:
    """Return the labels that verdicts gave, sorted."""
    return sorted({label for found in db.scalars(select(verdicts.c.labels).distinct()) for label in found})


def _conditions(wanted: PostFilter) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    if wanted.lang:
        found.append(posts.c.lang == wanted.lang)
    if wanted.kind in KINDS:
        found.append(posts.c.image.is_(None) if wanted.kind == "text" else posts.c.image.is_not(None))
    if wanted.label:
        # Labels are a JSON list kept as text: a label is in it with its quotes, so that no part of another matches.
        held = type_coerce(verdicts.c.labels, Text).contains(json.dumps(wanted.label), autoescape=True)
        found.append(exists().where(verdicts.c.post == posts.c.id, held, is_newest()))
    return found


def _verdicts(db: Connection, ids: list[str]) -> dict[str, list[tuple[str, str, tuple[str, ...]]]]:
    query = select(verdicts.c.post, verdicts.c.scheme, verdicts.c.question, verdicts.c.labels)
    found: dict[str, list[tuple[str, str, tuple[str, ...]]]] = {}
    for row in db.execute(query.where(verdicts.c.post.in_(ids), is_newest()).order_by(verdicts.c.id)):
        found.setdefault(row.post, []).append((row.scheme, row.question, tuple(row.labels)))
    return found
