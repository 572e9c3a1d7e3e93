"""Functional tests as data: a suite has cases, a run has an outcome for each."""

from collections.abc import Mapping
from dataclasses import dataclass, field

SETS: tuple[str, ...] = ("original", "identity", "polarity", "no emoji")


@dataclass(frozen=True, slots=True)
class Case:
    """One test. `pair` is the original that a perturbed case came from; `expected` a label of the suite's question."""

    id: str
    text: str
    functionality: str
    expected: str
    set: str = "original"
    target: str | None = None
    template: str | None = None
    pair: str | None = None
    meta: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a scorer said to a case; `applies` is False where the case does not count, with the reason in `note`."""

    case: str
    label: str | None
    probability: float | None
    correct: bool | None
    applies: bool = True
    note: str | None = None

    def __post_init__(self) -> None:
        if self.applies and (self.label is None or self.correct is None):
            raise ValueError(f"case {self.case!r} applies, so it needs a label and a judgement")
        if not self.applies and not self.note:
            raise ValueError(f"case {self.case!r} does not apply; say why in its note")


@dataclass(frozen=True, slots=True)
class Suite:
    """Cases that ask one question, with the version that their reports name."""

    name: str
    version: str
    question: str
    lang: str
    cases: tuple[Case, ...]

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for case in self.cases:
            if case.id in seen:
                raise ValueError(f"suite {self.name!r} has two cases with id {case.id!r}")
            seen.add(case.id)
