"""What an answer costs: few statements, each by an index, however many posts and answers there are."""

import shutil
from pathlib import Path

import pytest
from sqlalchemy import event, text

from davy.annotation.care import care
from davy.annotation.labelling import labelling
from davy.annotation.labelling.store import items
from davy.annotation.project.store import phases
from davy.store import Store, open_store, pipeline
from davy.store.columns import new_id
from work_project import NO, Bench, make_bench


def save_and_next(bench: Bench, name: str, assignment_id: str) -> labelling.Sheet | None:
    with bench.store.write() as db:
        sheet = labelling.open_sheet(db, bench.project, bench.people[name], assignment_id)
        labelling.save(db, sheet, NO, annotation_id=new_id())
        return labelling.next_sheet(db, bench.project, bench.people[name])


def statements(store: Store, run) -> list[tuple[str, object]]:
    """Return the statements that a function ran, without those that begin a transaction."""
    ran: list[tuple[str, object]] = []

    def note(_db, _cursor, statement, parameters, _context, many):
        ran.append((statement, parameters[0] if many else parameters))

    event.listen(store.engine, "before_cursor_execute", note)
    try:
        run()
    finally:
        event.remove(store.engine, "before_cursor_execute", note)
    return [it for it in ran if not it[0].startswith("BEGIN")]


def test_save_and_next_takes_few_statements_and_reads_no_table_whole(tmp_path: Path, sqlite_template):
    path = tmp_path / "davy.sqlite"
    shutil.copy(sqlite_template, path)
    with open_store(f"sqlite:///{path}") as store:
        bench = make_bench(store, n=50, people=["ada", "bo"], answers=2)
        sheets = {name: bench.next(name) for name in bench.people}

        def turn() -> None:
            sheets["ada"] = save_and_next(bench, "ada", sheets["ada"].assignment.id)

        turn()
        ran = statements(store, turn)
        assert len(ran) <= 16

        def everything() -> None:
            with store.write() as db:
                labelling.undo(db, bench.project, bench.people["ada"])
            with store.write() as db:
                labelling.skip(db, labelling.next_sheet(db, bench.project, bench.people["bo"]))
            while sheet := bench.answer("bo"):
                assert sheet
            with store.write() as db:
                labelling.leave(db, bench.project, bench.people["ada"].user, by="shell")
            bench.everything()

        ran += statements(store, everything)
        scans = []
        with store.read() as db:
            for statement, parameters in dict(ran).items():
                if statement.startswith(("SELECT", "UPDATE")):
                    plan = [row[3] for row in db.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)]
                    scans += [(step, statement) for step in plan if "SCAN" in step and "USING" not in step]
    assert scans == []


@pytest.mark.postgres
def test_save_and_next_is_five_round_trips_to_postgresql_and_two_more_where_the_post_is_settled(
    postgres, postgres_url, monkeypatch
):
    trips: list[object] = []
    receive = pipeline._received
    monkeypatch.setattr(pipeline, "_received", lambda pg, n: trips.append(n) or receive(pg, n))
    with open_store(postgres_url, create=True) as store:
        bench = make_bench(store, n=9, people=["ada", "bo"], answers=2)
        sheets = {name: bench.next(name) for name in bench.people}

        @event.listens_for(store.engine, "before_cursor_execute")
        def note(_db, _cursor, statement, _parameters, context, _many):
            if context is not None:  # SQLAlchemy's own: a round trip by itself
                trips.append(statement)

        def turn(name: str) -> int:
            trips.clear()
            member, project = bench.people[name], bench.project
            with store.write(pipelined=True) as db:
                sheet = labelling.open_sheet(db, project, member, sheets[name].assignment.id)
                saved = labelling.save(db, sheet, NO, annotation_id=new_id())
                sat = care.after_save(db, project, member, saved.annotation, 3.0, hard=False)
                care.before_next(db, project, member, known=sat)
                sheets[name] = labelling.next_sheet(db, project, member, scheme=sheet.scheme)
            return len(trips)

        for (
            name
        ) in bench.people:  # the first answer of a connection prepares its statements, a person's begins a sitting
            turn(name)
        assert [turn("ada"), turn("bo")] == [5, 7]


@pytest.mark.postgres
def test_postgresql_finds_the_next_item_by_its_partial_index(postgres, postgres_url):
    with open_store(postgres_url, create=True) as store:
        bench = make_bench(store, n=3000, people=["ada"], answers=2)
        with store.write() as db:
            # Half are full: with all open, the partial index is as large as the whole one and either may be taken.
            db.execute(text("UPDATE items SET room = 0 WHERE position % 2 = 1"))
            db.execute(text("ANALYZE items"))
        ran = statements(store, lambda: bench.next("ada"))
        pick, parameters = next(it for it in ran if "SKIP LOCKED" in it[0] and "items.position >" in it[0])
        with store.write() as db:
            plan = "\n".join(row[0] for row in db.exec_driver_sql(f"EXPLAIN {pick}", parameters))
    assert "ix_items_room" in plan
    assert "Seq Scan on items" not in plan


def test_items_are_written_as_their_rows_are_read(store: Store):
    n = items.CHUNK + 10
    bench = make_bench(store, n=n, people=["ada"], rows=[("p00000", None, None)])
    seen: list[int] = []
    with store.write() as db:
        phase = phases.add(
            db, "pilot", name="big", kind="production", answers=3, in_corpus=True, settings={}, by="shell"
        )

        def rows():
            for number in range(n):
                if number == items.CHUNK:
                    seen.append(len(items.of_phase(db, phase.id, limit=n)))
                yield f"p{number:05}", None, None

        assert items.add(db, phase, rows(), by="shell", n=n) == n
    assert seen == [items.CHUNK]
    assert bench.phase.size == 1
