"""Retention in the background: once a day a job removes what the rules call old, in short transactions.

Without any rule it sweeps what nobody can use any more: sessions that ended a month ago, and files that were kept for
a week. The job's key is the day, so that several workers over one database make one job.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from davy.jobs import job_files
from davy.jobs import store as jobs
from davy.jobs.worker import JobContext
from davy.people.store import retention, sessions
from davy.people.store.retention import EXPORTS, RetentionRule
from davy.store import Store, events
from davy.store.columns import now

RETENTION = "apply retention rules"


def enqueue_today(store: Store) -> None:
    """Make today's job, unless it is there."""
    key = f"{RETENTION} {now():%Y-%m-%d}"
    with store.read() as db:
        if jobs.has_key(db, key):
            return
    with store.write() as db:
        jobs.enqueue(db, RETENTION, {}, owner=events.SYSTEM, key=key)


def apply_rules(context: JobContext) -> dict[str, int]:
    """Apply every rule that has been set for a day; return what went, by rule."""
    with context.store.read() as db:
        rules = [rule for rule in retention.list_rules(db, everywhere=True) if rule.applies_from() <= now()]
    removed: dict[str, int] = {}
    for rule in rules:
        name = f"{rule.what} of {rule.project}" if rule.project else rule.what
        removed[name] = apply_rule(context.store, rule, context.files, by=events.SYSTEM, progress=context.progress)
    with context.store.write() as db:
        sessions.sweep(db)
    if context.files is not None:
        job_files.sweep(context.files)
    return removed


def apply_rule(
    store: Store,
    rule: RetentionRule,
    files: Path | None,
    *,
    by: str,
    progress: Callable[[int], object] | None = None,
) -> int:
    """Remove what a rule calls old, write that down, and return how much it was."""
    removed = 0
    if rule.what == EXPORTS:
        removed = 0 if files is None else job_files.sweep(files, kept=timedelta(days=rule.days))
    else:
        more = 1
        while more:
            with store.write() as db:
                more = retention.remove_part(db, rule)
            removed += more
            if progress is not None:
                progress(removed)
    if removed:
        with store.write() as db:
            retention.record(db, rule, removed, by=by)
        store.truncate_log()
    return removed


def preview(store: Store, rule: RetentionRule, files: Path | None) -> int:
    """Return how much a rule would remove now: records, or folders of files."""
    if rule.what == EXPORTS:
        return 0 if files is None else len(job_files.find_old(files, kept=timedelta(days=rule.days)))
    with store.read() as db:
        return retention.count_old(db, rule)
