"""Whether a server or a worker uses a database: they hold it while they run, and a restore is refused meanwhile.

A SQLite file is held by a shared lock on a file beside it, PostgreSQL by the name of the connections. Both end with
the process, however it ends.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, text

from davy.core.errors import UserError
from davy.store.url import parse_url, sqlite_path

try:
    import fcntl
except ImportError:  # Windows: a file that is open can't be replaced there
    fcntl = None  # type: ignore[assignment]

NAMES: tuple[str, ...] = ("davy serve", "davy work")
"""How connections of long-lived processes are called in PostgreSQL."""


@contextmanager
def hold_database(url: str, name: str) -> Iterator[None]:
    """Hold the database at `url` while the block runs; `name` is one of `NAMES`. Several processes may hold it."""
    parsed = parse_url(url)
    if parsed.get_backend_name() != "sqlite":
        os.environ["PGAPPNAME"] = name  # read where connections are made, and by processes that this one starts
        try:
            yield
        finally:
            del os.environ["PGAPPNAME"]
        return
    if fcntl is None:
        yield
        return
    with os.fdopen(os.open(_beside(sqlite_path(parsed)), os.O_RDWR | os.O_CREAT, 0o600), "w") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        yield


def refuse_held_file(path: Path) -> None:
    """Refuse where a server or a worker holds the SQLite file at `path`."""
    if fcntl is None or not _beside(path).exists():
        return
    with _beside(path).open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise _held(str(path)) from None


def refuse_held_postgres(db: Connection, shown_as: str) -> None:
    """Refuse where a server or a worker is connected to this PostgreSQL database."""
    others = text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = ANY(:names)"
    )
    if db.scalar(others, {"names": list(NAMES)}):
        raise _held(shown_as)


def _held(shown_as: str) -> UserError:
    return UserError(f"{shown_as} is in use. Stop `davy serve` and `davy work`, then try again.", status=409)


def _beside(path: Path) -> Path:
    return path.with_name(path.name + ".serving")
