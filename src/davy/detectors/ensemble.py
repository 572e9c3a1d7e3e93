"""Several detectors as one: the mean of their probabilities, a vote over their labels, or a quick one and a fallback.

`ensemble:mean:A+B+C` and `ensemble:vote:A+B+C` in, a scorer out. It answers the questions that all members answer, with
the same labels. A member that has no answer to a post is left out for that post. A fallback is asked about posts where
a yes/no question of the first detector came out near its threshold; it is opened when it is first needed. How much is
asked and what it gains is in `docs/detectors/models.md`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from davy.core.errors import UserError
from davy.core.scheme import Question
from davy.core.scorer import Abilities, Scorer, Scores
from davy.detectors import folder as folders
from davy.detectors.baselines import content_hash
from davy.detectors.cascade_screen import as_cascade
from davy.detectors.model_name import ModelName
from davy.detectors.training_text_index import calibrated_by_any, learnt_by_any

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    Array = np.ndarray[Any, np.dtype[Any]]


METHODS: tuple[str, ...] = ("mean", "vote")
TIE = 0.001
"""How much of a vote's score is the mean probability: enough to break a tie, too little to overrule a vote."""


@dataclass(frozen=True)
class Ensemble:
    """Asks all members about every post."""

    members: tuple[Scorer, ...]
    method: str
    questions: tuple[Question, ...]
    name: str

    @property
    def version(self) -> str:
        """A hash of the method and of the members' names and versions, in their order."""
        members = [[member.name, member.version] for member in self.members]
        return content_hash(self.questions, {"method": self.method, "members": members})

    @property
    def abilities(self) -> Abilities:
        """As many posts at once as suit the slowest member; images where a member looks at them."""
        each = [member.abilities for member in self.members]
        return Abilities(
            min(one.batch_size for one in each),
            explains=any(one.explains for one in each),
            images=any(one.images for one in each),
            learnt=learnt_by_any(self.members),
            calibrated=calibrated_by_any(self.members),
        )

    def score(self, posts: pl.DataFrame) -> Scores:
        """Return the members' joint scores."""
        import numpy as np

        parts = [member.score(posts) for member in self.members]
        blocks, thresholds, answered = {}, {}, {}
        for question in self.questions:
            answered_masks = [_answered(part, question.name, len(posts)) for part in parts]
            given = [_in_order(question, part) for part in parts]
            blocks[question.name] = _mean(given, answered_masks)
            if self.method == "vote":
                votes = _mean([_votes(question, part) for part in parts], answered_masks)
                blocks[question.name] = (1 - TIE) * votes + TIE * blocks[question.name]
            else:
                thresholds[question.name] = _threshold(question, parts, answered_masks)
            someone = np.any(answered_masks, axis=0)
            if not someone.all():
                answered[question.name] = someone
        return Scores(self.questions, blocks, thresholds, answered=answered)


def ensemble(asked: ModelName) -> Ensemble:
    """Return the ensemble that a name such as `ensemble:mean:A+B` describes."""
    from davy.detectors.load import load

    method, _, members = asked.argument.partition(":")
    names = [name.strip() for name in members.split("+")]
    if method not in METHODS or len(names) < 2 or not all(names):
        raise UserError(f"{asked.name!r} is no ensemble. Write ensemble:mean:A+B or ensemble:vote:A+B+C.")
    if any(name.startswith("ensemble:") for name in names):
        raise UserError(f"{asked.name!r} has an ensemble inside. Name its members instead.")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise UserError(f"{asked.name!r} names {twice!r} twice. Name each member once.")
    return combine([load(name, read=asked.read, images=asked.images) for name in names], method, asked.name)


def combine(members: Sequence[Scorer], method: str, name: str) -> Ensemble:
    """Return an ensemble of loaded scorers; they must share a question, with the same labels."""
    others = [{question.name: question for question in member.questions} for member in members[1:]]
    shared = []
    for question in members[0].questions:
        theirs = [other[question.name] for other in others if question.name in other]
        if len(theirs) < len(others):
            continue
        if any(set(it.label_names) != set(question.label_names) or it.kind != question.kind for it in theirs):
            raise UserError(
                f"{name!r}: the members' labels for {question.name!r} differ, so they can't be joined. "
                "Use members that follow one scheme."
            )
        shared.append(question)
    if not shared:
        each = "; ".join(f"{m.name} answers {', '.join(q.name for q in m.questions)}" for m in members)
        raise UserError(f"{name!r}: no question is answered by all members ({each}).")
    return Ensemble(tuple(members), method, tuple(shared), name)


def _answered(scores: Scores, name: str, n: int) -> Array:
    import numpy as np

    answered = scores.has_answer(scores.question(name))
    return np.ones(n, dtype=bool) if answered is None else answered


def _in_order(question: Question, scores: Scores) -> Array:
    """Return a member's probabilities with the columns in the ensemble's order of labels."""
    import numpy as np

    own = scores.question(question.name).label_names
    order = [own.index(name) for name in question.label_names]
    return np.asarray(scores.probabilities[question.name], dtype=np.float64)[:, order]


