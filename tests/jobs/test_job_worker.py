"""The worker: resumes after a kill, stops gently, cancels, and shows why a job failed."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from datetime import timedelta

import pytest

from davy.core import UserError
from davy.jobs import store as jobs
from davy.jobs.worker import JobContext, JobWorker
from davy.store import Store, columns, events


def add(store: Store, kind: str, **arguments) -> str:
    with store.write() as db:
        return jobs.enqueue(db, kind, arguments, owner="shell").id


def wait_for(store: Store, job_id: str, *states: str, seconds: float = 60) -> jobs.Job:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with store.read() as db:
            job = jobs.get(db, job_id)
        if job.state in (states or ("done", "failed", "cancelled")):
            return job
        time.sleep(0.02)
    raise AssertionError(f"job is still {job.state}")


def worker(store: Store, **kinds) -> JobWorker:
    return JobWorker(store, kinds, poll_seconds=0.02, lease_seconds=10, retry_seconds=0.01)


def test_a_job_runs_with_its_arguments_and_leaves_progress_log_and_result(store):
    def count(context: JobContext) -> dict[str, int]:
        context.log("started")
        for number in range(context.arguments["to"]):
            context.progress(number + 1, context.arguments["to"], note="counting")
        return {"counted": context.arguments["to"]}

    job_id = add(store, "count", to=5)
    with worker(store, count=count):
        job = wait_for(store, job_id)
    assert (job.state, job.result, job.done, job.total, job.note) == ("done", {"counted": 5}, 5, 5, "counting")
    with store.read() as db:
        assert [line.line for line in jobs.log_lines(db, job_id)] == ["started"]


def test_two_workers_with_two_threads_each_run_every_job_once(store):
    runs: list[str] = []

    def note(context: JobContext) -> None:
        runs.append(context.job.id)
        time.sleep(0.005)

    ids = [add(store, "note") for _ in range(25)]
    with (
        JobWorker(store, {"note": note}, threads=2, poll_seconds=0.01),
        JobWorker(store, {"note": note}, threads=2, poll_seconds=0.01),
    ):
        for job_id in ids:
            assert wait_for(store, job_id).state == "done"
    assert sorted(runs) == sorted(ids)


def test_a_job_longer_than_its_lease_is_not_taken_by_another_worker(store):
    runs = []

    def long(context: JobContext) -> None:
        runs.append(1)
        time.sleep(7)

    job_id = add(store, "long")
    options = {"poll_seconds": 0.05, "lease_seconds": 6}
    with JobWorker(store, {"long": long}, **options), JobWorker(store, {"long": long}, **options):
        assert wait_for(store, job_id).state == "done"
    assert runs == [1]


def test_a_failing_job_is_tried_again_and_shows_its_error(store, caplog):
    caplog.set_level(logging.CRITICAL)

    def broken(context: JobContext) -> None:
        raise RuntimeError("the disk is away")

    job_id = add(store, "broken")
    with worker(store, broken=broken):
        job = wait_for(store, job_id, "failed")
    assert (job.attempts, job.error) == (3, "RuntimeError: the disk is away")
    with store.read() as db:
        assert len(jobs.log_lines(db, job_id)) == 2


def test_an_error_that_the_user_can_fix_is_not_tried_again(store):
    def refused(context: JobContext) -> None:
        raise UserError("There is no file 'x'. Name another.")

    job_id = add(store, "refused")
    with worker(store, refused=refused):
        job = wait_for(store, job_id)
    assert (job.state, job.attempts, job.error) == ("failed", 1, "There is no file 'x'. Name another.")


def test_a_result_that_json_cannot_hold_fails_the_job(store):
    job_id = add(store, "odd")
    with worker(store, odd=lambda context: object()):
        job = wait_for(store, job_id)
    assert job.state == "failed"
    assert "result can't be kept as JSON" in job.error


def test_a_cancelled_job_stops_at_its_next_step(store):
    started = threading.Event()

    def endless(context: JobContext) -> None:
        started.set()
        while True:
            context.progress(1)
            time.sleep(0.01)

    job_id = add(store, "endless")
    with worker(store, endless=endless):
        assert started.wait(60)
        with store.write() as db:
            jobs.ask_cancel(db, job_id, by="shell")
        assert wait_for(store, job_id).state == "cancelled"


def test_a_stopped_worker_gives_its_job_back_and_another_goes_on_from_the_checkpoint(store):
    half = threading.Event()

    def steps(context: JobContext) -> list[int]:
        done = list(context.checkpoint or [])
        for number in range(len(done), 6):
            if number == 3 and not half.is_set():
                half.set()
                while True:
                    context.check()
                    time.sleep(0.01)
            done.append(number)
            context.save(done)
        return done

    job_id = add(store, "steps")
    first = worker(store, steps=steps).start()
    assert half.wait(60)
    assert first.stop()
    with store.read() as db:
        waiting = jobs.get(db, job_id)
    assert (waiting.state, waiting.checkpoint, waiting.attempts) == ("waiting", [0, 1, 2], 0)
    with worker(store, steps=steps):
        assert wait_for(store, job_id).result == [0, 1, 2, 3, 4, 5]


def test_a_step_keeps_its_work_and_its_checkpoint_together_or_neither(store, caplog):
    caplog.set_level(logging.CRITICAL)

    def steps(context: JobContext) -> None:
        first = context.checkpoint or 0
        for number in range(first, 4):
            with context.step(number + 1) as db:
                events.record(db, by="job", what="did", about=f"step {number}")
                if number == 2 and context.job.attempts == 1:
                    raise RuntimeError("half way through a step")

    job_id = add(store, "steps")
    with worker(store, steps=steps):
        assert wait_for(store, job_id).state == "done"
    with store.read() as db:
        did = [event.about for event in events.latest(db, by="job")]
    assert did == ["step 3", "step 2", "step 1", "step 0"]


def test_a_dead_workers_lease_ends_even_when_the_clock_was_set_back(store, monkeypatch):
    """The lease says that it lasts for hours, as it would after the clock went back; nobody renews it."""
    job_id = add(store, "quick")
    with store.write() as db:
        jobs.lease(db, ["quick"], worker="dead", seconds=7200)
    with JobWorker(store, {"quick": lambda context: "ran"}, poll_seconds=0.02, lease_seconds=0.3):
        assert wait_for(store, job_id).result == "ran"


CHILD = """
import sys, time
from davy.jobs.worker import JobWorker
from davy.store import events, open_store

