"""A busy key is looked up once a second, and what was taken from it is gone a second later at the latest."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from test_serve_score import ask

from davy.core.errors import UserError
from davy.people.key_cache import MOST, KeyCache
from davy.people.store import keys
from web_site import make_key, post


@pytest.fixture
def at():
    return [100.0]


@pytest.fixture
def known(site, at):
    return KeyCache(site.store, clock=lambda: at[0])


def test_a_key_is_recalled_for_a_second_and_then_looked_up_again(site, known, at):
    key, secret = make_key(site)
    assert known.recall(secret) is None
    assert known.look_up(secret, "score")[0].id == key.id
    at[0] += 0.9
    assert known.recall(secret)[0].id == key.id
    at[0] += 0.2
    assert known.recall(secret) is None


def test_neither_unknown_nor_refused_keys_are_remembered(site, known):
    _, reader = make_key(site, scopes=("read",))
    for secret, scope in (("davy_nonsense", "score"), (reader, "score")):
        with pytest.raises(UserError):
            known.look_up(secret, scope)
        assert known.recall(secret) is None


def test_a_key_that_the_shell_revokes_is_refused_once_the_second_is_over(site):
    key, secret = make_key(site)
    at = [0.0]
    site.app.state.context.key_cache._clock = lambda: at[0]
    assert ask(site, {"text": "x"}, secret).status_code == 200
    with site.store.write() as db:
        keys.revoke(db, key.id, by="shell")
    at[0] = 1.01
    assert ask(site, {"text": "x"}, secret).status_code == 401


def test_what_pages_change_about_keys_and_accounts_holds_at_once(site):
    _, secret = make_key(site)
    assert ask(site, {"text": "x"}, secret).status_code == 200
    assert post(site.as_("admin"), f"/people/{site.people['expert'].id}/disable").status_code == 303
    assert ask(site, {"text": "x"}, secret).status_code == 401


def test_a_known_key_is_still_refused_beyond_its_scope_its_end_and_its_rate(site, known, monkeypatch):
    _, secret = make_key(site, per_minute=12)
    statuses = [ask(site, {"text": "x"}, secret).status_code for _ in range(3)]
    assert statuses == [200, 200, 429]
    _, ending = make_key(site, lasts=timedelta(hours=1))
    assert ask(site, {"text": "x"}, ending).status_code == 200
    assert site.visitor(authorization=f"Bearer {ending}").get("/api/jobs").status_code == 403
    monkeypatch.setattr(keys, "now", lambda: datetime.now(UTC) + timedelta(hours=2))
    assert ask(site, {"text": "x"}, ending).status_code == 401


def test_many_keys_do_not_fill_the_memory(site, known):
    _, secret = make_key(site)
    known._known.update({str(n): (0.0, None, None) for n in range(MOST)})
    known.look_up(secret, "score")
    assert len(known._known) == 1


def test_what_a_key_without_a_quota_uses_is_counted_in_the_store(site):
    key, secret = make_key(site)
    for _ in range(3):
        assert ask(site, {"texts": ["x", "y"]}, secret).status_code == 200
    site.app.state.context.quotas.flush()
    with site.store.read() as db:
        used = keys.usage_of_day(db, key.id, f"{datetime.now(UTC):%Y-%m-%d}")
    assert (used.requests, used.posts) == (3, 6)
