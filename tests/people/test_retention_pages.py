"""Retention on the web: what would go is shown before a rule is set, and nothing goes by looking."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import func, insert, select
from typer.testing import CliRunner

from davy.annotation.project.store import projects
from davy.moderation.store.shadows import shadow_differences
from davy.people.store import retention
from davy.shell.app import app
from davy.store import events
from davy.store.columns import new_id, now
from two_projects import fill
from web_site import post


@pytest.fixture
def old_posts(site):
    """Three posts of a shadow from a hundred days ago."""
    about = {"model": "a", "shadow": "b", "question": "hate", "label": "yes", "shadow_label": "no"}
    with site.store.write() as db:
        for _ in range(3):
            db.execute(insert(shadow_differences).values(id=new_id(), at=now() - timedelta(days=100), **about))
    return site


def left(site) -> int:
    with site.store.read() as db:
        return db.scalar(select(func.count()).select_from(shadow_differences))


def test_an_admin_sees_what_would_go_then_sets_the_rule_and_ends_it(old_posts):
    site, client = old_posts, old_posts.as_("admin")
    shown = post(client, "/retention", {"what": "shadow posts", "days": "90", "do": "look"}, page="/retention")
    assert "As of now 3 would go" in shown.text
    with site.store.read() as db:
        assert retention.list_rules(db) == []
    assert post(
        client, "/retention", {"what": "shadow posts", "days": "90", "do": "set"}, page="/retention"
    ).is_redirect
    page = client.get("/retention").text
    assert "goes after 90 days" in page
    assert left(site) == 3
    with site.store.read() as db:
        assert [(it.what, it.days, it.project) for it in retention.list_rules(db)] == [("shadow posts", 90, "")]
        assert events.latest(db)[0].what == "retention rule set"
    assert post(client, "/retention", {"what": "shadow posts", "do": "end"}, page="/retention").is_redirect
    with site.store.read() as db:
        assert retention.list_rules(db) == []


@pytest.mark.parametrize(("days", "status"), [("", 422), ("0", 422), ("²", 422), ("-3", 422), ("99999", 400)])
def test_days_that_are_none_change_nothing(site, days, status):
    shown = post(site.as_("admin"), "/retention", {"what": "jobs", "days": days, "do": "set"}, page="/retention")
    assert shown.status_code == status
    assert 'role="alert"' in shown.text
    with site.store.read() as db:
        assert retention.list_rules(db) == []


def test_a_manager_sets_rules_for_the_own_project_and_not_for_the_server(site):
    fill(site)
    client = site.as_("manager")
    address = "/projects/p/retention"
    assert post(client, address, {"what": "decisions", "days": "9", "do": "set"}, page=address).status_code == 400
    assert post(client, address, {"what": "texts", "days": "9", "do": "set"}, page=address).is_redirect
    assert "Would go now" in client.get(address).text
    with site.store.read() as db:
        assert [(it.what, it.project) for it in retention.list_rules(db, everywhere=True)] == [("texts", "p")]
        assert projects.get(db, "p").state == "open"
    assert client.get("/retention").status_code == 403
    assert site.as_("manager of q").get(address).status_code == 403


def test_the_shell_shows_sets_and_applies_rules(old_posts):
    def run(*options: str, sure: str = ""):
        command = ["database", "retention", "--database", old_posts.settings.database, *options]
        return CliRunner().invoke(app, command, input=sure)

    assert "nothing is deleted by age" in run().output
    assert "As of now 3 would" in run("--keep", "shadow posts=90").output
    assert "shadow posts" in run().output
    assert run("--keep", "posts=90").exit_code != 0
    assert run("--keep", "decisions").exit_code != 0
    assert "Nothing was removed" in run("--apply", sure="n\n").output
    assert left(old_posts) == 3
    assert "3 removed" in run("--apply", "--yes").output
    assert left(old_posts) == 0
    assert '"would_go": 0' in run("--json").output
    assert "has ended" in run("--end", "shadow posts").output
