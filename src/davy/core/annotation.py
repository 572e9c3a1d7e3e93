"""What people answered about a post, and what was settled.

An annotation never changes: a second thought is a second annotation that names
the first. A verdict says on what basis it was reached and from which answers.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

Answers = Mapping[str, tuple[str, ...]]
"""Question name → the parts of its answer, such as labels, or `start-end:label` for words of the text. How many it
has and what they are says the question's kind (`core.question_kind`)."""

FLAGS: tuple[str, ...] = ("unrealistic", "ambiguous", "other target", "unsure", "refused")

BASES: tuple[str, ...] = ("unanimous", "majority", "median", "expert", "consensus", "single", "published")
"""How a verdict was reached; `median` is the middle answer on a scale, and `published` means that a corpus came with
it and does not say."""


@dataclass(frozen=True, slots=True)
class Annotation:
    """One person's answers about one post under one version of a scheme and its guideline."""

    id: str
    post: str
    annotator: str
    scheme: str
    scheme_version: int
    guideline_version: int
    answers: Answers
    at: datetime
    seconds: float | None = None
    flags: tuple[str, ...] = ()
    comment: str | None = None
    replaces: str | None = None
    project: str | None = None
    phase: str | None = None

    def __post_init__(self) -> None:
        unknown = [flag for flag in self.flags if flag not in FLAGS]
        if unknown:
            raise ValueError(f"unknown flag {unknown[0]!r}; known: {', '.join(FLAGS)}")
        if self.refused and self.answers:
            raise ValueError("a refused post has no answers")
        if self.seconds is not None and self.seconds < 0:
            raise ValueError(f"seconds is {self.seconds}, below zero")

    @property
    def refused(self) -> bool:
        """Whether the person declined to answer; they never have to say why."""
        return "refused" in self.flags


@dataclass(frozen=True, slots=True)
class Verdict:
    """The settled answer to one question about one post."""

    post: str
    question: str
    labels: tuple[str, ...]
    basis: str
    annotations: tuple[str, ...] = ()
    reason: str | None = None

    def __post_init__(self) -> None:
        if self.basis not in BASES:
            raise ValueError(f"unknown basis {self.basis!r}; known: {', '.join(BASES)}")
        if self.basis in ("unanimous", "majority") and len(self.annotations) < 2:
            raise ValueError(f"a verdict by {self.basis} needs the annotations it rests on")
