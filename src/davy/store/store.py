"""A store: one open database, with read and write transactions.

Queries live in the modules of their nouns and take the connection that
`read()` or `write()` yields, so that a change and its event are one
transaction. A write that left the `with` block is on disk: SQLite syncs at
every commit. One writer at a time holds SQLite, others queue in order.
"""

from __future__ import annotations

import logging
import os
import re
import select
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, DisconnectionError, StatementError

from davy.core.errors import UserError
from davy.store import pipeline, statistics
from davy.store.url import masked_url, sqlite_path

logger = logging.getLogger(__name__)

BUSY_SECONDS = 30
ASK_EVERY = 0.001
"""Seconds after which a writer asks SQLite for its turn again."""
ASK_EVERY_BEHIND = 0.005
"""The same for a background process: whoever answers a person comes first."""
LEAST_FREE = 16 * 2**20
"""Bytes without which a disk counts as full: SQLite's log grows to a few megabytes between tidyings."""


LEAST_ADDED = 5_000
"""Rows that have to come in before the database looks at its tables again."""
LEAST_AT_ONCE = 100
"""Rows that a transaction has to add for it: one that saves a person's answer never pays."""
_ADDED = "davy added rows"


class DatabaseUnavailable(UserError):
    """The database does not answer or keeps nothing. The message names where it is, and so is for operators alone."""

    public = "The database can't be used at the moment. Try again in a minute, or tell an admin."
    """What everybody else is told."""


