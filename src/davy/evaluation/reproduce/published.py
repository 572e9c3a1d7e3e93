"""What a paper's table says: figures by row, task and name, with the table as their source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from davy.files.yaml_nodes import load_shipped


@dataclass(frozen=True, slots=True)
class PublishedFigures:
    """One table. `figures[row][task][name]` is a figure; `what` says in words what a row is."""

    cite: str
    table: str
    split: str
    digits: int
    """How many digits the paper prints."""
    what: Mapping[str, str]
    figures: Mapping[str, Mapping[str, Mapping[str, float]]]

    @property
    def source(self) -> str:
        """The paper and its table."""
        return f"{self.cite}, {self.table}"

    def figure(self, row: str | None, task: str, name: str) -> float | None:
        """Return a published figure, or None where the table has none."""
        return self.figures.get(row or "", {}).get(task, {}).get(name)


def load_published(paper: str) -> PublishedFigures:
    """Return the table of a paper that `davy reproduce` sets ours beside."""
    raw = load_shipped("davy.evaluation.reproduce", "published.yaml")[paper]
    what = {row: str(entry.pop("what")) for row, entry in raw["rows"].items()}
    return PublishedFigures(raw["cite"], raw["table"], raw["split"], raw["digits"], what, raw["rows"])
