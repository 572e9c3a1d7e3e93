"""A database from before posts belonged to projects: who has which post after the upgrade."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from davy.core import UserError
from davy.store import Store, annotations, export_rows, guidelines, items, jobs, open_store, phases, posts, projects
from davy.store import schema_versions as versions
from davy.store.store import make_engine
from davy.store.url import parse_url

AT = "2026-01-02 03:04:05.000000"


def insert(db: Any, table: str, **values: Any) -> None:
    names = ", ".join(f'"{name}"' for name in values)
    db.execute(text(f"INSERT INTO {table} ({names}) VALUES ({', '.join(f':{name}' for name in values)})"), values)


def fill(db: Any) -> None:
    """Projects `a` and `b` on one scheme with a guideline. Post `own` is a's, `both` is in both, `demo` is published
    and in b, `left` in no project."""
    insert(db, "users", id="u", login="ada", name="Ada", role="admin", language="en", created_at=AT)
    insert(db, "schemes", name="s", version=1, yaml="name: s\n", digest="d", added_at=AT, added_by="u")
    words = json.dumps({"text": {"en": "Be kind."}, "notes": {}})
    insert(
        db,
        "guidelines",
        scheme="s",
        scheme_version=1,
        version=1,
        content=words,
        digest="g",
        changes="",
        added_at=AT,
        added_by="u",
    )
    for post, meta in (("own", '{"author": "u"}'), ("both", None), ("demo", None), ("left", None)):
        insert(db, "posts", id=post, text=f"words of {post}", meta=meta, added_at=AT)
    for project in ("a", "b"):
        insert(
            db,
            "projects",
            id=project,
            title=project,
            scheme="s",
            scheme_version=1,
            settings="{}",
            state="open",
            created_at=AT,
            created_by="u",
        )
        insert(
            db,
            "phases",
            id=f"ph-{project}",
            project=project,
            name="1",
            kind="production",
            position=0,
            answers=1,
            in_corpus=1,
            settings="{}",
            state="open",
            size=1,
        )
    for project, post in (("a", "own"), ("a", "both"), ("b", "both"), ("b", "demo")):
        insert(
            db,
            "items",
            id=f"i-{project}-{post}",
            phase=f"ph-{project}",
            post=post,
            position=len(post),
            given=0,
            room=1,
            state="open",
        )
        insert(
            db,
            "annotations",
            id=f"n-{project}-{post}",
            post=post,
            annotator="u",
            scheme="s",
            scheme_version=1,
            guideline_version=1,
            at=AT,
            flags="",
            project=project,
            phase=f"ph-{project}",
        )
    for number, (post, project) in enumerate((("both", "a"), ("both", "b"), ("demo", None)), 1):
        insert(
            db,
            "verdicts",
            id=f"v{number}",
            post=post,
            scheme="s",
            scheme_version=1,
            question="q",
            labels='["yes"]',
            basis="expert" if project else "published",
            at=AT,
            by="u",
            turn=number,
            project=project,
        )
    for kind, arguments in (("export", {"project": "a"}), ("agreement", {"phase": "ph-b"})):
        insert(
            db,
            "jobs",
            id=kind,
            kind=kind,
            arguments=json.dumps(arguments),
            owner="u",
            state="done",
            created_at=AT,
            run_after=AT,
            attempts=1,
            max_attempts=3,
            done=0,
        )


@pytest.fixture
def upgraded(database_url):
    if database_url.startswith("sqlite"):
        Path(database_url.removeprefix("sqlite:///")).touch()
    with Store(parse_url(database_url), make_engine(parse_url(database_url))) as bare, bare.write() as db:
        versions.upgrade(db, "0002")
        fill(db)
    with open_store(database_url, upgrade=True) as store:
        yield store


def test_each_project_has_its_own_posts_answers_and_verdicts(upgraded):
    with upgraded.read() as db:
        for project, ids in (("a", ["both", "own"]), ("b", ["both", "demo"])):
            found = list(export_rows.iter_posts(db, projects.get(db, project), [f"ph-{project}"]))
            assert [it.post["id"] for it in found] == ids
            assert [it.annotations[0].id for it in found] == [f"n-{project}-{post}" for post in ids]
            assert [it.post["text"] for it in found] == [f"words of {post}" for post in ids]
            assert next(it for it in found if it.post["id"] == "both").verdicts[0].basis == "expert"
        keys = [posts.find_key(db, project, "both") for project in ("a", "b")]
        assert len(set(keys)) == 2
        for project, key in zip(("a", "b"), keys, strict=True):
            assert [it.id for it in annotations.of_post(db, key, scheme="s", version=1)] == [f"n-{project}-both"]
            assert items.of_post(db, phases.get(db, f"ph-{project}"), "both").post == key


def test_what_was_published_stays_on_the_shelf_and_its_verdicts_in_the_projects_export(upgraded):
    with upgraded.read() as db:
        assert [it["id"].to_list() for it in posts.frames(db, project=None)] == [["demo"]]
        found = list(export_rows.iter_posts(db, projects.get(db, "b"), ["ph-b"]))
        assert [it.basis for it in found[1].verdicts] == ["published"]


def test_what_no_project_uses_is_hidden_on_the_shelf(upgraded):
    with upgraded.read() as db:
        assert posts.is_hidden(db, posts.find_key(db, None, "left"))
        with pytest.raises(UserError):
            posts.find_key(db, "a", "left")


def test_authors_guidelines_and_jobs_find_their_place(upgraded):
    with upgraded.read() as db:
        assert db.scalar(text("SELECT author FROM posts WHERE public_id = 'own'")) == "u"
        for project in ("a", "b"):
            assert [it.text["en"] for it in guidelines.of_project(db, project)] == ["Be kind."]
        assert (jobs.get(db, "export").project, jobs.get(db, "agreement").project) == ("a", "b")
