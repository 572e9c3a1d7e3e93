"""Work: a person gets a post, answers it, refuses it, skips it, or takes their last answer back.

A `Sheet` is one post before one person, with the questions and the guideline in
force. All functions work in the caller's transaction, so that "save and next" is
one. An answer carries an id that its form was given: sending a form twice is
harmless. What was answered is never changed; a second thought replaces it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from davy.annotation.labelling import eligibility, screening
from davy.annotation.labelling.screening import Feedback, feedback_on
from davy.annotation.labelling.store import annotations, assignments, item_selection, prefetch, tallies
from davy.annotation.labelling.store.item_selection import HeldAssignment
from davy.annotation.labelling.store.tallies import Tally
from davy.annotation.project import roster
from davy.annotation.project.project import Assignment, Item, Member, Phase, Project
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.store import members, phases
from davy.annotation.settling import adjudication
from davy.annotation.settling.adjudication import save_shared, shared_answer
from davy.annotation.settling.store import cases
from davy.core import Annotation, Guideline, Post, Scheme, UserError
from davy.core.annotation import Answers
from davy.store import Connection, events
from davy.store.columns import now
from davy.store.store import is_writing

__all__ = [
    "SavedAnswer",
    "Sheet",
    "leave",
    "next_sheet",
    "open_sheet",
    "refuse",
    "save",
    "save_shared",
    "scheme_of",
    "shared_answer",
    "skip",
    "undo",
]

MOST_COMMENT = 5_000


@dataclass(frozen=True, slots=True)
class Sheet:
    """One post before one person. `before` is what they answered earlier, when they look again."""

    project: Project
    member: Member
    phase: Phase
    item: Item
    assignment: Assignment
    post: Post
    scheme: Scheme
    guideline: Guideline | None
    before: Annotation | None
    number: int
    """Which of their posts in this phase it is, from 1."""
    total: int
    """How many posts they can have in this phase."""
    tally: Tally

    @property
    def held(self) -> HeldAssignment:
        """The sheet as the store knows it."""
        return HeldAssignment(self.assignment, self.item, self.post, self.phase, self.tally)


@dataclass(frozen=True, slots=True)
class SavedAnswer:
    """What became of an answer. `feedback` is there in training: question → what was said, what is right."""

    annotation: Annotation
    filled: bool
    feedback: Mapping[str, Feedback] | None = None


def next_sheet(
    db: Connection,
    project: Project,
    member: Member,
    *,
    phase_id: str | None = None,
    at: datetime | None = None,
    scheme: Scheme | None = None,
) -> Sheet | None:
    """Return the next post for a person, kept for them for a while; None where there is nothing for them now.

    First what they hold, then what they are to look at again, then a fresh one, phase by phase.
    `scheme` is the project's, where the caller has it: it can't change within a write transaction.
    """
    at = at or now()
    every, in_hand = item_selection.find_phases(db, project.id, member.user)
    open_to = _phases_for(db, project, member, phase_id, every)
    if not open_to:
        return None
    ids = [phase.id for phase in open_to]
    held = item_selection.find_in_hand(db, member.user, project.id) if in_hand else None
    if held is not None and held.phase.id in ids:
        still = assignments.renew(db, held, lease=eligibility.lease_of(held.phase), at=at)
        if still is not None:
            return _sheet(db, project, member, still, scheme)
    for phase in open_to:
        if held := _take(db, phase, member, at):
            return _sheet(db, project, member, held, scheme)
    put_off = item_selection.find_in_hand(db, member.user, project.id, put_off=True)
    return None if put_off is None or put_off.phase.id not in ids else _sheet(db, project, member, put_off)


def open_sheet(db: Connection, project: Project, member: Member, assignment_id: str) -> Sheet:
    """Return a sheet by its assignment: 403 for somebody else's, 409 where it is no longer this person's.

    One that is answered already is returned too, so that a form that was sent twice finds it.
    """
    prefetch.scheme(db, project)
    held = (
        item_selection.lock_for_answer(db, assignment_id)
        if is_writing(db)
        else item_selection.get_held(db, assignment_id, lock=False)
    )
    if held is None or held.phase.project != project.id:
        raise UserError("There is no such post in this project. Go on with the next one.", status=404)
    if held.assignment.annotator != member.user:
        raise UserError("This post is before somebody else. Go on with your own next one.", status=403)
    _check_open(project, member, held.phase)
    if held.assignment.state in ("skipped", "lapsed") and held.item.room < 1:
        raise _item_gone_error()
    return _sheet(db, project, member, held)


def save(
    db: Connection,
    sheet: Sheet,
    answers: Answers,
    *,
    annotation_id: str,
    flags: Sequence[str] = (),
    comment: str | None = None,
    seconds: float | None = None,
) -> SavedAnswer:
    """Keep a person's answers and return what became of them; the same form again returns the same.

    `annotation_id` comes from the form. Where the answer makes the item full, it is settled at once.
    """
    if "refused" in flags:
        raise UserError("A refused post has no answers. Refuse it, or answer it.")
    given = _annotation(sheet, answers, annotation_id, flags, comment, seconds)
    if repeated := _repeated(db, sheet, given):
        return repeated
    faults = sheet.scheme.faults(answers, complete=True, text=sheet.post.text)
    if faults:
        raise UserError(f"The answers don't fit the questions: {faults[0]}.")
    held = _in_hand_again(db, sheet, given.at)
    annotations.write(db, given)
    wanted = roster.answers_needed(db, sheet.project, sheet.phase, sheet.item, sheet.member)
    done = assignments.finish(db, held, given.id, wanted=wanted, seconds=seconds, at=_after_last(sheet, given.at))
    if done.filled or (held.assignment.state == "again" and done.item.state != "open"):
        adjudication.settle_item(db, sheet.project, sheet.phase, done.item, sheet.scheme)
    prefetch.next_item(db, sheet.project.id, sheet.phase.id, sheet.member.user)
    return SavedAnswer(given, done.filled, feedback_on(sheet.phase, done.item, sheet.scheme, answers))


def refuse(db: Connection, sheet: Sheet, *, annotation_id: str) -> SavedAnswer:
    """Note that a person declines a post, without a reason; somebody else gets it."""
    given = _annotation(sheet, {}, annotation_id, ("refused",), None, None)
    if sheet.assignment.state == "refused" or sheet.assignment.annotation == annotation_id:
        return SavedAnswer(given, filled=False)
    held = _in_hand_again(db, sheet, given.at)
    annotations.write(db, given)
    assignments.refuse(db, held, given.id, at=_after_last(sheet, given.at))
    if sheet.phase.answers is None:
        roster.settle_complete(db, sheet.project)
    return SavedAnswer(given, filled=False)


def skip(db: Connection, sheet: Sheet) -> None:
    """Put a post off: others may have it, and this person gets it again when nothing else is left."""
    if sheet.assignment.state in ("held", "again"):
        assignments.skip(db, sheet.held, at=_after_last(sheet, now()))


def undo(db: Connection, project: Project, member: Member, assignment_id: str | None = None) -> Sheet:
    """Open the last post again that a person answered, refused or skipped, or the one named, and return its sheet.

    An answer counts until the new one replaces it.
    """
    at = now()
    open_to = [phase.id for phase in _phases_for(db, project, member, None, phases.of_project(db, project.id))]
    which = assignment_id or assignments.last_assignment(db, member.user, open_to)
    held = None if which is None else item_selection.get_held(db, which, lock=True)
    if held is None or held.phase.id not in open_to:
        raise UserError("There is nothing to take back in the phases that are open.", status=409)
    if held.assignment.annotator != member.user:
        raise UserError("This post is before somebody else. Go on with your own next one.", status=403)
    if held.assignment.state in ("held", "again"):
        return _sheet(db, project, member, held)
    if held.assignment.state == "done":
        if feedback_on(held.phase, held.item, None, {}) is not None:
            raise UserError("The right answer has been shown, so this one stays as it is.", status=409)
        held = assignments.reopen(db, held)
    else:
        again = assignments.retake(db, held, lease=eligibility.lease_of(held.phase), at=at)
        if again is None:
            raise _item_gone_error()
        held = again
    return _sheet(db, project, member, held)


def leave(db: Connection, project: Project, user_id: str, *, by: str) -> Member:
    """End a person's membership and give what they hold back to the others at once; their answers stay.

    Posts that waited only for them are settled.
    """
    member = members.leave(db, project.id, user_id, by=by)
    n = assignments.give_back(db, project.id, user_id) + cases.release(db, project.id, user_id)
    if n:
        events.record(db, by=by, what="items given back", about=f"project {project.id}", user=user_id, n=n)
    roster.settle_complete(db, project)
    return member


def _phases_for(
    db: Connection, project: Project, member: Member, phase_id: str | None, every: Sequence[Phase]
) -> list[Phase]:
    if project.state != "open" or member.left_at is not None:
        return []
    member = _screened(db, project, member, every)
    return [
        phase
        for phase in every
        if phase.behaviour.task is None and phase_id in (None, phase.id) and eligibility.may_work(member, phase, every)
    ]


def _screened(db: Connection, project: Project, member: Member, every: Sequence[Phase]) -> Member:
    """Note how a member's screening went once they have answered all of it, and return them with that."""
    screening_phases = [phase for phase in every if phase.behaviour.screens]
    if not screening_phases or eligibility.SCREENING_PASSED in member.choices:
        return member
    phase = screening_phases[-1]
    tally = tallies.get(db, phase.id, member.user)
    if not phase.size or tally.given + tally.refused < phase.size:
        return member
    results = screening.screening_results(db, project, phase, scheme_of(db, project), only=member.user)
    state = next((result.state for result in results if result.user == member.user), screening.OPEN)
    if state == screening.OPEN:
        return member
    return members.choose(db, project.id, member.user, **{eligibility.SCREENING_PASSED: state})


