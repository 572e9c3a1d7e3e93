"""The nouns: plain dataclasses with the rules that belong to them. No I/O, nothing of ours imported."""

from davy.core.annotation import BASES, FLAGS, Annotation, Verdict
from davy.core.errors import UserError
from davy.core.metric import Metric, Report
from davy.core.post import POST_COLUMNS, Post, Source
from davy.core.scheme import Guideline, Label, Question, Scheme, Wording
from davy.core.scorer import Abilities, NotANumber, Scorer, Scores, TrainableScorer

__all__ = [
    "BASES",
    "FLAGS",
    "POST_COLUMNS",
    "Abilities",
    "Annotation",
    "Guideline",
    "Label",
    "Metric",
    "NotANumber",
    "Post",
    "Question",
    "Report",
    "Scheme",
    "Scorer",
    "Scores",
    "Source",
    "TrainableScorer",
    "UserError",
    "Verdict",
    "Wording",
]
