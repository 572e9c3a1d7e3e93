"""Writers of several processes on one SQLite file: each asks for its turn often, background work less often."""

from __future__ import annotations

import sqlite3

import pytest

from davy.core.errors import UserError
from davy.store import Store, events, open_store
from davy.store import store as module
from davy.store.url import sqlite_path


@pytest.fixture
def url(tmp_path) -> str:
    made = f"sqlite:///{tmp_path / 'turns.sqlite'}"
    open_store(made, create=True).close()
    return made


def holding(store: Store) -> sqlite3.Connection:
    """Return another program's connection that is in the middle of a write."""
    other = sqlite3.connect(sqlite_path(store.url), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    return other


@pytest.mark.parametrize("background", [False, True])
def test_a_writer_asks_again_after_the_same_short_time(url, monkeypatch, background):
    with open_store(url, background=background) as store:
        other, asked = holding(store), []

        def sleep(seconds: float) -> None:
            asked.append(seconds)
            if len(asked) == 30:
                other.execute("COMMIT")

        monkeypatch.setattr(module.time, "sleep", sleep)
        with store.write() as db:
            events.record(db, by="shell", what="written", about="here")
        other.close()
    assert asked == [module.ASK_EVERY_BEHIND if background else module.ASK_EVERY] * 30
    assert module.ASK_EVERY < module.ASK_EVERY_BEHIND


def test_who_never_gets_a_turn_is_told_so_and_other_statements_wait_as_before(url, monkeypatch):
    with open_store(url) as store:
        other = holding(store)
        monkeypatch.setattr(module, "BUSY_SECONDS", 0.05)
        with pytest.raises(UserError, match="has been busy") as told, store.write():
            pass
        assert told.value.status == 503
        other.execute("COMMIT")
        monkeypatch.undo()
        with store.write() as db:
            events.record(db, by="shell", what="written", about="here")
            assert db.exec_driver_sql("PRAGMA busy_timeout").scalar() == 30_000
        other.close()
