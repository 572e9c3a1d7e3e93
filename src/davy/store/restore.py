"""Read a backup into a database: all of it, checked, or nothing.

The file is not trusted. Only the members that its manifest names are read,
line by line and no further than the manifest says; nothing is unpacked to disk.
A database with rows is replaced only when asked, and then kept aside.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection, Table, column, insert, inspect, table, text, update
from sqlalchemy.exc import DataError, IntegrityError

from davy.core.errors import UserError
from davy.core.install import update_davy
from davy.files import atomic
from davy.people.store.tables import sessions
from davy.store import events, schema_versions
from davy.store.backup import KINDS, Backup, PictureStorage, column_kind, reflect_tables, row_counts
from davy.store.backup_file import BackupFile
from davy.store.columns import now
from davy.store.serving import refuse_held_file, refuse_held_postgres
from davy.store.store import Store, make_engine
from davy.store.url import masked_url, parse_url, sqlite_path

CHUNK = 2_000


def restore(
    source: Path,
    url: str,
    *,
    replace: bool = False,
    images: PictureStorage | None = None,
    by: str = events.SHELL,
    progress: Callable[[int], object] = lambda _: None,
) -> tuple[Backup, str | None]:
    """Fill the database at `url` from a backup; return what came in and where the old database was put, if any.

    `progress` is called with how many more rows were read. `images` is where its pictures go: before the rows, and
    beside those that are there, since a file never changes. Everyone has to sign in again: a session that was ended
    since the backup must not come back.
    """
    parsed = parse_url(url)
    with BackupFile(source) as file:
        first = f"restore it (davy database restore {source} --database sqlite:///old.sqlite), then "
        schema_versions.refuse_unreleased(
            str(source), file.backup.database_version, database="sqlite:///old.sqlite", first=first
        )
        if file.backup.database_version not in schema_versions.list_versions():
            raise UserError(
                f"{source} is of version {file.backup.database_version}, and this Davy knows up to "
                f"{schema_versions.newest_version()}. Update Davy: {update_davy()}"
            )
        if file.backup.images and images is None:
            raise UserError("The backup has pictures. Set DAVY_IMAGES to the folder that they go to.")
        for key, data in file.images():
            assert images is not None
            images.put_bytes(key, data)
        if parsed.get_backend_name() == "sqlite":
            aside = _into_sqlite(file, sqlite_path(parsed), replace=replace, by=by, progress=progress)
        else:
            with Store(parsed, make_engine(parsed)) as store, store.write() as db:
                refuse_held_postgres(db, masked_url(parsed))
                aside = _make_room(db, masked_url(parsed), replace=replace)
                _fill(db, file, by=by, progress=progress)
        return file.backup, aside


def _into_sqlite(
    file: BackupFile, path: Path, *, replace: bool, by: str, progress: Callable[[int], object]
) -> str | None:
    """Build a new file beside the old one, then swap them."""
    if path.is_dir():
        raise UserError(f"{path} is a folder. Name a file in it.")
    old = path.exists() and path.stat().st_size > 0
    refuse_held_file(path)
    if old:
        _check_replaceable(path, replace=replace)
    part = path.with_name(path.name + ".restoring")
    try:
        free = shutil.disk_usage(path.parent).free
        if file.size > free:
            raise UserError(f"The backup holds {file.size:,} bytes, and {path.parent} has room for {free:,}.")
        _remove(part)
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        url = parse_url(f"sqlite:///{part}")
        with Store(url, make_engine(url)) as store, store.write() as db:
            _fill(db, file, by=by, progress=progress)
        _settle_file(part, str(path))
        aside = _put_aside(path) if old else None
        atomic.replace(part, path)
    except OSError as error:
        raise UserError(f"{path} can't be written: {error.strerror}. Name a place that you can write to.") from None
    finally:
        _remove(part)
    return aside


def _fill(db: Connection, file: BackupFile, *, by: str, progress: Callable[[int], object]) -> None:
    """Make the backup's tables, add its rows, check them, and bring all to our version."""
    schema_versions.upgrade(db, file.backup.database_version)
    real_tables = {it.name: it for it in reflect_tables(db)}
    file.check_tables({name: {c.name: column_kind(c.type) for c in it.columns} for name, it in real_tables.items()})
    db.execute(
        text("PRAGMA defer_foreign_keys = ON" if db.dialect.name == "sqlite" else "SET CONSTRAINTS ALL DEFERRED")
    )
    for name, real in real_tables.items():
        _add_rows(db, file, name, real, progress)
    found = row_counts(db)
    if found != file.backup.rows:
        raise UserError(f"{file.path} does not hold the rows that it says. Take another backup.")
    if db.dialect.name == "sqlite" and db.execute(text("PRAGMA foreign_key_check")).first():
        raise UserError(f"{file.path} has rows that belong to others which it does not hold. Take another backup.")
    if db.dialect.name == "postgresql":
        db.execute(text("SET CONSTRAINTS ALL IMMEDIATE"))
        _restart_counters(db, real_tables)
    schema_versions.upgrade(db)
    db.execute(update(sessions).where(sessions.c.ended_at.is_(None)).values(ended_at=now()))
    made_at = file.backup.made_at.isoformat()
    events.record(db, by=by, what="database restored", about="database", made_at=made_at, n=file.backup.total)


