"""Challenges: their tasks, phases, data sets and boards. Teams and submissions have modules.

Labels of a hidden set are read by `gold` alone, which only scoring calls. What teams get is
`unlabelled`, and `labelled` refuses a set whose labels are hidden.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import (
    CheckConstraint,
    Column,
    Connection,
    ForeignKey,
    Integer,
    Table,
    UniqueConstraint,
    delete,
    insert,
    select,
    update,
)
from sqlalchemy.engine import Row

from davy.annotation.project.store import images
from davy.challenges.challenge import Challenge, ChallengeEntry, ChallengePhase, ChallengeTask
from davy.core.errors import UserError, nearest
from davy.store import events
from davy.store.columns import JsonColumn, TextColumn, TimeColumn, metadata, new_id, now, table_index
from davy.store.rows import Rows

_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,59}")
CHUNK = 2_000


@dataclass(frozen=True, slots=True)
class ChallengeData:
    """A data set of a challenge, without its posts."""

    name: str
    labels_public: bool
    """Whether teams download the labels; if not, they never leave the server."""
    size: int
    data_hash: str


@dataclass(frozen=True, slots=True)
class KeptBoard:
    """A board as it was computed last. `basis` is the hash of the submissions that it ranks."""

    phase: str
    task: str
    made_at: datetime
    basis: str
    content: Mapping[str, Any]


_ROWS = Rows(
    Challenge,
    "challenges",
    CheckConstraint("visibility IN ('world', 'accounts', 'people')", name="visibility"),
    left_out=("phases",),
)
challenges = _ROWS.table
_PHASES = Rows(
    ChallengePhase,
    "challenge_phases",
    UniqueConstraint("challenge", "name", name="uq_challenge_phases_name"),
    CheckConstraint("board IN ('public', 'teams', 'organisers')", name="board"),
    CheckConstraint("counts IN ('last', 'best')", name="counts"),
    references={"challenge": "challenges.id"},
)
challenge_phases = _PHASES.table
_DATA = Rows(
    ChallengeData,
    "challenge_data",
    Column("challenge", TextColumn, ForeignKey("challenges.id"), primary_key=True),
    Column("added_at", TimeColumn, nullable=False),
    key="name",
)
challenge_data = _DATA.table
challenge_entries = Table(
    "challenge_entries",
    metadata,
    Column("challenge", TextColumn, ForeignKey("challenges.id"), primary_key=True),
    Column("data", TextColumn, primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("entry", TextColumn, nullable=False),
    Column("text", TextColumn, nullable=False),
    Column("labels", JsonColumn),
    Column("image", TextColumn),
    table_index("ix_challenge_entries_entry", "entry"),
)
_BOARDS = Rows(KeptBoard, "challenge_boards", key=("phase", "task"), references={"phase": "challenge_phases.id"})
challenge_boards = _BOARDS.table


def create(
    db: Connection,
    *,
    id: str,
    title: str,
    visibility: str,
    tasks: Sequence[ChallengeTask],
    phases: Sequence[ChallengePhase],
    settings: Mapping[str, Any],
    by: str,
) -> Challenge:
    """Add a challenge with its tasks and phases and return it."""
    if not _ID.fullmatch(id):
        raise UserError(f"{id[:60]!r} can't name a challenge. Use a-z, 0-9 and hyphens, at most 60, such as edos-2.")
    if db.execute(select(challenges.c.id).where(challenges.c.id == id)).first():
        raise UserError(f"There is a challenge {id!r} already. Choose another name.", status=409)
    title = title.strip()
    if not title or len(title) > 200:
        raise UserError(f"A challenge's title has 1 to 200 characters, this one has {len(title)}.")
    _ROWS.insert(db, Challenge(id, title, visibility, tuple(tasks), (), settings, now(), by))
    for phase in phases:
        _PHASES.insert(db, replace(phase, id=new_id(), challenge=id))
    events.record(db, by=by, what="challenge created", about=f"challenge {id}")
    return get(db, id)


def get(db: Connection, challenge_id: str) -> Challenge:
    """Return the challenge with this id."""
    row = db.execute(_ROWS.select(challenges.c.id == challenge_id)).one_or_none()
    if row is None:
        names = list(db.scalars(select(challenges.c.id).order_by(challenges.c.id).limit(1000)))
        raise UserError(f"There is no challenge {challenge_id[:60]!r}.{nearest(challenge_id, names)}", status=404)
    return _challenge(db, row)


def list_challenges(db: Connection) -> list[Challenge]:
    """Return all challenges, newest first."""
    query = _ROWS.select().order_by(challenges.c.created_at.desc(), challenges.c.id)
    return [_challenge(db, row) for row in db.execute(query).all()]


def of_phase(db: Connection, phase_id: str) -> tuple[Challenge, ChallengePhase]:
    """Return a phase with its challenge."""
    row = db.execute(
        _ROWS.select(challenge_phases.c.id == phase_id).join(
            challenge_phases, challenge_phases.c.challenge == challenges.c.id
        )
    ).one_or_none()
    if row is None:
        raise UserError("There is no such phase.", status=404)
    challenge = _challenge(db, row)
    return challenge, next(phase for phase in challenge.phases if phase.id == phase_id)


def lock_phase(db: Connection, phase_id: str) -> None:
    """Hold a phase's row until the transaction ends, so that a freeze and a submission don't pass each other."""
    db.execute(select(challenge_phases.c.id).where(challenge_phases.c.id == phase_id).with_for_update())


def change_phase(db: Connection, phase: ChallengePhase, *, by: str, what: str) -> None:
    """Save a phase's windows, limits, board, embargo and freeze; `what` names the change in the record."""
    _PHASES.replace(db, phase, challenge_phases.c.id == phase.id)
    events.record(db, by=by, what=what, about=f"challenge {phase.challenge}", phase=phase.name)


