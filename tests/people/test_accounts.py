"""Users, invitations, sessions, API keys and the record of events."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest

from davy.core import UserError
from davy.people.store import invitations, keys, sessions, users
from davy.store import Store, events
from davy.store.columns import now


@pytest.fixture
def ada(store: Store) -> users.User:
    with store.write() as db:
        return users.add(db, login="Ada@Example.org ", name="Ada", role="admin", by="shell", password_hash="h")


def test_a_login_is_found_whatever_its_case(store, ada):
    with store.read() as db:
        assert users.by_login(db, "ADA@example.ORG") == ada
        assert users.find(db, ada.id) == ada
    assert ada.login == "ada@example.org"
    assert "'h'" not in repr(ada)


def test_a_login_is_taken_once(store, ada):
    with pytest.raises(UserError, match="taken"), store.write() as db:
        users.add(db, login="ada@EXAMPLE.org", name="Another", role="expert", by="shell")
    with store.read() as db:
        assert users.count(db) == 1


def test_two_who_take_one_login_at_once_get_one_account(store):
    outcomes: list[str] = []
    ready = threading.Barrier(4)

    def take() -> None:
        ready.wait()
        try:
            with store.write() as db:
                users.add(db, login="grace", name="Grace", role="expert", by="shell")
            outcomes.append("made")
        except UserError as error:
            outcomes.append("taken" if "taken" in error.message else error.message)

    run_all(take, 4)
    assert sorted(outcomes) == ["made", "taken", "taken", "taken"]


@pytest.mark.parametrize("login", ["", "  ", "a b", "a\tb", "x" * 255, "a\u200bb\n c", "a\0b"])
def test_a_login_that_nobody_could_type_is_refused(store, login):
    with pytest.raises(UserError), store.write() as db:
        users.add(db, login=login, name="X", role="expert", by="shell")


def test_an_unknown_role_is_refused_with_a_suggestion(store):
    with pytest.raises(UserError, match="Did you mean 'expert'"), store.write() as db:
        users.add(db, login="a", name="A", role="expret", by="shell")


def test_the_last_admin_can_be_neither_disabled_nor_demoted(store, ada):
    with pytest.raises(UserError, match="last admin"), store.write() as db:
        users.disable(db, ada.id, by="shell")
    with pytest.raises(UserError, match="last admin"), store.write() as db:
        users.set_role(db, ada.id, "expert", by="shell")


def test_two_admins_who_disable_each_other_at_once_leave_one(store, ada):
    with store.write() as db:
        bob = users.add(db, login="bob", name="Bob", role="admin", by="shell")
    ready = threading.Barrier(2)
    victims = [ada.id, bob.id]

    def disable_one() -> None:
        victim = victims.pop()
        ready.wait()
        try:
            with store.write() as db:
                users.disable(db, victim, by="shell")
        except UserError:
            pass

    run_all(disable_one, 2)
    with store.read() as db:
        assert sum(not user.disabled for user in users.list_users(db)) == 1


def test_a_disabled_account_loses_its_sessions_and_its_keys_stop(store, ada):
    with store.write() as db:
        bob = users.add(db, login="bob", name="Bob", role="expert", by=ada.id)
        _, token = sessions.start(db, bob.id)
        _, secret = keys.create(db, name="k", owner=bob.id, scopes=["score"], by=bob.id)
        users.disable(db, bob.id, by=ada.id)
    with store.read() as db:
        assert sessions.find(db, token) is None
        with pytest.raises(UserError, match="switched off"):
            keys.check(db, secret, "score")
    with pytest.raises(UserError, match="switched off"), store.write() as db:
        sessions.start(db, bob.id)
    with store.write() as db:
        users.enable(db, bob.id, by=ada.id)
        assert sessions.find(db, token) is None
        assert keys.check(db, secret, "score")[1].id == bob.id


def test_a_session_is_found_by_its_token_until_it_ends(store, ada):
    with store.write() as db:
        session, token = sessions.start(db, ada.id, client="a browser")
        assert sessions.find(db, token) == (session, ada)
        assert sessions.find(db, token + "x") is None
        assert not sessions.needs_touch(session)
        sessions.end(db, session.id, by=ada.id)
        assert sessions.find(db, token) is None


def test_a_session_ends_by_itself(store, ada):
    with store.write() as db:
        _, token = sessions.start(db, ada.id, lasts=timedelta(seconds=-1))
        assert sessions.find(db, token) is None
        assert sessions.of_user(db, ada.id) == []
        assert sessions.sweep(db, older_than=timedelta(0)) == 1


def test_a_new_password_ends_every_other_session(store, ada):
    with store.write() as db:
        here, token_here = sessions.start(db, ada.id)
        _, token_there = sessions.start(db, ada.id)
        users.set_password(db, ada.id, "new", by=ada.id, keep_session=here.id)
        assert sessions.find(db, token_here) is not None
        assert sessions.find(db, token_there) is None


def test_no_token_or_secret_is_in_the_database(store, ada):
    with store.write() as db:
        _, session = sessions.start(db, ada.id)
        _, key = keys.create(db, name="k", owner=ada.id, scopes=["score"], by=ada.id)
        _, invitation = invitations.create(db, role="expert", by=ada.id)
    from davy.store.schema import metadata

    with store.read() as db:
        everything = "".join(str(db.execute(table.select()).all()) for table in metadata.sorted_tables)
    assert ada.id in everything
    for secret in (session, key, invitation):
        assert secret not in everything


def test_an_invitation_makes_one_account(store, ada):
    with store.write() as db:
        invitation, token = invitations.create(db, role="annotator", by=ada.id, login="Lin")
        assert [it.id for it in invitations.list_unused(db)] == [invitation.id]
    with store.write() as db:
        lin = invitations.accept(db, token, login="lin", name="Lin", password_hash="h", language="de")
    assert (lin.role, lin.language) == ("annotator", "de")
    with store.read() as db, pytest.raises(UserError, match="used already") as caught:
        invitations.get_usable(db, token)
    assert caught.value.status == 410


def test_an_invitation_used_by_many_at_once_makes_one_account(store, ada):
    with store.write() as db:
        _, token = invitations.create(db, role="annotator", by=ada.id)
    ready = threading.Barrier(5)
    numbers = list(range(5))
    made, refused = [], []

    def accept() -> None:
        number = numbers.pop()
        ready.wait()
        try:
            with store.write() as db:
                made.append(invitations.accept(db, token, login=f"u{number}", name="U", password_hash="h"))
        except UserError as error:
            refused.append(error.message)

    run_all(accept, 5)
    assert len(refused) == 4
    assert all("used already" in message for message in refused)
    assert len(made) == 1
    with store.read() as db:
        assert users.count(db) == 2


def test_an_invitation_for_one_login_refuses_another_and_stays_open(store, ada):
    with store.write() as db:
        _, token = invitations.create(db, role="expert", by=ada.id, login="lin")
    with pytest.raises(UserError, match="for 'lin'"), store.write() as db:
        invitations.accept(db, token, login="mallory", name="M", password_hash="h")
    with store.read() as db:
        assert invitations.get_usable(db, token).state == "open"


def test_an_invitation_that_expired_or_was_taken_back_is_refused(store, ada):
    with store.write() as db:
        invitation, token = invitations.create(db, role="expert", by=ada.id)
        invitations.revoke(db, invitation.id, by=ada.id)
        with pytest.raises(UserError, match="taken back"):
            invitations.get_usable(db, token)
        with pytest.raises(UserError, match="no open invitation"):
            invitations.revoke(db, invitation.id, by=ada.id)
        _, late = invitations.create(db, role="expert", by=ada.id, lasts=timedelta(microseconds=1))
        with pytest.raises(UserError, match="expired"):
            invitations.get_usable(db, late)
        with pytest.raises(UserError, match="not known"):
            invitations.get_usable(db, "\ud800 nonsense")


def test_a_key_does_what_its_scopes_say(store, ada):
    with store.write() as db:
        key, secret = keys.create(db, name="k", owner=ada.id, scopes=["read", "score"], by=ada.id)
        assert key.scopes == ("score", "read")
        assert secret.startswith(f"davy_{key.prefix}_")
        found, owner = keys.check(db, secret, "score")
        assert (found, owner) == (key, ada)
        assert keys.needs_touch(found)
        keys.touch(db, key.id)
        assert not keys.needs_touch(keys.check(db, secret, "read")[0])
        with pytest.raises(UserError, match="no scope 'annotate'") as caught:
            keys.check(db, secret, "annotate")
        assert caught.value.status == 403


def test_an_admin_key_dies_with_its_owners_role(store, ada):
    with store.write() as db:
        users.add(db, login="bob", name="Bob", role="admin", by=ada.id)
        _, secret = keys.create(db, name="k", owner=ada.id, scopes=["admin"], by=ada.id)
        keys.check(db, secret, "admin")
        users.set_role(db, ada.id, "expert", by=ada.id)
        with pytest.raises(UserError):
            keys.check(db, secret, "admin")
        with pytest.raises(UserError, match="not an admin"):
            keys.create(db, name="k", owner=ada.id, scopes=["admin"], by=ada.id)


def test_a_revoked_or_expired_key_is_refused(store, ada):
    with store.write() as db:
        key, secret = keys.create(db, name="k", owner=ada.id, scopes=["score"], by=ada.id)
        assert keys.revoke(db, f"davy_{key.prefix}", by=ada.id).state == "revoked"
        with pytest.raises(UserError, match="revoked") as caught:
            keys.check(db, secret, "score")
        assert caught.value.status == 401
        _, late = keys.create(db, name="k", owner=ada.id, scopes=["score"], by=ada.id, lasts=timedelta(microseconds=1))
        with pytest.raises(UserError, match="expired"):
            keys.check(db, late, "score")
        with pytest.raises(UserError, match="not known"):
            keys.check(db, "davy_none", "score")
        with pytest.raises(UserError, match="no one key"):
            keys.revoke(db, "zzzz", by=ada.id)


@pytest.mark.parametrize("scopes", [[], ["scroe"], ["score", "everything"]])
def test_a_key_without_a_known_scope_is_refused(store, ada, scopes):
    with pytest.raises(UserError, match="scope"), store.write() as db:
        keys.create(db, name="k", owner=ada.id, scopes=scopes, by=ada.id)


def test_every_change_leaves_an_event_and_a_refused_one_leaves_none(store, ada):
    with store.write() as db:
        users.add(db, login="bob", name="Bob", role="admin", by=ada.id)
        users.set_role(db, ada.id, "expert", by=ada.id)
    with pytest.raises(UserError, match="no user"), store.write() as db:  # noqa: PT012
        users.set_role(db, ada.id, "annotator", by=ada.id)
        users.disable(db, "nobody", by=ada.id)
    with store.read() as db:
        about_ada = events.latest(db, about=f"user {ada.id}")
        assert [event.what for event in about_ada] == ["user role set", "user added"]
        assert about_ada[0].details == {"was": "admin", "role": "expert"}
        assert [event.by for event in about_ada] == [ada.id, "shell"]
        assert now() - about_ada[0].at < timedelta(minutes=1)
        newest, *older = events.latest(db)
        assert events.latest(db, before=newest.id) == older
        assert events.latest(db, by="shell", limit=1)[0].what == "user added"


def run_all(what, n: int) -> None:
    threads = [threading.Thread(target=what) for _ in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
