"""Submissions: predictions that were taken, the jobs that score them, their figures and surveys.

A submission's state is its job's: waiting, running, failed, cancelled; or scored once it has a figure. Failed ones
count for no limit; cancelled ones do, since a team can cancel its own. Refused files have no row here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Column, Connection, Select, func, select
from sqlalchemy.engine import Row

from davy.challenges.challenge import Submission
from davy.challenges.store.challenges import challenge_phases
from davy.core.errors import UserError
from davy.jobs.store import jobs
from davy.store import events
from davy.store.columns import JsonColumn, TextColumn, TimeColumn, new_id, now, table_index
from davy.store.rows import Rows


@dataclass(frozen=True, slots=True)
class NewSubmission:
    """Predictions that passed every check, and where they go."""

    phase: str
    task: str
    team: str
    by: str | None
    file: str
    predictions: Sequence[int] | Sequence[float]
    digest: str
    address: str | None = None
    note: str | None = None
    survey: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class SharedTrace:
    """Submissions of different teams that share something: equal predictions, or an address."""

    kind: str
    task: str
    teams: tuple[str, ...]
    submissions: int


_ROWS = Rows(
    Submission,
    "submissions",
    Column("address", TextColumn),  # HMAC of the address that it came from, under the server's secret
    # Places of the labels, or scores, in the order of the task's entries.
    Column("predictions", JsonColumn, nullable=False),
    Column("scored_at", TimeColumn),
    table_index("ix_submissions_phase", "phase", "task", "id"),
    table_index("ix_submissions_team", "team", "id"),
    table_index("ix_submissions_by", "by"),
    references={"phase": "challenge_phases.id", "team": "challenge_teams.id"},
    left_out=("state",),
)
submissions = _ROWS.table


def add(db: Connection, new: NewSubmission, *, challenge_id: str, at: datetime) -> str:
    """Add a submission and return its id; its job comes after it, by `set_job`."""
    key = new_id()
    made = Submission(
        *(key, new.phase, new.task, new.team, new.by, at, new.file, len(new.predictions), new.digest, "waiting"),
        survey=new.survey,
        note=new.note,
    )
    _ROWS.insert(db, made, address=new.address, predictions=list(new.predictions))
    about = {"submission": key, "team": new.team, "task": new.task}
    events.record(db, by=new.by or events.SHELL, what="submission made", about=f"challenge {challenge_id}", **about)
    return key


def set_job(db: Connection, submission_id: str, job_id: str) -> None:
    """Name the job that scores a submission."""
    _ROWS.update(db, submissions.c.id == submission_id, job=job_id)


def get(db: Connection, submission_id: str) -> Submission:
    """Return the submission with this id."""
    row = db.execute(_query().where(submissions.c.id == submission_id)).one_or_none()
    if row is None:
        raise UserError("There is no such submission.", status=404)
    return _submission(row)


def of_phase(db: Connection, phase_id: str, task: str | None = None) -> list[Submission]:
    """Return the submissions of a phase, oldest first, of all tasks or of one."""
    query = _query().where(submissions.c.phase == phase_id).order_by(submissions.c.id)
    query = query if task is None else query.where(submissions.c.task == task)
    return [_submission(row) for row in db.execute(query)]


def of_team(db: Connection, team_id: str) -> list[Submission]:
    """Return a team's submissions, newest first."""
    query = _query().where(submissions.c.team == team_id).order_by(submissions.c.id.desc())
    return [_submission(row) for row in db.execute(query)]


def count(
    db: Connection, phase_id: str, task: str, team_id: str, *, since: datetime | None = None, without: str | None = None
) -> int:
    """Return how many submissions of a team count for its limit in a phase and task, `without` the one named."""
    own = (submissions.c.phase == phase_id, submissions.c.task == task, submissions.c.team == team_id)
    query = select(func.count()).select_from(submissions.outerjoin(jobs, jobs.c.id == submissions.c.job)).where(*own)
    query = query.where((func.coalesce(jobs.c.state, "waiting") != "failed") | submissions.c.figure.is_not(None))
    query = query if without is None else query.where(submissions.c.id != without)
    query = query if since is None else query.where(submissions.c.at >= since)
    return int(db.execute(query).scalar_one())


def predictions(db: Connection, submission_ids: Sequence[str]) -> dict[str, list[Any]]:
    """Return the predictions of submissions by id, in the order of the task's entries."""
    found: dict[str, list[Any]] = {}
    for start in range(0, len(submission_ids), 100):
        part = list(submission_ids[start : start + 100])
        query = select(submissions.c.id, submissions.c.predictions).where(submissions.c.id.in_(part))
        found |= {row.id: row.predictions for row in db.execute(query)}
    return found


def save_figure(db: Connection, submission_id: str, figure: Mapping[str, Any]) -> None:
    """Keep what a submission scored."""
    _ROWS.update(db, submissions.c.id == submission_id, figure=figure, scored_at=now())


def save_survey(db: Connection, submission_id: str, survey: Mapping[str, Any], *, by: str, challenge_id: str) -> None:
    """Keep what a team says of the system behind a submission."""
    _ROWS.update(db, submissions.c.id == submission_id, survey=survey)
    about = f"challenge {challenge_id}"
    events.record(db, by=by, what="submission survey answered", about=about, submission=submission_id)


def basis(counted: Sequence[Submission]) -> str:
    """Return the hash of what a board of these submissions rests on."""
    return hashlib.sha256("\n".join(sorted(each.id for each in counted)).encode()).hexdigest()


def shared_traces(db: Connection, challenge_id: str) -> list[SharedTrace]:
    """Return where different teams sent equal predictions for a task, or sent from one address."""
    own = select(challenge_phases.c.id).where(challenge_phases.c.challenge == challenge_id)
    query = select(submissions.c.team, submissions.c.task, submissions.c.digest, submissions.c.address)
    groups: dict[tuple[str, str, str], list[str]] = {}
    for row in db.execute(query.where(submissions.c.phase.in_(own)).order_by(submissions.c.id)):
        groups.setdefault(("predictions", row.task, row.digest), []).append(row.team)
        if row.address is not None:
            groups.setdefault(("address", "", row.address), []).append(row.team)
    return [
        SharedTrace(kind, task, tuple(dict.fromkeys(who)), len(who))
        for (kind, task, _), who in groups.items()
        if len(set(who)) > 1
    ]


def _query() -> Select[Any]:
    joined = submissions.outerjoin(jobs, jobs.c.id == submissions.c.job)
    return _ROWS.select().add_columns(jobs.c.state.label("job_state")).select_from(joined)


def _submission(row: Row[Any]) -> Submission:
    state = "scored" if row.figure is not None else (row.job_state or "waiting")
    return _ROWS.read(row[:-1], state="waiting" if state == "done" else state)


def jobs_in_use() -> Select[Any]:
    """Return the jobs of submissions without a figure: such a submission reads its state from its job."""
    return select(submissions.c.job).where(submissions.c.figure.is_(None), submissions.c.job.is_not(None))