def change_settings(db: Connection, challenge_id: str, *, by: str, title: str, visibility: str, **texts: Any) -> None:
    """Save a challenge's title, who sees it, and its texts."""
    kept = {**get(db, challenge_id).settings, **texts}
    _ROWS.update(db, challenges.c.id == challenge_id, title=title, visibility=visibility, settings=kept)
    events.record(db, by=by, what="challenge settings changed", about=f"challenge {challenge_id}")


# ---- data ---------------------------------------------------------------------------------------


def add_data(
    db: Connection,
    challenge_id: str,
    name: str,
    entries: Iterable[ChallengeEntry],
    *,
    labels_public: bool,
    data_hash: str,
) -> int:
    """Add a data set and return how many posts it has."""
    size = 0
    rows: list[dict[str, Any]] = []
    for size, entry in enumerate(entries, start=1):
        where = {"challenge": challenge_id, "data": name, "position": size - 1}
        kept = {"entry": entry.id, "text": entry.text, "labels": dict(entry.labels) or None, "image": entry.image}
        rows.append({**where, **kept})
        if len(rows) == CHUNK:
            db.execute(insert(challenge_entries), rows)
            rows = []
    if rows:
        db.execute(insert(challenge_entries), rows)
    _DATA.insert(db, ChallengeData(name, labels_public, size, data_hash), challenge=challenge_id, added_at=now())
    return size


def data_sets(db: Connection, challenge_id: str) -> dict[str, ChallengeData]:
    """Return a challenge's data sets by name."""
    query = _DATA.select(challenge_data.c.challenge == challenge_id).order_by(challenge_data.c.name)
    return {data.name: data for data in _DATA.list(db, query)}


def publish_labels(db: Connection, challenge_id: str, name: str, *, by: str) -> None:
    """Let teams download the labels of a set from now on."""
    own = (challenge_data.c.challenge == challenge_id, challenge_data.c.name == name)
    _DATA.update(db, *own, labels_public=True)
    events.record(db, by=by, what="challenge labels published", about=f"challenge {challenge_id}", data=name)


def unlabelled(db: Connection, challenge_id: str, name: str, task: str | None = None) -> Iterator[ChallengeEntry]:
    """Yield the posts of a set in order, without labels; of a task, only those that it asks about."""
    for row in _entry_rows(db, challenge_id, name):
        if task is None or task in (row.labels or {}):
            yield ChallengeEntry(row.entry, row.text, image=row.image)


