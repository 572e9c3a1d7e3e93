"""Whether rows of a file fit a project: its phases, its questions, its labels, and what the store can hold.

Labels are spelt as the scheme spells them. What does not fit is refused in one
line that says where in the file it stands, and never quotes a text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from davy.annotation.exchange.rows import AnsweredPost, GivenAnswer, moment
from davy.annotation.project.project import Phase, Project
from davy.core import Question, Scheme, UserError
from davy.core.annotation import Answers
from davy.text.words import snap_answer

MOST_NAME = 100
MOST_COMMENT = 5_000
MOST_TEXT = 100_000


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """Into which project rows go, and how. `phase` takes everything; without it each answer's own phase does."""

    project: Project
    scheme: Scheme
    phases: Mapping[str, Phase]
    phase: Phase | None = None
    prefix: str = ""
    posts_only: bool = False

    def phase_of(self, row: AnsweredPost, given: GivenAnswer | None) -> Phase:
        """Return the phase that an answer, or a post without one, goes into."""
        if self.phase is not None:
            return self.phase
        name = None if given is None else given.phase
        if name is None:
            if len(self.phases) == 1:
                return next(iter(self.phases.values()))
            raise UserError(f"{row.place} names no phase. Say which: --phase {next(iter(self.phases), 'NAME')}")
        if name not in self.phases:
            known = ", ".join(self.phases) or "none"
            raise UserError(f"{row.place}: the project has no phase {name[:40]!r}; it has {known}. Say which: --phase")
        return self.phases[name]


def fit_row(row: AnsweredPost, plan: ImportPlan) -> AnsweredPost:
    """Return a row with labels spelt as the scheme spells them; what does not fit is refused by its place."""
    if len(row.text or "") > MOST_TEXT:
        raise UserError(f"{row.place} has a text of {len(row.text or ''):,} characters; at most {MOST_TEXT:,}.")
    if not row.id or len(row.id) > 200:
        raise UserError(f"{row.place} has an id of {len(row.id)} characters; it takes 1 to 200.")
    for value in (row.id, row.text or "", *row.known.values()):
        _storable(value, row.place)
    moment(row.collected_at, row.place)
    parent = None if row.parent is None else plan.prefix + row.parent
    row = replace(row, id=plan.prefix + row.id, parent=parent)
    given = () if plan.posts_only else tuple(_fitted_answer(row, it, plan) for it in row.given)
    for it in given or (None,):
        plan.phase_of(row, it)
    settled = {}
    for name, verdict in row.settled.items():
        labels = _spelt(plan.scheme, {name: verdict.labels}, row.place).get(name)
        if labels is not None:
            settled[name] = replace(verdict, labels=labels)
            answers = {k: v.labels for k, v in settled.items()}
            _refuse(plan.scheme.faults(answers, text=row.text), row.place, verdict=True)
            settled[name] = replace(verdict, labels=_in_words(plan.scheme.question(name), row.text, labels))
    return replace(row, given=given, settled=settled)


def _in_words(question: Question, text: str | None, labels: tuple[str, ...]) -> tuple[str, ...]:
    """Return spans in whole words, as pages keep them; other answers, and spans of a text not at hand, stay."""
    return labels if not question.marks_text or text is None else snap_answer(question, text, labels)


def _storable(value: str, place: str) -> None:
    if "\0" in value:
        raise UserError(f"{place} has a NUL character (U+0000). Remove it and try again.")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise UserError(f"{place} has half of a surrogate pair, so it is not Unicode. Write the file again.") from None


def _fitted_answer(row: AnsweredPost, given: GivenAnswer, plan: ImportPlan) -> GivenAnswer:
    name = given.annotator.strip()
    if not name or len(name) > MOST_NAME or not name.isprintable():
        raise UserError(f"{row.place}: an annotator's name has 1 to {MOST_NAME} printable characters.")
    _storable(given.annotator, row.place)
    _storable(given.comment or "", row.place)
    if len(given.comment or "") > MOST_COMMENT:
        raise UserError(f"{row.place}: a comment has more than {MOST_COMMENT:,} characters.")
    answers = _spelt(plan.scheme, given.answers, row.place)
    if "refused" in given.flags and answers:
        raise UserError(f"{row.place}: a refused post has no answers.")
    if "refused" not in given.flags and not answers:
        raise UserError(f"{row.place}: {name!r} answers no question of scheme {plan.scheme.name!r}.")
    _refuse(plan.scheme.faults(answers, text=row.text), row.place)
    asked = {
        k: _in_words(plan.scheme.question(k), row.text, v)
        for k, v in answers.items()
        if plan.scheme.question(k).derived is None
    }
    return replace(given, annotator=name, answers=asked)


def _spelt(scheme: Scheme, answers: Answers, place: str) -> dict[str, tuple[str, ...]]:
    """Return answers in the scheme's own spelling; those that say "does not apply" are left out."""
    spelt: dict[str, tuple[str, ...]] = {}
    for name, labels in answers.items():
        try:
            question = scheme.question(name)
        except KeyError:
            asked = ", ".join(it.name for it in scheme.questions)
            raise UserError(
                f"{place}: scheme {scheme.name!r} has no question {name[:40]!r}; it asks {asked}."
            ) from None
        kept = []
        for label in labels:
            if label not in question.label_names and question.is_absent(label):
                continue
            try:
                kept.append(label if label in question.label_names else question.label(label).name)
            except KeyError:
                kept.append(label)
        if kept or not labels:
            spelt[name] = tuple(dict.fromkeys(kept))
    return spelt


def _refuse(faults: Sequence[str], place: str, *, verdict: bool = False) -> None:
    if faults and verdict:  # a verdict on one question may come without those above it
        faults = [line for line in faults if "applies only where" not in line and "belongs under" not in line]
    if faults:
        raise UserError(f"{place}: {faults[0]}")
