"""People against the detector: a round has one target scorer and the entries written to fool it."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Round:
    """One round against one version of one scorer."""

    number: int
    target: str
    target_version: str
    opened_at: datetime
    closed_at: datetime | None = None

    @property
    def open(self) -> bool:
        """Whether people can still write entries."""
        return self.closed_at is None


@dataclass(frozen=True, slots=True)
class Entry:
    """One text that a person wrote, what they say it is, and what the target said.

    `confirmed` stays None until others have validated the label; `contrast_of`
    links a twin to the entry whose label it flips.
    """

    id: str
    round: int
    author: str
    text: str
    label: str
    predicted: str
    confirmed: bool | None = None
    type: str | None = None
    targets: tuple[str, ...] = ()
    contrast_of: str | None = None

    @property
    def fooled(self) -> bool:
        """Whether the target disagreed with the author's label."""
        return self.predicted != self.label

    @property
    def counts(self) -> bool:
        """Whether the entry fooled the target and people confirmed its label."""
        return self.fooled and self.confirmed is True
