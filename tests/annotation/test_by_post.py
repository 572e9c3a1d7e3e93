"""What is asked about a post, or a page of posts, is found by the posts: no scheme or phase is read through."""

from contextlib import contextmanager

import pytest
from sqlalchemy import event

import exchange_case
from davy.annotation.exchange.store import export_rows, import_rows
from davy.annotation.labelling.store import annotations
from davy.annotation.project.store import phases, posts
from davy.annotation.settling.store import verdicts
from davy.core import Verdict
from davy.store import Store


@pytest.fixture
def store(tmp_path, sqlite_template):
    """A SQLite store with a project; PostgreSQL plans by what it has counted, SQLite by rules."""
    import shutil

    from davy.store import open_store

    path = tmp_path / "davy.sqlite"
    shutil.copy(sqlite_template, path)
    with open_store(f"sqlite:///{path}") as opened:
        yield opened


@contextmanager
def plans(store: Store):
    """Collect how SQLite finds the rows of each table, statement by statement."""
    seen: list[tuple[str, object]] = []

    def note(_db, _cursor, statement, parameters, _context, many):
        if not statement.startswith("EXPLAIN") and not many:
            seen.append((statement, parameters))

    found: list[str] = []
    event.listen(store.engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        event.remove(store.engine, "before_cursor_execute", note)
    with store.read() as db:
        for statement, parameters in seen:
            if statement.startswith("SELECT"):
                found += [row[3] for row in db.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)]


def test_answers_and_verdicts_about_a_post_are_found_by_the_post(store):
    exchange_case.fill(store)
    scheme = exchange_case.scheme()
    with plans(store) as found:
        with store.read() as db:
            first, second = (posts.find_key(db, "tea-1", name) for name in ("p000", "p001"))
            assert len(annotations.of_post(db, first, scheme="tea", version=1)) == 4
            assert verdicts.of_post(db, first, scheme="tea", version=1)
        with store.write() as db:
            settled = [(Verdict(first, "hate", ("hateful",), "single"), "x")]
            verdicts.add_settled(db, settled, scheme, project="tea-1", post=first)
            import_rows.add_verdicts(db, "tea-1", scheme, [Verdict(second, "hate", ("hateful",), "single")], by="x")
    for table in ("annotations", "verdicts"):
        ways = [line for line in found if line.startswith(f"SEARCH {table} ")]
        assert ways
        assert [line for line in ways if "post=?" not in line] == []


def test_an_export_reads_a_page_at_a_time_by_its_posts(store):
    project = exchange_case.fill(store)
    with plans(store) as found, store.read() as db:
        every = [phase.id for phase in phases.of_project(db, project.id)]
        rows = export_rows.iter_posts(db, project, every, page=4)
        next(rows)
    assert [line for line in found if line.startswith("SCAN")] == []
    for table in ("annotations", "verdicts", "items", "posts"):
        ways = [line for line in found if line.startswith(f"SEARCH {table} ")]
        assert ways, table
        assert [line for line in ways if "post" not in line and "id=?" not in line] == [], ways
    with store.read() as db:
        assert [it.post["id"] for it in export_rows.iter_posts(db, project, every, page=4)] == [
            row.id for row in exchange_case.rows()
        ]
