"""The queue of background jobs: leases, retries, cancelling, and clocks that jump."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest

from davy.core import UserError
from davy.jobs import store as jobs
from davy.store import Store, events
from davy.store import columns as store_columns


def add(store: Store, kind: str = "count", **options) -> jobs.Job:
    with store.write() as db:
        return jobs.enqueue(db, kind, {"to": 3}, owner="shell", **options)


def take(store: Store, *, seconds: float = 60, worker: str = "w") -> jobs.Job | None:
    with store.write() as db:
        return jobs.lease(db, ["count"], worker=worker, seconds=seconds)


def test_a_job_goes_from_waiting_to_done(store):
    job = add(store)
    assert (job.state, job.arguments, job.attempts) == ("waiting", {"to": 3}, 0)
    held = take(store)
    assert held.id == job.id
    assert (held.state, held.leased_by, held.attempts) == ("running", "w", 1)
    assert take(store) is None
    with store.write() as db:
        jobs.save_progress(db, held, done=2, total=3, note="two of three")
        jobs.log(db, held, "a line\nand its end")
        jobs.save_checkpoint(db, held, {"at": 2})
        jobs.finish(db, held, {"counted": 3})
    with store.read() as db:
        ended = jobs.get(db, job.id)
        assert [line.line for line in jobs.log_lines(db, job.id)] == ["a line and its end"]
        assert [event.what for event in events.latest(db)] == ["job done", "job added"]
    assert (ended.state, ended.result, ended.done, ended.total) == ("done", {"counted": 3}, 3, 3)
    assert ended.lease is None
    assert ended.finished_at >= ended.started_at


def test_the_oldest_job_goes_first_and_one_for_later_waits(store):
    late = add(store, after=store_columns.now() + timedelta(hours=1))
    first, second = add(store), add(store)
    assert [take(store).id, take(store).id] == [first.id, second.id]
    assert take(store) is None
    with store.read() as db:
        assert jobs.get(db, late.id).state == "waiting"


def test_projects_take_turns_and_one_projects_long_job_holds_up_no_other(store):
    def next_job(db):
        return jobs.lease(db, ["export"], worker="w", seconds=60)

    with store.write() as db:
        of_a = [jobs.enqueue(db, "export", {}, owner="x", project="a").id for _ in range(3)]
        of_b = [jobs.enqueue(db, "export", {}, owner="x", project="b").id for _ in range(2)]
        alone = jobs.enqueue(db, "export", {}, owner="x").id
    with store.write() as db:
        first = next_job(db)
        assert first.id == of_a[0]
        second = next_job(db)
        assert second.id == of_b[0], "while a's job runs, b has its turn, and a's others wait"
        assert next_job(db).id == alone
        assert next_job(db) is None
        assert not jobs.has_due(db, ["export"])
        jobs.finish(db, second)
        assert next_job(db).id == of_b[1]
        jobs.finish(db, first)
        assert next_job(db).id == of_a[1]


def test_a_project_that_asks_for_much_waits_for_one_that_asks_for_little(store):
    with store.write() as db:
        many = [jobs.enqueue(db, "export", {}, owner="x", project="a").id for _ in range(3)]
        one = jobs.enqueue(db, "export", {}, owner="x", project="b").id
        order = []
        while (job := jobs.lease(db, ["export"], worker="w", seconds=60)) is not None:
            order.append(job.id)
            jobs.finish(db, job)
    assert order == [many[0], one, *many[1:]]


def test_a_job_of_another_kind_is_left_alone(store):
    add(store, kind="other")
    assert take(store) is None
    with store.read() as db:
        assert not jobs.has_due(db, ["count"])
        assert jobs.has_due(db, ["other"])


def test_the_same_key_gives_the_same_job(store):
    first = add(store, key="export 7")
    assert add(store, key="export 7").id == first.id
    assert add(store, key="export 8").id != first.id
    assert add(store).id != add(store).id


def test_one_key_added_by_many_at_once_makes_one_job(store):
    made: list[str] = []
    in_threads(lambda: made.append(add(store, key="same").id), 6)
    assert len(set(made)) == 1
    assert len(made) == 6


def test_many_workers_never_take_the_same_job(store):
    wanted = {add(store).id for _ in range(30)}
    taken: list[str] = []

    def work() -> None:
        while job := take(store, worker=threading.current_thread().name):
            taken.append(job.id)

    in_threads(work, 6)
    assert sorted(taken) == sorted(wanted)


def test_a_silent_worker_loses_its_job_and_can_write_nothing_more(store):
    add(store)
    first = take(store, seconds=0)
    second = take(store, worker="w2")
    assert second.id == first.id
    assert second.lease != first.lease
    for write in (
        lambda db: jobs.save_checkpoint(db, first, 1),
        lambda db: jobs.save_progress(db, first, done=1, total=1, note=None),
        lambda db: jobs.log(db, first, "late"),
        lambda db: jobs.finish(db, first, "late"),
        lambda db: jobs.fail(db, first, "late"),
        lambda db: jobs.give_back(db, first),
        lambda db: jobs.finish_cancelled(db, first),
        lambda db: jobs.renew(db, first, seconds=9),
    ):
        with pytest.raises(jobs.LeaseLost), store.write() as db:
            write(db)
    with store.write() as db:
        jobs.finish(db, second, "in time")
    with store.read() as db:
        assert jobs.get(db, first.id).result == "in time"
        assert jobs.log_lines(db, first.id) == []


def test_a_renewed_lease_is_not_taken(store):
    add(store)
    job = take(store, seconds=0)
    with store.write() as db:
        assert jobs.renew(db, job, seconds=60) is False
    assert take(store) is None


def test_a_job_that_kills_its_workers_fails_after_its_attempts(store):
    job = add(store, max_attempts=2)
    assert take(store, seconds=0)
    assert take(store, seconds=0)
    assert take(store, seconds=0) is None
    with store.read() as db:
        ended = jobs.get(db, job.id)
    assert ended.state == "failed"
    assert "died 2 times" in ended.error


def test_a_failed_attempt_waits_and_the_last_one_is_final(store):
    job = add(store, max_attempts=2)
    held = take(store)
    with store.write() as db:
        jobs.fail(db, held, "disk away", again_in=timedelta(seconds=0))
    with store.read() as db:
        waiting = jobs.get(db, job.id)
    assert (waiting.state, waiting.error) == ("waiting", "disk away")
    held = take(store)
    with store.write() as db:
        jobs.fail(db, held, "still away", again_in=timedelta(seconds=0))
    with store.read() as db:
        assert (jobs.get(db, job.id).state, jobs.get(db, job.id).error) == ("failed", "still away")
    with store.write() as db:
        again = jobs.retry(db, job.id, by="shell")
    assert (again.state, again.attempts, again.error, again.finished_at) == ("waiting", 0, None, None)
    with pytest.raises(UserError, match="is waiting"), store.write() as db:
        jobs.retry(db, job.id, by="shell")


def test_cancelling_a_waiting_job_ends_it_and_a_running_one_is_told(store):
    waiting = add(store)
    with store.write() as db:
        assert jobs.ask_cancel(db, waiting.id, by="shell").state == "cancelled"
    assert take(store) is None
    add(store)
    held = take(store)
    with store.write() as db:
        assert jobs.ask_cancel(db, held.id, by="shell").state == "running"
        assert jobs.renew(db, held, seconds=60) is True
        jobs.finish_cancelled(db, held)
    with pytest.raises(UserError, match="cancelled already"), store.write() as db:
        jobs.ask_cancel(db, held.id, by="shell")


def test_a_cancelled_job_whose_worker_died_does_not_run_again(store):
    add(store)
    held = take(store, seconds=0)
    with store.write() as db:
        jobs.ask_cancel(db, held.id, by="shell")
    assert take(store) is None
    with store.read() as db:
        assert jobs.get(db, held.id).state == "cancelled"


def test_a_job_given_back_has_its_attempt_and_checkpoint(store):
    add(store)
    held = take(store)
    with store.write() as db:
        jobs.save_checkpoint(db, held, [1, {"två": None}])
        jobs.give_back(db, held)
    again = take(store)
    assert (again.attempts, again.checkpoint) == (1, [1, {"två": None}])


def test_when_the_clock_jumps_back_a_living_worker_keeps_its_job(store, monkeypatch):
    add(store)
    held = take(store)
    real = store_columns.now
    monkeypatch.setattr(jobs, "now", lambda: real() - timedelta(hours=3))
    assert take(store) is None
    with store.write() as db:
        jobs.renew(db, held, seconds=60)
        jobs.save_checkpoint(db, held, 1)
        renewed = jobs.get(db, held.id)
    assert renewed.leased_until < real() - timedelta(hours=2)
    with store.write() as db:
        jobs.finish(db, held, None)


def test_a_lease_that_does_not_move_can_be_ended_only_as_it_was_seen(store):
    add(store)
    held = take(store, seconds=9999)
    with store.write() as db:
        jobs.renew(db, held, seconds=60)
        assert not jobs.expire(db, held)
        (seen,) = jobs.list_leased(db, ["count"])
        assert jobs.expire(db, seen)
    assert take(store).id == held.id


@pytest.mark.parametrize("arguments", [{"x": object()}, {"x": float("nan")}, {"x": "y" * 1_000_001}])
def test_arguments_that_json_cannot_hold_are_refused(store, arguments):
    with pytest.raises(UserError, match="arguments"), store.write() as db:
        jobs.enqueue(db, "count", arguments, owner="shell")
    with store.read() as db:
        assert jobs.latest(db) == []


def test_jobs_are_listed_from_newest_to_oldest_page_by_page(store):
    ids = sorted((add(store).id for _ in range(5)), reverse=True)
    with store.read() as db:
        page = jobs.latest(db, limit=2)
        assert [job.id for job in page] == ids[:2]
        assert [job.id for job in jobs.latest(db, before=page[-1].id)] == ids[2:]
        assert jobs.latest(db, state="done") == []
        assert jobs.latest(db, visible_to="nobody") == []
        with pytest.raises(UserError, match="Did you mean 'waiting'"):
            jobs.latest(db, state="wating")
        with pytest.raises(UserError, match="no job 'x'"):
            jobs.get(db, "x")


def in_threads(what, n: int) -> None:
    threads = [threading.Thread(target=what) for _ in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
