"""A whole server for each test: a real database in a temporary folder, three people, a word list as its detector.

`site` talks to the app in this process; `live` is a real uvicorn on a free port, and
`browser` a real Chromium. A machine without Chromium skips those tests, but in CI they fail.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from davy.store import open_store
from davy.store.url import DEFAULT
from davy.web.settings import ServerSettings
from web_site import BASE, Site, make_site, served

WORDS = "grumblefop\t0.9\nsneezewit\t0.7\n"


@pytest.fixture
def words_file(tmp_path: Path) -> Path:
    """The detector's word list: made-up words."""
    path = tmp_path / "words.txt"
    path.write_text(WORDS)
    return path


@pytest.fixture
def settings(tmp_path: Path, words_file: Path, monkeypatch: pytest.MonkeyPatch) -> ServerSettings:
    """Settings of `davy serve` in an empty folder: its default database, named by a relative path."""
    monkeypatch.chdir(tmp_path)
    return ServerSettings(
        database=DEFAULT,
        model=f"keywords:{words_file}",
        secret_key="k" * 40,
        base_url=BASE,
    )


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with tables and nothing in them, to copy: migrations run once."""
    path = tmp_path_factory.mktemp("empty") / "empty.sqlite"
    open_store(f"sqlite:///{path}", create=True).close()
    return path


@pytest.fixture
def site(settings: ServerSettings, empty_database: Path) -> Iterator[Site]:
    """A running app with three people."""
    with make_site(settings, empty_database).started() as made:
        yield made


@dataclass(frozen=True)
class Live:
    """A real server on a real port."""

    url: str
    site: Site


@pytest.fixture
def live(settings: ServerSettings, empty_database: Path) -> Iterator[Live]:
    """Run uvicorn on a free loopback port while the test runs."""
    from davy.server.start import listen
    from davy.web.http_guard import GuardedProtocol

    listening = listen("127.0.0.1", 0)
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    site = make_site(replace(settings, base_url=url), empty_database)
    with served(site.app, listening, http=GuardedProtocol), site.working():
        yield Live(url, site)
