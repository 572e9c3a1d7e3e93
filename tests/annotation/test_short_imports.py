"""An import on SQLite holds the database for moments only: its transactions are sized by how long the last one took."""

from __future__ import annotations

import time
from contextlib import contextmanager

import pytest

from davy.annotation.exchange import row_import
from davy.annotation.exchange.import_checks import ImportPlan
from davy.annotation.exchange.rows import AnsweredPost
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.store import phases
from work_project import make_bench

ROWS = [AnsweredPost(f"new-{n}", f"post number {n}", place=f"row {n}") for n in range(400)]


@pytest.mark.parametrize(("pause", "slow"), [(0.01, 0.1), (0.01, 0.0), (0.0, 0.1)])
def test_a_slow_transaction_is_followed_by_shorter_ones(store, monkeypatch, pause, slow):
    bench = make_bench(store)
    with store.read() as db:
        phase = phases.get(db, bench.phase.id)
        plan = ImportPlan(bench.project, scheme_of(db, bench.project), {phase.name: phase}, phase)
    sizes, pauses, clock = [], [], [0.0]
    monkeypatch.setattr(row_import.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(row_import.time, "sleep", pauses.append)

    @contextmanager
    def writing(summary):
        before = summary.rows
        with store.write() as db:
            yield db
        sizes.append(summary.rows - before)
        clock[0] += slow or 0.001

    done = row_import.place_rows(writing, ROWS, plan, len(ROWS), by="shell", pause=pause)
    assert done.posts == sum(sizes) == len(ROWS)
    if not pause:  # where writers don't wait for each other
        assert (max(sizes), pauses) == (row_import.CHUNK, [])
        return
    assert sizes[0] == row_import.CHUNK
    assert max(sizes[1:]) == (row_import.LEAST_CHUNK if slow else row_import.CHUNK)
    assert min(pauses) >= row_import.LEAST_PAUSE
    assert len(pauses) == len(sizes) - 1  # the last transaction writes the event


def test_the_real_clock_is_used():
    assert row_import.time.monotonic is time.monotonic
