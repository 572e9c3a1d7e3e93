"""Care: when a person should rest, and how long they have worked.

Each saved answer comes in (`after_save`), and before each next post the rules
are asked (`before_next`): a rest with its reason and its end, or None. The rules
are the project's, or a person's own where those are gentler. They look at the
person and not at the project: work in another project counts, too. An answer is
never refused because of a rest; people may stop whenever they like (`stop`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from davy.annotation.care.store import work_sessions
from davy.annotation.care.store.work_sessions import WorkSitting
from davy.annotation.project.project import Member, Project
from davy.annotation.project.settings import Care
from davy.core import Annotation, Post, Scheme, UserError
from davy.store import Connection
from davy.store.columns import now

IDLE = timedelta(minutes=20)
"""A sitting ends when nothing was saved for this long."""
PAUSE_PAID = 120.0
"""Seconds between two answers that count as work on top of the time measured at the post: loading, reading rules."""
LONGEST_ITEM = 30 * 60.0
"""No single answer counts for more seconds than this, whatever the browser says."""


@dataclass(frozen=True, slots=True)
class CareRules:
    """When to rest. None switches a rule off; what a project leaves open is as `settings.Care` has it."""

    break_after_minutes: float | None
    break_minutes: float
    break_after_hard: int | None
    daily_minutes: float | None
    daily_items: int | None
    may_postpone: bool
    postpone_minutes: float
    hard: Mapping[str, tuple[str, ...]]
    severity: float | None
    """Posts whose `meta` has a `severity` of at least this are hard."""
    zone: tzinfo
    """Where a person's day begins and ends."""


@dataclass(frozen=True, slots=True)
class RestPeriod:
    """Why a person should rest, and until when. `words` is the key of the sentence that says so."""

    reason: str
    since: datetime
    until: datetime
    words: str
    may_postpone: bool = False


@dataclass(frozen=True, slots=True)
class DayTotal:
    """What a person did today, in all projects."""

    seconds: float = 0.0
    items: int = 0
    hard: int = 0


@dataclass(frozen=True, slots=True)
class WorkDay:
    """A person's day so far: in all projects, in this one, and how long it is to the next rest."""

    items: int = 0
    seconds: float = 0.0
    seconds_here: float = 0.0
    minutes_to_rest: int | None = None
    """Minutes of work, at least 1; None where no rest comes by the clock."""


def rules_of(project: Project, member: Member | None = None) -> CareRules:
    """Return the rules for a project, with a member's own choices where they are gentler."""
    given = project.settings.get("care") or {}
    known = {name: given.get(name, getattr(_USUAL, name)) for name in _NUMBERS}
    hard = {question: tuple(labels) for question, labels in (given.get("hard") or {}).items()}
    rules = CareRules(**known, hard=hard, zone=zone_of(given.get("timezone")))
    if member is None:
        return rules
    own = {name: _gentler(getattr(rules, name), member.choices.get(name)) for name in OWN_LIMITS}
    return replace(rules, **own)


OWN_LIMITS = ("break_after_minutes", "break_after_hard", "daily_minutes", "daily_items")
"""What a person may set lower for themselves."""
_USUAL = Care()
_NUMBERS = (*OWN_LIMITS, "break_minutes", "may_postpone", "postpone_minutes", "severity")


def zone_of(name: str | None) -> tzinfo:
    """Return the time zone with this name, such as Europe/Berlin; without one, UTC."""
    if not name or name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise UserError(
            f"care.timezone is {name!r}, which is no time zone that this machine knows. "
            "Use a name such as Europe/Berlin, or UTC; or install the machine's time zones (tzdata)."
        ) from None


def is_hard(
    project: Project, scheme: Scheme, answers: Mapping[str, Iterable[str]], *, refused: bool = False, post: Any = None
) -> bool:
    """Return whether an item was hard: refused, answered with a hard or severe label, or marked so beforehand."""
    rules = rules_of(project)
    for question in scheme.questions:
        hard = {label.name for label in question.labels if label.severe} | set(rules.hard.get(question.name, ()))
        if hard & set(answers.get(question.name, ())):
            return True
    return refused or _severe(rules, post)