def _take(db: Connection, phase: Phase, member: Member, at: datetime) -> HeldAssignment | None:
    if not eligibility.has_time(phase, at):
        return None
    done = assignments.count_batches(db, phase.id, member.user) if eligibility.counts_batches(phase) else {}
    return assignments.take(
        db,
        phase,
        member.user,
        lease=eligibility.lease_of(phase),
        at=at,
        closed=eligibility.closed_batches(phase, member, done, at),
        quota=eligibility.quota(phase),
    )


def _sheet(
    db: Connection, project: Project, member: Member, held: HeldAssignment, scheme: Scheme | None = None
) -> Sheet:
    scheme = scheme or scheme_of(db, project)
    earlier = held.assignment.annotation
    done = held.assignment.state in ("done", "again")
    return Sheet(
        project=project,
        member=member,
        phase=held.phase,
        item=held.item,
        assignment=held.assignment,
        post=held.post,
        scheme=scheme,
        guideline=scheme.guideline,
        before=None if earlier is None else annotations.get(db, earlier),
        number=held.tally.given + (0 if done else 1),
        total=min(held.phase.size, eligibility.quota(held.phase) or held.phase.size),
        tally=held.tally,
    )


def _annotation(
    sheet: Sheet,
    answers: Answers,
    annotation_id: str,
    flags: Sequence[str],
    comment: str | None,
    seconds: float | None,
) -> Annotation:
    comment = (comment or "").strip() or None
    if seconds is not None and not math.isfinite(seconds):
        raise UserError("The time that the browser measured is no number. Load the page again.")
    if not annotation_id or len(annotation_id) > 64:
        raise UserError("The form has no id of its own. Load the page again.")
    if comment and len(comment) > MOST_COMMENT:
        raise UserError(f"The comment has {len(comment):,} characters; the most is {MOST_COMMENT:,}.", status=413)
    try:
        return Annotation(
            id=annotation_id,
            post=sheet.item.post,
            annotator=sheet.member.user,
            scheme=sheet.scheme.name,
            scheme_version=sheet.scheme.version,
            guideline_version=sheet.guideline.version if sheet.guideline else 0,
            answers={name: tuple(labels) for name, labels in answers.items()},
            at=now(),
            seconds=seconds,
            flags=tuple(flags),
            comment=comment,
            replaces=sheet.assignment.annotation,
            project=sheet.project.id,
            phase=sheet.phase.id,
        )
    except ValueError as error:
        raise UserError(f"The answer can't be kept: {error}.") from None


