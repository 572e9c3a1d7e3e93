"""Functional tests as data: a suite has cases, a run has an outcome for each.

Three kinds of test, in CheckList's words: MFT (a case has one right label), INV
(a case must be judged as the one it was derived from), DIR (its score must move
in one direction from there).
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

SETS: tuple[str, ...] = ("original", "identity", "polarity", "no emoji")
TESTS: tuple[str, ...] = ("MFT", "INV", "DIR")
SAME = "same"
DISPUTED = "disputed"
"""In a case's `meta`: "yes" where the annotators who validated it disagreed, "no" where they did not."""
DIRECTIONS: tuple[str, ...] = ("higher", "lower", "not higher", "not lower")


@dataclass(frozen=True, slots=True)
class Case:
    """One test. `pair` is the original that a perturbed case came from.

    `expected` is a label of the suite's question for an MFT, `same` for an INV,
    a direction for a DIR. `fills` says what stands in each slot of the template.
    """

    id: str
    text: str
    functionality: str
    expected: str
    set: str = "original"
    target: str | None = None
    template: str | None = None
    pair: str | None = None
    meta: Mapping[str, str] = field(default_factory=dict)
    test: str = "MFT"
    fills: Mapping[str, str] = field(default_factory=dict)
    lang: str | None = None

    def __post_init__(self) -> None:
        if self.test not in TESTS:
            raise ValueError(f"case {self.id!r} has unknown test {self.test!r}; known: {', '.join(TESTS)}")
        if self.test == "INV" and self.expected != SAME:
            raise ValueError(f"case {self.id!r} is an INV, so it expects {SAME!r}")
        if self.test == "DIR" and self.expected not in DIRECTIONS:
            raise ValueError(f"case {self.id!r} is a DIR, so it expects one of {', '.join(DIRECTIONS)}")
        if self.test != "MFT" and self.pair is None:
            raise ValueError(f"case {self.id!r} is a {self.test}, so it needs the case it is compared with")


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
    """Cases that ask one yes/no question, with the version that their reports name.

    `links` joins each original to the perturbed cases that differ from it in one
    thing alone; `titles` says what functionalities are called; `missing` names what
    the suite's file holds but could not be made into cases.
    """

    name: str
    version: str
    question: str
    lang: str
    cases: tuple[Case, ...]
    labels: tuple[str, str] = ("hateful", "not hateful")
    """The yes and the no of the question."""
    title: str = ""
    titles: Mapping[str, str] = field(default_factory=dict)
    capabilities: Mapping[str, str] = field(default_factory=dict)
    """Functionality → the capability it belongs to (vocabulary, negation, fairness, …), where the suite says so."""
    links: tuple[tuple[str, str], ...] = ()
    missing: tuple[str, ...] = ()
    source: str = ""
    warning: str = ""
    validation: str = ""
    """Who has checked its labels, in a sentence; empty where nothing is known about it."""
    for_training: bool = True
    """False for shipped and published suites: a detector that learnt from them can't be measured by them."""
    hurtful: tuple[str, ...] = ()
    """Words of its lexicons that are masked wherever cases are shown, beside those that always are."""

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for case in self.cases:
            if case.id in seen:
                raise ValueError(f"suite {self.name!r} has two cases with id {case.id!r}")
            seen.add(case.id)
        for case in self.cases:
            if case.test != "MFT" and case.pair not in seen:
                raise ValueError(f"case {case.id!r} is compared with {case.pair!r}, which the suite lacks")

    @property
    def digest(self) -> str:
        """A short hash that changes whenever a case's text, expectation or place does."""
        made = hashlib.sha256(f"{self.question}\n{self.lang}\n".encode())
        for case in self.cases:
            parts = (case.id, case.text, case.expected, case.test, case.functionality, case.set, case.target or "")
            made.update("\x1f".join(parts).encode() + b"\n")
        return made.hexdigest()[:16]

    @property
    def functionalities(self) -> tuple[str, ...]:
        """The functionalities, in the order of their first case."""
        return tuple(dict.fromkeys(case.functionality for case in self.cases))

    @property
    def sets(self) -> tuple[str, ...]:
        """The sets that occur: the known ones in their order, then the others by first case."""
        found = dict.fromkeys(case.set for case in self.cases)
        return (*(name for name in SETS if name in found), *(name for name in found if name not in SETS))

    @property
    def targets(self) -> tuple[str, ...]:
        """The groups that cases are about, in order of name."""
        return tuple(sorted({case.target for case in self.cases if case.target}))

    def capability(self, case: Case) -> str:
        """Return the capability that a case tests, or what its functionality is called where none is named."""
        return self.capabilities.get(case.functionality) or self.titled(case.functionality)

    def titled(self, functionality: str) -> str:
        """Return what a functionality is called, or its name."""
        return self.titles.get(functionality, functionality)
