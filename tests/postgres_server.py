"""A PostgreSQL server for tests: made in a temporary folder, reached by a socket, gone when the tests end.

PostgreSQL refuses to run as root, so root hands the folder and the process to
the user `postgres`. Durability is off: these databases live for seconds.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg


def binaries() -> Path | None:
    """Return the folder with PostgreSQL's programs, or None where it is not installed."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda it: int(it.parts[-3]))
    return folders[-1].parent if folders else None


@contextlib.contextmanager
def running_server(programs: Path, *, durable: bool = False) -> Iterator[str]:
    """Yield the socket folder of a fresh server; it stops with the block, or with this process.

    With `durable` it keeps what it said it kept, as a real one does: benchmarks measure that.
    """
    folder = Path(tempfile.mkdtemp(prefix="davy-pg-"))
    account: dict[str, object] = {}
    if os.geteuid() == 0:
        entry = pwd.getpwnam("postgres")
        os.chown(folder, entry.pw_uid, entry.pw_gid)
        account = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    data = folder / "data"
    common = {"cwd": folder, "env": {"LC_ALL": "C", "PATH": os.environ["PATH"], "TZ": "America/New_York"}, **account}
    try:
        subprocess.run(
            [programs / "initdb", "-D", data, "-U", "davy", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"],
            check=True,
            stdout=subprocess.DEVNULL,
            **common,
        )
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(folder),
            "fsync": "off",
            "full_page_writes": "off",
            "synchronous_commit": "off",
            "max_connections": "60",
            "shared_buffers": "32MB",
        }
        if durable:
            settings |= {"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on", "shared_buffers": "128MB"}
        arguments = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(
                [programs / "postgres", "-D", data, *arguments],
                stdout=log,
                stderr=subprocess.STDOUT,
                preexec_fn=_die_with_parent,
                **common,
            )
        try:
            _wait(server, folder)
            yield str(folder)
        finally:
            server.send_signal(signal.SIGINT)
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait(10)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Pool:
    """Databases that `fill` gave their tables; each is emptied when it comes back, or dropped if a test changed it."""

    def __init__(self, folder: str, fill: Callable[[str], None]) -> None:
        self.folder = folder
        self._fill = fill
        self._free: list[str] = []
        self._shape: list[tuple[str, str]] = []

    def take(self) -> str:
        """Return the name of a database with all tables and no rows."""
        if self._free:
            return self._free.pop()
        name = f"pool_{uuid.uuid4().hex}"
        run_sql(self.folder, f"CREATE DATABASE {name}")
        self._fill(url(self.folder, name))
        with self._connect(name) as db:
            self._shape = self._look(db)
        return name

    def give_back(self, name: str) -> None:
        """Empty a database for the next test."""
        with self._connect(name) as db:
            db.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            same = self._look(db) == self._shape
            if same:
                tables = ", ".join(table for _, table in self._shape if table != "davy_version")
                db.execute(f"TRUNCATE {tables} RESTART IDENTITY CASCADE")
                same = db.execute("SELECT count(*) FROM davy_version").fetchone() == (1,)
        if same:
            self._free.append(name)
        else:
            run_sql(self.folder, f"DROP DATABASE {name} WITH (FORCE)")

    def _connect(self, name: str) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(f"host={self.folder} user=davy dbname={name}", autocommit=True)

    def _look(self, db: psycopg.Connection[tuple[object, ...]]) -> list[tuple[str, str]]:
        found = db.execute(
            "SELECT table_schema, table_name FROM information_schema.tables"
            " WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2"
        ).fetchall()
        return [(str(schema), str(table)) for schema, table in found]


def url(folder: str, database: str) -> str:
    """Return the URL of a database on the server behind this socket folder."""
    return f"postgresql://davy@/{database}?host={folder}"


def run_sql(folder: str, statement: str) -> None:
    """Run one statement outside of any transaction."""
    with psycopg.connect(f"host={folder} user=davy dbname=postgres", autocommit=True) as db:
        db.execute(statement)


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGQUIT)  # PR_SET_PDEATHSIG


def _wait(server: subprocess.Popen[bytes], folder: Path) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if server.poll() is not None:
            break
        with contextlib.suppress(psycopg.OperationalError):
            psycopg.connect(f"host={folder} user=davy dbname=postgres connect_timeout=2").close()
            return
        time.sleep(0.05)
    raise RuntimeError(f"PostgreSQL did not start:\n{(folder / 'log').read_text()}")
