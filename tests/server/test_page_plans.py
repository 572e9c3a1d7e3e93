"""What every page asks of a large database, right after an import: no table that grows is read through.

Nobody lists the statements: each address is asked for, what it sends is noted, and the database explains it. A plan may
be bad without a scan, as when all verdicts of a project are read for one post, so the work is counted, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import event
from test_routes import lines

from davy.store import Store
from grown_project import addresses, grown_site

POSTS, SETTLED = 100_000, 20_000
GROWING = {"posts", "items", "annotations", "answers", "assignments", "verdicts", "verdict_annotations", "events"}
MOST_STEPS = 1_500_000
"""Instructions of SQLite's machine for one statement: 10,000 posts that a filter looks at, with their verdicts."""
FEW_STEPS = 50_000
"""A scan that ends sooner reads the first rows alone."""
MOST_ROWS = 45_000
"""Rows of a table that grows which PostgreSQL may read for one statement: 20,000 verdicts and what overruled them."""
WHOLE = {
    "SELECT DISTINCT posts.image": "the pictures that a project still wants: as many as there are",
}
"""How statements begin that read all of a project, and why they may."""


def asked(site: Any, values: dict[str, str]) -> dict[str, tuple[str, Any]]:
    """Return what the pages ask of the database: statement → (the first page that sends it, its values)."""
    sent: dict[str, tuple[str, Any]] = {}
    page = ""

    def note(_db: object, _cursor: object, statement: str, given: Any, _context: object, many: bool) -> None:
        if statement.lstrip("(").startswith(("SELECT", "WITH")) and not many:
            sent.setdefault(statement, (page, given))

    event.listen(site.store.engine, "before_cursor_execute", note)
    clients: dict[str, Any] = {}
    seen = 0
    for who, name, address in addresses(lines(), values):
        page = name
        if who not in clients:
            clients[who] = site.as_(who)
        seen += clients[who].get(address).status_code == 200
    event.remove(site.store.engine, "before_cursor_execute", note)
    assert seen > 100, "the pages could not be seen"
    return {statement: found for statement, found in sent.items() if not statement.startswith(tuple(WHOLE))}


def faults_on_sqlite(store: Store, sent: dict[str, tuple[str, Any]]) -> Iterator[str]:
    """Yield what is wrong with each statement."""
    steps = 0

    def count() -> None:
        nonlocal steps
        steps += 1_000

    with store.engine.connect() as db:
        raw: Any = db.connection.driver_connection
        raw.set_progress_handler(count, 1_000)
        for statement, (page, given) in sent.items():
            steps = 0
            raw.execute(statement, given).fetchall()
            plan = [row[3] for row in raw.execute(f"EXPLAIN QUERY PLAN {statement}", given)]
            scanned = {found[1] for step in plan if (found := re.match(r"SCAN (\w+)", step))} & GROWING
            if steps > (FEW_STEPS if scanned else MOST_STEPS):
                yield f"{page} {steps:,} steps: {' '.join(statement.split())} {plan}"
        raw.set_progress_handler(None, 0)


def faults_on_postgresql(store: Store, sent: dict[str, tuple[str, Any]]) -> Iterator[str]:
    """Yield what is wrong with each statement."""
    with store.engine.connect() as db:
        for statement, (page, given) in sent.items():
            found = db.exec_driver_sql(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", given).scalar_one()
            plan = (found if isinstance(found, list) else json.loads(found))[0]["Plan"]
            read = {it["Relation Name"]: _rows_read(it) for it in _nodes(plan) if it.get("Relation Name") in GROWING}
            if max(read.values(), default=0) > MOST_ROWS:
                yield f"{page} {read}: {' '.join(statement.split())}"
        db.rollback()


def _rows_read(node: dict[str, Any]) -> int:
    dropped = node.get("Rows Removed by Filter", 0) + node.get("Rows Removed by Index Recheck", 0)
    return round(node["Actual Loops"] * (node["Actual Rows"] + dropped))


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", ()):
        yield from _nodes(part)


def test_no_page_reads_a_growing_table_through_on_sqlite(tmp_path):
    with grown_site(f"sqlite:///{tmp_path / 'davy.sqlite'}", tmp_path, n=POSTS, settled=SETTLED) as (site, values):
        faults = list(faults_on_sqlite(site.store, asked(site, values)))
    assert not faults, "\n".join(faults)


@pytest.mark.postgres
def test_no_page_reads_a_growing_table_through_on_postgresql(tmp_path, postgres_url, monkeypatch):
    monkeypatch.setenv("DAVY_IMAGES", str(tmp_path / "images"))
    with grown_site(postgres_url, tmp_path, n=POSTS, settled=SETTLED) as (site, values):
        faults = list(faults_on_postgresql(site.store, asked(site, values)))
    assert not faults, "\n".join(faults)
