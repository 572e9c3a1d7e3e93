"""Background jobs: a queue in a table, worked by whoever holds a job's lease.

A lease is a random word in the job's row. Every write of a worker names its
lease and does nothing where the word has changed, so a worker that was thought
dead can't harm the one that took over, whatever the clocks say.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ColumnElement,
    Connection,
    ForeignKey,
    Select,
    Table,
    case,
    func,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from davy.core.errors import UserError, nearest
from davy.people.store.project_roster import project_roster
from davy.store import events
from davy.store.columns import Serial, TextColumn, TimeColumn, metadata, new_id, new_token, now, table_index
from davy.store.rows import Rows

STATES: tuple[str, ...] = ("waiting", "running", "done", "failed", "cancelled")
LARGEST = 1_000_000
"""Characters that the arguments, a checkpoint or a result may take as JSON; larger things go into files."""

# Written out, because neither database uses a partial index for a value that it learns only when it runs.
_WAITING = text("jobs.state = 'waiting'")
_RUNNING = text("jobs.state = 'running'")


class LeaseLost(Exception):
    """Another worker has the job now, or it was ended; stop working on it."""


@dataclass(frozen=True, slots=True)
class Job:
    """One piece of work and how far it is."""

    id: str
    kind: str
    arguments: Mapping[str, Any]
    owner: str
    key: str | None
    state: str
    created_at: datetime
    run_after: datetime
    attempts: int
    max_attempts: int
    lease: str | None
    leased_by: str | None
    leased_until: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    cancel_asked_at: datetime | None
    done: int
    total: int | None
    note: str | None
    checkpoint: Any
    result: Any
    error: str | None
    project: str | None = None


_ROWS = Rows(
    Job,
    "jobs",
    Column("key", TextColumn, unique=True),
    Column("done", BigInteger, nullable=False),
    Column("total", BigInteger),
    CheckConstraint("state IN ('waiting', 'running', 'done', 'failed', 'cancelled')", name="state"),
    table_index("ix_jobs_waiting", "run_after", "id", where="state = 'waiting'"),
    table_index("ix_jobs_running", "leased_until", where="state = 'running'"),
    table_index("ix_jobs_owner", "owner", "id"),
    table_index("ix_jobs_project", "project", "id", where="project IS NOT NULL"),
)
jobs = _ROWS.table
job_log = Table(
    "job_log",
    metadata,
    Column("id", Serial, primary_key=True, autoincrement=True),
    Column("job", TextColumn, ForeignKey("jobs.id"), nullable=False),
    Column("at", TimeColumn, nullable=False),
    Column("line", TextColumn, nullable=False),
    table_index("ix_job_log_job", "job", "id"),
    sqlite_autoincrement=True,
)


@dataclass(frozen=True, slots=True)
class JobLogLine:
    """One line of a job's log."""

    id: int
    at: datetime
    line: str


def enqueue(
    db: Connection,
    kind: str,
    arguments: Mapping[str, Any],
    *,
    owner: str,
    key: str | None = None,
    max_attempts: int = 3,
    after: datetime | None = None,
    project: str | None = None,
) -> Job:
    """Add a job, for a project where one is named, and return it.

    Where a job has this `key` already, that one is returned and nothing is added.
    """
    _check_size("arguments", arguments)
    at = now()
    values = {
        "id": new_id(),
        "kind": kind,
        "arguments": dict(arguments),
        "owner": owner,
        "key": key,
        "state": "waiting",
        "created_at": at,
        "run_after": after or at,
        "attempts": 0,
        "max_attempts": max_attempts,
        "done": 0,
        "project": project,
    }
    insert_or_skip = sqlite.insert if db.dialect.name == "sqlite" else postgresql.insert
    db.execute(insert_or_skip(jobs).values(values).on_conflict_do_nothing(index_elements=["key"]))
    # How many rows were added is not told alike by the two drivers, so look.
    job = _ROWS.get(db, jobs.c.id == values["id"])
    if job is None:
        return _ROWS.list(db, _ROWS.select(jobs.c.key == key))[0]
    events.record(db, by=owner, what="job added", about=f"job {values['id']}", kind=kind)
    return job


