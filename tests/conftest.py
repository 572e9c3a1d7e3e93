"""What tests share: a real store, on SQLite and on PostgreSQL, new for each test.

`store` runs a test on both databases; `database_url` gives the URL of an empty
one. Tests on PostgreSQL carry the marker `postgres`. Where PostgreSQL is not
installed they are skipped, and with CI=true they fail.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import postgres_server
from site_fixtures import empty_database, live, settings, site, words_file  # noqa: F401 — fixtures of a running site

# Tests run beside each other, a process a core. Two torch processes of two threads each wait for one another on two
# cores and take fifteen times as long. torch reads this variable too; OMP_NUM_THREADS would bind what Davy counts.
os.environ.setdefault("MKL_NUM_THREADS", "1")

BOTH = [pytest.param("sqlite", id="sqlite"), pytest.param("postgres", id="postgres", marks=pytest.mark.postgres)]

NO_POSTGRES = "PostgreSQL is not installed (apt-get install postgresql)"

CHROMIUM = ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")
BROWSER_OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests on PostgreSQL where it is not installed; with CI=true they stay, and fail."""
    if postgres_server.binaries() is None and os.environ.get("CI") != "true":
        left_out = [item for item in items if item.get_closest_marker("postgres")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("postgres")]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say once that tests were left out."""
    if postgres_server.binaries() is None and os.environ.get("CI") != "true":
        terminalreporter.write_line(f"Tests on PostgreSQL were skipped: {NO_POSTGRES}.")


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The socket folder of a PostgreSQL server that lives as long as the test run."""
    programs = postgres_server.binaries()
    if programs is None:
        if os.environ.get("CI") == "true":
            pytest.fail(NO_POSTGRES)
        pytest.skip(NO_POSTGRES)
    with postgres_server.running_server(programs) as folder:
        yield folder


@pytest.fixture
def postgres_url(postgres: str) -> Iterator[str]:
    """The URL of an empty PostgreSQL database."""
    name = f"test_{uuid.uuid4().hex}"
    postgres_server.run_sql(postgres, f"CREATE DATABASE {name}")
    yield postgres_server.url(postgres, name)
    postgres_server.run_sql(postgres, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=BOTH)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a database that is empty (PostgreSQL) or not there yet (SQLite)."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'davy.sqlite'}"
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with all tables and no rows, to copy: quicker than the migrations."""
    from davy.store import open_store

    path = tmp_path_factory.mktemp("template") / "davy.sqlite"
    open_store(f"sqlite:///{path}", create=True).close()
    return path


@pytest.fixture(scope="session")
def postgres_pool(postgres: str) -> postgres_server.Pool:
    """PostgreSQL databases with all tables and no rows, emptied and used again: quicker than new ones."""
    from davy.store import open_store

    return postgres_server.Pool(postgres, lambda url: open_store(url, create=True).close())


@pytest.fixture(params=BOTH)
def store(request: pytest.FixtureRequest, tmp_path: Path):
    """An open store with all tables and no rows."""
    from davy.store import open_store

    if request.param == "sqlite":
        path = tmp_path / "davy.sqlite"
        shutil.copy(request.getfixturevalue("sqlite_template"), path)
        with open_store(f"sqlite:///{path}") as opened:
            yield opened
        return
    pool: postgres_server.Pool = request.getfixturevalue("postgres_pool")
    name = pool.take()
    with open_store(postgres_server.url(pool.folder, name)) as opened:
        yield opened
    pool.give_back(name)


def find_chromium() -> str | None:
    """Return the machine's Chromium, or None."""
    return next((path for path in CHROMIUM if Path(path).exists()), None)


@pytest.fixture
def browser() -> Iterator[Any]:
    """A real Chromium; without one the tests that need it are skipped, and in CI they fail."""
    path = find_chromium()
    if path is None:
        message = "Chromium is not installed: apt install chromium"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=30_000)  # as long as Playwright waits elsewhere; a loaded machine needs it
    with sync_playwright() as driver:
        made = driver.chromium.launch(executable_path=path, args=list(BROWSER_OPTIONS))
        yield made
        made.close()
