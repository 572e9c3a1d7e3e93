"""Answers against gold: feedback after each answer of a training, and who passed a screening.

Only questions that gold settles count. `screening_results` gives one `ScreeningResult` a person, as a whole and for
each class. A person has passed once they answered every post and reached the mark on each question that it names; a
manager may decide otherwise, with a reason, and that is kept as an event.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from davy.annotation.project.project import Item, Phase, Project
from davy.annotation.project.settings import level_marks
from davy.annotation.project.store import members, phases
from davy.annotation.settling import agreement
from davy.annotation.settling.store import phase_answers
from davy.core import Metric, Scheme, UserError
from davy.core.annotation import Answers
from davy.core.spans import overlap
from davy.store import Connection, events

PASSED, FAILED, OPEN = "passed", "failed", "open"
DECIDED = "screening decided"
"""What the event of a manager's decision is called."""
SAME_MARKS = 0.5
"""From this overlap on two people's marks count as the same, as in ERASER's IoU F1."""


@dataclass(frozen=True, slots=True)
class ClassScore:
    """How a person does on one class of gold: what they said of the posts that have it."""

    label: str
    recall: Metric
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ScreeningScores:
    """One question of a person's screening. `classes` are in the scheme's order."""

    question: str
    accuracy: Metric
    at_least: float | None
    classes: tuple[ClassScore, ...]

    @property
    def reached(self) -> bool:
        """Whether the mark is reached; true where this question has none."""
        return self.at_least is None or (self.accuracy.value is not None and self.accuracy.value >= self.at_least)


@dataclass(frozen=True, slots=True)
class ScreeningDecision:
    """What a manager decided about a person, and why."""

    state: str
    reason: str
    by: str


@dataclass(frozen=True, slots=True)
class ScreeningResult:
    """A person's screening: `state` is what counts, a manager's decision before the marks."""

    user: str
    pseudonym: str
    answered: int
    size: int
    marks: tuple[ScreeningScores, ...]
    by_marks: str
    decision: ScreeningDecision | None = None

    @property
    def state(self) -> str:
        """Passed, failed, or open while they are still answering."""
        return self.decision.state if self.decision else self.by_marks


def screening_results(
    db: Connection, project: Project, phase: Phase, scheme: Scheme, *, only: str | None = None
) -> list[ScreeningResult]:
    """Return everyone's result by pseudonym, those who have not begun too; `only` one person's where named."""
    gold = {
        post: agreement.answer_labels(scheme, answers)
        for post, answers in phase_answers.gold_answers(db, phase.id).items()
    }
    wanted = pass_marks(phase.settings, scheme)
    given: dict[str, dict[str, Answers]] = {}
    for one in phase_answers.iter_answers(db, phase.id, annotator=only):
        given.setdefault(one.annotator, {})[one.post] = one.answers
    refused = {tally.annotator: tally.refused for tally in phase_answers.tallies_of(db, [phase.id])}
    decided = decisions(db, project, phase)
    names = agreement.pseudonyms(db, project)
    people = {member.user for member in members.of_project(db, project.id, role="annotator")} | set(given)
    people = people if only is None else people & {only}
    results = []
    for user in people:
        given_labels = {post: agreement.answer_labels(scheme, answers) for post, answers in given.get(user, {}).items()}
        marks = _marks(scheme, gold, given_labels, wanted)
        done = len(given_labels) + refused.get(user, 0)
        state = OPEN if done < phase.size or not marks else PASSED if all(it.reached for it in marks) else FAILED
        results.append(ScreeningResult(user, names.get(user, user), done, phase.size, marks, state, decided.get(user)))
    return sorted(results, key=lambda result: result.pseudonym)


def pass_marks(settings: Mapping[str, Any], scheme: Scheme) -> dict[str, float]:
    """Return the accuracy that a phase asks for on each question; all have one where it names none."""
    wanted = settings.get("pass") or {}
    if not wanted:
        return {}
    least = wanted.get("accuracy", 0.8)
    known = [question.name for question in scheme.questions]
    levels = level_marks(wanted.get("levels") or ())
    questions = (*(wanted.get("questions") or ([] if levels else known)), *levels)
    unknown = [name for name in questions if name not in known]
    if unknown or not isinstance(least, (int, float)) or not 0 < least <= 1:
        raise UserError(
            f"The pass mark {least!r} for {', '.join(questions)} can't be used. "
            f"Give an accuracy above 0 and up to 1, and questions of the scheme: {', '.join(known)}."
        )
    return dict.fromkeys(questions, float(least)) | levels