def after_save(
    db: Connection,
    project: Project,
    member: Member,
    annotation: Annotation | None = None,
    seconds: float | None = None,
    *,
    hard: bool,
    at: datetime | None = None,
) -> list[WorkSitting]:
    """Add one item to the person's sitting, or begin a new one. A replayed form must not come here a second time.

    A second thought about an earlier answer adds its time, but no item. Returns the sittings, for `before_next`.
    """
    at = at or now()
    rules = rules_of(project, member)
    sittings = work_sessions.recent(db, member.user, at, lock=True)
    latest = _unless_rested(sittings[0], rules, at, seconds) if sittings else None
    measured = min(max(seconds or 0.0, 0.0), LONGEST_ITEM)
    new = int(annotation is None or annotation.replaces is None)
    tough = int(hard) * new
    if latest is not None and _goes_on(latest, project, rules, at, measured):
        worked = _worked(latest, measured, at)
        added = work_sessions.add_work(db, latest, seconds=worked, items=new, hard=tough, at=at)
        return work_sessions.sort_sittings([added, *sittings[1:]])
    if latest is not None and sittings[0].ended_at is None:
        work_sessions.change(db, latest.id, ended_at=latest.last_at)
        sittings[0] = replace(sittings[0], ended_at=latest.last_at)
    started = max(at - timedelta(seconds=measured), _day_start(rules, at))
    begun = work_sessions.new_sitting(
        project.id, member.user, started_at=started, at=at, seconds=measured, items=new, hard=tough
    )
    begun = _carried(begun, latest)
    work_sessions.begin(db, begun)
    return work_sessions.sort_sittings([begun, *sittings])


def before_next(
    db: Connection,
    project: Project,
    member: Member,
    *,
    at: datetime | None = None,
    known: list[WorkSitting] | None = None,
) -> RestPeriod | None:
    """Return the rest that a person should take now, or None. A rest that is due begins with this call.

    `known` are their sittings, where `after_save` gave them in the same transaction.
    """
    at = at or now()
    rules = rules_of(project, member)
    sittings = work_sessions.recent(db, member.user, at) if known is None else known
    if not sittings:
        return None
    if (capped := _capped(rules, _sum_today(sittings, rules, at), at)) is not None:
        return capped
    latest = sittings[0]
    if latest.rest_until is not None:
        return _resting(db, latest, rules, at)
    if _gap(latest, at) >= _rest_length(rules):
        return None
    reason = _due(latest, rules)
    if reason is None:
        return None
    until = at + timedelta(minutes=rules.break_minutes)
    work_sessions.change(db, latest.id, ended_at=at, rest_until=until, rest_reason=reason)
    return _rest_period(reason, at, until, rules.may_postpone and not latest.postponed)


def stop(db: Connection, member: Member, *, at: datetime | None = None) -> None:
    """End a person's sitting because they want to; there is nothing to wait for before they go on."""
    at = at or now()
    found = work_sessions.recent(db, member.user, at)
    if found and found[0].ended_at is None:
        work_sessions.change(db, found[0].id, ended_at=at)


def postpone(db: Connection, project: Project, member: Member, *, at: datetime | None = None) -> None:
    """Put a rest off for some minutes, once; one that was put off already, or a daily cap, is refused."""
    at = at or now()
    rules = rules_of(project, member)
    sittings = work_sessions.recent(db, member.user, at, lock=True)
    latest = sittings[0] if sittings else None
    if latest is None or latest.rest_until is None or latest.rest_until <= at:
        return
    if not rules.may_postpone or latest.postponed or _capped(rules, _sum_today(sittings, rules, at), at):
        raise UserError("This break can't be put off. Rest a little; your place is kept.", status=409)
    work_sessions.change(db, latest.id, ended_at=None, rest_until=None, rest_reason=None, postponed=True)


def today(db: Connection, project: Project, member: Member, *, at: datetime | None = None) -> DayTotal:
    """Return what a person did today, by the project's time zone, in all projects."""
    at = at or now()
    return _sum_today(work_sessions.recent(db, member.user, at), rules_of(project), at)


def work_day(project: Project, member: Member, found: list[WorkSitting], *, at: datetime | None = None) -> WorkDay:
    """Return a person's day from their recent sittings (`after_save` or `sittings.recent` give them)."""
    at = at or now()
    rules = rules_of(project, member)
    done = _sum_today(found, rules, at)
    here = _sum_today([it for it in found if it.project == project.id], rules, at)
    latest = _unless_rested(found[0], rules, at, None) if found else None
    left = None
    if rules.break_after_minutes is not None:
        extra = rules.postpone_minutes if latest is not None and latest.postponed else 0
        left = rules.break_after_minutes + extra - (latest.unrested_seconds / 60 if latest is not None else 0)
    if rules.daily_minutes is not None:
        until_cap = rules.daily_minutes - done.seconds / 60
        left = until_cap if left is None else min(left, until_cap)
    return WorkDay(done.items, done.seconds, here.seconds, None if left is None else max(1, round(left)))


# ---- when a sitting goes on, and what counts ---------------------------------------------------


def _goes_on(latest: WorkSitting, project: Project, rules: CareRules, at: datetime, measured: float) -> bool:
    if latest.ended_at is not None or latest.project != project.id:
        return False
    same_day = _day(rules, latest.started_at) == _day(rules, at)
    return same_day and _gap(latest, at) - timedelta(seconds=measured) < IDLE


