"""A busy key is looked up once a second, and what was taken from it is gone a second later at the latest."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest
from test_serve_score import ask

from davy.core.errors import UserError
from davy.people.key_cache import MOST, SECONDS, WITHOUT_DATABASE, KeyCache
from davy.people.store import keys
from davy.scoring.queue.detectors import Detectors
from davy.store.store import DatabaseUnavailable
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
    known.look_up(secret, "score")
    known._known.update({str(n): known._known[next(iter(known._known))] for n in range(MOST)})
    known.look_up(secret, "score")
    assert len(known._known) == 1


@pytest.fixture
def away(site, monkeypatch):
    """A switch that takes the database away and brings it back."""
    kind = type(site.store)
    present = kind.read

    def read(_store):
        raise DatabaseUnavailable("postgresql://davy@db.internal/davy can't be reached.", status=503)

    def switch(is_away):
        monkeypatch.setattr(kind, "read", read if is_away else present)

    return switch


def test_a_known_key_counts_for_a_minute_without_the_database(site, known, at, away):
    key, secret = make_key(site)
    _, unknown = make_key(site)
    known.look_up(secret, "score")
    away(True)
    assert known.knows_any()
    at[0] += 30
    assert known.recall(secret) is None
    assert known.look_up(secret, "score")[0].id == key.id
    assert known.recall(secret)[0].id == key.id, "the database is asked once a second"
    with pytest.raises(DatabaseUnavailable):
        known.look_up(unknown, "score")
    at[0] += SECONDS
    with pytest.raises(UserError, match="no scope"):
        known.look_up(secret, "read")
    at[0] = 100.0 + WITHOUT_DATABASE + 0.1
    assert not known.knows_any()
    assert known.recall(secret) is None
    with pytest.raises(DatabaseUnavailable):
        known.look_up(secret, "score")


def test_a_key_that_was_revoked_is_refused_as_soon_as_the_database_answers(site, known, at, away):
    key, secret = make_key(site)
    known.look_up(secret, "score")
    with site.store.write() as db:
        keys.revoke(db, key.id, by="shell")
    away(True)
    at[0] += 5
    assert known.look_up(secret, "score")
    away(False)
    at[0] += SECONDS
    with pytest.raises(UserError, match="revoked"):
        known.look_up(secret, "score")
    away(True)
    with pytest.raises(DatabaseUnavailable):
        known.look_up(secret, "score")


def test_without_the_database_known_keys_score_and_strangers_learn_no_address(site, away):
    _, secret = make_key(site)
    _, unknown = make_key(site)
    context = site.app.state.context
    assert ask(site, {"text": "x"}, secret).status_code == 200
    away(True)
    context.part(Detectors).trouble = "database"
    context.key_cache._clock = lambda: time.monotonic() + 2
    assert ask(site, {"text": "x"}, secret).status_code == 200
    refused = ask(site, {"text": "x"}, unknown)
    assert (refused.status_code, "can't be used" in refused.json()["error"]) == (503, True)
    ready, well = site.visitor().get("/readyz"), site.visitor().get("/healthz")
    assert (ready.status_code, ready.json()["degraded"]) == (200, ["database"])
    assert (well.status_code, well.json()["database"]) == (503, "failing")
    context.key_cache._clock = lambda: time.monotonic() + 62
    gone = site.visitor().get("/readyz")
    assert (gone.status_code, gone.json()["degraded"]) == (503, ["database"])
    for answer in (refused, ready, well, gone, site.visitor().get("/sign-in"), ask(site, {"text": "x"}, secret)):
        assert "db.internal" not in answer.text
    assert ask(site, {"text": "x"}, secret).status_code == 503


def test_what_a_key_without_a_quota_uses_is_counted_in_the_store(site):
    key, secret = make_key(site)
    for _ in range(3):
        assert ask(site, {"texts": ["x", "y"]}, secret).status_code == 200
    site.app.state.context.quotas.flush()
    with site.store.read() as db:
        used = keys.usage_of_day(db, key.id, f"{datetime.now(UTC):%Y-%m-%d}")
    assert (used.requests, used.posts) == (3, 6)