def lease(db: Connection, kinds: Sequence[str], *, worker: str, seconds: float) -> Job | None:
    """Take the next job of these kinds for some seconds and return it, or None. Call it in a write transaction.

    Jobs whose worker went silent come first, then projects take turns. One that has used up its attempts
    fails here, so that a job which kills its worker does not go round for ever.
    """
    if not kinds:
        return None
    while True:
        # SQLite has one writer and ignores the lock; on PostgreSQL, workers pass over a row that another looks at.
        queries = (query.with_for_update(skip_locked=True) for query in (_expired(kinds), _due(kinds)))
        row = next((row for query in queries if (row := db.execute(query).one_or_none())), None)
        if row is None:
            return None
        job = _ROWS.read(row)
        if job.cancel_asked_at is not None:
            _end(db, job, "cancelled", by=events.SYSTEM)
        elif job.attempts >= job.max_attempts:
            _end(db, job, "failed", by=events.SYSTEM, error=f"Its worker died {job.attempts} times.")
        else:
            break
    at = now()
    db.execute(
        update(jobs)
        .where(jobs.c.id == job.id)
        .values(
            state="running",
            attempts=jobs.c.attempts + 1,
            lease=new_token(),
            leased_by=worker,
            leased_until=at + timedelta(seconds=seconds),
            started_at=job.started_at or at,
            error=None,
        )
    )
    return get(db, job.id)


def has_due(db: Connection, kinds: Sequence[str]) -> bool:
    """Whether `lease` would find a job now. A read, so that idle workers don't hold up writers."""
    queries = (query.with_only_columns(jobs.c.id).order_by(None) for query in (_due(kinds), _expired(kinds)))
    return any(db.execute(query).first() for query in queries)


def renew(db: Connection, job: Job, *, seconds: float) -> bool:
    """Hold a job for some more seconds; return whether someone asked to cancel it."""
    _ours(db, job, leased_until=now() + timedelta(seconds=seconds))
    return db.execute(select(jobs.c.cancel_asked_at).where(jobs.c.id == job.id)).scalar_one() is not None


def save_progress(db: Connection, job: Job, *, done: int, total: int | None, note: str | None) -> None:
    """Write how far a job is."""
    _ours(db, job, done=done, total=total, note=note[:500] if note else None)


def save_checkpoint(db: Connection, job: Job, state: Any) -> None:
    """Write from where a job goes on after a crash. Do it in the transaction of the work that it stands for."""
    _check_size("checkpoint", state)
    _ours(db, job, checkpoint=state)


def log(db: Connection, job: Job, line: str) -> None:
    """Add a line to a job's log."""
    _ours(db, job, leased_by=job.leased_by)
    db.execute(insert(job_log).values(job=job.id, at=now(), line=" ".join(line.split())[:2000]))


def finish(db: Connection, job: Job, result: Any = None) -> None:
    """Mark a job done, with its result."""
    _check_size("result", result)
    _ours(db, job, result=result, done=func.coalesce(jobs.c.total, jobs.c.done))
    _end(db, job, "done", by=job.owner)


def fail(db: Connection, job: Job, error: str, *, again_in: timedelta | None = None) -> None:
    """Write why a job failed; with `again_in` it waits that long for its next attempt, if it has one left."""
    error = " ".join(error.split())[:2000]
    if again_in is None or job.attempts >= job.max_attempts:
        _ours(db, job)
        _end(db, job, "failed", by=job.owner, error=error)
        return
    log(db, job, f"Attempt {job.attempts} of {job.max_attempts} failed: {error}")
    _ours(db, job, state="waiting", error=error, run_after=now() + again_in, **_NO_LEASE)


def give_back(db: Connection, job: Job) -> None:
    """Put a job back in the queue because its worker stops; the attempt does not count."""
    _ours(db, job, state="waiting", run_after=now(), attempts=max(0, job.attempts - 1), **_NO_LEASE)


def finish_cancelled(db: Connection, job: Job) -> None:
    """Mark a job as cancelled, by the worker that noticed the wish."""
    _ours(db, job)
    _end(db, job, "cancelled", by=job.owner)


