"""Who may work where: which phases are open to a member, which batches, how many posts, until when.

Members, phases and tallies in, plain answers out; no database. What a phase's
settings say: `batches` (name → people, quota, deadline), `quota` (posts a
person), `deadline`, `lease_minutes`, `people` (of the roster, only these).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from davy.annotation.project.project import Member, Phase
from davy.core import UserError

LEASE = timedelta(minutes=30)

SCREENING_PASSED = "screening"
"""The choice of a member that says how their screening went: `passed` or `failed`. Managers set it, not they."""


def may_work(member: Member, phase: Phase, all_phases: Sequence[Phase]) -> bool:
    """Return whether a phase's items may be given to a member at all.

    A discussion has one shared answer, so nobody gets its items alone. An expert phase is for
    experts. Who was screened is not screened again; who failed goes no further; and where a
    screening comes before a production phase, only who passed it goes on.
    """
    if member.left_at is not None or phase.state != "open" or phase.behaviour.shared:
        return False
    if not _is_listed(phase.settings.get("people"), member):
        return False
    if not set(phase.behaviour.roles) & set(member.roles):
        return False
    if phase.behaviour.by_experts:
        return True
    screened = member.choices.get(SCREENING_PASSED)
    if phase.behaviour.screens:
        return screened is None
    # A screening without posts has nobody to pass it.
    before = any(other.behaviour.screens and other.size and other.position < phase.position for other in all_phases)
    return not before or "expert" in member.roles or screened == "passed"


def has_time(phase: Phase, at: datetime) -> bool:
    """Return whether a phase's deadline, where it has one, lies ahead."""
    return _before(phase.settings.get("deadline"), at, phase)


def quota(phase: Phase) -> int | None:
    """Return how many posts of a phase one person answers at most, or None."""
    return _number(phase.settings.get("quota"), phase)


def closed_batches(phase: Phase, member: Member, done: Mapping[str, int], at: datetime) -> list[str]:
    """Return the batches that a member gets nothing from: others' ones, late ones, and those they did their part of.

    `done` is how many posts of each batch they have or had.
    """
    closed = []
    for name, batch in (phase.settings.get("batches") or {}).items():
        most = _number(batch.get("quota"), phase)
        if (
            not _is_listed(batch.get("people"), member)
            or not _before(batch.get("deadline"), at, phase)
            or (most is not None and done.get(name, 0) >= most)
        ):
            closed.append(str(name))
    return closed


def counts_batches(phase: Phase) -> bool:
    """Return whether it matters how much of each batch a member did."""
    return any(batch.get("quota") is not None for batch in (phase.settings.get("batches") or {}).values())


def lease_of(phase: Phase) -> timedelta:
    """Return for how long an item is kept for the person who has it."""
    minutes = phase.settings.get("lease_minutes")
    if minutes is None:
        return LEASE
    try:
        lease = timedelta(minutes=float(minutes))
    except (TypeError, ValueError, OverflowError):
        lease = timedelta(0)
    if not timedelta(minutes=1) <= lease <= timedelta(days=1):
        raise UserError(f"Phase {phase.name!r} has a lease of {minutes!r} minutes. Set it from 1 to 1440.")
    return lease


def _is_listed(people: Iterable[str] | None, member: Member) -> bool:
    """Return whether a list of user ids, pseudonyms or pools, where there is one, has this member in it."""
    return not people or bool({member.user, member.pseudonym, member.pool} & set(people))


def _before(deadline: Any, at: datetime, phase: Phase) -> bool:
    if not deadline:
        return True
    try:
        # A day is over everywhere west of here only later; the end of the day in UTC is the one rule for all.
        if len(str(deadline)) == 10:
            until = datetime.combine(date.fromisoformat(str(deadline)), time.max, UTC)
        else:
            until = datetime.fromisoformat(str(deadline))
    except ValueError:
        raise UserError(
            f"Phase {phase.name!r} has a deadline {str(deadline)[:40]!r}. Write a day such as 2026-12-31."
        ) from None
    return at <= (until if until.tzinfo else until.replace(tzinfo=UTC))


def _number(value: Any, phase: Phase) -> int | None:
    if value is None:
        return None
    try:
        return int(value)
    except (TypeError, ValueError):
        raise UserError(f"Phase {phase.name!r} has a quota {str(value)[:40]!r}. Write a whole number.") from None
