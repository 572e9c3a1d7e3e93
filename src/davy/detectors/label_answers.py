"""A classifier whose labels answer a question of ours: `identity_hate` is the yes of `hate`.

A scorer and a table of question → label in, a scorer out. Classifiers from the hub have labels of their own, which no
scheme knows; said once which label means what, they can be measured beside ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from davy import schemes
from davy.core.errors import UserError, nearest
from davy.core.scheme import Label, Question
from davy.core.scorer import Abilities, Scorer, Scores
from davy.detectors.baselines import content_hash

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class LabelAnswers:
    """Asks `scorer`; `sources` has for each question the scorer's question and the labels that are its yes."""

    scorer: Scorer
    questions: tuple[Question, ...]
    sources: Mapping[str, tuple[str, tuple[str, ...]]]

    @property
    def name(self) -> str:
        """The scorer's name."""
        return self.scorer.name

    @property
    def version(self) -> str:
        """A hash of the scorer's version and of the table."""
        return content_hash(self.questions, {"scorer": self.scorer.version, "sources": dict(self.sources)})

    @property
    def abilities(self) -> Abilities:
        """The scorer's, less its screen, which knows nothing of these questions."""
        known = self.scorer.abilities
        return Abilities(
            known.batch_size,
            language_of=known.language_of,
            explains=known.explains,
            images=known.images,
            learnt=known.learnt,
            calibrated=known.calibrated,
        )

    def score(self, posts: pl.DataFrame) -> Scores:
        """Return the probability of yes: the likeliest label's where several may be true, their sum where one is."""
        import numpy as np

        scores = self.scorer.score(posts)
        blocks: dict[str, Any] = {}
        thresholds, answered = {}, {}
        for question in self.questions:
            source, labels = self.sources[question.name]
            given = scores.question(source)
            columns = scores.probabilities[source][:, [given.label_names.index(label) for label in labels]]
            chance = columns.max(axis=1) if given.multilabel else np.minimum(columns.sum(axis=1), 1.0)
            yes = question.label_names.index(str(question.positive))
            blocks[question.name] = np.zeros((len(posts), 2))
            blocks[question.name][:, yes], blocks[question.name][:, 1 - yes] = chance, 1 - chance
            thresholds[question.name] = scores.thresholds.get(source, 0.5)
            mask = scores.has_answer(given)
            if mask is not None:
                answered[question.name] = mask
        return Scores(self.questions, blocks, thresholds, answered=answered)


def answer_by_labels(scorer: Scorer, answers: Mapping[str, str | Sequence[str]]) -> LabelAnswers:
    """Return the scorer with yes/no questions that its labels answer; a label that it does not have is an error."""
    sources, questions = {}, []
    for name, given in answers.items():
        question = _question(name)
        labels = (given,) if isinstance(given, str) else tuple(given)
        labels = labels or _spelt(scorer, question)
        sources[name] = (_source(scorer, labels), labels)
        questions.append(question)
    return LabelAnswers(scorer, tuple(questions), sources)


def parse_answers(text: str) -> dict[str, tuple[str, ...]]:
    """Return question → labels of `QUESTION=LABEL,QUESTION=LABEL`; a question that is named twice takes either label.

    A question without a label has none yet: `answer_by_labels` finds it by its spelling.
    """
    answers: dict[str, tuple[str, ...]] = {}
    for entry in text.split(","):
        name, equals, label = (part.strip() for part in entry.partition("="))
        if not name or (equals and not label):
            raise UserError(f"{text!r} does not say which label answers what. Write QUESTION=LABEL,QUESTION=LABEL.")
        answers[name] = (*answers.get(name, ()), *([label] if label else ()))
    return answers


def _spelt(scorer: Scorer, question: Question) -> tuple[str, ...]:
    """Return the scorer's labels that spell the yes of a question."""
    spellings = []
    for label in (label for own in scorer.questions for label in own.label_names):
        try:
            spellings += [label] if question.label(label).name == question.positive else []
        except KeyError:
            continue
    if not spellings:
        known = [label for own in scorer.questions for label in own.label_names]
        raise UserError(
            f"None of {scorer.name}'s labels ({', '.join(known)}) is a spelling of {str(question.positive)!r}. "
            f"Say which means it: @{question.name}={known[-1]}"
        )
    return tuple(spellings)


def _source(scorer: Scorer, labels: tuple[str, ...]) -> str:
    for question in scorer.questions:
        if labels and set(labels) <= set(question.label_names):
            return question.name
    known = [label for question in scorer.questions for label in question.label_names]
    unknown = next((label for label in labels if label not in known), "")
    raise UserError(
        f"{scorer.name} has no label {unknown!r}; it has {', '.join(known)}.{nearest(unknown, known)}"
        if unknown
        else f"{', '.join(labels)} answer different questions of {scorer.name}. Give labels of one question."
    )


def _question(name: str) -> Question:
    """Return the yes/no question of that name in a scheme that ships, or a plain one with the labels no and yes."""
    for scheme in schemes.names():
        for question in schemes.load(scheme).questions:
            if question.name == name and question.positive is not None and len(question.labels) == 2:
                return Question(name, question.labels, positive=question.positive)
    return Question(name, (Label("no"), Label("yes")), positive="yes")