def _votes(question: Question, scores: Scores) -> Array:
    """Return 1 for each label that a member chose, at its own threshold."""
    import numpy as np

    chosen = scores.chosen(question.name)
    return np.array([[float(name in labels) for name in question.label_names] for labels in chosen]).reshape(
        len(chosen), len(question.labels)
    )


def _mean(blocks: Sequence[Array], answered_masks: Sequence[Array]) -> Array:
    """Return the mean over the members that have an answer; 0 where none has."""
    import numpy as np

    weights = np.stack(answered_masks).astype(np.float64)[..., None]
    return np.asarray((np.stack(blocks) * weights).sum(axis=0) / np.maximum(weights.sum(axis=0), 1))


def _threshold(question: Question, parts: Sequence[Scores], answered_masks: Sequence[Array]) -> Any:
    """Return the mean of the members' thresholds: one number where all have one, else one a post."""
    import numpy as np

    given: list[Any] = [part.thresholds.get(question.name, 0.5) for part in parts]
    if all(isinstance(it, float) for it in given) and all(mask.all() for mask in answered_masks):
        return float(np.mean(given))
    means = _mean([np.broadcast_to(it, len(answered_masks[0]))[:, None] for it in given], answered_masks)[:, 0]
    return np.where(np.any(answered_masks, axis=0), means, 0.5)


NEAR = 0.2
"""How far from its threshold a probability may be and still be unsure; all of the gain on dev is there by 0.3."""


@dataclass
class LazyScorer:
    """A saved detector whose network is opened when it is first asked."""

    folder: Path

    @cached_property
    def _manifest(self) -> folders.Manifest:
        return folders.read(self.folder)

    @cached_property
    def _opened(self) -> Scorer:
        from davy.detectors.load import open_folder

        return open_folder(self.folder)

    @property
    def name(self) -> str:
        """The detector's name."""
        return self._manifest.name

    @property
    def version(self) -> str:
        """The detector's version."""
        return self._manifest.version

    @property
    def questions(self) -> tuple[Question, ...]:
        """The detector's questions."""
        return self._manifest.questions

    @property
    def abilities(self) -> Abilities:
        """The detector's abilities."""
        return self._opened.abilities

    def score(self, posts: pl.DataFrame) -> Scores:
        """Return the detector's scores."""
        return self._opened.score(posts)


@dataclass(frozen=True)
class SecondOpinion:
    """Asks `first` about every post and `second` about those where a root question is `near` its threshold.

    Both answer the same questions with the same labels in the same order.
    """

    first: Scorer
    second: Scorer
    near: float = NEAR

    @property
    def name(self) -> str:
        """Both names."""
        return f"{self.first.name}, then {self.second.name}"

    @property
    def version(self) -> str:
        """A hash of both versions and of how near counts as unsure."""
        asked = [[scorer.name, scorer.version] for scorer in (self.first, self.second)]
        return content_hash((), {"asked": asked, "near": self.near})

    @property
    def questions(self) -> tuple[Question, ...]:
        """The first one's questions."""
        return self.first.questions

    @property
    def abilities(self) -> Abilities:
        """The first one's: it reads every post."""
        first = self.first.abilities
        cascade = None if first.cascade is None else self._cascade
        return Abilities(
            first.batch_size,
            first.cascaded,
            cascade,
            images=first.images,
            learnt=first.learnt,
            calibrated=first.calibrated,
        )

    def _cascade(self) -> SecondOpinion:
        return replace(self, first=as_cascade(self.first))

    def score(self, posts: pl.DataFrame) -> Scores:
        """Return the scores of each post by the one that was sure of it, or was asked last."""
        import numpy as np

        scores = self.first.score(posts)
        rows = np.flatnonzero(self._unsure(scores))
        if not len(rows):
            return scores
        again = self.second.score(posts[rows])
        blocks, thresholds = {}, {}
        for question in scores.questions:
            name = question.name
            assert question.label_names == again.question(name).label_names, name
            blocks[name] = np.array(scores.probabilities[name])
            blocks[name][rows] = again.probabilities[name]
            marks = np.array(np.broadcast_to(scores.thresholds.get(name, 0.5), len(posts)))
            marks[rows] = again.thresholds.get(name, 0.5)
            thresholds[name] = marks
        return replace(scores, probabilities=blocks, thresholds=thresholds)

    def _unsure(self, scores: Scores) -> Array:
        """Return where a yes/no question that is put to every post came out near its threshold, and was read."""
        import numpy as np

        read = np.ones(len(scores), dtype=bool) if scores.read is None else scores.read
        near = np.zeros(len(scores), dtype=bool)
        for question in scores.questions:
            if question.positive is None or question.under is not None:
                continue
            yes = scores.probabilities[question.name][:, question.label_names.index(question.positive)]
            near |= np.abs(yes - scores.thresholds.get(question.name, 0.5)) < self.near
        return read & near
