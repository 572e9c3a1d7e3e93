"""A figure with what it rests on: its n, its interval, its data and its model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

FEWEST = 30
"""A figure of fewer posts than these can be mostly chance: pages show it with a warning."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One figure. `low` and `high` bound it at `level`; without them, `note` says why there is no interval.

    `clusters` counts the groups of items (cases of one template) that the interval takes to stand or fall together;
    None where it takes every item for itself.
    """

    name: str
    value: float | None
    n: int
    low: float | None = None
    high: float | None = None
    level: float = 0.95
    note: str | None = None
    clusters: int | None = None

    def __post_init__(self) -> None:
        if self.n < 0:
            raise ValueError(f"{self.name}: n is {self.n}, below zero")
        if (self.low is None) != (self.high is None):
            raise ValueError(f"{self.name}: an interval needs both ends")
        if self.value is None and not self.note:
            raise ValueError(f"{self.name}: a missing value needs a note that says why")
        if self.value is not None and self.low is None and not self.note:
            raise ValueError(f"{self.name}: a value without an interval needs a note that says why")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"{self.name}: interval [{self.low}, {self.high}] is upside down")

    def to_dict(self, digits: int | None = None) -> dict[str, Any]:
        """Return the figure as every file and answer of ours holds it, rounded where `digits` says so."""
        numbers = {"value": self.value, "n": self.n, "low": self.low, "high": self.high}
        if digits is not None:
            numbers = {key: round(it, digits) if isinstance(it, float) else it for key, it in numbers.items()}
        groups = {} if self.clusters is None else {"clusters": self.clusters}
        return {"name": self.name, **numbers, "level": self.level, "note": self.note, **groups}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Metric:
        """Return what `to_dict` wrote; records of before it may lack `level` and `note`."""
        bounds = (record["low"], record["high"], record.get("level", 0.95))
        return cls(record["name"], record["value"], record["n"], *bounds, record.get("note"), record.get("clusters"))

    def __str__(self) -> str:
        if self.value is None:
            return f"{self.note} (n={self.n})"
        if self.low is None:
            return f"{self.value:.3f} (n={self.n})"
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}] (n={self.n})"


@dataclass(frozen=True, slots=True)
class Report:
    """Metrics that were computed together, from one data set and one model version."""

    title: str
    metrics: tuple[Metric, ...]
    data: str
    """Hash of the data that the figures were computed from."""
    model: str
    """Name and version of the scorer, or of the people, that was measured."""
    made_at: datetime
    seed: int | None = None
    settings: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Metric:
        for metric in self.metrics:
            if metric.name == name:
                return metric
        raise KeyError(name)