@dataclass(frozen=True)
class Store:
    """An open database. Close it when done; it is safe to share between threads."""

    url: URL
    engine: Engine
    background: bool = False
    """Whether this process does background work, and so lets others write first."""
    _reading: Engine = field(init=False, repr=False)
    _changing: Engine = field(init=False, repr=False)
    _turn: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _first_file_id: dict[str, int] = field(default_factory=dict, repr=False)
    _writing: threading.local = field(default_factory=threading.local, repr=False)
    _added: dict[str, int] = field(default_factory=lambda: {"before": 0, "since": 0}, repr=False)

    def __post_init__(self) -> None:
        # The same connections under other options, which cost time to set with every transaction.
        snapshot = {} if self.sqlite else {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        ask_every = ASK_EVERY_BEHIND if self.background else ASK_EVERY
        object.__setattr__(self, "_reading", self.engine.execution_options(**snapshot))
        object.__setattr__(self, "_changing", self.engine.execution_options(davy_write=True, davy_ask_every=ask_every))

    @property
    def sqlite(self) -> bool:
        """Whether this is a SQLite file (else PostgreSQL)."""
        return self.engine.dialect.name == "sqlite"

    def check_writable(self) -> None:
        """Raise where an answer could be given but not kept: a full disk, a file that was moved away, a read-only copy.

        Nothing is written: a look at the file and its disk, or PostgreSQL's own word.
        """
        if self.sqlite:
            path = sqlite_path(self.url)
            file_id = path.stat().st_ino if path.exists() else 0
            if self._first_file_id.setdefault("id", file_id) != file_id:
                raise DatabaseUnavailable(
                    f"{path} was moved away under the server. Put it back, then start it again.", status=503
                )
            # SQLite begins to write in a file that it can only read, and refuses the first change.
            if not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK):
                raise DatabaseUnavailable(
                    f"{path} can't be written to. See who owns the file and its folder, and whether the disk is "
                    "read-only.",
                    status=503,
                )
            if shutil.disk_usage(path.parent).free < LEAST_FREE:
                raise DatabaseUnavailable(f"The disk of {path} is full. Make room.", status=507)
            return
        with self.engine.connect() as db:
            if db.exec_driver_sql("SHOW transaction_read_only").scalar() == "on":
                raise DatabaseUnavailable(
                    "PostgreSQL takes no changes: it is a copy, or was set to read only.", status=503
                )

    def __str__(self) -> str:
        return masked_url(self.url)

    def truncate_log(self) -> None:
        """Bring a SQLite file up to date with its log, so that removed texts are in neither."""
        if self.sqlite:
            with self.engine.connect() as plain:
                raw = plain.connection.driver_connection
                if raw is not None:
                    raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        """Give all connections back."""
        self.engine.dispose()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Yield a connection that sees one moment of the database throughout."""
        with clear_errors(self.url), self._reading.connect() as db, db.begin():
            yield db

    @contextmanager
    def write(self, *, pipelined: bool = False) -> Iterator[Connection]:
        """Yield a connection whose changes are all kept when the block ends, or none of them.

        `pipelined` sends statements to PostgreSQL together wherever nothing waits for an answer (`pipeline`).
        After many rows came in, the database's statistics are brought up to date.
        """
        if getattr(self._writing, "on", False):
            raise RuntimeError("this thread is already writing; pass its connection on instead of opening another")
        self._writing.on = True
        try:
            with clear_errors(self.url), self._in_turn(), self._changing.connect() as db, db.begin():
                if pipelined:
                    pipeline.begin_pipeline(db)
                db.info[_ADDED] = 0
                yield db
                added = db.info[_ADDED]
        finally:
            self._writing.on = False
        if self._is_much(added):
            self.refresh_statistics()

    def refresh_statistics(self) -> None:
        """Let the database look at how large its tables are; where it can't, queries are planned as before."""
        try:
            with self.write() as db:
                statistics.analyze(db)
        except UserError as error:
            logger.warning("the statistics of the database stay as they are: %s", error.message)

    def _is_much(self, added: int) -> bool:
        """Note what a transaction added; return whether statistics are due: after thousands, then ever more rarely."""
        rows = self._added
        rows["since"] += added
        if added < LEAST_AT_ONCE or rows["since"] < max(LEAST_ADDED, rows["before"] // 2):
            return False
        rows["before"], rows["since"] = rows["before"] + rows["since"], 0
        return True

    @contextmanager
    def _in_turn(self) -> Iterator[None]:
        if not self.sqlite:
            yield
            return
        # SQLite's own waiting sleeps and retries, which starves some; a lock hands the turn on at once.
        if not self._turn.acquire(timeout=BUSY_SECONDS):
            raise UserError("The database has been busy for 30 seconds. Try again in a moment.", status=503)
        try:
            yield
        finally:
            self._turn.release()


def is_writing(db: Connection) -> bool:
    """Return whether this connection came from `write()`, so that rows can be locked in it."""
    return bool(db.get_execution_options().get("davy_write"))


def make_engine(url: URL) -> Engine:
    """Return an engine for the URL with our settings; nothing is opened yet.

    Parameters stay out of error texts: they may be a post's words or a hash.
    """
    if url.get_backend_name() != "sqlite":
        engine = create_engine(
            url,
            hide_parameters=True,
            # PostgreSQL takes 100 by default, and a server may run several of us.
            pool_size=10,
            max_overflow=10,
            # The connection used last is taken first: its statements are prepared, and its plans are made.
            pool_use_lifo=True,
            # A pipeline prepares statements itself; the driver would drop them all with its own at a rollback.
            connect_args={
                "connect_timeout": 10,
                "application_name": os.environ.get("PGAPPNAME", "davy"),
                "prepare_threshold": None,
            },
        )
        event.listen(engine, "checkout", _still_there)
        event.listen(engine, "after_cursor_execute", _count_added)
        event.listen(engine, "before_cursor_execute", pipeline.before_statement)
        event.listen(engine, "commit", pipeline.before_commit)
        event.listen(engine, "rollback", pipeline.before_rollback)
        return engine
    engine = create_engine(
        url,
        hide_parameters=True,
        pool_size=20,
        max_overflow=40,
        connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False},
    )
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    event.listen(engine, "after_cursor_execute", _count_added)
    return engine


def _count_added(db: Connection, cursor: Any, _statement: str, _values: Any, _context: Any, _many: bool) -> None:
    if cursor.description is None and cursor.rowcount > 0:
        db.info[_ADDED] = db.info.get(_ADDED, 0) + cursor.rowcount


def _still_there(raw: Any, _record: object, _proxy: object) -> None:
    # A server that ended the connection has said so on the socket; looking costs no round trip, unlike a ping.
    if raw.closed or select.select([raw.fileno()], [], [], 0)[0]:
        raise DisconnectionError


def _prepare_sqlite(raw: sqlite3.Connection, _record: object) -> None:
    # Without this, Python's driver starts transactions by its own rules and commits before DDL.
    raw.isolation_level = None
    cursor = raw.cursor()
    for pragma in (
        f"busy_timeout = {BUSY_SECONDS * 1000}",
        "trusted_schema = OFF",
        "foreign_keys = ON",
        "journal_mode = WAL",
        "synchronous = FULL",
    ):
        _set_pragma(cursor, pragma)
    cursor.close()


