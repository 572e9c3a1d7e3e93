"""Posts in the store: each belongs to a project, or lies on the shelf that all projects share.

Frames come in and go out in bulk; one post is read by its key. People and files know a post by its id, which is unique
within its project or on the shelf, so that two projects may both have a post `1`. Other tables know it by its key.
Doors turn an id into a key by `find_key`, which finds nothing of another project.

A frame's columns beyond `POST_COLUMNS` are not stored here: settled answers go to `verdicts`. Those of `IN_META`, which
a corpus has again in the end, are kept in `meta`. A post never changes; an
id that is there already with other words is refused, and then nothing of the frame is added.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Connection, func, insert, select, update

from davy.annotation.project.store.picture_locks import picture_locks
from davy.annotation.project.store.tables import posts
from davy.core import POST_COLUMNS, Post, Source, UserError
from davy.store import events
from davy.store.columns import new_id, now
from davy.store.distinct_values import distinct_values

if TYPE_CHECKING:
    import polars as pl

CHUNK = 5_000
IN_META: tuple[str, ...] = ("sampler", "kind")
"""Columns of a frame that say why a post was taken and what it is; `meta` keeps them, unless it says so already."""
SCORED = ("judge.", "sampler.tenth")
"""How columns begin that hold the scores by which a post was taken; `meta` keeps them as numbers."""
COLUMNS = [posts.c.public_id, *(posts.c[name] for name in POST_COLUMNS if name != "id")]
"""What makes a `Post`: the id in it is the one that people see."""


LONGEST_TEXT = 50_000
"""Characters of one post. Every page that shows a post masks it, which takes seconds for megabytes."""


def owned_by(project: str | None) -> ColumnElement[bool]:
    """Return the condition that posts are a project's, or with None that they lie on the shelf."""
    return posts.c.project.is_(None) if project is None else posts.c.project == project


def add(db: Connection, post: Post, *, project: str | None, by: str) -> str:
    """Add one post to a project, or to the shelf, and return its key."""
    if db.execute(select(posts.c.id).where(owned_by(project), posts.c.public_id == post.id)).first():
        raise _id_taken_error(post.id)
    source = post.source or Source("")
    row = {
        "id": post.id,
        "text": post.text,
        "lang": post.lang,
        "image": post.image,
        "source": source.name or None,
        "licence": source.licence,
        "collected_at": source.collected_at.isoformat() if source.collected_at else None,
        "found": source.found,
        "parent": post.parent,
        "meta": json.dumps(dict(post.meta), ensure_ascii=False) if post.meta else None,
    }
    (key,) = insert_rows(db, [row], project=project)
    events.record(db, by=by, what="posts added", about=f"post {post.id}", n=1)
    return key


def ensure(db: Connection, frame: pl.DataFrame, *, project: str | None, by: str) -> int:
    """Add the posts of a frame that a project, or the shelf, does not have yet, and return how many.

    One that is there with other words or another image is refused, and then nothing is added.
    """
    _check_columns(frame)
    n = seen = 0
    for part in frame.iter_slices(CHUNK):
        rows = _rows(part, first=seen + 1)
        seen += len(rows)
        known = _contents(db, project, [row["id"] for row in rows])
        for row in rows:
            if row["id"] in known and known[row["id"]] != (row["text"] or "", row["image"]):
                raise UserError(
                    f"Post id {row['id']!r} is there already, with other words or another image; nothing was added. "
                    "Give each post an id of its own.",
                    status=409,
                )
        n += len(insert_rows(db, [row for row in rows if row["id"] not in known], project=project))
    if n:
        about = "posts" if project is None else f"project {project}"
        events.record(db, by=by, what="posts added", about=about, n=n)
    return n


def changed_ids(db: Connection, frame: pl.DataFrame, *, project: str | None) -> list[str]:
    """Return the ids of a frame that a project, or the shelf, has with other words or another image."""
    changed = []
    for part in frame.iter_slices(CHUNK):
        rows = _rows(part, first=1)
        known = _contents(db, project, [row["id"] for row in rows])
        changed += [
            row["id"]
            for row in rows
            if known.get(row["id"], (row["text"] or "", row["image"])) != (row["text"] or "", row["image"])
        ]
    return changed


