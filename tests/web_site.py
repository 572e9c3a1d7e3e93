"""What the web tests share: a site under test, the people in it, and how a browser sends a form."""

from __future__ import annotations

import re
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from davy.jobs.kinds import job_functions
from davy.jobs.worker import JobWorker
from davy.people.passwords import hash_password
from davy.people.store import keys, sessions, users
from davy.server.app import create_app
from davy.store import Store, events
from davy.web.settings import ServerSettings

BASE = "http://127.0.0.1:8460"
PASSWORD = "three warm lamps"


@cache
def hashed_password() -> str:
    """Return the hash of PASSWORD, made once: argon2 is slow on purpose."""
    return hash_password(PASSWORD)


@dataclass
class Site:
    """An app under test, and who is in it."""

    app: Any
    settings: ServerSettings
    store: Store
    people: dict[str, users.User]
    running: TestClient | None = None

    @contextmanager
    def started(self) -> Iterator[Site]:
        """Start the app and a worker; clients made meanwhile share its event loop, as they do with a real server."""
        with TestClient(self.app, base_url=self.settings.base_url) as self.running, self.working():
            yield self
        self.running = None

    def working(self) -> JobWorker:
        """Return a worker for quick jobs, which runs within a block."""
        return JobWorker(self.store, job_functions(long=False), files=self.settings.files_folder, poll_seconds=0.05)

    def visitor(self, *, address: str = "203.0.113.7", **headers: str) -> TestClient:
        """Return a browser-like client that is not signed in."""
        client = TestClient(
            self.app,
            base_url=self.settings.base_url,
            headers={"accept": "text/html", **headers},
            follow_redirects=False,
            client=(address, 5000),
        )
        client.portal = self.running.portal if self.running else None
        return client

    def as_(self, role: str, *, address: str = "203.0.113.7", **headers: str) -> TestClient:
        """Return a client that is signed in as the person with this role."""
        with self.store.write() as db:
            _, token = sessions.start(db, self.people[role].id)
        client = self.visitor(address=address, **headers)
        client.cookies.set("davy-session", token, domain="127.0.0.1")
        return client


def make_site(settings: ServerSettings, empty_database: Path) -> Site:
    """Return a site with an admin, an expert and an annotator."""
    shutil.copyfile(empty_database, settings.database.removeprefix("sqlite:///"))
    app = create_app(settings)
    store: Store = app.state.context.store
    with store.write() as db:
        people = {
            role: users.add(
                db, login=role, name=f"{role} person", role=role, by=events.SHELL, password_hash=hashed_password()
            )
            for role in ("admin", "expert", "annotator")
        }
    return Site(app, settings, store, people)


def token_in(html: str) -> str:
    """Return the CSRF token of a page's forms."""
    found = re.search(r'name="csrf" value="([0-9a-f]{64})"', html)
    assert found, "the page has no form with a token"
    return found.group(1)


def post(
    client: TestClient, path: str, data: dict[str, Any] | None = None, *, page: str | None = None, **more: Any
) -> Any:
    """Send a form as a browser would: load the page, take its token, post."""
    token = token_in(client.get(page or "/").text)
    return client.post(path, data={"csrf": token, **(data or {})}, **more)


@contextmanager
def served(app: Any, listening: Any, **options: Any) -> Iterator[None]:
    """Serve an app by uvicorn on a socket while the block runs."""
    import uvicorn

    server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, ws="none", **options))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    until = time.monotonic() + 120
    while not server.started:
        assert thread.is_alive(), "the server ended while it started"
        assert time.monotonic() < until, "the server did not start"
        time.sleep(0.02)
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(30)
        listening.close()


def make_key(site, role="expert", scopes=("score",), **more):
    """Return a new API key of a person of the site, and its secret."""
    with site.store.write() as db:
        limits = keys.KeyLimits(**{name: more.pop(name) for name in keys.LIMIT_UNITS if name in more})
        owner = site.people[role].id
        return keys.create(db, name="bot", owner=owner, scopes=list(scopes), by="shell", limits=limits, **more)
