"""Projects that can be deleted, and the first pages of a server that nobody has used."""

from __future__ import annotations

import re
import time

import pytest
from sqlalchemy import func, select

from davy.annotation.project import project_creation, project_file
from davy.annotation.project.jobs import enqueue_expired
from davy.annotation.project.sample_project import SAMPLE_POSTS, create_sample
from davy.annotation.project.store import members, phases, posts, projects, removal, withdrawals
from davy.annotation.project.store import tables as project_tables
from davy.annotation.project.store.removal import delete_project, restore_project
from davy.core import UserError
from davy.jobs.store import job_log, jobs
from davy.moderation.store import communities
from davy.moderation.store.communities import Community
from davy.people.store import keys, users
from davy.store.columns import now
from davy.store.schema import metadata
from web_site import post
from work_project import make_bench


def rows(store) -> dict[str, int]:
    with store.read() as db:
        counts = {
            table.name: db.execute(select(func.count()).select_from(table)).scalar_one()
            for table in metadata.sorted_tables
        }
    kept = ("events", "schemes", "guidelines", jobs.name, job_log.name)
    return {name: n for name, n in counts.items() if name not in kept}


def pass_a_day(store, project: str) -> None:
    """Let a project have been deleted a day ago."""
    rows = project_tables.projects
    with store.write() as db:
        done = rows.update().where(rows.c.id == project)
        assert db.execute(done.values(deleted_at=now() - removal.RESTORABLE)).rowcount == 1


def remove_expired(store) -> None:
    """Do at once what the worker does after a day."""
    with store.read() as db:
        expired = removal.list_expired(db)
    with store.write() as db:
        for project in expired:
            removal.remove_expired(db, project.id)


def test_a_project_without_answers_leaves_nothing_behind_and_one_with_answers_stays(store):
    bench = make_bench(store, n=3, people=["ada"], answers=1)
    before = rows(store)
    with store.write() as db:
        by = bench.people["ada"].user
        made = project_creation.create_project(db, project_file.read_plan("gmhp7k"), by=by, preset=True)
        delete_project(db, made.project.id, by=by)
        with pytest.raises(UserError, match="was not deleted a day ago"):
            removal.remove_expired(db, made.project.id)
    assert rows(store) != before
    pass_a_day(store, made.project.id)
    remove_expired(store)
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
    with site.store.read() as db:
        assert projects.find(db, "sample") is None
    assert rows(site.store)["annotations"] == before["annotations"]
    pass_a_day(site.store, "sample")
    remove_expired(site.store)
    assert rows(site.store) == {**before, "sittings": before["sittings"]}


def test_a_deleted_project_is_nowhere_until_its_manager_restores_it(site):
    admin, expert = site.as_("admin"), site.as_("expert")
    with site.store.write() as db:
        made = create_sample(db, title="Lamps of the valley", by=site.people["admin"].id)
        members.add(db, made.id, site.people["expert"].id, ["annotator"], by="shell")
        _, secret = keys.create(
            db, name="k", owner=site.people["admin"].id, scopes=["read"], by="shell", project=made.id
        )
    whole = rows(site.store)
    addresses = ["", "/settings", "/label", "/roster", "/exports", "/train", "/phases/main"]
    assert [admin.get(f"/projects/{made.id}{it}", follow_redirects=True).status_code for it in addresses] == [200] * 7
    by_key = {"authorization": f"Bearer {secret}"}
    assert site.visitor(**by_key).get(f"/api/projects/{made.id}").status_code == 200

    post(admin, f"/projects/{made.id}/delete", page=f"/projects/{made.id}")
    assert [admin.get(f"/projects/{made.id}{it}").status_code for it in addresses] == [404] * 7
    assert expert.get(f"/projects/{made.id}").status_code == 403  # as for one that never was
    assert site.visitor(**by_key).get(f"/api/projects/{made.id}").status_code == 404
    assert "Lamps of the valley" not in admin.get("/").text + admin.get("/posts").text + admin.get("/communities").text
    with site.store.write() as db:
        assert members.managed_by(db, site.people["admin"].id) == []
        with pytest.raises(UserError, match="There is no project"):
            members.add(db, made.id, site.people["annotator"].id, ["annotator"], by="shell")
        with pytest.raises(UserError, match="There is no project"):
            phases.add(
                db, project_id=made.id, name="x", kind="production", answers=1, in_corpus=True, settings={}, by="shell"
            )
        with pytest.raises(UserError, match="A deleted project has the name 'sample'"):
            projects.check_name(db, made.id)
        assert create_sample(db, title="Sample", by=site.people["admin"].id).id == "sample-2"
        delete_project(db, "sample-2", by="shell")
    pass_a_day(site.store, "sample-2")
    remove_expired(site.store)

    page = admin.get("/projects").text
    assert "Lamps of the valley" in page
    assert "can be restored until" in page
    assert "Lamps of the valley" not in expert.get("/projects").text
    sent = {"project": made.id}
    assert post(expert, "/projects/restore", sent, page="/projects").status_code == 404
    assert post(admin, "/projects/restore", sent, page="/projects").headers["location"] == f"/projects/{made.id}"
    assert [admin.get(f"/projects/{made.id}{it}", follow_redirects=True).status_code for it in addresses] == [200] * 7
    assert rows(site.store) == whole
    assert "can be restored until" not in admin.get("/projects").text


def test_after_a_day_the_worker_removes_it_and_it_can_not_be_restored(site):
    before = rows(site.store)
    with site.store.write() as db:
        made = create_sample(db, title="Sample", by=site.people["admin"].id)
        delete_project(db, made.id, by="shell")
    enqueue_expired(site.store)
    with site.store.read() as db:
        assert db.execute(select(func.count()).select_from(jobs)).scalar_one() == 0  # its day is not over
    pass_a_day(site.store, made.id)
    with site.store.write() as db, pytest.raises(UserError, match="no deleted project 'sample' that can be restored"):
        restore_project(db, made.id, by="shell")
    enqueue_expired(site.store)
    enqueue_expired(site.store)
    with site.working():
        wait_for_jobs(site.store, 1)
    assert rows(site.store) == before
    with site.store.write() as db:
        projects.check_name(db, made.id)


def wait_for_jobs(store, n: int) -> None:
    """Wait until all jobs are done, and see that there were `n`."""
    for _ in range(200):
        with store.read() as db:
            states = list(db.scalars(select(jobs.c.state)))
        if set(states) == {"done"}:
            break
        time.sleep(0.05)
    assert states == ["done"] * n


def test_a_withdrawal_reaches_a_deleted_project(store):
    with store.write() as db:
        user = users.add(db, login="max", name="Max", role="admin", by="shell")
        made = create_sample(db, title="Sample", by=user.id)
        delete_project(db, made.id, by="shell")
        done = withdrawals.withdraw(db, ["sample-1"], by="shell")
        assert done.found == ("sample-1",)
        assert done.projects == (made.id,)
        restore_project(db, made.id, by="shell")
        assert sum(frame.height for frame in posts.frames(db, project=made.id)) == len(SAMPLE_POSTS) - 1


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
    for name in (made.id, "sample-2"):
        pass_a_day(site.store, name)
    remove_expired(site.store)
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