def _contents(db: Connection, project: str | None, ids: Sequence[str]) -> dict[str, tuple[str, str | None]]:
    """Return text and image of those ids that a project, or the shelf, has."""
    query = select(posts.c.public_id, posts.c.text, posts.c.image).where(owned_by(project), posts.c.public_id.in_(ids))
    return {row.public_id: (row.text or "", row.image) for row in db.execute(query)}


def insert_rows(db: Connection, rows: Sequence[Mapping[str, Any]], *, project: str | None) -> list[str]:
    """Add posts by their columns and return their keys; the caller has seen that their ids are new."""
    blank, at = dict.fromkeys(POST_COLUMNS), now()
    made = [
        {
            **blank,
            **row,
            "id": new_id(),
            "public_id": row["id"],
            "project": project,
            "author": _author(row.get("meta")),
            "hidden": 0,
            "added_at": at,
        }
        for row in rows
    ]
    if made:
        db.execute(insert(posts), made)
    return [row["id"] for row in made]


def find_key(db: Connection, project: str | None, post_id: str) -> str:
    """Return the key of a project's post, or of the shelf's, by the id that people see; another's is not found."""
    keys = keys_of(db, project, [post_id])
    if not keys:
        where = "on the shelf" if project is None else "in this project"
        raise UserError(f"There is no post {post_id[:60]!r} {where}.", status=404)
    return keys[post_id]


def keys_of(db: Connection, project: str | None, ids: Sequence[str]) -> dict[str, str]:
    """Return the keys of those ids that a project, or the shelf, has."""
    query = select(posts.c.public_id, posts.c.id).where(owned_by(project), posts.c.public_id.in_(ids))
    return {row.public_id: row.id for row in db.execute(query)} if ids else {}


def public_ids(db: Connection, keys: Sequence[str]) -> dict[str, str]:
    """Return the ids that people see of these keys."""
    query = select(posts.c.id, posts.c.public_id).where(posts.c.id.in_(keys))
    return {row.id: row.public_id for row in db.execute(query)} if keys else {}


def set_hidden(db: Connection, project: str | None, ids: Sequence[str], *, hidden: bool, by: str) -> int:
    """Hide posts from all who don't run the project, or show them again; return how many changed.

    Whom a phase gives a hidden post to still sees it there.
    """
    n = 0
    for start in range(0, len(ids), CHUNK):
        part = list(ids[start : start + CHUNK])
        missing = set(part) - set(keys_of(db, project, part))
        if missing:
            raise UserError(f"There is no post {min(missing)[:60]!r} here; nothing was changed.", status=404)
        change = update(posts).where(owned_by(project), posts.c.public_id.in_(part), posts.c.hidden != int(hidden))
        n += db.execute(change.values(hidden=int(hidden))).rowcount
    about = "posts" if project is None else f"project {project}"
    events.record(db, by=by, what="posts hidden" if hidden else "posts shown", about=about, n=n)
    return n


def is_hidden(db: Connection, key: str) -> bool:
    """Return whether a post is hidden from those who don't run its project."""
    return bool(db.scalar(select(posts.c.hidden).where(posts.c.id == key)))


def sources(db: Connection, project_id: str, *, most: int) -> list[str]:
    """Return the names of where a project's posts come from, by name, at most so many."""
    of_project = (posts.c.project == project_id, posts.c.source.is_not(None), posts.c.source != "")
    return distinct_values(db, posts.c.source, *of_project, most=most)


def get(db: Connection, key: str) -> Post:
    """Return the post with this key."""
    row = db.execute(select(*COLUMNS).where(posts.c.id == key)).one_or_none()
    if row is None:
        raise UserError("This post is not here any more.", status=404)
    return post_from(row)


def author_of(db: Connection, key: str) -> str | None:
    """Return the account that wrote the post with this key here, or None."""
    author: str | None = db.scalar(select(posts.c.author).where(posts.c.id == key))
    return author


def post_from(values: Sequence[Any]) -> Post:
    """Return the post of a row that has the columns of `COLUMNS`."""
    id_, text, lang, image, name, licence, collected_at, found, parent, meta = values
    source = Source(name, licence, _moment(collected_at) if collected_at else None, found) if name else None
    return Post(id_, text or "", lang, image, source, parent, json.loads(meta) if meta else {})


