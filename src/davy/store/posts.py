"""Posts in the store: added in bulk from frames, read back in frames, one by one by id.

A frame's columns beyond `POST_COLUMNS` are not stored here: settled answers go
to `verdicts`. A post never changes; an id that is there already is refused and
then nothing of the frame is added.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, func, insert, select

from davy.core import POST_COLUMNS, Post, Source, UserError
from davy.store import events
from davy.store.columns import now
from davy.store.tables import posts

if TYPE_CHECKING:
    import polars as pl

CHUNK = 5_000


def add(db: Connection, post: Post, *, by: str) -> None:
    """Add one post."""
    if db.execute(select(posts.c.id).where(posts.c.id == post.id)).first():
        raise _taken(post.id)
    source = post.source or Source("")
    db.execute(
        insert(posts).values(
            id=post.id,
            text=post.text,
            lang=post.lang,
            image=post.image,
            source=source.name or None,
            licence=source.licence,
            collected_at=source.collected_at.isoformat() if source.collected_at else None,
            found=source.found,
            parent=post.parent,
            meta=json.dumps(dict(post.meta), ensure_ascii=False) if post.meta else None,
            added_at=now(),
        )
    )
    events.record(db, by=by, what="posts added", about=f"post {post.id}", n=1)


def add_frames(db: Connection, frames: Iterable[pl.DataFrame], *, by: str, about: str = "posts") -> int:
    """Add the posts of frames, such as a file read in parts, and return how many; `about` says where they came from."""
    n = 0
    for frame in frames:
        _check_columns(frame)
        for part in frame.iter_slices(CHUNK):
            rows = _rows(part, first=n + 1)
            _check_new(db, [row["id"] for row in rows])
            if rows:
                db.execute(insert(posts), rows)
            n += len(rows)
    events.record(db, by=by, what="posts added", about=about, n=n)
    return n


def ensure(db: Connection, frame: pl.DataFrame, *, by: str, about: str = "posts") -> int:
    """Add the posts of a frame that are not there yet and return how many; one that is there with other words or
    another image is refused, and then nothing is added."""
    _check_columns(frame)
    n = seen = 0
    for part in frame.iter_slices(CHUNK):
        rows = _rows(part, first=seen + 1)
        seen += len(rows)
        query = select(posts.c.id, posts.c.text, posts.c.image).where(posts.c.id.in_([row["id"] for row in rows]))
        known = {row.id: (row.text or "", row.image) for row in db.execute(query)}
        for row in rows:
            if row["id"] in known and known[row["id"]] != (row["text"] or "", row["image"]):
                raise UserError(
                    f"Post id {row['id']!r} is there already, with other words or another image; nothing was added. "
                    "Give each post an id of its own.",
                    status=409,
                )
        fresh = [row for row in rows if row["id"] not in known]
        if fresh:
            db.execute(insert(posts), fresh)
        n += len(fresh)
    if n:
        events.record(db, by=by, what="posts added", about=about, n=n)
    return n


def get(db: Connection, post_id: str) -> Post:
    """Return the post with this id."""
    columns = (posts.c[name] for name in POST_COLUMNS)
    row = db.execute(select(*columns).where(posts.c.id == post_id)).one_or_none()
    if row is None:
        raise UserError(f"There is no post {post_id!r} in this database.", status=404)
    return post_from(row)


def post_from(values: Sequence[Any]) -> Post:
    """Return the post of a row that has the columns of `POST_COLUMNS`."""
    id_, text, lang, image, name, licence, collected_at, found, parent, meta = values
    source = Source(name, licence, _moment(collected_at) if collected_at else None, found) if name else None
    return Post(id_, text or "", lang, image, source, parent, json.loads(meta) if meta else {})


def count(db: Connection, *, source: str | None = None) -> int:
    """Return how many posts there are, or how many from one source."""
    query = select(func.count()).select_from(posts)
    return db.execute(query if source is None else query.where(posts.c.source == source)).scalar_one()


def frames(db: Connection, *, source: str | None = None, chunk: int = CHUNK) -> Iterator[pl.DataFrame]:
    """Yield the posts in order of id, `chunk` at a time, each with the columns of `POST_COLUMNS` as text."""
    import polars as pl

    columns = [posts.c[name] for name in POST_COLUMNS]
    last = ""
    while True:
        query = select(*columns).where(posts.c.id > last).order_by(posts.c.id).limit(chunk)
        if source is not None:
            query = query.where(posts.c.source == source)
        rows = db.execute(query).all()
        if not rows:
            return
        yield pl.DataFrame([tuple(row) for row in rows], schema=dict.fromkeys(POST_COLUMNS, pl.String), orient="row")
        last = rows[-1].id


def _check_columns(frame: pl.DataFrame) -> None:
    for name in ("id", "text"):
        if name not in frame.columns:
            seen = ", ".join(frame.columns[:20]) or "none"
            raise UserError(f"The posts have no column {name!r}; they have {seen}. Name the column, or rename it.")


def _rows(part: pl.DataFrame, *, first: int) -> list[dict[str, Any]]:
    """Return a part's rows as they are stored; the first one that can't be is refused by its number or id."""
    import polars as pl

    names = [name for name in POST_COLUMNS if name in part.columns]
    part = part.select(_as_text(name, part.schema[name]) for name in names)
    bad = part["id"].is_null() | (part["id"] == "")
    if bad.any():
        raise UserError(f"Row {first + int(bad.arg_max() or 0)} has no id. Give every post one.")
    repeated = part["id"].is_first_distinct().not_()
    if repeated.any():
        raise _taken(part["id"][int(repeated.arg_max() or 0)], "appears twice")
    for name in names:
        nul = part[name].str.contains("\0", literal=True).fill_null(value=False)
        if nul.any():
            post_id = part["id"][int(nul.arg_max() or 0)]
            raise UserError(f"Post {post_id!r} has a NUL character (U+0000) in {name!r}. Remove it and try again.")
    for name, readable in (("collected_at", _moment), ("meta", _object)):
        if name in names:
            for post_id, value in part.filter(pl.col(name).is_not_null()).select("id", name).iter_rows():
                try:
                    readable(value)
                except ValueError as error:
                    raise UserError(f"Post {post_id!r}: {name!r} {error}.") from None
    blank = dict.fromkeys(POST_COLUMNS)
    at = now()
    return [{**blank, **row, "added_at": at} for row in part.iter_rows(named=True)]


def _as_text(name: str, kind: pl.DataType) -> pl.Expr:
    import polars as pl

    if isinstance(kind, pl.Datetime):
        utc = pl.col(name).dt.convert_time_zone("UTC") if kind.time_zone else pl.col(name)
        return utc.dt.strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00").alias(name)
    if isinstance(kind, pl.Struct):
        return pl.col(name).struct.json_encode().alias(name)
    return pl.col(name).cast(pl.String)


def _check_new(db: Connection, ids: list[str]) -> None:
    known = set(db.scalars(select(posts.c.id).where(posts.c.id.in_(ids)))) if ids else set()
    for post_id in ids:
        if post_id in known:
            raise _taken(post_id)


def _taken(post_id: str, how: str = "is there already") -> UserError:
    return UserError(f"Post id {post_id!r} {how}; nothing was added. Give each post an id of its own.", status=409)


def _moment(value: str) -> datetime:
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise ValueError(f"is {value[:40]!r}, not a time such as 2024-05-01T12:00:00Z") from None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _object(value: str) -> None:
    try:
        read = json.loads(value)
    except (ValueError, RecursionError):
        raise ValueError("is not JSON") from None
    if not isinstance(read, dict):
        raise ValueError("is not a JSON object")
