"""Posts go in by the frame and come out as they were."""

from __future__ import annotations

from datetime import UTC, datetime

import polars as pl
import pytest

from davy.core import POST_COLUMNS, Post, Source, UserError
from davy.store import events, posts


def frame(n: int = 3, **columns) -> pl.DataFrame:
    return pl.DataFrame({"id": [f"p{i}" for i in range(n)], "text": [f"text {i}" for i in range(n)], **columns})


def test_a_post_comes_back_as_it_was(store):
    post = Post(
        "p1",
        "Grüße 👩‍🚒 ️\r\nline\t\"quoted\" 'and' \\",
        "de",
        "ab/cd.png",
        Source("forum", "CC-BY-4.0", datetime(2024, 5, 1, 12, tzinfo=UTC), "rule 7"),
        "p0",
        {"likes": 3, "nested": {"ä": [1, None, True]}},
    )
    with store.write() as db:
        posts.add(db, post, by="shell")
        posts.add(db, Post("p2", ""), by="shell")
    with store.read() as db:
        assert posts.get(db, "p1") == post
        assert posts.get(db, "p2") == Post("p2", "")
        assert posts.count(db) == 2
        assert posts.count(db, source="forum") == 1
        with pytest.raises(UserError, match="no post 'p9'"):
            posts.get(db, "p9")


def test_a_frame_comes_back_with_null_and_empty_kept_apart(store):
    given = frame(
        text=["", None, "x"],
        meta=[None, "{}", '{"a": [1]}'],
        collected_at=["2019-03-01", None, "2024-05-01T12:00:00Z"],
        extra=[1, 2, 3],
    )
    with store.write() as db:
        assert posts.add_frames(db, [given], by="shell", about="file x.csv") == 3
    with store.read() as db:
        (back,) = posts.frames(db)
        assert events.latest(db)[0].details == {"n": 3}
    assert tuple(back.columns) == POST_COLUMNS
    same = ["id", "text", "meta", "collected_at"]
    assert back.select(same).equals(given.select(same))


def test_numbers_as_ids_and_real_times_are_taken(store):
    at = datetime(2024, 5, 1, 12, 30, tzinfo=UTC)
    with store.write() as db:
        posts.add_frames(db, [frame(1, id=[7], collected_at=[at], source=["s"])], by="shell")
    with store.read() as db:
        assert posts.get(db, "7").source.collected_at == at


def test_many_frames_are_added_and_read_in_chunks(store):
    ids = [f"{i:06}" for i in range(12_000)]
    many = pl.DataFrame({"id": ids, "text": ids})
    with store.write() as db:
        assert posts.add_frames(db, many.iter_slices(7_000), by="shell") == 12_000
    with store.read() as db:
        parts = list(posts.frames(db, chunk=5_000))
    assert [len(part) for part in parts] == [5_000, 5_000, 2_000]
    assert pl.concat(parts)["id"].to_list() == ids


@pytest.mark.parametrize(
    ("second", "said"),
    [
        (frame(id=["q", "p1", "p0"]), "'p1' is there already"),
        (frame(id=["q", "r", "q"]), "'q' appears twice"),
        (frame(id=["q", None, "r"]), "Row 5 has no id"),
        (frame(id=["q", "", "r"]), "Row 5 has no id"),
        (frame().drop("text"), "no column 'text'; they have id"),
        (frame(id=["q", "r", "s"], text=["a", "b\0", "c"]), "Post 'r' has a NUL"),
        (frame(id=["q", "r", "s"], meta=["{}", "[1]", None]), "Post 'r': 'meta' is not a JSON object"),
        (frame(id=["q", "r", "s"], meta=["{}", "{", None]), "Post 'r': 'meta' is not JSON"),
        (frame(id=["q", "r", "s"], collected_at=["2024-01-01", "soon", None]), "'soon', not a time"),
    ],
)
def test_a_frame_that_cannot_be_stored_leaves_nothing(store, second, said):
    with pytest.raises(UserError) as caught, store.write() as db:
        posts.add_frames(db, [frame(), second], by="shell")
    assert said in caught.value.message
    with store.read() as db:
        assert posts.count(db) == 0
        assert events.latest(db) == []


def test_an_empty_frame_adds_nothing(store):
    with store.write() as db:
        assert posts.add_frames(db, [frame(0)], by="shell") == 0


def test_half_a_surrogate_pair_is_refused(store):
    with pytest.raises(UserError, match="surrogate"), store.write() as db:
        posts.add(db, Post("p", "\ud83d"), by="shell")