def steps(context):
    for number in range(context.checkpoint or 0, 40):
        with context.step(number + 1) as db:
            events.record(db, by="job", what="did", about=f"step {number}")
        print(number, flush=True)
        time.sleep(0.02)
    return "all"

with open_store(sys.argv[1]) as store, JobWorker(store, {"steps": steps}, poll_seconds=0.02, lease_seconds=3):
    time.sleep(60)
"""


def test_after_kill_9_another_worker_goes_on_from_the_checkpoint(store):
    job_id = add(store, "steps")
    for stop_at in ("4", "11"):
        child = subprocess.Popen([sys.executable, "-c", CHILD, url_of(store)], stdout=subprocess.PIPE, text=True)
        try:
            for line in child.stdout:
                if line.strip() == stop_at:
                    break
        finally:
            os.kill(child.pid, signal.SIGKILL)
            child.wait()
            child.stdout.close()
    with store.read() as db:
        assert jobs.get(db, job_id).state == "running"
        assert jobs.get(db, job_id).checkpoint >= 12

    def steps(context: JobContext) -> str:
        for number in range(context.checkpoint or 0, 40):
            with context.step(number + 1) as db:
                events.record(db, by="job", what="did", about=f"step {number}")
        return "all"

    with worker(store, steps=steps):
        job = wait_for(store, job_id)
    assert (job.state, job.result, job.attempts) == ("done", "all", 3)
    with store.read() as db:
        did = [event.about for event in events.latest(db, by="job")][::-1]
    assert did == [f"step {number}" for number in range(40)]


def test_a_worker_outlives_a_database_that_goes_away_for_a_moment(store, caplog, monkeypatch):
    caplog.set_level(logging.CRITICAL)
    calls = []
    real = jobs.has_due

    def flaky(db, kinds):
        calls.append(1)
        if len(calls) < 3:
            raise UserError("The database is busy.", status=503)
        return real(db, kinds)

    monkeypatch.setattr(jobs, "has_due", flaky)
    job_id = add(store, "quick")
    with worker(store, quick=lambda context: 1):
        assert wait_for(store, job_id).result == 1


def url_of(store: Store) -> str:
    return store.url.set(drivername=store.url.drivername.partition("+")[0]).render_as_string(hide_password=False)


def test_nothing_is_run_before_its_time(store):
    with store.write() as db:
        late = jobs.enqueue(db, "quick", {}, owner="shell", after=columns.now() + timedelta(seconds=0.5))
    with worker(store, quick=lambda context: 1):
        job = wait_for(store, late.id)
    assert job.started_at >= late.run_after


@pytest.fixture(autouse=True)
def _no_thread_is_left():
    yield
    for _ in range(1500):
        left = [t.name for t in threading.enumerate() if t.name.startswith("davy-job-")]
        if not left:
            return
        time.sleep(0.02)
    assert left == []
