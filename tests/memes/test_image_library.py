"""The image library on both databases: words, licences, and what withdrawal and locks take out of it."""

import polars as pl

from davy.annotation.project.store import images, picture_locks, posts
from davy.annotation.project.store.images import StoredImage
from davy.memes.store import image_library
from davy.memes.store.image_library import LibraryImage


def entry(n: int, words: str = "dog") -> LibraryImage:
    stored = StoredImage(f"{n:064x}", f"{n}.png", 30, 20, 70, "image/png", "CC0-1.0", "Painter", "home")
    return LibraryImage(stored, words, "00" * 320)


def test_pictures_of_the_library_lie_on_the_shelf_with_their_licence(store):
    with store.write() as db:
        assert image_library.add(db, [entry(1), entry(2), entry(2)], by="shell") == 2
        assert image_library.add(db, [entry(2, "cat")], by="shell") == 0
        first, second = image_library.all_images(db)
        assert images.find(db, "any project", first.key) is not None
    assert (first.image.licence, first.image.credit, first.image.source) == ("CC0-1.0", "Painter", "home")
    assert second.words == "cat"


def test_a_picture_that_is_on_the_shelf_but_not_in_the_library_is_not_found(store):
    with store.write() as db:
        images.add(db, None, [entry(3).image], by="shell")
        assert image_library.all_images(db) == []


def test_a_withdrawn_picture_is_gone_from_the_library(store):
    with store.write() as db:
        image_library.add(db, [entry(1), entry(2)], by="shell")
        images.withdraw(db, None, [entry(1).key], by="shell")
        assert [row.key for row in image_library.all_images(db)] == [entry(2).key]
        assert image_library.find_images(db, [entry(1).key]) == []


def test_a_locked_picture_is_gone_from_the_library(store):
    from davy.store.columns import now

    with store.write() as db:
        image_library.add(db, [entry(1)], by="shell")
        posts.ensure(db, pl.DataFrame({"id": ["1"], "text": ["x"]}), project=None, by="shell")
        row = {"key": entry(1).key, "project": "p", "post": "1", "locked_at": now(), "locked_by": "x"}
        db.execute(picture_locks.picture_locks.insert().values(row))
        assert image_library.all_images(db) == []
