"""Entries in the store: what people wrote in a round, and what became of each.

An entry is a post of the project by its author, an item of the round's phase, and the author's answers as the first
annotation of that item; all are written together. Whether it is settled, confirmed or dropped is read from the
verdicts and cases of the phase, never kept twice.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    CheckConstraint,
    Column,
    Connection,
    ForeignKey,
    Select,
    Table,
    UniqueConstraint,
    and_,
    case,
    delete,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.engine import Row
from sqlalchemy.exc import IntegrityError

from davy.annotation.labelling.store import annotations
from davy.annotation.labelling.store.tables import cases, verdicts
from davy.annotation.project.store import phases, posts
from davy.annotation.project.store.member_data import show_post_ids
from davy.annotation.project.store.tables import items
from davy.annotation.project.store.tables import posts as post_table
from davy.annotation.settling.store import cases as case_store
from davy.core import Annotation, Post, Scheme, Source, UserError
from davy.core.annotation import Answers
from davy.people.store.personal_data import plain_rows
from davy.rounds.round import ADVERSARIAL, PAIR_DROPPED, TAKEN_BACK, Entry, Round
from davy.rounds.store.rounds import rounds
from davy.store import events
from davy.store.columns import TextColumn, TimeColumn, metadata, new_id, now, table_index
from davy.store.rows import Rows

WEEK = timedelta(days=7)

_ROWS = Rows(
    Entry,
    "entries",
    Column("post", TextColumn, ForeignKey("posts.id"), nullable=False, unique=True),  # the key of its post
    Column("created_at", TimeColumn, nullable=False),
    Column("project", TextColumn, nullable=False),
    Column("key", TextColumn, nullable=False),  # the same for texts that differ only in case and white space
    UniqueConstraint("project", "key", name="uq_entries_key"),
    CheckConstraint("\"set\" IN ('original', 'contrast')", name="set"),
    CheckConstraint("change IN ('emoji', 'text')", name="change"),
    table_index("ix_entries_round", "round", "id"),
    table_index("ix_entries_author", "author", "round", "id"),
    table_index("uq_entries_parent", "parent", where="parent IS NOT NULL", unique=True),  # one contrast an original
    references={"round": "rounds.id"},
    left_out=("confirmed", "settled"),
)
entries = _ROWS.table
"""`dropped` is one that no expert's case says: when its round was closed."""

entry_bands = Table(
    "entry_bands",
    metadata,
    Column("project", TextColumn, primary_key=True),
    Column("band", TextColumn, primary_key=True),
    Column("entry", TextColumn, ForeignKey("entries.id"), primary_key=True),
    table_index("ix_entry_bands_entry", "entry"),
)
"""Texts that share a band are compared word by word before a new entry counts."""


@dataclass(frozen=True, slots=True)
class EntryText:
    """An entry with its text and language, as pages and frames need it."""

    entry: Entry
    key: str
    """The key of its post: what annotations and verdicts point at."""
    item: str
    text: str
    lang: str | None
    state: str
    """Of its item: open, full, settled or dropped."""


def add(
    db: Connection,
    round_: Round,
    entry: Entry,
    scheme: Scheme,
    answers: Answers,
    *,
    text: str,
    lang: str | None,
    key: str,
    bands: Iterable[str],
    guideline_version: int = 0,
    derived_from: str | None = None,
) -> Entry:
    """Add an entry with its post, its item and its author's answers, and return it.

    `key` and `bands` are those of `text.near_keys`. `derived_from` is the id of the post that it began from; a
    contrast's is its original.
    """
    at = now()
    post = Post(
        entry.id,
        text,
        lang,
        source=Source(f"round {round_.number}", licence=ADVERSARIAL, collected_at=at),
        parent=entry.parent or derived_from,
        meta={"author": entry.author, "round": round_.number},
    )
    post_key = posts.add(db, post, project=round_.project, by=entry.author)
    _add_item(db, round_, post_key)
    annotations.write(
        db,
        Annotation(
            new_id(),
            post_key,
            entry.author,
            scheme.name,
            scheme.version,
            guideline_version,
            answers,
            at,
            seconds=entry.seconds,
            project=round_.project,
            phase=round_.phase,
        ),
    )
    try:
        _ROWS.insert(db, entry, post=post_key, project=round_.project, key=key, created_at=at)
    except IntegrityError:  # somebody sent the same at the same moment
        raise UserError("Somebody entered the same text a moment ago. Write another one.", status=409) from None
    distinct = dict.fromkeys(bands)
    db.execute(insert(entry_bands), [{"project": round_.project, "band": it, "entry": entry.id} for it in distinct])
    return find(db, round_.project, entry.id) or entry


