"""Statistics: after many rows came in the database plans its queries by them, in every process."""

import polars as pl
from sqlalchemy import text

from davy.annotation.project.store import posts
from davy.jobs.processes import StatisticsRefresh
from davy.store import open_store
from davy.store.store import LEAST_ADDED


def known_posts(db) -> int:
    """Return how many posts the database believes that it has."""
    if db.dialect.name == "sqlite":
        there = db.execute(text("SELECT count(*) FROM sqlite_master WHERE name = 'sqlite_stat1'")).scalar_one()
        counts = db.scalars(text("SELECT stat FROM sqlite_stat1 WHERE tbl = 'posts'")).all() if there else []
        return max((int(stat.split()[0]) for stat in counts), default=0)
    return int(db.scalar(text("SELECT reltuples FROM pg_class WHERE relname = 'posts'")))


def test_an_import_brings_the_statistics_up_to_date_while_it_runs(store):
    step = 500
    for start in range(0, 6 * LEAST_ADDED, step):
        ids = [f"p{number}" for number in range(start, start + step)]
        with store.write() as db:
            posts.ensure(db, pl.DataFrame({"id": ids, "text": ids}), project=None, by="shell")
    with store.read() as db:
        assert known_posts(db) > 3 * LEAST_ADDED


def test_small_writes_never_pay_for_statistics(store):
    with store.read() as db:
        before = known_posts(db)
    for start in range(0, 6_000, 50):
        ids = [f"p{number}" for number in range(start, start + 50)]
        with store.write() as db:
            posts.ensure(db, pl.DataFrame({"id": ids, "text": ids}), project=None, by="shell")
    with store.read() as db:
        assert known_posts(db) == before


def test_other_processes_plan_by_new_statistics_at_once(tmp_path):
    url = f"sqlite:///{tmp_path / 'davy.sqlite'}"
    query = "SELECT * FROM posts WHERE parent = 'a' AND project = 'p' AND public_id > 'a'"
    plans: list[str] = []
    with open_store(url, create=True) as one, open_store(url) as other:

        def plan() -> str:
            with other.read() as db:
                db.exec_driver_sql(query).all()
                # Words that are new each time: an EXPLAIN that the driver has kept shows the plan of before.
                return str(db.exec_driver_sql(f"EXPLAIN QUERY PLAN {query} -- {len(plans)}").all())

        def fill(parent: str, project: str) -> None:
            values = f"'{parent}', '{project}', 'some words', '2026-01-01', 0"
            numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6000)"
            with one.write() as db:
                db.execute(text("DELETE FROM posts"))
                columns = "id, public_id, parent, project, text, added_at, hidden"
                db.execute(text(f"INSERT INTO posts ({columns}) {numbers} SELECT 'k' || i, 'p' || i, {values} FROM n"))
            one.refresh_statistics()

        for parent, project in (("a", "' || i || '"), ("' || i || '", "p"), ("a", "' || i || '")):
            fill(parent, project)
            plans.append(plan())
    assert ["ix_posts_parent" in it for it in plans] == [False, True, False]


def test_a_database_that_can_not_be_written_to_keeps_its_old_statistics(tmp_path, caplog):
    path = tmp_path / "davy.sqlite"
    with open_store(f"sqlite:///{path}", create=True) as store:
        with store.engine.connect() as db:
            db.exec_driver_sql("PRAGMA query_only = ON")
        store.refresh_statistics()
    assert "stay as they are" in caplog.text


def test_a_worker_brings_statistics_up_to_date_at_its_start_and_then_now_and_then(store):
    with store.write() as db:
        posts.ensure(db, pl.DataFrame({"id": ["a"], "text": ["a"]}), project=None, by="shell")
    refresh = StatisticsRefresh(seconds=3600)
    refresh(store)
    with store.write() as db:
        assert known_posts(db) == 1
        posts.ensure(db, pl.DataFrame({"id": ["b"], "text": ["b"]}), project=None, by="shell")
    refresh(store)
    with store.read() as db:
        assert known_posts(db) == 1
    StatisticsRefresh()(store)
    with store.read() as db:
        assert known_posts(db) == 2
