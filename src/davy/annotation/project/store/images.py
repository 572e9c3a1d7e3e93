"""Which pictures a project, or the shared shelf, has: their sizes, licence, credit and source. The bytes are files.

A row is never changed but for its withdrawal, after which the picture is not shown and can't come back. Whose picture
it is decides who sees it; the file itself, under its key, may serve several projects. A picture that is locked
(`store.picture_locks`) is nobody's: no function here returns it.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Column, ColumnElement, Connection, func, select, update

from davy.annotation.project.store.picture_locks import picture_locks
from davy.annotation.project.store.tables import posts
from davy.core import UserError
from davy.store import events
from davy.store.columns import TextColumn, TimeColumn, new_id, now, table_index
from davy.store.rows import Rows
from davy.store.url import parse_url, sqlite_path

CHUNK = 500
_FILES_LOCK = 0x64617679
"""The number of PostgreSQL's advisory lock for files of pictures; any that nothing else here uses."""


@dataclass(frozen=True, slots=True)
class StoredImage:
    """A picture of a project, or with `project` None of the shelf: `key` is its SHA-256, `name` what posts call it."""

    key: str
    name: str
    width: int
    height: int
    size: int
    mime: str
    licence: str | None = None
    credit: str | None = None
    source: str | None = None
    project: str | None = None
    added_at: datetime | None = None


_ROWS = Rows(
    StoredImage,
    "images",
    Column("id", TextColumn, primary_key=True),
    Column("added_at", TimeColumn, nullable=False),
    Column("added_by", TextColumn, nullable=False),
    Column("withdrawn_at", TimeColumn),
    table_index("uq_images_project", "project", "key", where="project IS NOT NULL", unique=True),
    table_index("uq_images_shelf", "key", where="project IS NULL", unique=True),
    table_index("ix_images_key", "key"),
    key=(),
    references={"project": "projects.id"},
)
images = _ROWS.table
_LOCKED = select(picture_locks.c.key)
_AVAILABLE = images.c.withdrawn_at.is_(None) & images.c.key.not_in(_LOCKED)


def folder_path(url: URL | str) -> Path | None:
    """Return where a database's pictures are: DAVY_IMAGES, else beside the SQLite file; None where nobody said."""
    given = os.environ.get("DAVY_IMAGES")
    if given:
        return Path(given)
    parsed = parse_url(url) if isinstance(url, str) else url
    if parsed.get_backend_name() != "sqlite":
        return None
    path = sqlite_path(parsed)
    return path.with_name(path.name + ".images")


def lock_files(db: Connection) -> None:
    """Hold the files of pictures until this write ends: nobody else removes one, or notes one, before.

    Whoever notes a picture takes this, then makes sure of its file; whoever removes a file takes it, then looks whether
    somebody has the picture. SQLite needs no lock: it has one writer.
    """
    if db.dialect.name != "sqlite":
        db.execute(select(func.pg_advisory_xact_lock(_FILES_LOCK)))


def add(db: Connection, project: str | None, rows: Iterable[StoredImage], *, by: str) -> int:
    """Note pictures of a project, or of the shelf, and return how many are new; one that was withdrawn is refused."""
    wanted = {row.key: row for row in rows}
    known = {
        row.key: row.withdrawn_at
        for part in _parts(list(wanted))
        for row in db.execute(
            select(images.c.key, images.c.withdrawn_at).where(_owner(project), images.c.key.in_(part))
        )
    }
    gone = [wanted[key].name for key, at in known.items() if at is not None]
    if gone:
        raise UserError(f"The picture {gone[0][:80]!r} was withdrawn, so it can't be added again.", status=409)
    if any(db.scalar(_LOCKED.where(picture_locks.c.key.in_(part)).limit(1)) for part in _parts(list(wanted))):
        raise UserError("One of these pictures is locked, so it can't be added.", status=409)
    fresh = [row for key, row in wanted.items() if key not in known]
    for row in fresh:
        _ROWS.insert(db, row, id=new_id(), project=project, added_at=now(), added_by=by)
    if fresh:
        about = "images" if project is None else f"project {project}"
        events.record(db, by=by, what="pictures added", about=about, n=len(fresh))
    return len(fresh)


