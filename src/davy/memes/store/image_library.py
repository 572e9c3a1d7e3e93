"""The image library: licensed pictures on the shelf that every project may build memes from, found by their words.

The shelf (`store.images`) has the pictures and their licences; here are words and looks. A picture that is withdrawn or
locked there is not in the library any more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, select

from davy.annotation.project.store import images
from davy.annotation.project.store.images import StoredImage
from davy.store.columns import now
from davy.store.rows import Rows


@dataclass(frozen=True, slots=True)
class LibraryImage:
    """A picture of the library. `likeness` is its packed vector (`image.likeness`)."""

    image: StoredImage
    words: str
    likeness: str

    @property
    def key(self) -> str:
        """The picture's key."""
        return self.image.key


@dataclass(frozen=True, slots=True)
class _LibraryRow:
    """What is kept of a picture of the library beside its row on the shelf, under the same key."""

    key: str
    words: str
    likeness: str
    added_at: datetime
    added_by: str


_ROWS = Rows(_LibraryRow, "library_images", key="key")
library_images = _ROWS.table


def add(db: Connection, rows: Iterable[LibraryImage], *, by: str) -> int:
    """Put pictures on the shelf and into the library; return how many are new. Known ones get the new words."""
    rows = list({row.key: row for row in rows}.values())
    images.add(db, None, [row.image for row in rows], by=by)
    known = set(db.scalars(select(library_images.c.key)))
    for row in rows:
        if row.key in known:
            _ROWS.update(db, library_images.c.key == row.key, words=row.words)
    fresh = [row for row in rows if row.key not in known]
    _ROWS.insert_all(db, [_LibraryRow(row.key, row.words, row.likeness, now(), by) for row in fresh])
    return len(fresh)


def is_empty(db: Connection) -> bool:
    """Return whether the library has no picture at all."""
    return db.scalar(select(library_images.c.key).limit(1)) is None


def all_images(db: Connection) -> list[LibraryImage]:
    """Return the library in the order of its names."""
    about = {row.key: row for row in _ROWS.list(db)}
    shelf = images.of_project(db, None) if about else []
    return [LibraryImage(it, about[it.key].words, about[it.key].likeness) for it in shelf if it.key in about]


def find_images(db: Connection, keys: Collection[str]) -> list[LibraryImage]:
    """Return those pictures of the library, in the order of `keys`."""
    wanted = {it.key: it for it in all_images(db) if it.key in set(keys)}
    return [wanted[key] for key in keys if key in wanted]
