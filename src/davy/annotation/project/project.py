"""A project: people answer a scheme's questions about posts, phase by phase.

A phase has items (a post each). A person holds an item for a while, answers it,
refuses it or lets it go. What a phase is for is its kind (`project.phase_kind`);
whether its answers enter the corpus is said by `in_corpus`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from davy.annotation.project.phase_kind import PHASE_KINDS, PhaseKind
from davy.core.annotation import Answers

PROJECT_ROLES: tuple[str, ...] = ("manager", "expert", "annotator", "wellbeing", "adversarial")
"""What a person may be in a project; several at once are fine. `adversarial`: attacker and exports of rounds."""


@dataclass(frozen=True, slots=True)
class Project:
    """One labelling project. `settings` is what its file says of adjudication, care, contacts and languages."""

    id: str
    title: str
    scheme: str
    scheme_version: int
    settings: Mapping[str, Any]
    state: str
    created_at: datetime
    created_by: str
    closed_at: datetime | None = None
    deleted_at: datetime | None = None
    """Since when nobody finds it; it can be restored for a day (`store.removal`)."""


@dataclass(frozen=True, slots=True)
class Member:
    """A person in a project. Others see the pseudonym; exports never carry more than that."""

    project: str
    user: str
    roles: tuple[str, ...]
    pseudonym: str
    pool: str | None = None
    choices: Mapping[str, Any] = field(default_factory=dict)
    """How this person wants to work: masked or plain, pictures blurred or not, breaks."""
    added_at: datetime | None = None
    consented_at: datetime | None = None
    read_until: datetime | None = None
    left_at: datetime | None = None

    def __post_init__(self) -> None:
        unknown = [role for role in self.roles if role not in PROJECT_ROLES]
        if unknown:
            raise ValueError(f"unknown role {unknown[0]!r}; known: {', '.join(PROJECT_ROLES)}")


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase. `answers` is how many people answer each post; None means everyone on the roster."""

    id: str
    project: str
    name: str
    kind: str
    position: int
    answers: int | None
    in_corpus: bool
    settings: Mapping[str, Any]
    state: str
    size: int = 0
    opened_at: datetime | None = None
    closed_at: datetime | None = None

    def __post_init__(self) -> None:
        if self.kind not in PHASE_KINDS:
            raise ValueError(f"unknown kind of phase {self.kind!r}; known: {', '.join(PHASE_KINDS)}")
        if self.answers is not None and self.answers < 1:
            raise ValueError(f"phase {self.name!r} asks for {self.answers} answers a post; it takes at least 1")

    @property
    def behaviour(self) -> PhaseKind:
        """What its kind needs, gives, shows and closes by."""
        return PHASE_KINDS[self.kind]


@dataclass(frozen=True, slots=True)
class Item:
    """A post in a phase. `given` counts its answers; `room` how many more people may take it now."""

    id: str
    phase: str
    post: str
    position: int
    given: int
    room: int
    state: str
    batch: str | None = None
    gold: Answers | None = None


@dataclass(frozen=True, slots=True)
class Assignment:
    """An item in one person's hands, or what became of it."""

    id: str
    item: str
    phase: str
    annotator: str
    state: str
    taken_at: datetime
    leased_until: datetime | None = None
    done_at: datetime | None = None
    annotation: str | None = None
