"""The nouns: plain dataclasses with the rules that belong to them. No I/O, nothing of ours imported."""

from davy.annotation.project.phase_kind import PHASE_KINDS, PhaseKind
from davy.annotation.project.project import PROJECT_ROLES, Assignment, Item, Member, Phase, Project
from davy.core.annotation import BASES, FLAGS, Annotation, Verdict
from davy.core.errors import UserError
from davy.core.metric import Metric, Report
from davy.core.post import POST_COLUMNS, Post, Source
from davy.core.scheme import Guideline, Label, Question, Scheme, Wording
from davy.core.scorer import Abilities, NotANumber, Scorer, Scores, TrainableScorer
from davy.rounds.round import ENTRY_COLUMNS, Entry, EntryRules, Round, TargetPrediction
from davy.testing.suite import Case, Outcome, Suite

__all__ = [
    "BASES",
    "ENTRY_COLUMNS",
    "FLAGS",
    "PHASE_KINDS",
    "POST_COLUMNS",
    "PROJECT_ROLES",
    "Abilities",
    "Annotation",
    "Assignment",
    "Case",
    "Entry",
    "EntryRules",
    "Guideline",
    "Item",
    "Label",
    "Member",
    "Metric",
    "NotANumber",
    "Outcome",
    "Phase",
    "PhaseKind",
    "Post",
    "Project",
    "Question",
    "Report",
    "Round",
    "Scheme",
    "Scorer",
    "Scores",
    "Source",
    "Suite",
    "TargetPrediction",
    "TrainableScorer",
    "UserError",
    "Verdict",
    "Wording",
]
