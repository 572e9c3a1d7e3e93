"""Agreement of the phases, measured in the background: a worker's watcher adds a job for each phase that is due.

The job's key names the state of the phase, so that two workers over one database
make one job.
"""

from __future__ import annotations

from typing import Any

from davy.annotation.project import monitoring
from davy.annotation.project.store import phases
from davy.annotation.settling.store import agreements, phase_answers
from davy.jobs import store as jobs
from davy.jobs.worker import JobContext
from davy.store import Connection, Store, events

MEASURE_AGREEMENT = "measure agreement"


def measure_agreement(context: JobContext) -> dict[str, Any]:
    """Measure the phase that the job names; return how many answers it had."""
    made = monitoring.take_snapshot(context.store, str(context.arguments["phase"]))
    return {"answers": made.answers, "snapshot": made.id}


def enqueue_project(db: Connection, project: str, *, by: str) -> int:
    """Make a job for each phase of a project with answers that are not measured, as after an import."""
    count = 0
    for phase in phases.of_project(db, project):
        tallies = phase_answers.tallies_of(db, [phase.id])
        if monitoring.is_snapshot_stale(agreements.newest(db, phase.id), tallies):
            key = monitoring.state_key(phase, tallies)
            jobs.enqueue(db, MEASURE_AGREEMENT, {"phase": phase.id}, owner=by, key=key, project=project)
            count += 1
    return count


def enqueue_due_phases(store: Store) -> int:
    """Make a job for each phase that is due; return how many are."""
    with store.read() as db:
        due = [(phase, phase_answers.tallies_of(db, [phase.id])) for phase in monitoring.due_phases(db)]
    if due:
        with store.write() as db:
            for phase, tallies in due:
                key = monitoring.state_key(phase, tallies)
                jobs.enqueue(
                    db, MEASURE_AGREEMENT, {"phase": phase.id}, owner=events.SYSTEM, key=key, project=phase.project
                )
    return len(due)