def labelled(db: Connection, challenge_id: str, name: str) -> Iterator[ChallengeEntry]:
    """Yield the posts of a set with their labels; one whose labels are hidden is refused."""
    if not data_sets(db, challenge_id)[name].labels_public:
        raise UserError(f"The labels of {name!r} are hidden.", status=403)
    rows = _entry_rows(db, challenge_id, name)
    return (ChallengeEntry(row.entry, row.text, row.labels or {}, row.image) for row in rows)


def pictures(db: Connection, challenge_id: str) -> set[str]:
    """Return the keys of a challenge's pictures; one that was withdrawn or locked is not among them."""
    own = (challenge_entries.c.challenge == challenge_id, challenge_entries.c.image.is_not(None))
    return images.keys_of(db, None, set(db.scalars(select(challenge_entries.c.image).where(*own).distinct())))


def entry_ids(db: Connection, challenge_id: str, name: str, task: str) -> list[str]:
    """Return the ids that a task asks about in a set, in order: what a submission must answer."""
    return [row.entry for row in _entry_rows(db, challenge_id, name) if task in (row.labels or {})]


def gold(db: Connection, challenge_id: str, name: str, task: str) -> tuple[list[str], list[str]]:
    """Return the ids and labels of a task in a set, for scoring on this server; they must never leave it."""
    rows = [(row.entry, row.labels[task]) for row in _entry_rows(db, challenge_id, name) if task in (row.labels or {})]
    return [entry for entry, _ in rows], [label for _, label in rows]


def entry_texts(db: Connection, challenge_id: str, name: str) -> dict[str, str]:
    """Return the text of every entry of a set by its id, for organisers on this server."""
    return {row.entry: row.text or "" for row in _entry_rows(db, challenge_id, name)}


def _entry_rows(db: Connection, challenge_id: str, name: str) -> Iterator[Any]:
    entries = challenge_entries.c
    query = select(entries.entry, entries.text, entries.labels, entries.image)
    query = query.where(challenge_entries.c.challenge == challenge_id, challenge_entries.c.data == name)
    yield from db.execute(query.order_by(challenge_entries.c.position).execution_options(yield_per=CHUNK))


# ---- boards -------------------------------------------------------------------------------------


def save_board(db: Connection, phase_id: str, task: str, *, basis: str, content: Mapping[str, Any]) -> None:
    """Keep a board; it replaces the one before."""
    own = (challenge_boards.c.phase == phase_id, challenge_boards.c.task == task)
    db.execute(delete(challenge_boards).where(*own))
    _BOARDS.insert(db, KeptBoard(phase_id, task, now(), basis, content))


def find_board(db: Connection, phase_id: str, task: str) -> KeptBoard | None:
    """Return the board of a task in a phase as it was computed last, or None."""
    return _BOARDS.get(db, challenge_boards.c.phase == phase_id, challenge_boards.c.task == task)


def _challenge(db: Connection, row: Row[Any]) -> Challenge:
    query = _PHASES.select(challenge_phases.c.challenge == row.id).order_by(challenge_phases.c.position)
    return _ROWS.read(row, phases=tuple(_PHASES.list(db, query)))


def withdraw_posts(db: Connection, ids: Sequence[str], *, by: str) -> tuple[dict[str, int], set[str]]:
    """Empty these posts in all challenges; return how many there were, by table, and the pictures that nobody has."""
    done, named, entries = 0, set[str](), challenge_entries.c
    for start in range(0, len(ids), 500):
        own = (entries.entry.in_(ids[start : start + 500]), (entries.text != "") | entries.image.is_not(None))
        named |= {key for key in db.scalars(select(entries.image).where(*own)) if key}
        done += db.execute(update(challenge_entries).where(*own).values(text="", image=None)).rowcount
    if not done:
        return {}, set()
    events.record(db, by=by, what="challenge texts withdrawn", about="challenges", removed=done)
    kept = {key for key in named if db.scalar(select(entries.entry).where(entries.image == key).limit(1))}
    return {challenge_entries.name: done}, images.withdraw(db, None, named - kept, by=by)
