"""What a scorer around another passes on unchanged: name, version and questions."""

from __future__ import annotations

from davy.core.scheme import Question
from davy.core.scorer import Scorer


class WrappingScorer:
    """Passes on what `scorer` is called and answers; a subclass changes what it changes, `version` with it."""

    scorer: Scorer

    @property
    def name(self) -> str:
        """The scorer's name."""
        return self.scorer.name

    @property
    def version(self) -> str:
        """The scorer's version."""
        return self.scorer.version

    @property
    def questions(self) -> tuple[Question, ...]:
        """The scorer's questions."""
        return self.scorer.questions
