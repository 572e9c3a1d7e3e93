"""What a target said of an entry, in the words of the project's scheme.

Scores in, a `TargetPrediction` out. A target may spell its labels differently; a yes is the scheme's yes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from davy.core import Question
from davy.rounds.round import TargetPrediction
from davy.rounds.rules import EntryRefused

if TYPE_CHECKING:
    from davy.core import Scores


def target_prediction(
    target: str, scores: Scores, question: Question, label: str | None = None, row: int = 0
) -> TargetPrediction:
    """Return what a target said to a question about one post; `label` is the author's.

    The probability is of yes where the question is a yes/no, else of the author's label.
    """
    if question.name not in {asked.name for asked in scores.questions}:
        raise EntryRefused("question", name=target, question=question.name)
    chosen = scores.chosen(question.name)[row]
    theirs = scores.question(question.name)
    yes = scores.positive(question.name)
    if yes is not None and question.positive is not None and question.no is not None:
        predicted = question.positive if theirs.positive in chosen else question.no
        return TargetPrediction(target, predicted, round(float(yes[row]), 6))
    predicted = chosen[0] if chosen else ""
    wanted = label or predicted
    column = theirs.label_names.index(wanted) if wanted in theirs.label_names else None
    share = 0.0 if column is None else float(scores.probabilities[question.name][row, column])
    return TargetPrediction(target, predicted, round(share, 6))
