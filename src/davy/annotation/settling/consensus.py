"""A discussion's shared answer: a team talks about a post and one of them writes down what they agreed on.

The annotation is by `together`, with the notes of the talk. Writing it down
again replaces it. In a phase that counts for the corpus it is also the verdict,
by consensus. Shared answers are counted in a tally of their own, under `together`.
"""

from davy.annotation.labelling.store import annotations, items, tallies
from davy.annotation.project.project import Item, Phase, Project
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.store import posts
from davy.annotation.settling.store import verdicts
from davy.core import Annotation, Scheme, UserError, Verdict
from davy.core.annotation import Answers
from davy.store import Connection, events
from davy.store.columns import new_id, now

TOGETHER = "together"
MOST_NOTES = 20_000


def save_shared(
    db: Connection,
    project: Project,
    phase: Phase,
    item: Item,
    answers: Answers,
    notes: str,
    *,
    by: str,
    annotation_id: str | None = None,
) -> Annotation:
    """Keep what a discussion agreed on about an item, and return it; an earlier answer is replaced."""
    if not phase.behaviour.shared or item.phase != phase.id or phase.project != project.id:
        raise UserError("A shared answer belongs to an item of a discussion phase of the project.", status=409)
    if phase.state != "open" or project.state != "open":
        raise UserError(f"Phase {phase.name!r} is not open, so nothing is saved in it.", status=409)
    notes = notes.strip()
    if len(notes) > MOST_NOTES:
        raise UserError(f"The notes have {len(notes):,} characters; the most is {MOST_NOTES:,}.", status=413)
    scheme = scheme_of(db, project)
    faults = scheme.faults(answers, complete=True, text=posts.get(db, item.post).text)
    if faults:
        raise UserError(f"The answers don't fit the questions: {faults[0]}.")
    items.lock(db, item.id)
    earlier = shared_answer(db, project, phase, item)
    if annotation_id is not None and earlier is not None and earlier.id == annotation_id:
        return earlier
    given = Annotation(
        id=annotation_id or new_id(),
        post=item.post,
        annotator=TOGETHER,
        scheme=scheme.name,
        scheme_version=scheme.version,
        guideline_version=scheme.guideline.version if scheme.guideline else 0,
        answers={name: tuple(labels) for name, labels in answers.items()},
        at=now(),
        comment=notes or None,
        replaces=earlier.id if earlier else None,
        project=project.id,
        phase=phase.id,
    )
    annotations.add(db, given, scheme)
    items.settle_shared(db, item.id, settled=phase.in_corpus)
    new = int(earlier is None)
    tallies.count(db, phase.id, TOGETHER, at=given.at, given=new, filled=new)
    events.record(db, by=by, what="shared answer given", about=f"item {item.id}", annotation=given.id)
    if phase.in_corpus:
        _settle(db, project, scheme, given, by=by)
    return given


def _settle(db: Connection, project: Project, scheme: Scheme, given: Annotation, *, by: str) -> None:
    """Write a shared answer down as the verdict; what an earlier one settled and nobody asks any more is taken back."""
    agreed = scheme.completed(given.answers)
    stood = verdicts.of_post(db, given.post, scheme=scheme.name, version=scheme.version, project=project.id)
    for question, labels in agreed.items():
        verdict = Verdict(given.post, question, labels, "consensus", (given.id,))
        verdicts.add(db, verdict, scheme, by=by, again=True, project=project.id)
    for question, verdict in stood.items():
        if question not in agreed and verdict.labels:
            fallen = Verdict(given.post, question, (), "consensus", (given.id,))
            verdicts.take_back(db, fallen, scheme, by=by, project=project.id)


def shared_answer(db: Connection, project: Project, phase: Phase, item: Item) -> Annotation | None:
    """Return what a discussion agreed on about an item so far, or None."""
    answers = annotations.of_post(db, item.post, scheme=project.scheme, version=project.scheme_version)
    return next((one for one in answers if one.annotator == TOGETHER and one.phase == phase.id), None)
