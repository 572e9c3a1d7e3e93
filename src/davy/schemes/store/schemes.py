"""Schemes in the store: their tables, and each version's YAML as it was given, with its guidelines.

Questions that a project asks never change; a new version is made. Guidelines have versions of their own and only
grow. A project begins with a copy of its scheme's guidelines, and what it publishes is its own. Reading
YAML is not the store's business: callers bring the scheme and its text, and get the text back.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from pkgutil import resolve_name
from typing import Any

from sqlalchemy import Column, Connection, ForeignKeyConstraint, Integer, Table, func, insert, select, update

from davy.core import Guideline, Scheme, UserError
from davy.core.errors import nearest
from davy.core.feature import features
from davy.store import events
from davy.store.columns import JsonColumn, TextColumn, TimeColumn, metadata, now

schemes = Table(
    "schemes",
    metadata,
    Column("name", TextColumn, primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("yaml", TextColumn, nullable=False),
    Column("digest", TextColumn, nullable=False),
    Column("added_at", TimeColumn, nullable=False),
    Column("added_by", TextColumn, nullable=False),
)

guidelines = Table(
    "guidelines",
    metadata,
    Column("scheme", TextColumn, primary_key=True),
    Column("scheme_version", Integer, primary_key=True, autoincrement=False),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("content", JsonColumn, nullable=False),
    Column("digest", TextColumn, nullable=False),
    Column("changes", TextColumn, nullable=False),
    Column("added_at", TimeColumn, nullable=False),
    Column("added_by", TextColumn, nullable=False),
    ForeignKeyConstraint(["scheme", "scheme_version"], ["schemes.name", "schemes.version"]),
)


@dataclass(frozen=True, slots=True)
class StoredScheme:
    """One version of a scheme as the database has it; `digest` changes when its questions do."""

    name: str
    version: int
    yaml: str
    digest: str
    added_at: datetime
    added_by: str


def digest(scheme: Scheme) -> str:
    """Return a hash of the questions and labels with all their words; guidelines are not part of it."""
    return _hash(scheme.questions)


def save(db: Connection, scheme: Scheme, yaml: str, *, by: str) -> StoredScheme:
    """Add a scheme, or change one that nobody uses yet, and add its new guidelines; return what is stored.

    The text of a scheme that a project uses stays as it was: one project can't change what another shows.
    """
    kept = _find_version(db, scheme.name, scheme.version, lock=True)
    new = digest(scheme)
    about = f"scheme {scheme.name} {scheme.version}"
    key = (schemes.c.name == scheme.name, schemes.c.version == scheme.version)
    if kept is None:
        values = {"yaml": yaml, "digest": new, "added_at": now(), "added_by": by}
        db.execute(insert(schemes).values(name=scheme.name, version=scheme.version, **values))
        events.record(db, by=by, what="scheme added", about=about, digest=new)
    elif kept.digest != new:
        if has_answers(db, scheme.name, scheme.version) or _is_used(db, "projects", scheme.name, scheme.version):
            raise UserError(
                f"Scheme {scheme.name!r} version {scheme.version} is in use, so it can't change. "
                f"Set its version to {scheme.version + 1}, or copy it: davy scheme copy {scheme.name}",
                status=409,
            )
        db.execute(update(schemes).where(*key).values(yaml=yaml, digest=new))
        events.record(db, by=by, what="scheme changed", about=about, was=kept.digest, digest=new)
    elif kept.yaml != yaml and not _is_used(db, "projects", scheme.name, scheme.version):
        db.execute(update(schemes).where(*key).values(yaml=yaml))
        events.record(db, by=by, what="scheme text changed", about=about)
    for guideline in scheme.guidelines:
        _add_guideline(db, scheme, guideline, by=by)
    return get(db, scheme.name, scheme.version)


def get(db: Connection, name: str, version: int | None = None) -> StoredScheme:
    """Return a version of a scheme, the newest where none is named."""
    stored = _find_version(db, name, version)
    if stored is None:
        names = [str(it) for it in db.scalars(select(schemes.c.name).distinct())]
        which = name if version is None else f"{name} version {version}"
        raise UserError(f"This database has no scheme {which!r}.{nearest(name, names)}", status=404)
    return stored


def list_schemes(db: Connection) -> list[StoredScheme]:
    """Return every version of every scheme, by name and version."""
    rows = db.execute(select(schemes).order_by(schemes.c.name, schemes.c.version))
    return [StoredScheme(**row._mapping) for row in rows]


def has_answers(db: Connection, name: str, version: int) -> bool:
    """Whether anyone answered under this version, or a verdict was given under it."""
    return _is_used(db, "answers", name, version)


def _is_used(db: Connection, by: str, name: str, version: int) -> bool:
    uses = [resolve_name(each.scheme_uses[by]) for each in features() if by in each.scheme_uses]
    return any(db.execute(query).first() for queries in uses for query in queries(name, version))


def guideline_content(guideline: Guideline) -> tuple[dict[str, Any], str]:
    """Return the words of a guideline as they are kept, and their hash."""
    content = {"text": _plain(guideline.text), "notes": _plain(guideline.notes)}
    return content, _hash(content)


def _add_guideline(db: Connection, scheme: Scheme, guideline: Guideline, *, by: str) -> None:
    """Add a guideline that comes with a scheme; one that is there with other words is refused."""
    content, new = guideline_content(guideline)
    key = (guidelines.c.scheme == scheme.name, guidelines.c.scheme_version == scheme.version)
    old = db.scalar(select(guidelines.c.digest).where(*key, guidelines.c.version == guideline.version))
    if old == new:
        return
    newest = db.scalar(select(func.max(guidelines.c.version)).where(*key)) or 0
    if old is not None or guideline.version < newest:
        raise UserError(
            f"Scheme {scheme.name!r} has guideline {newest} already, and its words can't change. "
            f"Add the new words as guideline {newest + 1}.",
            status=409,
        )
    db.execute(
        insert(guidelines).values(
            scheme=scheme.name,
            scheme_version=scheme.version,
            version=guideline.version,
            content=content,
            digest=new,
            changes=guideline.changes,
            added_at=now(),
            added_by=by,
        )
    )
    about = f"scheme {scheme.name} {scheme.version}"
    events.record(db, by=by, what="guideline added", about=about, guideline=guideline.version)


def _find_version(db: Connection, name: str, version: int | None, *, lock: bool = False) -> StoredScheme | None:
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