def ask_cancel(db: Connection, job_id: str, *, by: str) -> Job:
    """Cancel a waiting job, or ask the worker of a running one to stop; return the job."""
    job = get(db, job_id, lock=True)
    if job.state not in ("waiting", "running"):
        raise UserError(f"Job {job_id} is {job.state} already, so there is nothing to cancel.", status=409)
    if job.state == "waiting":
        _end(db, job, "cancelled", by=by)
    elif job.cancel_asked_at is None:
        db.execute(update(jobs).where(jobs.c.id == job_id).values(cancel_asked_at=now()))
        events.record(db, by=by, what="job cancel asked", about=f"job {job_id}")
    return get(db, job_id)


def retry(db: Connection, job_id: str, *, by: str, arguments: Mapping[str, Any] | None = None) -> Job:
    """Queue a failed or cancelled job again, from its last checkpoint, with other `arguments` if given; return it."""
    job = get(db, job_id, lock=True)
    if job.state not in ("failed", "cancelled"):
        raise UserError(f"Job {job_id} is {job.state}; only a failed or cancelled one can run again.", status=409)
    fresh: dict[str, Any] = {"state": "waiting", "attempts": 0, "run_after": now()}
    fresh |= {"finished_at": None, "cancel_asked_at": None}
    if arguments is not None:
        _check_size("arguments", arguments)
        fresh["arguments"] = dict(arguments)
    db.execute(update(jobs).where(jobs.c.id == job_id).values(error=None, **fresh))
    events.record(db, by=by, what="job retried", about=f"job {job_id}")
    return get(db, job_id)


def has_key(db: Connection, key: str) -> bool:
    """Return whether a job has this key."""
    return db.execute(select(jobs.c.id).where(jobs.c.key == key)).first() is not None


def get(db: Connection, job_id: str, *, lock: bool = False) -> Job:
    """Return the job with this id; `lock` holds its row until the transaction ends."""
    query = _ROWS.select(jobs.c.id == job_id)
    for job in _ROWS.list(db, query.with_for_update() if lock else query):
        return job
    raise UserError(f"There is no job {job_id!r}. List them: davy job list", status=404)


def find(db: Connection, job_id: str) -> Job | None:
    """Return the job with this id, or None where it is gone: a retention rule removes old ones."""
    return _ROWS.get(db, jobs.c.id == job_id)


def latest(
    db: Connection,
    *,
    state: str | None = None,
    kind: str | None = None,
    project: str | None = None,
    visible_to: str | None = None,
    before: str | None = None,
    limit: int = 50,
) -> list[Job]:
    """Return jobs from newest to oldest; page on with `before` set to the last one's id.

    `visible_to` leaves those that an account started, or that work for a project which it manages.
    """
    if state is not None and state not in STATES:
        hint = nearest(state, list(STATES))
        raise UserError(f"There is no state {state!r}; choose {', '.join(STATES)}.{hint}")
    query = _ROWS.select().order_by(jobs.c.id.desc()).limit(limit)
    for column, wanted in ((jobs.c.state, state), (jobs.c.kind, kind), (jobs.c.project, project)):
        query = query if wanted is None else query.where(column == wanted)
    query = query if before is None else query.where(jobs.c.id < before)
    if visible_to is None:
        return _ROWS.list(db, query)
    # A query for each, since each then reads its own index in order; one for all would sort.
    found = {job.id: job for seen in _visible_to(db, visible_to) for job in _ROWS.list(db, query.where(seen))}
    return [found[key] for key in sorted(found, reverse=True)[:limit]]


def counts_by_state(db: Connection) -> dict[str, int]:
    """Return how many jobs are in each state."""
    counted = db.execute(select(jobs.c.state, func.count()).group_by(jobs.c.state))
    return {row[0]: row[1] for row in counted}


def oldest_due(db: Connection) -> datetime | None:
    """Return since when the job waits that has waited longest beyond its time."""
    oldest: datetime | None = db.scalar(select(func.min(jobs.c.run_after)).where(_WAITING, jobs.c.run_after <= now()))
    return oldest