def _repeated(db: Connection, sheet: Sheet, given: Annotation) -> SavedAnswer | None:
    """Return what became of a form that was sent before; refuse a different answer from another window."""
    if sheet.assignment.state in ("held", "again", "skipped", "lapsed") and sheet.assignment.annotation != given.id:
        return None
    known = annotations.find(db, given.id)
    if known is None and sheet.before is not None and _same(sheet.before, given):
        known = sheet.before
    if known is None:
        raise UserError(
            "You dealt with this post in another window already. To change your answer, take it back first.", status=409
        )
    if (known.annotator, known.post, known.phase) != (given.annotator, given.post, given.phase):
        raise UserError("This form belongs to another post. Load the page again.", status=409)
    return SavedAnswer(known, filled=False, feedback=feedback_on(sheet.phase, sheet.item, sheet.scheme, known.answers))


def _same(one: Annotation, other: Annotation) -> bool:
    return (one.answers, one.flags, one.comment) == (other.answers, other.flags, other.comment)


def _in_hand_again(db: Connection, sheet: Sheet, at: datetime) -> HeldAssignment:
    """Return the sheet's item as held; one that lapsed or was skipped is taken again if there still is room."""
    _check_open(sheet.project, sheet.member, sheet.phase)
    if sheet.assignment.state in ("held", "again"):
        return sheet.held
    if sheet.assignment.state in ("done", "refused"):
        raise UserError("You dealt with this post already. To change that, take it back first.", status=409)
    held = assignments.retake(db, sheet.held, lease=eligibility.lease_of(sheet.phase), at=at)
    if held is None:
        raise _item_gone_error()
    return held


def _after_last(sheet: Sheet, at: datetime) -> datetime:
    """Return a time after this person's last action, also where a clock was put back: `undo` goes by the order."""
    last = sheet.tally.last_at
    return at if last is None or at > last else last + timedelta(microseconds=1)


def _check_open(project: Project, member: Member, phase: Phase) -> None:
    if member.left_at is not None:
        raise UserError("You left this project, so nothing more is saved in it.", status=403)
    if project.state != "open":
        raise UserError("This project is closed, so nothing more is saved in it.", status=409)
    if phase.state != "open":
        raise UserError(f"Phase {phase.name!r} is closed, so nothing more is saved in it.", status=409)


def _item_gone_error() -> UserError:
    return UserError("This post went to others in the meantime. Go on with the next one.", status=409)
