"""What people's ratings of memes are worth: their agreement, and human accuracy.

Agreement is the mean of Cohen's κ over pairs. For accuracy, settled memes are labelled anew in batches, by somebody
who has never worked on them. "Not sure" decides nothing: it is no binary answer, and it is not the settled one.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from davy.annotation.labelling.store import items
from davy.annotation.project.project import Member, Phase, Project
from davy.annotation.project.project_creation import next_name
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.store import members, phases
from davy.annotation.settling.agreement import ratings_of
from davy.annotation.settling.store import phase_answers
from davy.core import Metric, Question, UserError
from davy.measure.agreement import pairwise, verbal_labels
from davy.measure.intervals import Bootstrap, proportion
from davy.memes.meme_families import deciding_question, meme_phases
from davy.memes.store import meme_steps
from davy.store import Connection

KIND = "relabelling"
NAME = "labelled anew"

PAPER_KAPPA = 0.684
"""Cohen's κ of Hateful Memes (section 3.1), "moderate" by McHugh."""
RESAMPLES = 300


@dataclass(frozen=True, slots=True)
class BatchAccuracy:
    """One batch: how many of its memes were labelled, and how often as settled."""

    batch: str
    person: str
    """Their pseudonym."""
    memes: int
    right: int
    answered: int

    @property
    def accuracy(self) -> float | None:
        """The share that was labelled as settled; None before anybody answered."""
        return self.right / self.answered if self.answered else None


@dataclass(frozen=True, slots=True)
class HumanAccuracy:
    """All batches together."""

    batches: tuple[BatchAccuracy, ...]
    overall: Metric

    @property
    def spread(self) -> tuple[float, float] | None:
        """The lowest and the highest accuracy of a batch; None before two have answers."""
        found = [it.accuracy for it in self.batches if it.accuracy is not None]
        return (min(found), max(found)) if len(found) > 1 else None


def fresh_people(db: Connection, project: Project) -> list[Member]:
    """Return the annotators who have neither rated, filtered, built nor confounded a meme of the project."""
    worked = {tally.annotator for tally in phase_answers.tallies_of(db, _work_phases(db, project)) if tally.given}
    worked |= {step.by for step in meme_steps.of_project(db, project.id)}
    return [one for one in members.of_project(db, project.id, role="annotator") if one.user not in worked]


def draw_batches(
    db: Connection, project: Project, people: Sequence[Member], *, batches: int, each: int, by: str, seed: int = 0
) -> Phase:
    """Add a phase of so many batches of settled memes, one person each in turn, and return it. It waits."""
    kinds = meme_phases(db, project)
    if kinds.rating is None:
        raise UserError("This project has no phase where memes are rated.", status=409)
    if not 1 <= batches <= 100 or not 1 <= each <= 10_000:
        raise UserError("Draw 1 to 100 batches of 1 to 10,000 memes.", status=422)
    allowed = {one.user for one in fresh_people(db, project)}
    if not people or any(one.user not in allowed for one in people):
        raise UserError("Choose annotators who have not worked on these memes before. Invite new ones.", status=409)
    asked = deciding_question(scheme_of(db, project))
    settled = [it for it in meme_steps.rated_memes(db, kinds.rating, asked.name) if it.label is not None]
    if len(settled) < batches * each:
        raise UserError(
            f"{len(settled)} memes are settled; {batches} batches of {each} take more. Draw fewer.", status=409
        )
    random.Random(seed).shuffle(settled)  # noqa: S311 — an order, not a secret
    taken = {phase.name for phase in phases.of_project(db, project.id)}
    name = NAME if NAME not in taken else next_name(NAME, taken)
    owners = {str(number + 1): people[number % len(people)].user for number in range(batches)}
    phase = phases.add(
        db,
        project.id,
        name=name,
        kind=KIND,
        answers=1,
        in_corpus=False,
        settings={"batches": {batch: {"people": [owner]} for batch, owner in owners.items()}},
        by=by,
    )
    rows = [
        (meme.id, {asked.name: (str(meme.label),)}, str(1 + place // each))
        for place, meme in enumerate(settled[: batches * each])
    ]
    items.add(db, phase, rows, by=by, shuffled=False)
    return phases.get(db, phase.id)


def human_accuracy(db: Connection, project: Project) -> HumanAccuracy | None:
    """Return how well people did in the last phase of batches; None where there is none."""
    drawn = [phase for phase in phases.of_project(db, project.id) if phase.settings.get("batches") and _anew(phase)]
    if not drawn:
        return None
    phase, scheme = drawn[-1], scheme_of(db, project)
    asked = deciding_question(scheme).name
    rows = list(items.iter_items(db, phase.id))
    gold = {item.post: (item.batch or "", (item.gold or {}).get(asked)) for item in rows}
    names = {one.user: one.pseudonym for one in members.of_project(db, project.id, left=True)}
    right: dict[str, int] = {}
    answered: dict[str, int] = {}
    for given in phase_answers.iter_answers(db, phase.id):
        batch, label = gold[given.post]
        answered[batch] = answered.get(batch, 0) + 1
        right[batch] = right.get(batch, 0) + (scheme.completed(given.answers).get(asked) == label)
    judged = tuple(
        BatchAccuracy(
            batch,
            names.get(about["people"][0], "–"),
            sum(item.batch == batch for item in rows),
            right.get(batch, 0),
            answered.get(batch, 0),
        )
        for batch, about in phase.settings["batches"].items()
    )
    total = proportion("accuracy", sum(right.values()), sum(answered.values()), undefined="nobody has answered yet")
    return HumanAccuracy(judged, total)


def _anew(phase: Phase) -> bool:
    """Return whether a phase labels settled memes anew: its answers settle nothing."""
    kind = phase.behaviour
    return kind.answers == 1 and not kind.gives_verdicts and not kind.shared and kind.task is None


def _work_phases(db: Connection, project: Project) -> list[str]:
    return [phase.id for phase in meme_phases(db, project).present]


@dataclass(frozen=True, slots=True)
class RatingAgreement:
    """The agreement on one question; `pairs` are the pairs of people who share a meme."""

    question: Question
    kappa: Metric
    pairs: int

    @property
    def words(self) -> dict[str, str]:
        """What Landis and Koch, and McHugh, call it; nothing where it is not defined."""
        return verbal_labels(self.kappa.value)


def rating_agreement(db: Connection, project: Project) -> list[RatingAgreement]:
    """Return the agreement in the phase where memes are rated, the binary label's first; none without answers."""
    rating, scheme = meme_phases(db, project).rating, scheme_of(db, project)
    if rating is None:
        return []
    binary = deciding_question(scheme).name
    agreements = []
    for question, ratings in ratings_of(db, project, rating, scheme):
        if question.name == binary or question.ordered:
            measured = pairwise(ratings, bootstrap=Bootstrap(resamples=RESAMPLES))
            agreements.append(RatingAgreement(question, measured.mean, len(measured.pairs)))
    return sorted(agreements, key=lambda it: it.question.name != binary)
