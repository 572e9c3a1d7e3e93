"""Many processes at once, a full disk, a database that goes away: clear words, nothing half-written."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest
from sqlalchemy import event

import postgres_server
from davy.annotation.project.store import posts
from davy.core import Post, UserError
from davy.store import Store, events, open_store

WRITER = """
import sys
from davy.core import Post
from davy.annotation.project.store import posts
from davy.store import open_store

with open_store(sys.argv[1]) as store:
    for number in range(60):
        with store.write() as db:
            posts.add(db, Post(f"{sys.argv[2]}-{number}", "x"), project=None, by="shell")
"""


@pytest.mark.slow
def test_processes_that_write_at_once_all_succeed(store: Store):
    url = store.url.set(drivername=store.url.drivername.partition("+")[0]).render_as_string(hide_password=False)
    children = [
        subprocess.Popen([sys.executable, "-c", WRITER, url, str(number)], stderr=subprocess.PIPE, text=True)
        for number in range(4)
    ]
    errors = [child.communicate(timeout=120)[1] for child in children]
    assert errors == ["", "", "", ""]
    with store.read() as db:
        assert posts.count(db) == 240
        assert len(events.latest(db, limit=1000)) == 240


def test_a_full_disk_is_said_and_nothing_is_half_written(tmp_path, sqlite_template):
    path = tmp_path / "davy.sqlite"
    shutil.copy(sqlite_template, path)
    with open_store(f"sqlite:///{path}") as store:
        store.close()  # so that new connections meet the limit, which stands in for a disk with no room left
        pages = path.stat().st_size // 4096 + 40
        event.listen(store.engine, "connect", lambda raw, _: raw.execute(f"PRAGMA max_page_count = {pages}"))
        saved = 0
        with pytest.raises(UserError, match="disk is full") as caught:  # noqa: PT012
            for number in range(1000):
                with store.write() as db:
                    posts.add(db, Post(str(number), "x" * 4000), project=None, by="shell")
                saved += 1
        assert caught.value.status == 507
        with store.read() as db:
            assert posts.count(db) == saved == len(events.latest(db, limit=1000))
            assert saved > 0


@pytest.mark.postgres
def test_a_server_that_drops_its_connections_is_used_again(postgres, postgres_url):
    with open_store(postgres_url, create=True) as store:
        with store.write() as db:
            posts.add(db, Post("before", "x"), project=None, by="shell")
        name = store.url.database
        postgres_server.run_sql(
            postgres, f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '{name}'"
        )
        with store.write() as db:
            posts.add(db, Post("after", "x"), project=None, by="shell")
        with pytest.raises(UserError, match="ended the connection") as caught, store.write() as db:  # noqa: PT012
            posts.add(db, Post("lost", "x"), project=None, by="shell")
            postgres_server.run_sql(
                postgres, f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '{name}'"
            )
            posts.add(db, Post("lost too", "x"), project=None, by="shell")
        assert caught.value.status == 503
        with store.read() as db:
            assert posts.count(db) == 2


def test_a_database_taken_away_while_open_is_one_line(tmp_path, sqlite_template):
    path = tmp_path / "davy.sqlite"
    shutil.copy(sqlite_template, path)
    store = open_store(f"sqlite:///{path}")
    store.close()
    shutil.rmtree(tmp_path)
    with pytest.raises(UserError, match="can't be opened"), store.write():
        pass
    store.close()


def test_an_error_in_sql_does_not_show_what_was_written(store):
    from sqlalchemy import text
    from sqlalchemy.exc import DBAPIError

    with pytest.raises(DBAPIError) as caught, store.write() as db:
        db.execute(text("INSERT INTO nowhere VALUES (:x)"), {"x": "grumblefop"})
    assert "grumblefop" not in str(caught.value)


def test_a_store_whose_file_was_moved_away_or_whose_disk_is_full_says_so(tmp_path, monkeypatch):
    path = tmp_path / "davy.sqlite"
    with open_store(f"sqlite:///{path}", create=True) as store:
        store.check_writable()
        monkeypatch.setattr("davy.store.store.LEAST_FREE", 2**62)
        with pytest.raises(UserError, match="is full"):
            store.check_writable()
        monkeypatch.undo()
        path.rename(tmp_path / "elsewhere.sqlite")
        with pytest.raises(UserError, match="moved away"):
            store.check_writable()
