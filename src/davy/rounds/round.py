"""A round: people write texts to fool a target detector, others confirm the labels, and contrasts flip them.

A round belongs to a project and has one phase in it (kind `round`), where two other people label each entry. An entry
is one text with what its author says of it and what the targets said. Whether people confirmed it is never stored: it
follows from the verdict on its post. In bulk, entries are a frame with the columns of `ENTRY_COLUMNS`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

ROUND_STATES: tuple[str, ...] = ("open", "closing", "closed")
SETS: tuple[str, ...] = ("original", "contrast")
CHANGES: tuple[str, ...] = ("emoji", "text")
"""What a contrast changes: the emoji, the words fixed; or the words as little as possible, the emoji fixed."""

SUPPORTS: tuple[str, ...] = ("own", "seed", "news", "earlier", "proposal")
"""Where a text came from: one's own idea, a translated seed, a list of sentences, an earlier entry, the attacker."""

STRATEGIES: tuple[str, ...] = (
    "emoji for a group",
    "emoji for a verb",
    "emoji for a description",
    "emoji for letters",
    "emoji for a whole word",
    "emoji turns the tone",
    "friendly emoji after an attack",
    "irony or mockery",
    "implied",
    "spelling or spacing",
    "quoted or countered hate",
    "harmless use of a hateful emoji",
    "attack on a thing, not on people",
    "reclaimed words",
)
"""Ways to fool a detector that people named in the papers' rounds; an entry may name another one."""

ADVERSARIAL = "adversarial text: release terms apply"
"""The licence of such a post, which exports carry in every row; their data statement has the terms."""

PAIR_DROPPED = "its contrast was dropped"
"""The `dropped` of an original that leaves with its contrast. It is no drop of its own in the quality table."""

TAKEN_BACK = "taken back by its author"
"""The `dropped` of an entry that its author took back. The raw rate still counts it: the target was asked."""

ENTRY_COLUMNS: tuple[str, ...] = (
    "id",
    "text",
    "lang",
    "round",
    "set",
    "pair",
    "change",
    "author",
    "strategy",
    "seconds",
    "created_at",
    "model",
    "model.label",
    "model.probability",
    "labels",
    "reviewed",
    "dropped",
    "flags",
    "flips",
)
"""What a frame of entries has, before one column `Q.gold` for each question of the scheme.

`round` is the round's number. `pair` is the id of the original, its own for an original. `author` is a pseudonym.
`model` is the target as name@version, `model.probability` its probability of yes (of the author's label where the first
question is no yes/no). `labels` are the answers to the scheme's first question, the author's first, joined by a bar;
`flags` likewise. `reviewed` says whether an expert was asked. `dropped` is a reason or null, `PAIR_DROPPED` for an
original whose contrast was dropped. `flips` is null until both of a pair are settled, and for an original without a
contrast; else both rows of the pair have it.
"""


@dataclass(frozen=True, slots=True)
class EntryRules:
    """What an entry must be like. `languages` empty: any; lengths count characters."""

    needs_emoji: bool = True
    languages: tuple[str, ...] = ()
    shortest: int = 3
    longest: int = 280

    def __post_init__(self) -> None:
        if not 1 <= self.shortest <= self.longest:
            raise ValueError(f"an entry has {self.shortest} to {self.longest} characters; write 1 or more, then more")
        if self.longest > 5_000:
            raise ValueError(f"an entry has at most {self.longest} characters; the most that can be set is 5000")


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundGoals:
    """How many entries a round asks for; None is no goal."""

    goal_each: int | None = None
    """From each person."""
    goal_week: int | None = None
    """From each person in seven days."""
    goal_all: int | None = None
    """In all."""


GOALS: tuple[str, ...] = tuple(each.name for each in fields(RoundGoals))


@dataclass(frozen=True, slots=True)
class Round(RoundGoals):
    """One round. `targets` are detectors as name@version; the first is the one to fool, the others are shown beside."""

    id: str
    project: str
    number: int
    name: str
    phase: str
    """The phase of the project where its entries are validated."""
    targets: tuple[str, ...]
    rules: EntryRules = field(default_factory=EntryRules)
    state: str = "open"
    opened_at: datetime | None = None
    opened_by: str | None = None
    closed_at: datetime | None = None
    outcome: Mapping[str, Any] = field(default_factory=dict)
    """What closing it gave: tables, candidates, the winner. Empty until then."""
    question: str = "hate"
    """The question that targets are to get wrong: the first of the project's scheme."""

    def __post_init__(self) -> None:
        if self.state not in ROUND_STATES:
            raise ValueError(f"a round is {', '.join(ROUND_STATES)}, not {self.state!r}")
        if not self.targets:
            raise ValueError("a round needs a target: a detector as name@version")
        for goal in (getattr(self, name) for name in GOALS):
            if goal is not None and goal < 1:
                raise ValueError(f"a goal of {goal} entries is none; write 1 or more, or leave it out")


@dataclass(frozen=True, slots=True)
class TargetPrediction:
    """What one target said of an entry to the scheme's first question."""

    target: str
    """name@version"""
    label: str
    probability: float
    """Of yes where the question is a yes/no, else of the author's label."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One text of a round. `post` is the id of its post in the project, the same as its own."""

    id: str
    round: str
    post: str
    author: str
    label: str
    """The author's answer to the scheme's first question."""
    set: str = "original"
    change: str | None = None
    parent: str | None = None
    """The id of the original that a contrast belongs to."""
    strategy: str | None = None
    support: str = "own"
    predictions: tuple[TargetPrediction, ...] = ()
    fooled: bool = False
    """Whether the first target's label is not the author's: raw, before others confirm it."""
    confirmed: bool | None = None
    """Whether the settled label is the author's; None until it is settled."""
    settled: str | None = None
    """The settled label of the first question."""
    dropped: str | None = None
    seconds: float | None = None
    created_at: datetime | None = None

    @property
    def taken_back(self) -> bool:
        """Whether its author took it back."""
        return self.dropped == TAKEN_BACK

    def __post_init__(self) -> None:
        if self.set not in SETS:
            raise ValueError(f"an entry is {' or '.join(SETS)}, not {self.set!r}")
        if (self.set == "contrast") != (self.parent is not None) or (self.set == "contrast") != (
            self.change is not None
        ):
            raise ValueError("a contrast names its original and what it changes; an original has neither")
        if self.change is not None and self.change not in CHANGES:
            raise ValueError(f"a contrast changes {' or '.join(CHANGES)}, not {self.change!r}")
        if self.support not in SUPPORTS:
            raise ValueError(f"an entry comes from {', '.join(SUPPORTS)}, not {self.support!r}")
