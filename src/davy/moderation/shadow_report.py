"""Where a shadow differs from the detector that answers: what servers counted in, one comparison a pair out.

Figures carry their n and an interval. Texts are in it only where the operator of the server kept them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from davy.measure.intervals import wilson
from davy.moderation.store import shadows
from davy.moderation.store.shadows import ShadowCount, ShadowDifference
from davy.store import Store


@dataclass(frozen=True, slots=True)
class ShadowRow:
    """One question in one language: how often the two decided differently, and how far apart they are on average."""

    question: str
    lang: str
    n: int
    both: int
    only_model: int
    only_shadow: int
    other: int
    share: float
    low: float
    high: float
    distance: float | None


@dataclass(frozen=True, slots=True)
class ShadowComparison:
    """A detector that answered, the shadow beside it, and how they compare; models are `name@version`."""

    model: str
    shadow: str
    rows: tuple[ShadowRow, ...]
    differences: tuple[ShadowDifference, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        found = [{**asdict(it), "at": it.at.isoformat()} for it in self.differences]
        return {
            "model": self.model,
            "shadow": self.shadow,
            "questions": [asdict(row) for row in self.rows],
            "differences": found,
        }


def compare_shadows(store: Store, *, differences: int = 0) -> list[ShadowComparison]:
    """Return what was counted, by pair of models, with the newest single differences of each."""
    with store.read() as db:
        pairs: dict[tuple[str, str], list[ShadowRow]] = {}
        for count in shadows.totals(db):
            pairs.setdefault((count.model, count.shadow), []).append(_row(count))
        return [
            ShadowComparison(
                *pair,
                tuple(rows),
                tuple(shadows.list_differences(db, *pair, limit=differences)) if differences else (),
            )
            for pair, rows in pairs.items()
        ]


def _row(count: ShadowCount) -> ShadowRow:
    low, high = wilson(count.differ, count.n)
    yes_or_no = count.other == 0
    return ShadowRow(
        count.question,
        count.lang,
        count.n,
        count.both,
        count.only_model,
        count.only_shadow,
        count.other,
        count.differ / count.n,
        low,
        high,
        count.distance / count.n if yes_or_no and (count.distance or count.both or count.differ == 0) else None,
    )
