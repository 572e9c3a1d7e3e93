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
from collections.abc import Iterator
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
def running_server(programs: Path) -> Iterator[str]:
    """Yield the socket folder of a fresh server; it stops with the block, or with this process."""
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
