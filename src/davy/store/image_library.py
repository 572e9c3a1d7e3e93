"""The image library: licensed pictures on the shelf that every project may build memes from, found by their words.

The shelf (`store.images`) has the pictures and their licences; here are words and looks. A picture that is withdrawn or
locked there is not in the library any more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, insert, select, update

from davy.store import images
from davy.store.columns import now
from davy.store.image_library_tables import library_images
from davy.store.images import StoredImage


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


def add(db: Connection, rows: Iterable[LibraryImage], *, by: str) -> int:
    """Put pictures on the shelf and into the library; return how many are new. Known ones get the new words."""
    rows = list({row.key: row for row in rows}.values())
    images.add(db, None, [row.image for row in rows], by=by)
    known = set(db.scalars(select(library_images.c.key)))
    for row in rows:
        if row.key in known:
            db.execute(update(library_images).where(library_images.c.key == row.key).values(words=row.words))
    fresh = [row for row in rows if row.key not in known]
    own = {"added_at": now(), "added_by": by}
    if fresh:
        values = [{"key": row.key, "words": row.words, "likeness": row.likeness, **own} for row in fresh]
        db.execute(insert(library_images), values)
    return len(fresh)


def all_images(db: Connection) -> list[LibraryImage]:
    """Return the library in the order of its names."""
    about = {row.key: row for row in db.execute(select(library_images))}
    shelf = images.of_project(db, None) if about else []
    return [LibraryImage(it, about[it.key].words, about[it.key].likeness) for it in shelf if it.key in about]


def find_images(db: Connection, keys: Collection[str]) -> list[LibraryImage]:
    """Return those pictures of the library, in the order of `keys`."""
    wanted = {it.key: it for it in all_images(db) if it.key in set(keys)}
    return [wanted[key] for key in keys if key in wanted]