def find(db: Connection, project: str | None, key: str) -> StoredImage | None:
    """Return a picture that a project may show: its own or the shelf's; None where it has none or it was withdrawn."""
    query = _ROWS.select(images.c.key == key, _seen_by(project), _AVAILABLE).limit(1)
    return next(iter(_ROWS.list(db, query)), None)


def of_project(db: Connection, project: str | None) -> list[StoredImage]:
    """Return the pictures of a project, or of the shelf, in the order of their names."""
    return _ROWS.list(db, _ROWS.select(_owner(project), _AVAILABLE).order_by(images.c.name, images.c.key))


def of_posts(db: Connection, project: str, keys: Collection[str]) -> list[StoredImage]:
    """Return the pictures with these keys that a project may show, its own before the shelf's, each once."""
    query = _ROWS.select(_seen_by(project), _AVAILABLE)
    found = [it for part in _parts(sorted(keys)) for it in _ROWS.list(db, query.where(images.c.key.in_(part)))]
    return list({it.key: it for it in sorted(found, key=lambda it: (it.key, it.project is not None))}.values())


def count(db: Connection, project: str | None) -> int:
    """Return how many pictures a project, or the shelf, has."""
    query = select(func.count()).select_from(images).where(_owner(project), _AVAILABLE)
    return db.execute(query).scalar_one()


def keys_of(db: Connection, project: str | None, keys: Collection[str]) -> set[str]:
    """Return those keys whose pictures a project may show: its own and the shelf's."""
    query = select(images.c.key).where(_seen_by(project), _AVAILABLE)
    return {key for part in _parts(list(keys)) for key in db.scalars(query.where(images.c.key.in_(part)))}


def keys_in_use(db: Connection, keys: Collection[str]) -> set[str]:
    """Return those keys that some project, or the shelf, still has."""
    return {
        key
        for part in _parts(list(keys))
        for key in db.scalars(select(images.c.key).where(images.c.key.in_(part), images.c.withdrawn_at.is_(None)))
    }


def names_wanted(db: Connection, project: str) -> list[str]:
    """Return the images that a project's posts name: keys of pictures, and names of files that are not here yet."""
    query = select(posts.c.image).where(posts.c.image.is_not(None), posts.c.project == project)
    query = query.where(posts.c.image.not_in(_LOCKED))
    return sorted(db.scalars(query.distinct()))


def link(db: Connection, project: str, keys: Mapping[str, str]) -> int:
    """Give a project's posts that name a file the key of its picture, and return how many; all else in them stays."""
    n = 0
    for name, key in keys.items():
        named = update(posts).where(posts.c.image == name, posts.c.project == project)
        n += db.execute(named.values(image=key)).rowcount
    return n


def withdraw(db: Connection, project: str | None, keys: Collection[str], *, by: str) -> set[str]:
    """Withdraw pictures from a project, or the shelf; return those keys that nobody has any more, so files can go."""
    for part in _parts(list(keys)):
        gone = update(images).where(_owner(project), images.c.key.in_(part), images.c.withdrawn_at.is_(None))
        n = db.execute(gone.values(withdrawn_at=now(), name="", licence=None, credit=None, source=None)).rowcount
        if n:
            about = "images" if project is None else f"project {project}"
            events.record(db, by=by, what="pictures withdrawn", about=about, n=n)
    return set(keys) - keys_in_use(db, keys)


def _owner(project: str | None) -> ColumnElement[bool]:
    return images.c.project.is_(None) if project is None else images.c.project == project


def _seen_by(project: str | None) -> ColumnElement[bool]:
    return _owner(None) if project is None else _owner(project) | _owner(None)


def _parts(keys: list[Any]) -> Iterable[list[Any]]:
    return (keys[start : start + CHUNK] for start in range(0, len(keys), CHUNK))
