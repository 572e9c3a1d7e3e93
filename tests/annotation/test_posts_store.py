"""Posts go in by the frame and come out as they were."""

from __future__ import annotations

from datetime import UTC, datetime

import polars as pl
import pytest

from davy.annotation.labelling.store import items
from davy.annotation.project.store import phases, post_pages, posts, projects
from davy.core import POST_COLUMNS, Label, Post, Question, Scheme, Source, UserError
from davy.schemes.store import schemes
from davy.store import events


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
        first = posts.add(db, post, project=None, by="shell")
        second = posts.add(db, Post("p2", ""), project=None, by="shell")
    with store.read() as db:
        assert posts.get(db, first) == post
        assert posts.get(db, second) == Post("p2", "")
        assert posts.count(db) == 2
        with pytest.raises(UserError, match="no post 'p9' on the shelf"):
            posts.find_key(db, None, "p9")


def test_a_frame_comes_back_with_null_and_empty_kept_apart(store):
    given = frame(
        text=["", None, "x"],
        meta=[None, "{}", '{"a": [1]}'],
        collected_at=["2019-03-01", None, "2024-05-01T12:00:00Z"],
        extra=[1, 2, 3],
    )
    with store.write() as db:
        assert posts.ensure(db, given, project=None, by="shell") == 3
    with store.read() as db:
        (back,) = posts.frames(db, project=None)
        assert events.latest(db)[0].details == {"n": 3}
    assert tuple(back.columns) == POST_COLUMNS
    same = ["id", "text", "meta", "collected_at"]
    assert back.select(same).equals(given.select(same))


def test_numbers_as_ids_and_real_times_are_taken(store):
    at = datetime(2024, 5, 1, 12, 30, tzinfo=UTC)
    with store.write() as db:
        posts.ensure(db, frame(1, id=[7], collected_at=[at], source=["s"]), project=None, by="shell")
    with store.read() as db:
        assert posts.get(db, posts.find_key(db, None, "7")).source.collected_at == at


def test_many_frames_are_added_and_read_in_chunks(store):
    ids = [f"{i:06}" for i in range(12_000)]
    many = pl.DataFrame({"id": ids, "text": ids})
    with store.write() as db:
        assert posts.ensure(db, many, project=None, by="shell") == 12_000
    with store.read() as db:
        parts = list(posts.frames(db, project=None, chunk=5_000))
    assert [len(part) for part in parts] == [5_000, 5_000, 2_000]
    assert pl.concat(parts)["id"].to_list() == ids


@pytest.mark.parametrize(
    ("second", "said"),
    [
        (frame(id=["q", "p1", "p0"], text=["a", "b", "c"]), "'p1' is there already"),
        (frame(id=["q", "r", "q"]), "'q' appears twice"),
        (frame(id=["q", None, "r"]), "Row 2 has no id"),
        (frame(id=["q", "", "r"]), "Row 2 has no id"),
        (frame().drop("text"), "no column 'text'; they have id"),
        (frame(id=["q", "r", "s"], text=["a", "b\0", "c"]), "Post 'r' has a NUL"),
        (frame(id=["q", "r", "s"], meta=["{}", "[1]", None]), "Post 'r': 'meta' is not a JSON object"),
        (frame(id=["q", "r", "s"], meta=["{}", "{", None]), "Post 'r': 'meta' is not JSON"),
        (frame(id=["q", "r", "s"], collected_at=["2024-01-01", "soon", None]), "'soon', not a time"),
    ],
)
def test_a_frame_that_cannot_be_stored_leaves_nothing(store, second, said):
    with store.write() as db:
        posts.ensure(db, frame(), project=None, by="shell")
    with pytest.raises(UserError) as caught, store.write() as db:
        posts.ensure(db, second, project=None, by="shell")
    assert said in caught.value.message
    with store.read() as db:
        assert posts.count(db) == len(frame())
        assert len(events.latest(db)) == 1


def test_an_empty_frame_adds_nothing(store):
    with store.write() as db:
        assert posts.ensure(db, frame(0), project=None, by="shell") == 0


def test_half_a_surrogate_pair_is_refused(store):
    with pytest.raises(UserError, match="surrogate"), store.write() as db:
        posts.add(db, Post("p", "\ud83d"), project=None, by="shell")


def test_two_projects_and_the_shelf_each_have_their_own_post_of_one_id(store):
    with store.write() as db:
        for project in make_projects(db):
            posts.add(db, Post("1", f"of {project}"), project=project, by="shell")
        posts.add(db, Post("1", "of all"), project=None, by="shell")
        assert [posts.get(db, posts.find_key(db, it, "1")).text for it in ("a", "b", None)] == [
            "of a",
            "of b",
            "of all",
        ]
        with pytest.raises(UserError, match="'1' is there already"):
            posts.add(db, Post("1", "again"), project="a", by="shell")
        posts.add(db, Post("2", "b's alone"), project="b", by="shell")
    for project in ("a", None):
        with pytest.raises(UserError, match="no post '2'") as caught, store.read() as db:
            posts.find_key(db, project, "2")
        assert caught.value.status == 404


def test_an_item_is_a_post_of_its_own_project(store):
    with store.write() as db:
        make_projects(db)
        posts.add(db, Post("1", "b's"), project="b", by="shell")
        phase = phases.add(db, "a", name="1", kind="production", answers=1, in_corpus=True, settings={}, by="shell")
        with pytest.raises(UserError, match="Project 'a' has no post '1'"):
            items.add(db, phase, [("1", None, None)], by="shell")


def test_hidden_posts_are_in_no_list_until_they_are_shown_again(store):
    with store.write() as db:
        make_projects(db)
        posts.ensure(db, frame(), project="a", by="shell")
        assert posts.set_hidden(db, "a", ["p0", "p2"], hidden=True, by="shell") == 2
        assert [it.id for it in post_pages.page(db, "a", post_pages.PostFilter(), with_verdicts=False)] == ["p1"]
        assert post_pages.count(db, "a", post_pages.PostFilter(), hidden=True) == 3
        assert next(posts.frames(db, project="a"))["id"].to_list() == ["p1"]
        assert posts.set_hidden(db, "a", ["p0", "p1"], hidden=False, by="shell") == 1
        with pytest.raises(UserError, match="no post 'p9'"):
            posts.set_hidden(db, "a", ["p1", "p9"], hidden=True, by="shell")


def make_projects(db):
    scheme = Scheme("grumble", 1, (Question("grumpy", (Label("yes"), Label("no")), positive="yes"),))
    schemes.save(db, scheme, "name: grumble\n", by="shell")
    for name in ("a", "b"):
        projects.create(db, id=name, title=name, scheme="grumble", scheme_version=1, settings={}, by="shell")
    return "a", "b"


def test_a_post_of_megabytes_is_refused_by_its_id(store):
    frame = pl.DataFrame({"id": ["a", "b"], "text": ["short", "x" * (posts.LONGEST_TEXT + 1)]})
    with pytest.raises(UserError, match="Post 'b' has 50,001 characters"), store.write() as db:
        posts.ensure(db, frame, project=None, by="shell")
    with store.read() as db:
        assert posts.count(db) == 0