def _add_item(db: Connection, round_: Round, post_key: str) -> None:
    """Add the item of an entry: its author's answer is given, and the others may take it."""
    phase = phases.lock(db, round_.phase)
    state = db.scalar(select(rounds.c.state).where(rounds.c.id == round_.id))
    if (state, phase.state) != ("open", "open"):
        raise UserError(f"Round {round_.number} takes no more entries: it was closed a moment ago.", status=409)
    last = db.scalar(select(func.max(items.c.position)).where(items.c.phase == phase.id))
    db.execute(
        insert(items).values(
            id=new_id(),
            phase=phase.id,
            post=post_key,
            position=0 if last is None else int(last) + 1,
            given=1,
            room=_room(phase.answers),
            state="open",
        )
    )
    phases.grow(db, phase.id, 1)


def find(db: Connection, project_id: str, entry_id: str) -> Entry | None:
    """Return a project's entry by its id, or None."""
    found = find_text(db, project_id, entry_id)
    return None if found is None else found.entry


def find_text(db: Connection, project_id: str, entry_id: str) -> EntryText | None:
    """Return a project's entry with its text by its id, or None."""
    rows = _read(db, _query().where(entries.c.id == entry_id, entries.c.project == project_id))
    return rows[0] if rows else None


def get_text(db: Connection, project_id: str, entry_id: str) -> EntryText:
    """Return a project's entry with its text by its id."""
    found = find_text(db, project_id, entry_id)
    if found is None:
        raise UserError("There is no such entry in this project.", status=404)
    return found


def of_round(db: Connection, round_id: str, *, author: str | None = None, newest: int | None = None) -> list[EntryText]:
    """Return a round's entries in the order in which they were written, or the newest so many, newest first."""
    query = _query().where(entries.c.round == round_id)
    query = query if author is None else query.where(entries.c.author == author)
    if newest is not None:
        return _read(db, query.order_by(entries.c.id.desc()).limit(newest))
    return _read(db, query.order_by(entries.c.id))


def to_contrast(db: Connection, round_id: str, *, limit: int = 50) -> list[EntryText]:
    """Return settled originals of a round that have no contrast yet, longest settled first."""
    other = entries.alias("other")
    free = ~select(other.c.id).where(other.c.parent == entries.c.id).exists()
    query = _query().where(entries.c.round == round_id, entries.c.set == "original", items.c.state == "settled", free)
    return _read(db, query.where(entries.c.dropped.is_(None)).order_by(entries.c.id).limit(limit))


def contrast_of(db: Connection, project_id: str, original_id: str) -> EntryText | None:
    """Return the contrast of an original, or None."""
    rows = _read(db, _query().where(entries.c.parent == original_id, entries.c.project == project_id))
    return rows[0] if rows else None


def equal_entry(db: Connection, project_id: str, key: str) -> str | None:
    """Return the id of the entry with the same words, or None."""
    return db.scalar(select(entries.c.id).where(entries.c.project == project_id, entries.c.key == key))


def near_texts(db: Connection, project_id: str, bands: Sequence[str], *, limit: int = 50) -> dict[str, str]:
    """Return id → text of the project's entries that share a band."""
    query = (
        select(entries.c.id, post_table.c.text)
        .join(entry_bands, entry_bands.c.entry == entries.c.id)
        .join(post_table, post_table.c.id == entries.c.post)
        .where(entry_bands.c.project == project_id, entry_bands.c.band.in_(list(bands)))
        .distinct()
        .limit(limit)
    )
    return {row.id: row.text or "" for row in db.execute(query)}


@dataclass(frozen=True, slots=True)
class AuthorCount:
    """What one person did in a round."""

    author: str
    entries: int
    originals: int
    fooled: int
    """Originals that fooled the target, before others confirm them."""
    seconds: float | None
    last_at: datetime | None
    week: int = 0
    """Originals of the last seven days."""


def count_authors(db: Connection, round_id: str, *, author: str | None = None) -> list[AuthorCount]:
    """Return what each person did in a round, or one of them, by the account's id; never by their success."""
    original = func.sum(case((entries.c.set == "original", 1), else_=0))
    fooled = func.sum(case((entries.c.set == "original", entries.c.fooled), else_=0))
    recent = and_(entries.c.set == "original", entries.c.created_at >= now() - WEEK)
    query = (
        select(
            entries.c.author,
            func.count(),
            original,
            fooled,
            func.avg(entries.c.seconds),
            func.max(entries.c.created_at, type_=entries.c.created_at.type),
            func.sum(case((recent, 1), else_=0)),
        )
        .where(entries.c.round == round_id)
        .group_by(entries.c.author)
        .order_by(entries.c.author)
    )
    query = query if author is None else query.where(entries.c.author == author)
    return [
        AuthorCount(author, n, int(originals), int(hits), None if seconds is None else float(seconds), last, int(week))
        for author, n, originals, hits, seconds, last, week in db.execute(query)
    ]


def count_states(db: Connection, round_id: str) -> dict[tuple[str, str], int]:
    """Return how many entries a round has, by set and by the state of their item: open, full, settled, dropped."""
    query = (
        select(entries.c.set, items.c.state, func.count())
        .join(rounds, rounds.c.id == entries.c.round)
        .join(items, and_(items.c.post == entries.c.post, items.c.phase == rounds.c.phase))
        .where(entries.c.round == round_id)
        .group_by(entries.c.set, items.c.state)
    )
    return {(which, state): int(n) for which, state, n in db.execute(query)}


