"""The funnel: how many posts came to each step, how many it dropped and changed, how many went on.

Rows add up: what one step lets through is what comes to the next. The same
figures are a table, JSON and a picture.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from davy.report.tables import Table
    from davy.report.theme import Plot


@dataclass(frozen=True, slots=True)
class FunnelRow:
    """What one step did."""

    step: str
    parameters: Mapping[str, Any]
    came: int
    dropped: int
    changed: int

    @property
    def left(self) -> int:
        """How many posts went on."""
        return self.came - self.dropped

    @property
    def shown(self) -> str:
        """The step as people read it: its name, and the parameters that are not too long."""
        called = self.parameters.get("called")
        if called:
            return f"{self.step} ({called})"
        listed = ", ".join(_parameter_text(name, value) for name, value in self.parameters.items())
        return f"{self.step} ({listed})" if listed and len(listed) <= 40 else self.step


@dataclass(frozen=True, slots=True)
class Funnel:
    """What a recipe did, step by step."""

    recipe: str
    version: str
    digest: str
    rows: tuple[FunnelRow, ...]
    seconds: float = 0.0

    def __post_init__(self) -> None:
        for before, after in zip(self.rows, self.rows[1:], strict=False):
            if before.left != after.came:
                raise ValueError(f"{before.step} left {before.left} posts, {after.step} got {after.came}")

    @property
    def came(self) -> int:
        """How many posts came in."""
        return self.rows[0].came

    @property
    def left(self) -> int:
        """How many posts are left at the end."""
        return self.rows[-1].left

    def table(self) -> Table:
        """Return the funnel as a table, a line for each step and one for all."""
        from davy.report.tables import Column, Table

        columns = [Column("step"), *(Column(name, "count") for name in ("came", "dropped", "changed", "left"))]
        rows: list[list[Any]] = [[row.shown, row.came, row.dropped, row.changed, row.left] for row in self.rows]
        rows.append(["all", self.came, self.came - self.left, None, self.left])
        return Table.of(columns, rows, title=f"Recipe {self.recipe} {self.version}")

    def to_dict(self) -> dict[str, Any]:
        """Return the funnel as plain values."""
        steps = [
            {
                "step": row.step,
                "parameters": dict(row.parameters),
                "in": row.came,
                "dropped": row.dropped,
                "changed": row.changed,
                "out": row.left,
            }
            for row in self.rows
        ]
        values = {"recipe": self.recipe, "version": self.version, "digest": self.digest}
        return {**values, "in": self.came, "out": self.left, "seconds": round(self.seconds, 3), "steps": steps}

    def plot(self) -> Plot:
        """Return the funnel as a picture: what is left after each step."""
        from davy.report.plots import funnel

        steps = [("in", self.came)]
        for place, row in enumerate(self.rows, 1):
            steps.append((f"{place}. {row.shown}", row.left))
        return funnel(steps, title=f"Recipe {self.recipe} {self.version}: {self.came:,} → {self.left:,} posts")


def _parameter_text(name: str, value: Any) -> str:
    words = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return words if name in ("with", "of", "languages") else f"{name} {words}"