def _set_pragma(cursor: sqlite3.Cursor, pragma: str) -> None:
    # Going over to WAL does not wait for another connection that does the same: SQLite says "locked" at once.
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            cursor.execute(f"PRAGMA {pragma}")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.02)


def _begin_sqlite(db: Connection) -> None:
    options = db.get_execution_options()
    if not options.get("davy_write"):
        db.exec_driver_sql("BEGIN")
        return
    # A write takes the lock at once: one that starts by reading can find its snapshot stale and fail.
    raw = db.connection.driver_connection
    assert isinstance(raw, sqlite3.Connection)
    if not _begin_write(raw.cursor(), options["davy_ask_every"]):
        db.exec_driver_sql("BEGIN IMMEDIATE")  # says what is wrong, with the error of every other statement


def _begin_write(cursor: sqlite3.Cursor, ask_every: float) -> bool:
    """Begin to write as soon as no other process does, and return whether that came to be.

    SQLite's own waiting sleeps for longer and longer, up to a tenth of a second: in a busy server somebody else has
    always begun before it wakes.
    """
    until = time.monotonic() + BUSY_SECONDS
    cursor.execute("PRAGMA busy_timeout = 0")
    try:
        while True:
            try:
                cursor.execute("BEGIN IMMEDIATE")
                return True
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > until:
                    return False
            time.sleep(ask_every)
    finally:
        cursor.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}")
        cursor.close()


@contextmanager
def clear_errors(url: URL) -> Iterator[None]:
    """Turn what the database says into a line that a user can act on, where they can."""
    try:
        yield
    except StatementError as error:
        if isinstance(error.orig, UserError):  # raised by a column's own check, in columns.py
            raise error.orig from None
        if not isinstance(error, DBAPIError):
            raise
        reason = " ".join(str(error.orig).split()).split(" Is the server running")[0]
        for words, message, status in _KNOWN:
            if re.search(words, reason):
                told = message.format(url=masked_url(url), said=reason[:200])
                kind = DatabaseUnavailable if "{url}" in message else UserError
                raise kind(told, status=status) from error
        raise


# What the databases say, as patterns: wide enough for their versions, narrow enough not to hide a bug of ours.
_KNOWN = (
    ("file is not a database", "{url} is not a SQLite database. Name another file, or move this one away.", 400),
    ("file is encrypted", "{url} is not a SQLite database. Name another file, or move this one away.", 400),
    (
        "disk image is malformed",
        "{url} is damaged ({said}). Restore a backup: davy database restore FILE --replace",
        500,
    ),
    ("unable to open", "{url} can't be opened. See that its folder exists and that you may write there.", 400),
    ("readonly database", "{url} can't be written to. See who owns the file and its folder, and try again.", 400),
    ("ead-only file system", "{url} can't be written to. See who owns the file and its folder, and try again.", 400),
    ("disk is full", "The disk is full, so nothing was saved. Free some space and try again.", 507),
    ("No space left", "The disk is full, so nothing was saved. Free some space and try again.", 507),
    ("disk I/O error", "{url}: the disk can't be read or written. See that it is not full or failing.", 507),
    ("database is locked", "The database has been busy for 30 seconds. Try again in a moment.", 503),
    ("could not serialize", "Someone else changed the same thing at once. Try again.", 409),
    ("deadlock detected", "Someone else changed the same thing at once. Try again.", 409),
    ("password authentication failed", "{url} refused the name or the password. Correct the URL.", 400),
    ('(database|role) ".*" does not exist', "{url}: {said}. Create it in PostgreSQL, or correct the URL.", 400),
    ("connection failed", "{url} can't be reached: {said}. See that PostgreSQL runs there.", 503),
    ("connection is bad", "{url} can't be reached: {said}. See that PostgreSQL runs there.", 503),
    ("server closed the connection", "{url} ended the connection. See that PostgreSQL runs there.", 503),
    ("terminating connection", "{url} ended the connection. See that PostgreSQL runs there.", 503),
    ("connection timeout", "{url} did not answer in 10 seconds. See that PostgreSQL runs there.", 503),
    ("failed to resolve host", "{url}: that host is not known. Correct the URL.", 400),
    (
        "^permission denied|: permission denied",
        "{url}: {said}. Ask its owner for the right, or use another account.",
        403,
    ),
)
