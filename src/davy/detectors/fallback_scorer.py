"""A quick detector that asks a slower, better one about the posts of which it is unsure.

Posts in, scores out: the first detector's, and the second's for posts where a yes/no
question of the first came out near its threshold. The second is opened when it is
first needed. How much is asked and what it gains is in `docs/detectors/models.md`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from davy.core.scheme import Question
from davy.core.scorer import Abilities, Scorer, Scores
from davy.detectors import folder as folders
from davy.detectors.baselines import content_hash
from davy.detectors.cascade_screen import as_cascade

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    Array = np.ndarray[Any, np.dtype[Any]]

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