def log_lines(db: Connection, job_id: str, *, after: int = 0, limit: int = 1000) -> list[JobLogLine]:
    """Return a job's log in order; page on with `after` set to the last line's id."""
    query = select(job_log.c.id, job_log.c.at, job_log.c.line).where(job_log.c.job == job_id, job_log.c.id > after)
    return [JobLogLine(row.id, row.at, row.line) for row in db.execute(query.order_by(job_log.c.id).limit(limit))]


def list_leased(db: Connection, kinds: Sequence[str]) -> list[Job]:
    """Return the jobs that a worker holds."""
    return _ROWS.list(db, _ROWS.select(_RUNNING, jobs.c.kind.in_(kinds)))


def expire(db: Connection, seen: Job) -> bool:
    """End the lease of a job that is exactly as it was seen before; return whether it was."""
    query = update(jobs).where(_RUNNING, jobs.c.id == seen.id, jobs.c.lease == seen.lease)
    query = query.where(jobs.c.leased_until == seen.leased_until)
    return db.execute(query.values(leased_until=now())).rowcount == 1


_NO_LEASE: dict[str, Any] = {"lease": None, "leased_by": None, "leased_until": None}


def _due(kinds: Sequence[str]) -> Select[Any]:
    """Return the query for the next waiting job: projects take turns, and each has one job of these kinds at a time.

    The turn is the project's whose last job began longest ago; a job without a project counts from when it was added.
    """
    running, earlier = jobs.alias("running"), jobs.alias("earlier")
    busy = select(running.c.id).where(
        text("running.state = 'running'"), running.c.project == jobs.c.project, running.c.kind.in_(kinds)
    )
    served = select(func.max(earlier.c.started_at)).where(
        earlier.c.project == jobs.c.project, earlier.c.kind.in_(kinds)
    )
    turn = case((jobs.c.project.is_(None), jobs.c.created_at), else_=served.scalar_subquery())
    query = _ROWS.select(_WAITING, jobs.c.run_after <= now(), jobs.c.kind.in_(kinds), ~busy.exists())
    return query.order_by(turn.asc().nulls_first(), jobs.c.run_after, jobs.c.id).limit(1)


def _expired(kinds: Sequence[str]) -> Select[Any]:
    query = _ROWS.select(_RUNNING, jobs.c.leased_until <= now(), jobs.c.kind.in_(kinds))
    return query.order_by(jobs.c.leased_until).limit(1)


def is_visible(db: Connection, job_id: str, user_id: str) -> bool:
    """Return whether an account started a job, or manages the project that it works for."""
    query = select(jobs.c.id).where(jobs.c.id == job_id)
    return any(db.execute(query.where(seen)).first() for seen in _visible_to(db, user_id))


def _visible_to(db: Connection, user_id: str) -> list[ColumnElement[bool]]:
    managed = project_roster().managed_by(db, user_id)
    return [jobs.c.owner == user_id, *(jobs.c.project == project for project in managed)]


def _ours(db: Connection, job: Job, **values: Any) -> None:
    """Change a job's row if its lease is still ours."""
    mine = update(jobs).where(jobs.c.id == job.id, jobs.c.lease == job.lease, _RUNNING)
    if db.execute(mine.values(values or {"leased_by": job.leased_by})).rowcount != 1:
        raise LeaseLost(f"job {job.id} is no longer held by {job.leased_by}")


def _end(db: Connection, job: Job, state: str, *, by: str, error: str | None = None) -> None:
    values = {"state": state, "finished_at": now(), "error": error, **_NO_LEASE}
    db.execute(update(jobs).where(jobs.c.id == job.id).values(values))
    events.record(db, by=by, what=f"job {state}", about=f"job {job.id}", kind=job.kind)


def _check_size(what: str, value: Any) -> None:
    try:
        size = len(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise UserError(f"A job's {what} can't be kept as JSON: {error}.") from None
    if size > LARGEST:
        raise UserError(f"A job's {what} takes {size:,} characters; the most is {LARGEST:,}. Put it in a file.")
