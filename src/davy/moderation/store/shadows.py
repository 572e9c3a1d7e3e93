"""Where a shadow differs from the detector that answers: sums by hour, and a bounded number of single posts.

A model is named `name@version` here. Sums hold no text. A single difference has its text only where the operator
keeps texts; of each pair of models and question the newest `MOST_KEPT` stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, field
from datetime import datetime

from sqlalchemy import Connection, delete, func, select
from sqlalchemy.dialects import postgresql, sqlite

from davy.store.columns import new_id, now, table_index
from davy.store.rows import Rows

MOST_KEPT = 1_000
_KEY = ("hour", "model", "shadow", "question", "lang")
_SUMS = ("n", "both", "only_model", "only_shadow", "other", "distance")


@dataclass(slots=True)
class ShadowCount:
    """Sums of one hour; as returned by `totals`, of all hours, with `hour` the last one.

    Of n posts: both said yes, one alone did, or (where a question is not yes/no) the labels differ as `other`.
    """

    hour: datetime
    model: str
    shadow: str
    question: str
    lang: str
    n: int = 0
    both: int = 0
    only_model: int = 0
    only_shadow: int = 0
    other: int = 0
    distance: float = 0.0

    @property
    def differ(self) -> int:
        """Posts on which the two decided differently."""
        return self.only_model + self.only_shadow + self.other


@dataclass(frozen=True, slots=True)
class ShadowDifference:
    """One post on which the two decided one question differently; probabilities of yes where it is yes/no."""

    model: str
    shadow: str
    question: str
    lang: str | None
    label: str
    shadow_label: str
    probability: float | None = None
    shadow_probability: float | None = None
    text: str | None = None
    id: str = field(default_factory=new_id)
    at: datetime = field(default_factory=now)


_COUNTS = Rows(ShadowCount, "shadow_counts", key=_KEY)
shadow_counts = _COUNTS.table
_DIFFERENCES = Rows(
    ShadowDifference,
    "shadow_differences",
    table_index("ix_shadow_differences_models", "model", "shadow", "question", "id"),
)
shadow_differences = _DIFFERENCES.table


def add(db: Connection, counts: Iterable[ShadowCount], differences: Sequence[ShadowDifference] = ()) -> None:
    """Add sums to what is there, and single differences; the oldest of these beyond `MOST_KEPT` go."""
    make = sqlite.insert if db.dialect.name == "sqlite" else postgresql.insert
    for count in counts:
        made = make(shadow_counts).values(_COUNTS.values(count))
        sums = {name: shadow_counts.c[name] + made.excluded[name] for name in _SUMS}
        db.execute(made.on_conflict_do_update(index_elements=list(_KEY), set_=sums))
    _DIFFERENCES.insert_all(db, differences)
    columns = shadow_differences.c
    for model, shadow, question in {(it.model, it.shadow, it.question) for it in differences}:
        same = (columns.model == model, columns.shadow == shadow, columns.question == question)
        oldest = select(columns.id).where(*same).order_by(columns.id.desc()).offset(MOST_KEPT).limit(1)
        last = db.scalar(oldest)
        if last is not None:
            db.execute(delete(shadow_differences).where(*same, columns.id <= last))


def totals(db: Connection) -> list[ShadowCount]:
    """Return the sums over all hours, by pair of models, question and language."""
    columns = shadow_counts.c
    key = (columns.model, columns.shadow, columns.question, columns.lang)
    query = select(func.max(columns.hour, type_=columns.hour.type), *key, *(func.sum(columns[name]) for name in _SUMS))
    return [ShadowCount(*row) for row in db.execute(query.group_by(*key).order_by(*key))]


def list_differences(db: Connection, model: str, shadow: str, *, limit: int = 100) -> list[ShadowDifference]:
    """Return the newest differences of a pair of models."""
    query = _DIFFERENCES.select(shadow_differences.c.model == model, shadow_differences.c.shadow == shadow)
    return _DIFFERENCES.list(db, query.order_by(shadow_differences.c.id.desc()).limit(limit))


def key_of(count: ShadowCount) -> tuple[object, ...]:
    """Return what a count's sums are kept under."""
    return astuple(count)[: len(_KEY)]
