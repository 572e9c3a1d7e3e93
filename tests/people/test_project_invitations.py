"""Invitations to a project: accepting one makes a member too, and an account joins with it once."""

from __future__ import annotations

import pytest

from davy import schemes as shipped
from davy.annotation.project.store import members, posts, projects
from davy.core.errors import UserError
from davy.people.store import invitations, users
from davy.schemes.store import schemes
from davy.store import events


@pytest.fixture
def project(store):
    with store.write() as db:
        schemes.save(db, shipped.load("hate"), shipped.text_of("hate").decode(), by=events.SHELL)
        return projects.create(db, id="p", title="P", scheme="hate", scheme_version=1, settings={}, by=events.SHELL)


def invited(db, **more):
    values = {"role": "annotator", "by": events.SHELL, "project": "p", "project_roles": ["expert"], "pool": "crowd"}
    return invitations.create(db, **{**values, **more})


def test_a_new_account_is_on_the_roster(store, project):
    with store.write() as db:
        made, token = invited(db)
        user = invitations.accept(db, token, login="new", name="New", password_hash="x")
        member = members.get(db, "p", user.id)
    assert (member.roles, member.pool) == (("expert",), "crowd")
    assert made.project == "p"


def test_an_account_joins_once_and_comes_back_with_a_second_link(store, project):
    with store.write() as db:
        ada = users.add(db, login="ada", name="Ada", role="annotator", by=events.SHELL)
        _, first = invited(db)
        _, second = invited(db, login="ada")
        invitations.join(db, first, ada)
        name = members.get(db, "p", ada.id).pseudonym
        with pytest.raises(UserError, match="used already"):
            invitations.join(db, first, ada)
        with pytest.raises(UserError, match="in this project already"):
            invitations.join(db, second, ada)
        members.leave(db, "p", ada.id, by=ada.id)
        invitations.join(db, second, ada)
        assert members.get(db, "p", ada.id).pseudonym == name


def test_a_link_for_one_login_is_no_good_for_another(store, project):
    with store.write() as db:
        ada = users.add(db, login="ada", name="Ada", role="annotator", by=events.SHELL)
        _, token = invited(db, login="lin")
        with pytest.raises(UserError, match="for 'lin'"):
            invitations.join(db, token, ada)
        assert invitations.get_usable(db, token).state == "open"
        assert [it.login for it in invitations.list_unused(db, project="p")] == ["lin"]
        assert invitations.list_unused(db, project="q") == []


def test_an_invitation_to_the_server_joins_no_project_and_one_to_nowhere_is_refused(store, project):
    with store.write() as db:
        ada = users.add(db, login="ada", name="Ada", role="annotator", by=events.SHELL)
        _, token = invitations.create(db, role="annotator", by=events.SHELL)
        with pytest.raises(UserError, match="you have one"):
            invitations.join(db, token, ada)
        with pytest.raises(UserError, match="no project"):
            invited(db, project="nowhere")
        with pytest.raises(UserError, match="not a role"):
            invited(db, project_roles=["boss"])
        with pytest.raises(UserError, match="at least one role"):
            invited(db, project_roles=[])


def test_posts_that_are_there_are_not_added_twice_and_other_words_are_refused(store):
    import polars as pl

    first = pl.DataFrame({"id": ["a", "b"], "text": ["one", None]})
    with store.write() as db:
        assert posts.ensure(db, first, project=None, by=events.SHELL) == 2
        assert posts.ensure(db, first, project=None, by=events.SHELL) == 0
    changed = pl.DataFrame({"id": ["c", "a"], "text": ["three", "uno"]})
    with pytest.raises(UserError, match="Post id 'a' is there already"), store.write() as db:
        posts.ensure(db, changed, project=None, by=events.SHELL)
    with store.read() as db:
        assert posts.count(db) == 2
