"""Challenges: their tasks, phases, data sets and boards. Teams and submissions have modules.

Labels of a hidden set are read by `gold` alone, which only scoring calls. What teams get is
`unlabelled`, and `labelled` refuses a set whose labels are hidden.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update
from sqlalchemy.engine import Row

from davy.core.challenge import Challenge, ChallengeEntry, ChallengePhase, ChallengeTask, TimeWindow
from davy.core.errors import UserError, nearest
from davy.store import events
from davy.store.challenge_tables import (
    challenge_boards,
    challenge_data,
    challenge_entries,
    challenge_phases,
    challenges,
)
from davy.store.columns import new_id, now

_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,59}")
CHUNK = 2_000


@dataclass(frozen=True, slots=True)
class ChallengeData:
    """A data set of a challenge, without its posts."""

    name: str
    labels_public: bool
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
    db.execute(
        insert(challenges).values(
            id=id,
            title=title,
            visibility=visibility,
            tasks=[asdict(task) for task in tasks],
            settings=dict(settings),
            created_at=now(),
            created_by=by,
        )
    )
    for phase in phases:
        values = {**_phase_values(phase), "id": new_id(), "challenge": id}
        db.execute(insert(challenge_phases).values(**values))
    events.record(db, by=by, what="challenge created", about=f"challenge {id}")
    return get(db, id)


def get(db: Connection, challenge_id: str) -> Challenge:
    """Return the challenge with this id."""
    row = db.execute(select(challenges).where(challenges.c.id == challenge_id)).one_or_none()
    if row is None:
        names = list(db.scalars(select(challenges.c.id).order_by(challenges.c.id).limit(1000)))
        raise UserError(f"There is no challenge {challenge_id[:60]!r}.{nearest(challenge_id, names)}", status=404)
    return _challenge(db, row)


def list_challenges(db: Connection) -> list[Challenge]:
    """Return all challenges, newest first."""
    query = select(challenges).order_by(challenges.c.created_at.desc(), challenges.c.id)
    return [_challenge(db, row) for row in db.execute(query).all()]


def of_phase(db: Connection, phase_id: str) -> tuple[Challenge, ChallengePhase]:
    """Return a phase with its challenge."""
    row = db.execute(
        select(challenges)
        .join(challenge_phases, challenge_phases.c.challenge == challenges.c.id)
        .where(challenge_phases.c.id == phase_id)
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
    db.execute(update(challenge_phases).where(challenge_phases.c.id == phase.id).values(**_phase_values(phase)))
    events.record(db, by=by, what=what, about=f"challenge {phase.challenge}", phase=phase.name)


def change_settings(db: Connection, challenge_id: str, *, by: str, title: str, visibility: str, **texts: Any) -> None:
    """Save a challenge's title, who sees it, and its texts."""
    kept = {**get(db, challenge_id).settings, **texts}
    values = {"title": title, "visibility": visibility, "settings": kept}
    db.execute(update(challenges).where(challenges.c.id == challenge_id).values(**values))
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
        rows.append({**where, "entry": entry.id, "text": entry.text, "labels": dict(entry.labels) or None})
        if len(rows) == CHUNK:
            db.execute(insert(challenge_entries), rows)
            rows = []
    if rows:
        db.execute(insert(challenge_entries), rows)
    about = {"size": size, "data_hash": data_hash, "added_at": now(), "labels_public": int(labels_public)}
    db.execute(insert(challenge_data).values(challenge=challenge_id, name=name, **about))
    return size


def data_sets(db: Connection, challenge_id: str) -> dict[str, ChallengeData]:
    """Return a challenge's data sets by name."""
    query = select(challenge_data).where(challenge_data.c.challenge == challenge_id).order_by(challenge_data.c.name)
    return {
        row.name: ChallengeData(row.name, bool(row.labels_public), row.size, row.data_hash) for row in db.execute(query)
    }


