"""A full disk and kill -9 in the middle of the work: nothing half-written, and every acknowledged answer is there."""

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from sqlalchemy import event, func, select

from davy.annotation.labelling import labelling
from davy.annotation.labelling.store import annotations, items, tallies
from davy.annotation.labelling.store.tables import annotations as annotation_rows
from davy.annotation.labelling.store.tables import answers, assignments
from davy.core import UserError
from davy.store import Store, open_store
from davy.store.columns import new_id
from work_project import NO, make_bench


def test_a_full_disk_is_said_and_neither_the_answer_nor_its_counts_are_half_written(tmp_path: Path, sqlite_template):
    path = tmp_path / "davy.sqlite"
    shutil.copy(sqlite_template, path)
    with open_store(f"sqlite:///{path}") as store:
        bench = make_bench(store, n=60, people=["ada"], answers=2)
        store.close()  # so that new connections meet the limit, which stands in for a disk with no room left
        pages = path.stat().st_size // 4096 + 8
        event.listen(store.engine, "connect", lambda raw, _: raw.execute(f"PRAGMA max_page_count = {pages}"))
        saved: list[str] = []
        with pytest.raises(UserError, match="disk is full") as caught:  # noqa: PT012
            while sheet := bench.next("ada"):
                saved.append(bench.save("ada", sheet, comment="grumble " * 250).annotation.id)
        assert caught.value.status == 507
        assert 0 < len(saved) < 60
        with store.read() as db:
            kept = annotations.of_annotator(db, bench.people["ada"].user, limit=100)
            tally = tallies.get(db, bench.phase.id, bench.people["ada"].user)
            done = db.scalar(select(func.count()).where(assignments.c.state == "done"))
            given = sum(item.given for item in items.iter_items(db, bench.phase.id))
        assert {it.id for it in kept} == set(saved)
        assert all(it.answers == NO for it in kept)
        assert tally.given == done == given == len(saved)


CHILD = """
import sys
from davy.annotation.labelling import labelling
from davy.annotation.project.store import members, projects
from davy.store import open_store
from davy.store.columns import new_id

url, user = sys.argv[1:]
with open_store(url) as store:
    with store.read() as db:
        project, member = projects.get(db, "pilot"), members.get(db, "pilot", user)
    sheet = None
    while True:
        form = new_id()
        with store.write() as db:
            if sheet is not None:
                found = labelling.open_sheet(db, project, member, sheet.assignment.id)
                labelling.save(db, found, {"grumpy": ("no",)}, annotation_id=form)
            held, sheet = sheet, labelling.next_sheet(db, project, member)
        if held is not None:
            sys.stdout.write(form + "\\n")
            sys.stdout.flush()
        if sheet is None:
            break
"""


@pytest.mark.slow
def test_every_acknowledged_answer_survives_ten_kills_and_the_counts_are_right(store: Store):
    bench = make_bench(store, n=4000, people=["ada", "bo"], answers=2)
    url = store.url.set(drivername=store.url.drivername.partition("+")[0]).render_as_string(hide_password=False)
    chance = random.Random(11)
    acknowledged: list[str] = []
    for number in range(10):
        user = bench.people[("ada", "bo")[number % 2]].user
        child = subprocess.Popen([sys.executable, "-c", CHILD, url, user], stdout=subprocess.PIPE, text=True)
        try:
            first = child.stdout.readline()  # so that it is writing when it dies
            time.sleep(chance.uniform(0.02, 0.25))
        finally:
            os.kill(child.pid, signal.SIGKILL)
        rest = child.communicate()[0]
        # A line without its end was cut by the kill, so it was not acknowledged.
        acknowledged += [line.strip() for line in (first + rest).splitlines(keepends=True) if line.endswith("\n")]
    assert len(acknowledged) > 20
    with store.read() as db:
        kept = set(db.scalars(select(annotation_rows.c.id)))
        with_answers = set(db.scalars(select(answers.c.annotation)))
        states = list(db.execute(select(assignments.c.item, assignments.c.state, assignments.c.annotation)))
        given = {item.id: item for item in items.iter_items(db, bench.phase.id) if item.room < 2}
        counted = sum(it.given for it in tallies.of_phase(db, bench.phase.id))
    assert set(acknowledged) <= kept == with_answers
    assert {it.annotation for it in states if it.state == "done"} == kept
    assert counted == len(kept) == sum(item.given for item in given.values())
    for item in given.values():
        mine = [it.state for it in states if it.item == item.id]
        assert item.room == 2 - mine.count("done") - mine.count("held")
    if store.sqlite:
        store.close()
        with sqlite3.connect(store.url.database) as raw:
            assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert raw.execute("PRAGMA foreign_key_check").fetchall() == []
        raw.close()


def test_an_error_after_the_save_takes_the_whole_turn_back(store: Store):
    bench = make_bench(store, n=2, people=["ada"], answers=1)
    sheet = bench.next("ada")
    with pytest.raises(RuntimeError, match="later"), store.write() as db:  # noqa: PT012
        labelling.save(db, sheet, NO, annotation_id=new_id())
        labelling.next_sheet(db, bench.project, bench.people["ada"])
        raise RuntimeError("something later failed")
    assert bench.next("ada").assignment == sheet.assignment
    assert bench.item(sheet).given == 0