def strategies_of(db: Connection, round_id: str, author: str) -> set[str]:
    """Return the strategies that a person named in a round."""
    query = select(entries.c.strategy).where(entries.c.round == round_id, entries.c.author == author).distinct()
    return {strategy for strategy in db.scalars(query) if strategy}


def drop(db: Connection, round_: Round, ids: Sequence[str], reason: str, *, by: str) -> int:
    """Drop entries from a round with a reason, and return how many; their answers stay in the record.

    Cases about them that wait for an expert are closed.
    """
    n = 0
    for entry_id in ids:
        change = update(entries).where(
            entries.c.id == entry_id, entries.c.round == round_.id, entries.c.dropped.is_(None)
        )
        if db.execute(change.values(dropped=reason)).rowcount:
            post = select(entries.c.post).where(entries.c.id == entry_id).scalar_subquery()
            mine = select(items.c.id).where(items.c.phase == round_.phase, items.c.post == post)
            item = db.execute(mine).scalar_one()
            case_store.close_open(db, item, "entry dropped", by=by, reason=reason, state="dropped")
            db.execute(update(items).where(items.c.id == item).values(state="dropped", room=0))
            n += 1
    if n:
        about = f"project {round_.project}"
        events.record(db, by=by, what="entries dropped", about=about, round=round_.number, n=n, reason=reason)
    return n


def take_back(db: Connection, round_: Round, entry_id: str, *, by: str) -> bool:
    """Drop an original for its author and free its text; return False, with nothing done, if somebody else is at it."""
    wanted = phases.lock(db, round_.phase).answers
    post = select(entries.c.post).where(entries.c.id == entry_id).scalar_subquery()
    untouched = and_(items.c.phase == round_.phase, items.c.post == post, items.c.state == "open", items.c.given == 1)
    free = and_(untouched, items.c.room == _room(wanted))
    if db.execute(select(items.c.id).where(free)).first() is None:
        return False
    drop(db, round_, [entry_id], TAKEN_BACK, by=by)
    db.execute(delete(entry_bands).where(entry_bands.c.entry == entry_id))
    db.execute(update(entries).where(entries.c.id == entry_id).values(key=f"{TAKEN_BACK} {entry_id}"))
    return True


def _room(answers: int | None) -> int:
    """Return how many others may take the item of an entry that nobody but its author has answered."""
    return max(1, (answers or 1) - 1)


def leave_with_contrasts(db: Connection, round_: Round, *, by: str) -> int:
    """Drop the originals of a round whose contrast was dropped, and return how many: a pair leaves whole."""
    rows = of_round(db, round_.id)
    gone = {row.entry.parent for row in rows if row.entry.parent and row.state == "dropped"}
    left = [row.entry.id for row in rows if row.entry.id in gone and row.state != "dropped"]
    return drop(db, round_, left, PAIR_DROPPED, by=by)


def _query() -> Select[Any]:
    """Return the query of entries with text, item, the settled answer to the question, and why it was dropped."""
    newest = (
        select(verdicts.c.labels)
        .where(verdicts.c.post == entries.c.post, verdicts.c.project == entries.c.project)
        .where(verdicts.c.question == rounds.c.question)
        .order_by(verdicts.c.turn.desc())
        .limit(1)
        .scalar_subquery()
    )
    why = (
        select(func.coalesce(cases.c.reason, cases.c.kind))
        .where(cases.c.item == items.c.id, cases.c.state == "dropped")
        .limit(1)
        .scalar_subquery()
    )
    return (
        select(*_ROWS.columns, post_table.c.text, post_table.c.lang, items.c.id.label("item"), items.c.state)
        .add_columns(newest.label("verdict"), why.label("why"))
        .join(rounds, rounds.c.id == entries.c.round)
        .join(post_table, post_table.c.id == entries.c.post)
        .join(items, and_(items.c.post == entries.c.post, items.c.phase == rounds.c.phase))
    )


def _read(db: Connection, query: Select[Any]) -> list[EntryText]:
    return [_entry(row) for row in db.execute(query)]


def _entry(row: Row[Any]) -> EntryText:
    text, lang, item, state, verdict, why = row[len(_ROWS.columns) :]
    kept = _ROWS.read(row[: len(_ROWS.columns)])
    settled = verdict[0] if verdict and state == "settled" else None
    dropped = kept.dropped or (why or "dropped by the project's rules" if state == "dropped" else None)
    confirmed = None if settled is None else settled == kept.label
    entry = replace(kept, post=kept.id, confirmed=confirmed, settled=settled, dropped=dropped)
    return EntryText(entry, kept.post, item, text or "", lang, state)


def personal_data(db: Connection, user_id: str, project_id: str | None) -> dict[str, Any]:
    """Return a person's entries, in one project or in all."""
    here = () if project_id is None else (entries.c.project == project_id,)
    rows = plain_rows(db, entries, entries.c.author == user_id, *here)
    show_post_ids(db, rows)
    return {"entries": rows}