def publish_labels(db: Connection, challenge_id: str, name: str, *, by: str) -> None:
    """Let teams download the labels of a set from now on."""
    own = (challenge_data.c.challenge == challenge_id, challenge_data.c.name == name)
    db.execute(update(challenge_data).where(*own).values(labels_public=1))
    events.record(db, by=by, what="challenge labels published", about=f"challenge {challenge_id}", data=name)


def unlabelled(db: Connection, challenge_id: str, name: str, task: str | None = None) -> Iterator[tuple[str, str]]:
    """Yield (id, text) of a set in order; of a task, only the posts that it asks about."""
    for row in _entry_rows(db, challenge_id, name):
        if task is None or task in (row.labels or {}):
            yield row.entry, row.text


def labelled(db: Connection, challenge_id: str, name: str) -> Iterator[ChallengeEntry]:
    """Yield the posts of a set with their labels; one whose labels are hidden is refused."""
    if not data_sets(db, challenge_id)[name].labels_public:
        raise UserError(f"The labels of {name!r} are hidden.", status=403)
    return (ChallengeEntry(row.entry, row.text, row.labels or {}) for row in _entry_rows(db, challenge_id, name))


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
    query = select(challenge_entries.c.entry, challenge_entries.c.text, challenge_entries.c.labels)
    query = query.where(challenge_entries.c.challenge == challenge_id, challenge_entries.c.data == name)
    yield from db.execute(query.order_by(challenge_entries.c.position).execution_options(yield_per=CHUNK))


# ---- boards -------------------------------------------------------------------------------------


def save_board(db: Connection, phase_id: str, task: str, *, basis: str, content: Mapping[str, Any]) -> None:
    """Keep a board; it replaces the one before."""
    own = (challenge_boards.c.phase == phase_id, challenge_boards.c.task == task)
    db.execute(delete(challenge_boards).where(*own))
    made = {"made_at": now(), "basis": basis, "content": dict(content)}
    db.execute(insert(challenge_boards).values(phase=phase_id, task=task, **made))


def find_board(db: Connection, phase_id: str, task: str) -> KeptBoard | None:
    """Return the board of a task in a phase as it was computed last, or None."""
    own = (challenge_boards.c.phase == phase_id, challenge_boards.c.task == task)
    row = db.execute(select(challenge_boards).where(*own)).one_or_none()
    return None if row is None else KeptBoard(row.phase, row.task, row.made_at, row.basis, row.content)


def _challenge(db: Connection, row: Row[Any]) -> Challenge:
    query = select(challenge_phases).where(challenge_phases.c.challenge == row.id).order_by(challenge_phases.c.position)
    tasks = tuple(
        ChallengeTask(**{**task, "labels": tuple(task["labels"]), "after": tuple(task["after"])}) for task in row.tasks
    )
    phases = tuple(_phase(found) for found in db.execute(query))
    return Challenge(row.id, row.title, row.visibility, tasks, phases, row.settings, row.created_at, row.created_by)


def _phase(row: Row[Any]) -> ChallengePhase:
    windows = {
        task: TimeWindow(*(datetime.fromisoformat(moment) for moment in moments))
        for task, moments in row.windows.items()
    }
    return ChallengePhase(
        row.id,
        row.challenge,
        row.name,
        row.position,
        row.data,
        windows,
        row.limit,
        row.per_day,
        row.board,
        row.counts,
        bool(row.survey),
        bool(row.staggered),
        row.embargo,
        row.frozen_at,
    )


def _phase_values(phase: ChallengePhase) -> dict[str, Any]:
    names = ("name", "position", "data", "limit", "per_day", "board", "counts", "embargo", "frozen_at")
    windows = {task: [w.opens.isoformat(), w.closes.isoformat()] for task, w in phase.windows.items()}
    return {
        **{name: getattr(phase, name) for name in names},
        "windows": windows,
        "survey": int(phase.survey),
        "staggered": int(phase.staggered),
    }
