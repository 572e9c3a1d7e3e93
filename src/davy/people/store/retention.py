"""Retention: rules by which the server deletes what is old, each for a kind of record and a number of days.

There is no rule until somebody sets one. What a rule would remove can be counted before it is set and before it is
applied; it is first applied a day after it was set. No rule removes answers, verdicts or gold: of posts only the
texts go, of projects that were closed long ago. Every set, change, end and application is an event.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from pkgutil import resolve_name

from sqlalchemy import ColumnElement, Connection, Table, delete, func, select, text, update

from davy.core.errors import UserError, nearest
from davy.core.feature import features
from davy.jobs.store import job_log, jobs
from davy.people.store.tables import sessions
from davy.store import events
from davy.store.columns import now
from davy.store.events import events as event_rows
from davy.store.rows import Rows

MOST_DAYS = 36_500
WAITS = timedelta(days=1)
"""How long after a rule was set it is first applied."""
PART = 500
"""Rows that are removed in one transaction."""
REFUSALS = ("sign-in refused", "password refused")

Conditions = Callable[[datetime, str], tuple[ColumnElement[bool], ...]]


@dataclass(frozen=True, slots=True)
class RetentionKind:
    """A kind of record: its table, and which rows are older than a time."""

    table: Table
    old: Conditions
    project: Callable[[Connection, str], object] | None = None
    """What finds the project of a rule, and refuses an unknown one; None if rules of this kind are the server's."""
    blanks: bool = False
    """Whether the row stays and only its text goes."""


ACCOUNT_KINDS: Mapping[str, RetentionKind] = {
    "jobs": RetentionKind(
        jobs,
        lambda before, _: (
            jobs.c.state.in_(("done", "failed", "cancelled")),
            jobs.c.finished_at < before,
            *(jobs.c.id.not_in(resolve_name(each.jobs_in_use)()) for each in features() if each.jobs_in_use),
        ),
    ),
    "refusals": RetentionKind(
        event_rows, lambda before, _: (event_rows.c.what.in_(REFUSALS), event_rows.c.at < before)
    ),
    "sessions": RetentionKind(sessions, lambda before, _: (sessions.c.expires_at < before,)),
}
EXPORTS = "exports"
"""Files that people asked for; they lie in a folder, not here, and go after a week without any rule."""


@dataclass(frozen=True, slots=True)
class RetentionRule:
    """After how many days a kind of record goes. `project` is empty for the server, as a key can't be NULL."""

    project: str
    what: str
    days: int
    set_at: datetime
    set_by: str

    def applies_from(self) -> datetime:
        """Return when the rule is first applied."""
        return self.set_at + WAITS

    def before(self, at: datetime) -> datetime:
        """Return the time before which records are old."""
        return at - timedelta(days=self.days)


@cache
def retention_kinds() -> dict[str, RetentionKind]:
    """Return the kinds of every feature by name."""
    tables = [resolve_name(each.retention) for each in features() if each.retention is not None]
    return {name: kind for table in tables for name, kind in table.items()}


_RULES = Rows(RetentionRule, "retention_rules", key=("project", "what"))
retention_rules = _RULES.table


def names_for(project: str | None) -> list[str]:
    """Return what rules of a project, or of the server, can be about."""
    own = [name for name, kind in retention_kinds().items() if (kind.project is None) == (project is None)]
    return own if project is not None else [*own, EXPORTS]


def make_rule(what: str, days: int, *, by: str, project: str | None = None) -> RetentionRule:
    """Return a rule that could be set; nothing changes."""
    known = names_for(project)
    if what not in known:
        level = "A project" if project is not None else "The server"
        hint = nearest(what, known)
        raise UserError(f"{level} has no rule for {what[:40]!r}; choose from {', '.join(known)}.{hint}")
    if not 1 <= days <= MOST_DAYS:
        raise UserError(f"A rule has 1 to {MOST_DAYS:,} days, not {days:,}.")
    return RetentionRule(project or "", what, days, now(), by)


def set_rule(db: Connection, rule: RetentionRule) -> None:
    """Set a rule, or change the one of its kind."""
    if check_project := retention_kinds()[rule.what].project:
        check_project(db, rule.project)
    _delete(db, rule.project, rule.what)
    _RULES.insert(db, rule)
    about = _about(rule.project)
    events.record(db, by=rule.set_by, what="retention rule set", about=about, kind=rule.what, days=rule.days)


def end_rule(db: Connection, what: str, *, by: str, project: str | None = None) -> None:
    """End a rule: nothing more goes by it."""
    if not _delete(db, project, what):
        raise UserError(f"There is no rule for {what[:40]!r} here. See them: davy database retention", status=404)
    events.record(db, by=by, what="retention rule ended", about=_about(project or ""), kind=what)


def list_rules(db: Connection, *, project: str | None = None, everywhere: bool = False) -> list[RetentionRule]:
    """Return the rules of a project, or of the server, or all of them."""
    query = _RULES.select()
    if not everywhere:
        query = query.where(retention_rules.c.project == (project or ""))
    return _RULES.list(db, query.order_by(retention_rules.c.project, retention_rules.c.what))


def count_old(db: Connection, rule: RetentionRule, *, at: datetime | None = None) -> int:
    """Return how many records a rule would remove now; nothing changes. Files are not counted here."""
    kind = retention_kinds()[rule.what]
    old = kind.old(rule.before(at or now()), rule.project)
    return db.execute(select(func.count()).select_from(kind.table).where(*old)).scalar_one()


def remove_part(db: Connection, rule: RetentionRule, *, at: datetime | None = None) -> int:
    """Remove at most `PART` old records and return how many; 0 when there are no more."""
    kind = retention_kinds()[rule.what]
    if db.dialect.name == "sqlite":
        db.execute(text("PRAGMA secure_delete = ON"))  # freed pages are zeroed, not left readable in the file
    old = kind.old(rule.before(at or now()), rule.project)
    ids = list(db.scalars(select(kind.table.c.id).where(*old).order_by(kind.table.c.id).limit(PART)))
    if not ids:
        return 0
    if kind.blanks:
        db.execute(update(kind.table).where(kind.table.c.id.in_(ids)).values(text=None))
        return len(ids)
    if kind.table is jobs:
        db.execute(delete(job_log).where(job_log.c.job.in_(ids)))
    db.execute(delete(kind.table).where(kind.table.c.id.in_(ids)))
    return len(ids)


def record(db: Connection, rule: RetentionRule, removed: int, *, by: str) -> None:
    """Write down that a rule was applied, and how much went by it."""
    details = {"kind": rule.what, "days": rule.days, "removed": removed}
    events.record(db, by=by, what="retention rule applied", about=_about(rule.project), **details)


def _delete(db: Connection, project: str | None, what: str) -> int:
    own = (retention_rules.c.project == (project or ""), retention_rules.c.what == what)
    return db.execute(delete(retention_rules).where(*own)).rowcount


def _about(project: str) -> str:
    return f"project {project}" if project else "server"
