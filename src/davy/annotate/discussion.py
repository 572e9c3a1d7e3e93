"""Discussion: a team looks at a post together, agrees on one answer, and keeps what was said.

The shared answer is an annotation by `TOGETHER`, so that it is nobody's own and
counts once; a second thought replaces it. Notes go to the channel's record of the post.
"""

from davy.core import Annotation, Item, Phase, Project, Scheme, UserError
from davy.core.annotation import Answers
from davy.store import Connection, annotations, events, items, messages, tallies
from davy.store.columns import now

TOGETHER = "together"
"""Who gave a shared answer."""


def answer_of(db: Connection, project: Project, phase: Phase, item: Item) -> Annotation | None:
    """Return the shared answer to an item, or None."""
    found = annotations.of_post(db, item.post, scheme=project.scheme, version=project.scheme_version)
    mine = [it for it in found if it.annotator == TOGETHER and it.phase == phase.id]
    return mine[-1] if mine else None


def agree(
    db: Connection,
    project: Project,
    phase: Phase,
    item: Item,
    scheme: Scheme,
    answers: Answers,
    *,
    annotation_id: str,
    by: str,
    note: str = "",
) -> Annotation:
    """Keep the answer that a team agreed on, and what they said about it; return it. Sent twice, it counts once."""
    _check(project, phase, item, scheme, answers)
    before = answer_of(db, project, phase, item)
    if before is not None and before.id == annotation_id:
        return before
    at = now()
    made = Annotation(
        id=annotation_id,
        post=item.post,
        annotator=TOGETHER,
        scheme=scheme.name,
        scheme_version=scheme.version,
        guideline_version=scheme.guideline.version if scheme.guideline else 0,
        answers=dict(answers),
        at=at,
        replaces=before.id if before else None,
        project=project.id,
        phase=phase.id,
    )
    annotations.add(db, made, scheme)
    if before is None:
        items.mark(db, item.id, "settled")
        tallies.count(db, phase.id, TOGETHER, at=at, given=1, filled=1, place=item.position)
    if note.strip():
        messages.note(db, project.id, note.strip(), by=by, post=item.post)
    events.record(db, by=by, what="shared answer kept", about=f"project {project.id}", phase=phase.name)
    return made


def _check(project: Project, phase: Phase, item: Item, scheme: Scheme, answers: Answers) -> None:
    if phase.kind != "discussion" or phase.project != project.id or item.phase != phase.id:
        raise UserError("There is no such post in a discussion of this project.", status=404)
    if phase.state != "open" or project.state != "open":
        raise UserError(f"Phase {phase.name!r} is {phase.state}. Open it first.", status=409)
    faults = scheme.faults(answers, complete=True)
    if faults:
        raise UserError(f"The shared answer is not complete: {faults[0]}.")
