"""A discussion: a team reads a post together, agrees on one shared answer and notes what decided it.

Nobody holds a post in a discussion: everyone sees the same one, the first that is
open, and whoever writes records it for all. Two who record at once are kept apart
by the item's room; the second is told.
"""

from collections.abc import Sequence

from davy.annotate import duty, work
from davy.annotate.current import scheme_of
from davy.annotate.work import Saved, Sheet
from davy.core import Annotation, Assignment, Item, Member, Phase, Post, Project, UserError
from davy.core.annotation import Answers
from davy.store import Connection, annotations, assignments, items, phases, posts, tallies
from davy.store.columns import now


def open_phase(db: Connection, project: Project) -> Phase | None:
    """Return the discussion that is open in a project, or None."""
    if project.state != "open":
        return None
    every = phases.of_project(db, project.id)
    return next((phase for phase in every if phase.kind == "discussion" and phase.state == "open"), None)


def shared_sheet(db: Connection, project: Project, member: Member, phase: Phase) -> Sheet | None:
    """Return the post that is being discussed; None where all have their answer. Its assignment is not stored yet."""
    found = items.of_phase(db, phase.id, limit=1, state="open")
    if not found:
        return None
    item, scheme = found[0], scheme_of(db, project)
    return Sheet(
        project=project,
        member=member,
        phase=phase,
        item=item,
        assignment=Assignment(item.id, item.id, phase.id, member.user, "held", now()),
        post=posts.get(db, item.post),
        scheme=scheme,
        guideline=scheme.guideline,
        before=None,
        number=phase.size - _open_ones(db, phase) + 1,
        total=phase.size,
        tally=tallies.get(db, phase.id, member.user),
    )


def record(
    db: Connection,
    project: Project,
    member: Member,
    item_id: str,
    answers: Answers,
    *,
    annotation_id: str,
    flags: Sequence[str] = (),
    notes: str | None = None,
) -> Saved:
    """Keep the shared answer to a post, with notes; the same form again returns the same."""
    known = annotations.find(db, annotation_id)
    if known is not None and known.annotator == member.user:
        return Saved(known, filled=False)
    item = items.get(db, item_id)
    phase = phases.get(db, item.phase)
    if phase.project != project.id or phase.kind != "discussion":
        raise UserError("There is no such post in this discussion.", status=404)
    taken = None
    if item.state == "open" and phase.state == "open":
        taken = assignments.take(db, phase, member.user, lease=duty.lease_of(phase), at=now())
    if taken is None or taken.item.id != item.id:
        raise UserError("This post has its shared answer already, or another comes first.", status=409)
    sheet = work.open_sheet(db, project, member, taken.assignment.id)
    return work.save(db, sheet, answers, annotation_id=annotation_id, flags=flags, comment=notes)


def recorded(db: Connection, phase: Phase, project: Project, *, most: int = 50) -> list[tuple[Post, Annotation]]:
    """Return the posts that have a shared answer, newest first."""
    full = [item for item in items.everything(db, phase.id) if item.state != "open"]
    return [found for item in full[-most:][::-1] if (found := _answer_to(db, phase, project, item))]


def _answer_to(db: Connection, phase: Phase, project: Project, item: Item) -> tuple[Post, Annotation] | None:
    given = annotations.of_post(db, item.post, scheme=project.scheme, version=project.scheme_version)
    own = [it for it in given if it.phase == phase.id]
    return (posts.get(db, item.post), own[-1]) if own else None


def _open_ones(db: Connection, phase: Phase) -> int:
    return sum(1 for item in items.everything(db, phase.id) if item.state == "open")
