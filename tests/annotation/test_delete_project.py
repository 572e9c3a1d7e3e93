"""Projects that can be deleted, and the first pages of a server that nobody has used."""

from __future__ import annotations

import re

import pytest
from sqlalchemy import func, select

from davy.annotation.project import project_creation, project_file
from davy.annotation.project.sample_project import SAMPLE_POSTS, create_sample
from davy.annotation.project.store import members, phases, posts, projects
from davy.annotation.project.store.removal import delete_project
from davy.core import UserError
from davy.moderation.store import communities
from davy.moderation.store.communities import Community
from davy.people.store import users
from davy.store.schema import metadata
from web_site import post
from work_project import make_bench


def rows(store) -> dict[str, int]:
    with store.read() as db:
        counts = {
            table.name: db.execute(select(func.count()).select_from(table)).scalar_one()
            for table in metadata.sorted_tables
        }
    return {name: n for name, n in counts.items() if name not in ("events", "schemes", "guidelines")}


def test_a_project_without_answers_leaves_nothing_behind_and_one_with_answers_stays(store):
    bench = make_bench(store, n=3, people=["ada"], answers=1)
    before = rows(store)
    with store.write() as db:
        by = bench.people["ada"].user
        made = project_creation.create_project(db, project_file.read_plan("gmhp7k"), by=by, preset=True)
        delete_project(db, made.project.id, by=by)
    assert rows(store) == before
    bench.answer("ada")
    with store.write() as db, pytest.raises(UserError, match="has answers"):
        delete_project(db, "pilot", by=by)


def test_a_project_that_a_community_reviews_in_stays(store):
    with store.write() as db:
        user = users.add(db, login="max", name="Max", role="admin", by="shell")
        made = project_creation.create_project(db, project_file.read_plan("moderation"), by=user.id)
        communities.create(db, Community("forum", "hate", project=made.project.id), by="shell")
        with pytest.raises(UserError, match="in use by communities"):
            delete_project(db, made.project.id, by=user.id)


def test_the_first_sign_in_offers_a_sample_that_is_labelled_and_deleted_again(site):
    admin = site.as_("admin")
    page = admin.get("/").text
    assert "Three ways to begin" in page
    before = rows(site.store)
    assert post(admin, "/projects/sample").headers["location"] == "/projects/sample"
    assert "Label posts" in admin.get("/projects/sample").text
    assert "Three ways to begin" not in admin.get("/").text
    with site.store.read() as db:
        assert sum(frame.height for frame in posts.frames(db, project="sample")) == len(SAMPLE_POSTS)
        assert phases.of_project(db, "sample")[0].state == "open"
    with site.store.write() as db:
        members.consent(db, "sample", site.people["admin"].id)
    html = admin.get("/projects/sample/label", follow_redirects=True).text
    assert re.search(r'id="sheet"', html)
    assert post(admin, "/projects/sample/delete", page="/projects/sample").headers["location"] == "/projects"
    assert rows(site.store) == {**before, "sittings": before["sittings"]}
    with site.store.read() as db:
        assert projects.find(db, "sample") is None


def test_a_sample_goes_with_its_answers(site):
    before = rows(site.store)
    with site.store.write() as db:
        made = create_sample(db, title="Sample", by=site.people["admin"].id)
        assert create_sample(db, title="Sample", by=site.people["admin"].id).id == "sample-2"
        delete_project(db, "sample-2", by="shell")
        settle_one(db, made, site.people["admin"].id)
    assert rows(site.store)["annotations"] == 1
    with site.store.write() as db:
        delete_project(db, made.id, by="shell")
    assert rows(site.store) == before


def settle_one(db, project, user) -> None:
    """Let somebody answer the first post, which settles it."""
    from davy.annotation.labelling import labelling
    from davy.store.columns import new_id

    sheet = labelling.next_sheet(db, project, members.get(db, project.id, user))
    labelling.save(db, sheet, {"hate": ("not hateful",)}, annotation_id=new_id())


def test_the_first_page_of_an_empty_server_says_where_the_link_is(site):
    assert "davy serve" not in site.visitor().get("/").text
    with site.store.write() as db:
        for table in ("sessions", "users"):
            db.execute(metadata.tables[table].delete())
    page = site.visitor().get("/").text
    assert "The link for the first admin stands in the terminal" in page
    assert 'href="/sign-in"' in page  # of the frame
