"""Schemes in the store: each version's YAML as it was given, with its guidelines.

Questions that have answers never change; a new version is made. Guidelines have
versions of their own and only grow. Reading YAML is not the store's business:
callers bring the scheme and its text, and get the text back.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, func, insert, select, update

from davy.core import Guideline, Scheme, UserError, Wording
from davy.core.errors import nearest
from davy.store import events
from davy.store.columns import now
from davy.store.statements import ONE, PreparedStatement
from davy.store.tables import annotations, guidelines, schemes, verdicts


@dataclass(frozen=True, slots=True)
class StoredScheme:
    """One version of a scheme as the database has it; `digest` changes when its questions do."""

    name: str
    version: int
    yaml: str
    digest: str
    added_at: datetime
    added_by: str


_NEWEST = (
    select(guidelines.c.version)
    .where(guidelines.c.scheme == schemes.c.name, guidelines.c.scheme_version == schemes.c.version)
    .order_by(guidelines.c.version.desc())
    .limit(ONE)
)
_STAMPS = select(
    schemes.c.digest,
    func.length(schemes.c.yaml),
    _NEWEST.scalar_subquery(),
    _NEWEST.with_only_columns(guidelines.c.digest).scalar_subquery(),
).where(schemes.c.name == bindparam("name"), schemes.c.version == bindparam("version"))
_STAMP, _STAMP_LOCKED = (
    PreparedStatement(_STAMPS),
    PreparedStatement(_STAMPS.with_for_update(of=schemes, read=True, key_share=True)),
)


def digest(scheme: Scheme) -> str:
    """Return a hash of the questions and labels with all their words; guidelines are not part of it."""
    return _hash(scheme.questions)


def save(db: Connection, scheme: Scheme, yaml: str, *, by: str) -> StoredScheme:
    """Add a scheme, or change one that has no answers yet, and add its new guidelines; return what is stored."""
    found = _one(db, scheme.name, scheme.version, lock=True)
    new = digest(scheme)
    about = f"scheme {scheme.name} {scheme.version}"
    key = (schemes.c.name == scheme.name, schemes.c.version == scheme.version)
    if found is None:
        values = {"yaml": yaml, "digest": new, "added_at": now(), "added_by": by}
        db.execute(insert(schemes).values(name=scheme.name, version=scheme.version, **values))
        events.record(db, by=by, what="scheme added", about=about, digest=new)
    elif found.digest != new:
        if has_answers(db, scheme.name, scheme.version):
            raise UserError(
                f"Scheme {scheme.name!r} version {scheme.version} has answers, so it can't change. "
                f"Set its version to {scheme.version + 1}, or copy it: davy scheme copy {scheme.name}",
                status=409,
            )
        db.execute(update(schemes).where(*key).values(yaml=yaml, digest=new))
        events.record(db, by=by, what="scheme changed", about=about, was=found.digest, digest=new)
    elif found.yaml != yaml:
        db.execute(update(schemes).where(*key).values(yaml=yaml))
        events.record(db, by=by, what="scheme text changed", about=about)
    for guideline in scheme.guidelines:
        add_guideline(db, scheme.name, scheme.version, guideline, by=by)
    return get(db, scheme.name, scheme.version)


def get(db: Connection, name: str, version: int | None = None) -> StoredScheme:
    """Return a version of a scheme, the newest where none is named."""
    found = _one(db, name, version)
    if found is None:
        names = [str(it) for it in db.scalars(select(schemes.c.name).distinct())]
        which = name if version is None else f"{name} version {version}"
        raise UserError(f"This database has no scheme {which!r}.{nearest(name, names)}", status=404)
    return found


def ask_stamp(db: Connection, name: str, version: int, *, lock: bool = False) -> Callable[[], tuple[Any, ...]]:
    """Ask for what differs whenever a scheme or its guidelines do, and return what gives it.

    What was read under one stamp need not be read again. `lock` holds the scheme against a change of its
    questions until the transaction ends.
    """
    sent = (_STAMP_LOCKED if lock else _STAMP).send(db, {"name": name, "version": version})

    def found() -> tuple[Any, ...]:
        row = sent.one()
        if row is None:
            raise UserError(f"This database has no scheme {name!r} version {version}.", status=404)
        return name, version, *row

    return found


def list_schemes(db: Connection) -> list[StoredScheme]:
    """Return every version of every scheme, by name and version."""
    rows = db.execute(select(schemes).order_by(schemes.c.name, schemes.c.version))
    return [StoredScheme(**row._mapping) for row in rows]


def has_answers(db: Connection, name: str, version: int) -> bool:
    """Whether anyone answered under this version, or a verdict was given under it."""
    return any(
        db.execute(select(table.c.id).where(table.c.scheme == name, table.c.scheme_version == version).limit(1)).first()
        for table in (annotations, verdicts)
    )


def add_guideline(db: Connection, name: str, version: int, guideline: Guideline, *, by: str) -> bool:
    """Add a guideline to a version of a scheme; return whether it is new. One with other words is refused."""
    content = {"text": _plain(guideline.text), "notes": _plain(guideline.notes)}
    new = _hash(content)
    key = (guidelines.c.scheme == name, guidelines.c.scheme_version == version)
    old = db.scalar(select(guidelines.c.digest).where(*key, guidelines.c.version == guideline.version))
    if old == new:
        return False
    newest = db.scalar(select(func.max(guidelines.c.version)).where(*key)) or 0
    if old is not None:
        raise UserError(
            f"Guideline {guideline.version} of scheme {name!r} is in use and can't change. "
            f"Add the new words as guideline {newest + 1}.",
            status=409,
        )
    if guideline.version < newest:
        raise UserError(f"Scheme {name!r} has guideline {newest} already; a new one is {newest + 1}.", status=409)
    db.execute(
        insert(guidelines).values(
            scheme=name,
            scheme_version=version,
            version=guideline.version,
            content=content,
            digest=new,
            changes=guideline.changes,
            added_at=now(),
            added_by=by,
        )
    )
    events.record(db, by=by, what="guideline added", about=f"scheme {name} {version}", guideline=guideline.version)
    return True


def guidelines_of(db: Connection, name: str, version: int) -> list[Guideline]:
    """Return the guidelines of a version of a scheme, oldest first."""
    query = select(guidelines).where(guidelines.c.scheme == name, guidelines.c.scheme_version == version)
    return [
        Guideline(
            row.version,
            Wording(row.content["text"]),
            {note: Wording(words) for note, words in row.content["notes"].items()},
            row.changes,
        )
        for row in db.execute(query.order_by(guidelines.c.version))
    ]


def _one(db: Connection, name: str, version: int | None, *, lock: bool = False) -> StoredScheme | None:
    query = select(schemes).where(schemes.c.name == name).order_by(schemes.c.version.desc()).limit(1)
    if version is not None:
        query = query.where(schemes.c.version == version)
    row = db.execute(query.with_for_update() if lock else query).one_or_none()
    return None if row is None else StoredScheme(**row._mapping)


def _hash(value: Any) -> str:
    text = json.dumps(_plain(value), ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: Any) -> Any:
    """Return a noun as lists and objects, the same for equal nouns."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(value[key]) for key in value}
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    return value
