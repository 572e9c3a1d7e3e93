"""The detectors that the server knows: by name and version, where each one is, and whether it answers.

One version of a name is `active` and answers whoever asks for the name. A `shadow` version answers only
whoever asks for it as `name@version`; a `retired` one answers nobody. Weights are never here, only where
they are. A version's thresholds never change: other thresholds are added under another name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import CheckConstraint, Connection, UniqueConstraint

from davy.core.errors import UserError, nearest
from davy.store import events
from davy.store.columns import new_id, now, table_index
from davy.store.rows import Rows

STATES: tuple[str, ...] = ("active", "shadow", "retired")
LONGEST_NAME = 80


@dataclass(frozen=True, slots=True)
class RegisteredDetector:
    """One version of a detector. `source` is what `--model` would take: a folder's path or a model's name."""

    id: str
    name: str
    version: str
    source: str
    state: str
    is_default: bool
    questions: tuple[str, ...]
    thresholds: Mapping[str, float]
    data_hash: str | None
    added_at: datetime
    added_by: str

    @property
    def full_name(self) -> str:
        """The name that no other version has."""
        return f"{self.name}@{self.version}"


_ROWS = Rows(
    RegisteredDetector,
    "detectors",
    UniqueConstraint("name", "version", name="uq_detectors_version"),
    CheckConstraint("state IN ('active', 'shadow', 'retired')", name="state"),
    # One version of a name is active, and one detector at most is the default: the database holds both rules.
    table_index("uq_detectors_active", "name", where="state = 'active'", unique=True),
    table_index("uq_detectors_default", "is_default", where="is_default = 1", unique=True),
)
detectors = _ROWS.table


def add(
    db: Connection,
    *,
    name: str,
    version: str,
    source: str,
    questions: Sequence[str],
    by: str,
    thresholds: Mapping[str, float] | None = None,
    data_hash: str | None = None,
    state: str = "active",
) -> RegisteredDetector:
    """Add a version; as `active` it takes the place of the version that was, which is retired."""
    _check_name(name)
    earlier = _versions(db, name)
    if any(entry.version == version for entry in earlier):
        raise UserError(
            f"Detector {name}@{version} is known already. Activate it, or give it another name with --name.", status=409
        )
    if state == "active":
        _retire_active(db, earlier, by=by)
    entry = RegisteredDetector(
        new_id(), name, version, source, state, False, tuple(questions), dict(thresholds or {}), data_hash, now(), by
    )
    _ROWS.insert(db, entry)
    _record(db, entry, "added", by=by, state=state, source=source)
    if any(other.is_default for other in earlier) and state == "active":
        return set_default(db, entry.id, by=by)
    return entry


def set_state(db: Connection, detector_id: str, state: str, *, by: str) -> RegisteredDetector:
    """Make a version active, a shadow or retired; the default of the server stays with its name while one is active."""
    if state not in STATES:
        raise UserError(f"A detector is {', '.join(STATES)}, not {state!r}.")
    entry = get(db, detector_id)
    versions = _versions(db, entry.name)
    was_default = any(other.is_default for other in versions)
    if entry.state == state:
        return entry
    if state == "active":
        _retire_active(db, versions, by=by)
    _ROWS.update(db, detectors.c.id == entry.id, state=state, is_default=False)
    _record(db, entry, {"active": "activated", "shadow": "made a shadow", "retired": "retired"}[state], by=by)
    if was_default and state == "active":
        return set_default(db, entry.id, by=by)
    return get(db, entry.id)


def set_default(db: Connection, detector_id: str, *, by: str) -> RegisteredDetector:
    """Let an active version answer whoever names no detector."""
    entry = get(db, detector_id)
    if entry.state != "active":
        raise UserError(f"Detector {entry.full_name} is {entry.state}. Activate it first.", status=409)
    _ROWS.update(db, detectors.c.is_default == 1, is_default=False)
    _ROWS.update(db, detectors.c.id == entry.id, is_default=True)
    _record(db, entry, "made the default", by=by)
    return get(db, entry.id)


def get(db: Connection, detector_id: str) -> RegisteredDetector:
    """Return one version by its id."""
    entry = _ROWS.get(db, detectors.c.id == detector_id)
    if entry is None:
        raise UserError("There is no such detector.", status=404)
    return entry


def find(db: Connection, wanted: str) -> RegisteredDetector:
    """Return the version that `NAME` or `NAME@VERSION` means; a name alone is its active version, else its newest."""
    entries = list_detectors(db)
    exact = [entry for entry in entries if wanted == entry.full_name]
    named = [entry for entry in entries if wanted == entry.name]
    for entry in (*exact, *(e for e in named if e.state == "active"), *reversed(named)):
        return entry
    known = [entry.full_name for entry in entries]
    hint = nearest(wanted, known) or (f" Known: {', '.join(known)}." if known else " Add one: davy model add FOLDER")
    raise UserError(f"The server knows no detector {wanted!r}.{hint}", status=404)


def list_detectors(db: Connection) -> list[RegisteredDetector]:
    """Return every version, oldest first. One small read: servers ask every few seconds."""
    return _ROWS.list(db, _ROWS.select().order_by(detectors.c.id))


def _versions(db: Connection, name: str) -> list[RegisteredDetector]:
    """Return the versions of a name, locked until the transaction ends."""
    return _ROWS.list(db, _ROWS.select(detectors.c.name == name).order_by(detectors.c.id).with_for_update())


def _retire_active(db: Connection, versions: Sequence[RegisteredDetector], *, by: str) -> None:
    for entry in versions:
        if entry.state == "active":
            _ROWS.update(db, detectors.c.id == entry.id, state="retired", is_default=False)
            _record(db, entry, "retired", by=by)


def _check_name(name: str) -> None:
    if not name.strip() or len(name) > LONGEST_NAME or "@" in name or not name.isprintable():
        raise UserError(f"A detector's name has 1 to {LONGEST_NAME} characters and no @: {name[:100]!r} has not.")


def _record(db: Connection, entry: RegisteredDetector, what: str, *, by: str, **details: object) -> None:
    events.record(db, by=by, what=f"detector {what}", about=f"detector {entry.full_name}", **details)