def _add_rows(db: Connection, file: BackupFile, name: str, real: Table, progress: Callable[[int], object]) -> None:
    kinds = file.columns(name)
    into = table(name, *(column(it, KINDS[kind]) for it, kind in kinds.items()))
    for rows in file.rows(name, CHUNK):
        try:
            db.execute(insert(into), [dict(zip(kinds, row, strict=True)) for row in rows])
        except (IntegrityError, DataError):
            raise UserError(f"{file.path}: rows of {real.name} contradict each other. Take another backup.") from None
        progress(len(rows))


def _restart_counters(db: Connection, real_tables: dict[str, Table]) -> None:
    """Let PostgreSQL number new rows after the restored ones."""
    for name, real in real_tables.items():
        keys = list(real.primary_key.columns)
        if len(keys) == 1 and column_kind(keys[0].type) == "integer":
            key = keys[0].name
            db.execute(
                text(
                    f"SELECT setval(pg_get_serial_sequence('{name}', '{key}'), "
                    f"COALESCE((SELECT MAX({key}) FROM {name}), 0) + 1, false)"
                )
            )


def _make_room(db: Connection, where: str, *, replace: bool) -> str | None:
    """Move the tables of a PostgreSQL database into a schema of their own; return its name, or None if none were."""
    names = inspect(db).get_table_names()
    if not names:
        return None
    if schema_versions.version_of(db) is None:
        raise UserError(f"{where} is a database, but not one of Davy's. Name another, or an empty one.")
    _refuse_rows(row_counts(db), where, replace=replace)
    schema = f"before_restore_{_stamp()}"
    db.execute(text(f"CREATE SCHEMA {schema}"))
    for name in names:
        db.execute(text(f'ALTER TABLE "{name}" SET SCHEMA {schema}'))
    return f"schema {schema}"


def _check_replaceable(path: Path, *, replace: bool) -> None:
    url = parse_url(f"sqlite:///{path}")
    with Store(url, make_engine(url)) as store, store.read() as db:
        if schema_versions.version_of(db) is None and schema_versions.tables_in(db):
            raise UserError(f"{masked_url(url)} is a database, but not one of Davy's. Name another, or an empty one.")
        _refuse_rows(row_counts(db), masked_url(url), replace=replace)


def _refuse_rows(counts: dict[str, int], where: str, *, replace: bool) -> None:
    n = sum(counts.values())
    if n and not replace:
        raise UserError(f"{where} has {n:,} rows. To put them aside and restore, add --replace.", status=409)


def _put_aside(path: Path) -> str:
    """Give the old file another name, once nobody has it open; return the name."""
    _settle_file(path, str(path))
    aside = path.with_name(f"{path.name}.before-restore-{_stamp()}.bak")
    atomic.replace(path, aside)
    return str(aside)


def _settle_file(path: Path, shown_as: str) -> None:
    """Bring all of a database into its one file. This works only while nobody else has it open."""
    with closing(sqlite3.connect(path, timeout=2)) as db:
        try:
            mode = db.execute("PRAGMA journal_mode = DELETE").fetchone()
        except sqlite3.OperationalError:
            mode = None
        if mode != ("delete",):
            raise UserError(f"{shown_as} is in use. Stop `davy serve` and what else has it open, then try again.")


def _remove(path: Path) -> None:
    for name in (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")):
        name.unlink(missing_ok=True)


def _stamp() -> str:
    return datetime.now(UTC).strftime("%Y%m%dt%H%M%S%f")