def decide(
    db: Connection, project: Project, phase: Phase, user_id: str, state: str, *, reason: str, by: str
) -> ScreeningDecision:
    """Let a manager say that a person passed or failed; the reason is kept."""
    reason = reason.strip()
    if state not in (PASSED, FAILED):
        raise UserError(f"A screening is {PASSED} or {FAILED}, not {state[:40]!r}.")
    if not 3 <= len(reason) <= 500:
        raise UserError("Give a reason of 3 to 500 characters, so that others can follow the decision.")
    if members.get(db, project.id, user_id) is None:
        raise UserError("This person is not in the project. Invite them first.", status=404)
    if phases.get(db, phase.id).project != project.id or not phase.behaviour.screens:
        raise UserError(f"Phase {phase.name!r} is no screening of this project.", status=404)
    events.record(db, by=by, what=DECIDED, about=about(phase), user=user_id, state=state, reason=reason)
    members.choose(db, project.id, user_id, screening=state)  # what `eligibility.may_work` goes by
    return ScreeningDecision(state, reason, by)


def decisions(db: Connection, project: Project, phase: Phase) -> dict[str, ScreeningDecision]:  # noqa: ARG001
    """Return the newest decision about each person."""
    by_person: dict[str, ScreeningDecision] = {}
    for event in events.latest(db, about=about(phase), limit=1_000):
        if event.what == DECIDED:
            user = str(event.details["user"])
            by_person.setdefault(
                user, ScreeningDecision(str(event.details["state"]), str(event.details["reason"]), event.by)
            )
    return by_person


def combine_scores(everyone: Sequence[Sequence[ScreeningScores]]) -> tuple[ScreeningScores, ...]:
    """Return the marks of many people as one: which classes are hard for all."""
    from davy.measure.intervals import proportion

    answered: dict[str, dict[str, dict[str, int]]] = {}
    for marks in everyone:
        for it in marks:
            classes = answered.setdefault(it.question, {})
            for each in it.classes:
                counts = classes.setdefault(each.label, {})
                for label, n in each.counts.items():
                    counts[label] = counts.get(label, 0) + n
    combined = []
    for question, classes in answered.items():
        parts = tuple(
            ClassScore(label, proportion("recall", counts.get(label, 0), sum(counts.values())), counts)
            for label, counts in classes.items()
        )
        right = sum(it.counts.get(it.label, 0) for it in parts)
        total = sum(sum(it.counts.values()) for it in parts)
        combined.append(ScreeningScores(question, proportion("accuracy", right, total), None, parts))
    return tuple(combined)


def about(phase: Phase) -> str:
    """Return what the events of a phase's screening are about."""
    return f"screening {phase.id}"


def _marks(
    scheme: Scheme,
    gold: Mapping[str, Mapping[str, str]],
    given_labels: Mapping[str, Mapping[str, str]],
    wanted: Mapping[str, float],
) -> tuple[ScreeningScores, ...]:
    """Return the marks on each question that gold settles."""
    from davy.measure.intervals import proportion

    scores = []
    for question in scheme.questions:
        pairs = [(truth[question.name], given_labels[post].get(question.name)) for post, truth in gold.items()
                 if question.name in truth and post in given_labels]  # fmt: skip
        if not pairs:
            continue
        right = sum(truth == given for truth, given in pairs)
        present = {truth for truth, _ in pairs}
        labels = [name for name in question.label_names if name in present]
        labels += sorted(present - set(labels))
        scores.append(
            ScreeningScores(
                question.name,
                proportion("accuracy", right, len(pairs)),
                wanted.get(question.name),
                tuple(_class(label, pairs) for label in labels),
            )
        )
    return tuple(scores)


def _class(label: str, pairs: Sequence[tuple[str, str | None]]) -> ClassScore:
    from davy.measure.intervals import proportion

    answered: dict[str, int] = {}
    for truth, given in pairs:
        if truth == label:
            answered[given or "–"] = answered.get(given or "–", 0) + 1
    total = sum(answered.values())
    return ClassScore(label, proportion("recall", answered.get(label, 0), total), answered)


class Feedback(NamedTuple):
    """What was said to one question, what is right, and whether they are the same."""

    given: tuple[str, ...]
    gold: tuple[str, ...]
    right: bool


def feedback_on(phase: Phase, item: Item, scheme: Scheme | None, answers: Answers) -> Mapping[str, Feedback] | None:
    """Return how answers compare with gold, by question; None where the phase or the item gives no feedback.

    Training gives it unless its settings say `feedback: false`; other phases never do.
    """
    if not phase.behaviour.feedback or item.gold is None or phase.settings.get("feedback") is False:
        return None
    completed = answers if scheme is None else scheme.completed(answers)
    return {
        name: Feedback(
            tuple(completed.get(name, ())), gold, _is_right(scheme, name, tuple(completed.get(name, ())), gold)
        )
        for name, gold in item.gold.items()
    }


def _is_right(scheme: Scheme | None, name: str, given: tuple[str, ...], gold: tuple[str, ...]) -> bool:
    """Return whether two answers are the same; marked words are, where half of what either marks is in both."""
    if scheme is not None and name in {q.name for q in scheme.questions} and scheme.question(name).marks_text:
        return overlap(given, gold) >= SAME_MARKS
    return set(given) == set(gold)
