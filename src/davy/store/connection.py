"""Open a database, having made sure that it is one of ours and of our version.

Nothing is created or changed unless the caller asks with `create` or
`upgrade`. Every way in which it can be wrong has its own line, with what to do.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection
from sqlalchemy.engine import URL

from davy.core.errors import UserError
from davy.core.install import update_davy
from davy.files.atomic import atomic_path
from davy.store import schema_versions
from davy.store.store import Store, make_engine
from davy.store.url import default_url, masked_url, parse_url, sqlite_path


def open_store(
    url: str | None = None, *, create: bool = False, upgrade: bool = False, background: bool = False
) -> Store:
    """Return the open store at `url` (see `default_url`).

    `create` makes the database where there is none yet. `upgrade` brings an
    older one to our version, after a copy of a SQLite file was put beside it. With `background`, others write first.
    """
    parsed = parse_url(url or default_url())
    fresh = _sqlite_file(parsed, create=create) if parsed.get_backend_name() == "sqlite" else False
    store = Store(parsed, make_engine(parsed), background=background)
    try:
        _settle(store, create=create, upgrade=upgrade)
    except BaseException:
        store.close()
        if fresh:
            _remove(sqlite_path(parsed))
        raise
    return store


def open_any_version(url: str | None = None) -> Store:
    """Return the store at `url` whatever its version: for backups and for looking, not for work."""
    parsed = parse_url(url or default_url())
    if parsed.get_backend_name() == "sqlite":
        _sqlite_file(parsed, create=False)
    return Store(parsed, make_engine(parsed))


def inspect_versions(url: str | None = None) -> tuple[str | None, str]:
    """Return the version of the database at `url` (None where it is empty) and the one that we need."""
    with open_any_version(url) as store, store.read() as db:
        version = schema_versions.version_of(db)
        if version is None and schema_versions.tables_in(db):
            raise _foreign(store.url)
        schema_versions.refuse_unreleased(str(store), version, database=str(store))
    return version, schema_versions.newest_version()


def _settle(store: Store, *, create: bool, upgrade: bool) -> None:
    with store.read() as db:
        version, empty = schema_versions.version_of(db), not schema_versions.tables_in(db)
    if version is None and not empty:
        raise _foreign(store.url)
    schema_versions.refuse_unreleased(str(store), version, database=str(store))
    if version is None and not create:
        raise UserError(f"{store} is empty. Make its tables: davy database create --database {store}")
    if version is None or (version != schema_versions.newest_version() and _is_older(store, version, upgrade=upgrade)):
        if version is not None and store.sqlite:
            _copy_aside(sqlite_path(store.url), version)
        with store.write() as db:
            if version is None and schema_versions.version_of(db) is None and schema_versions.tables_in(db):
                raise _foreign(store.url)
            _run(db)
        return
    # Fails now, with a clear line, rather than at the first answer that someone saves.
    with store.write():
        pass


def _is_older(store: Store, found: str, *, upgrade: bool) -> bool:
    known = schema_versions.list_versions()
    if found not in known:
        raise UserError(
            f"{store} was made by a newer Davy: it is of version {found}, and this one knows up to {known[-1]}. "
            f"Update Davy: {update_davy()}"
        )
    if not upgrade:
        raise UserError(
            f"{store} is of version {found}, and this Davy needs {known[-1]}. "
            f"Stop what uses it, then run: davy database upgrade --database {store}"
        )
    return True


def _run(db: Connection) -> None:
    schema_versions.upgrade(db)


def _foreign(url: URL) -> UserError:
    return UserError(f"{masked_url(url)} is a database, but not one of Davy's. Name another, or an empty one.")


def _sqlite_file(url: URL, *, create: bool) -> bool:
    """Whether the file was made just now; a folder, or a file that is missing and not to be made, is refused."""
    path = sqlite_path(url)
    if path.is_dir():
        raise UserError(f"{masked_url(url)} is a folder. Name a file in it: {masked_url(url).rstrip('/')}/davy.sqlite")
    if path.exists():
        return False
    if not create:
        raise UserError(
            f"There is no database {masked_url(url)}. Make one: davy database create --database {masked_url(url)}"
        )
    try:
        # Only its owner may read it: it holds password hashes. SQLite gives its side files the same rights.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return False
    except OSError as error:
        raise UserError(
            f"{masked_url(url)} can't be made: {error.strerror}. Name a place that you can write to."
        ) from None
    return True


def _copy_aside(path: Path, version: str) -> Path:
    """Return the copy of a SQLite file that was put beside it."""

    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    target = path.with_name(f"{path.name}.{version}-{stamp}.bak")
    copy_file(path, target)
    return target


def _remove(path: Path) -> None:
    for name in (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")):
        name.unlink(missing_ok=True)


def copy_file(source: Path, target: Path) -> None:
    """Write a whole, checked copy of `source` to `target`, which appears only when it is complete."""
    try:
        with (
            atomic_path(target, mode=0o600) as part,
            closing(sqlite3.connect(source, timeout=30)) as old,
            closing(sqlite3.connect(part)) as new,
        ):
            old.backup(new)
            new.execute("PRAGMA journal_mode = DELETE")
            if new.execute("PRAGMA quick_check").fetchone() != ("ok",):
                raise UserError(f"{source} is damaged, so it was not copied. Restore a backup: davy database restore")
    except sqlite3.DatabaseError as error:
        raise UserError(f"{source} could not be copied to {target}: {error}. Nothing was changed.") from None
    except OSError as error:
        raise UserError(
            f"{target} can't be written: {error.strerror}. Free some space or name another place."
        ) from None
