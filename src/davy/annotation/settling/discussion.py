"""A discussion as a team sees it: the post it talks about now, and the shared answers so far.

Nobody holds a post in a discussion: everyone sees the same one, the first that is
open, and whoever writes records it for all (`adjudication.save_shared`). Who sends a
second answer to a post that has one is told, and nothing is replaced unseen.
"""

from davy.annotation.labelling.labelling import Sheet
from davy.annotation.labelling.store import items, tallies
from davy.annotation.project.project import Assignment, Member, Phase, Project
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.store import phases, posts
from davy.annotation.settling.adjudication import save_shared, shared_answer
from davy.core import Annotation, Post, UserError
from davy.core.annotation import Answers
from davy.store import Connection
from davy.store.columns import now


def open_phase(db: Connection, project: Project) -> Phase | None:
    """Return the discussion that is open in a project, or None."""
    if project.state != "open":
        return None
    every = phases.of_project(db, project.id)
    return next((phase for phase in every if phase.behaviour.shared and phase.state == "open"), None)


def shared_sheet(db: Connection, project: Project, member: Member, phase: Phase) -> Sheet | None:
    """Return the post that is being discussed; None where all have their answer.

    Its assignment is nobody's and is never stored: it only says where the form goes.
    """
    left = [item for item in items.iter_items(db, phase.id) if item.state == "open"]
    if not left:
        return None
    item, scheme = left[0], scheme_of(db, project)
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
        number=phase.size - len(left) + 1,
        total=phase.size,
        tally=tallies.get(db, phase.id, member.user),
    )


def record(
    db: Connection,
    project: Project,
    item_id: str,
    answers: Answers,
    notes: str,
    *,
    annotation_id: str,
    by: str,
) -> Annotation:
    """Keep the shared answer to a post that has none yet, with notes; the same form again returns the same."""
    item = items.get(db, item_id)
    items.lock(db, item.id)
    phase = phases.get(db, item.phase)
    if phase.project != project.id:
        raise UserError("There is no such post in this discussion.", status=404)
    known = shared_answer(db, project, phase, item)
    if known is not None and known.id != annotation_id:
        raise UserError("This post has its shared answer already.", status=409)
    return save_shared(db, project, phase, item, answers, notes, by=by, annotation_id=annotation_id)


def recorded_answers(
    db: Connection, project: Project, phase: Phase, *, most: int = 50
) -> list[tuple[Post, Annotation]]:
    """Return the posts that have a shared answer, with it, the last ones first."""
    done = [item for item in items.iter_items(db, phase.id) if item.state != "open"][-most:][::-1]
    answered = [(item, shared_answer(db, project, phase, item)) for item in done]
    return [(posts.get(db, item.post), given) for item, given in answered if given is not None]