def _worked(latest: WorkSitting, measured: float, at: datetime) -> float:
    """Return the seconds that an answer adds: what was measured and a short pause, never more than went by."""
    passed = (at - latest.last_at).total_seconds()
    if passed < 0:  # the clock jumped back: only the browser's own measure is left
        return measured
    return min(passed, measured + PAUSE_PAID)


def _carried(begun: WorkSitting, before: WorkSitting | None) -> WorkSitting:
    """Return a new sitting that goes on counting since the last rest."""
    own = replace(begun, unrested_seconds=begun.seconds, unrested_hard=begun.hard)
    if before is None:
        return own
    return replace(
        own,
        unrested_seconds=own.unrested_seconds + before.unrested_seconds,
        unrested_hard=own.unrested_hard + before.unrested_hard,
        postponed=before.postponed,
        rest_until=before.rest_until,
        rest_reason=before.rest_reason,
        ended_at=begun.last_at if before.rest_until else None,
    )


def _unless_rested(latest: WorkSitting, rules: CareRules, at: datetime, seconds: float | None) -> WorkSitting:
    """Return the sitting, as ended with nothing to carry where the person has rested since."""
    away = _gap(latest, at) - timedelta(seconds=min(max(seconds or 0.0, 0.0), LONGEST_ITEM))
    over = latest.rest_until is not None and at >= latest.rest_until
    if not over and away < _rest_length(rules):
        return latest
    ended = latest.ended_at or latest.last_at
    return replace(
        latest, ended_at=ended, unrested_seconds=0.0, unrested_hard=0, postponed=False, rest_until=None,
        rest_reason=None,
    )  # fmt: skip


def _gap(latest: WorkSitting, at: datetime) -> timedelta:
    return max(at - latest.last_at, timedelta(0))


def _rest_length(rules: CareRules) -> timedelta:
    return min(timedelta(minutes=rules.break_minutes), IDLE)


# ---- when to rest ------------------------------------------------------------------------------


def _due(latest: WorkSitting, rules: CareRules) -> str | None:
    extra = rules.postpone_minutes if latest.postponed else 0
    if rules.break_after_hard is not None:
        # A break that was put off gives room for a few more hard items, too.
        most = rules.break_after_hard + (max(1, rules.break_after_hard // 4) if latest.postponed else 0)
        if latest.unrested_hard >= most:
            return "hard items"
    if rules.break_after_minutes is not None and latest.unrested_seconds >= (rules.break_after_minutes + extra) * 60:
        return "break"
    return None


def _resting(db: Connection, latest: WorkSitting, rules: CareRules, at: datetime) -> RestPeriod | None:
    assert latest.rest_until is not None
    if at >= latest.rest_until:
        return None
    until = min(latest.rest_until, at + timedelta(minutes=rules.break_minutes))
    if until < latest.rest_until:  # the clock jumped back, or the rule was made gentler
        work_sessions.change(db, latest.id, rest_until=until)
    may = rules.may_postpone and not latest.postponed
    return _rest_period(latest.rest_reason or "break", latest.ended_at or at, until, may)


def _capped(rules: CareRules, done: DayTotal, at: datetime) -> RestPeriod | None:
    minutes = rules.daily_minutes is not None and done.seconds >= rules.daily_minutes * 60
    items = rules.daily_items is not None and done.items >= rules.daily_items
    if not (minutes or items):
        return None
    return _rest_period("daily cap", at, _day_start(rules, at, days=1), may_postpone=False)


def _rest_period(reason: str, since: datetime, until: datetime, may_postpone: bool) -> RestPeriod:
    return RestPeriod(reason, since, until, f"rest.{reason.replace(' ', '_')}", may_postpone)


# ---- days ---------------------------------------------------------------------------------------


def _sum_today(found: Iterable[WorkSitting], rules: CareRules, at: datetime) -> DayTotal:
    mine = [it for it in found if _day(rules, it.started_at) == _day(rules, at)]
    return DayTotal(sum(it.seconds for it in mine), sum(it.items for it in mine), sum(it.hard for it in mine))


def _day(rules: CareRules, at: datetime) -> Any:
    return at.astimezone(rules.zone).date()


def _day_start(rules: CareRules, at: datetime, *, days: int = 0) -> datetime:
    """Return when the person's day begins, as UTC; `days` later by the calendar, whatever the clocks do that night."""
    day = _day(rules, at) + timedelta(days=days)
    return datetime(day.year, day.month, day.day, tzinfo=rules.zone).astimezone(UTC)


def _gentler(rule: Any, own: Any) -> Any:
    """Return the lower of two limits, where None is no limit; a choice that is no number is passed over."""
    if not isinstance(own, int | float) or isinstance(own, bool) or own <= 0:
        return rule
    return own if rule is None else min(rule, own)


def _severe(rules: CareRules, post: Post | None) -> bool:
    if post is None or rules.severity is None:
        return False
    severity = post.meta.get("severity")
    return isinstance(severity, int | float) and severity >= rules.severity