def has_derived(db: Connection, key: str) -> bool:
    """Return whether another post of the same project was made from this one."""
    own = db.execute(select(posts.c.project, posts.c.public_id).where(posts.c.id == key)).one()
    query = select(posts.c.id).where(owned_by(own.project), posts.c.parent == own.public_id)
    return db.execute(query.limit(1)).first() is not None


def count(db: Connection) -> int:
    """Return how many posts there are, in all projects and on the shelf."""
    return db.execute(select(func.count()).select_from(posts)).scalar_one()


def frames(db: Connection, *, project: str | None, chunk: int = CHUNK) -> Iterator[pl.DataFrame]:
    """Yield the posts of a project, or of the shelf, that are not hidden, in order of id, `chunk` at a time.

    Each frame has the columns of `POST_COLUMNS` as text.
    """
    import polars as pl

    last = ""
    while True:
        query = select(*COLUMNS).where(owned_by(project), posts.c.public_id > last, posts.c.hidden == 0)
        query = query.where(posts.c.image.is_(None) | posts.c.image.not_in(select(picture_locks.c.key)))
        rows = db.execute(query.order_by(posts.c.public_id).limit(chunk)).all()
        if not rows:
            return
        yield pl.DataFrame([tuple(row) for row in rows], schema=dict.fromkeys(POST_COLUMNS, pl.String), orient="row")
        last = rows[-1].public_id


def _check_columns(frame: pl.DataFrame) -> None:
    for name in ("id", "text"):
        if name not in frame.columns:
            seen = ", ".join(frame.columns[:20]) or "none"
            raise UserError(f"The posts have no column {name!r}; they have {seen}. Name the column, or rename it.")


def _rows(part: pl.DataFrame, *, first: int) -> list[dict[str, Any]]:
    """Return a part's rows as they are stored; the first one that can't be is refused by its number or id."""
    import polars as pl

    names = [name for name in POST_COLUMNS if name in part.columns]
    more = part.select(
        *(_as_text(name, part.schema[name]) for name in IN_META if name in part.columns),
        *(pl.col(name).cast(pl.Float64, strict=False).round(6) for name in part.columns if name.startswith(SCORED)),
    )
    part = part.select(_as_text(name, part.schema[name]) for name in names)
    bad = part["id"].is_null() | (part["id"] == "")
    if bad.any():
        raise UserError(f"Row {first + int(bad.arg_max() or 0)} has no id. Give every post one.")
    repeated = part["id"].is_first_distinct().not_()
    if repeated.any():
        raise _id_taken_error(part["id"][int(repeated.arg_max() or 0)], "appears twice")
    if "text" in names:
        length = part["text"].str.len_chars().fill_null(0)
        if int(length.max() or 0) > LONGEST_TEXT:  # type: ignore[arg-type]
            post_id, got = part["id"][int(length.arg_max() or 0)], int(length.max() or 0)  # type: ignore[arg-type]
            raise UserError(
                f"Post {post_id!r} has {got:,} characters; a post has at most {LONGEST_TEXT:,}. Nothing was added. "
                "Cut it into several posts."
            )
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
    rows: list[dict[str, Any]] = [{**blank, **row} for row in part.iter_rows(named=True)]
    for row, cells in zip(rows, more.iter_rows(named=True), strict=False):
        if said := {name: cell for name, cell in cells.items() if cell not in (None, "")}:
            row["meta"] = json.dumps({**said, **json.loads(row["meta"] or "{}")}, ensure_ascii=False)
    return rows


def _as_text(name: str, kind: pl.DataType) -> pl.Expr:
    import polars as pl

    if isinstance(kind, pl.Datetime):
        utc = pl.col(name).dt.convert_time_zone("UTC") if kind.time_zone else pl.col(name)
        return utc.dt.strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00").alias(name)
    if isinstance(kind, pl.Struct):
        return pl.col(name).struct.json_encode().alias(name)
    return pl.col(name).cast(pl.String)


def _id_taken_error(post_id: str, how: str = "is there already") -> UserError:
    return UserError(f"Post id {post_id!r} {how}; nothing was added. Give each post an id of its own.", status=409)


def _author(meta: str | None) -> str | None:
    """Return the account that wrote a post here, as its meta names it."""
    author = json.loads(meta).get("author") if meta and '"author"' in meta else None
    return author if isinstance(author, str) else None


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
