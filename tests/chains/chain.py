"""What the chains share: the shell as a person types it, a server and its people, and the published formats read back.

Everything goes through `davy …` or HTTP. A step can be stopped with Ctrl-C and given again.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from davy.server.app import create_app
from davy.shell.app import run
from davy.web.settings import ServerSettings

BASE = "http://127.0.0.1"
PASSWORD = "three warm lamps"

Answers = Mapping[str, str | Sequence[str]]
Judge = Callable[[str], Answers]
"""What a person answers, question by question, to the page that shows a post."""


class Chain:
    """One corpus on its way: a folder, a database, and what a person does with them."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capsys = folder, capsys
        self.database = f"sqlite:///{folder / 'davy.sqlite'}"
        monkeypatch.chdir(folder)
        for name, value in (
            ("DAVY_DATABASE", self.database),
            ("DAVY_CACHE", str(folder / "cache")),
            ("DAVY_IMAGES", str(folder / "kept-images")),
            ("HF_HOME", str(folder / "hub")),
        ):
            monkeypatch.setenv(name, value)

    def davy(self, *words: object) -> Any:
        """Type a command that must succeed; return what it prints, as JSON where that was asked for."""
        self.capsys.readouterr()
        code = run([str(word) for word in words])
        output = self.capsys.readouterr()
        assert code == 0, f"davy {' '.join(map(str, words))}: {output.err}"
        self.said = output.err
        return json.loads(output.out) if "--json" in words else output.out

    def refused(self, *words: object) -> str:
        """Type a command that must be refused in one line; return the line."""
        self.capsys.readouterr()
        code = run([str(word) for word in words])
        line = self.capsys.readouterr().err
        assert code == 2, line
        assert line.count("\n") == 1, line
        return line

    def stop_and_go_on(self, *words: object, after: float) -> Any:
        """Type a command, press Ctrl-C so many seconds later, and type it again unless it was done already."""
        typed = [sys.executable, "-m", "davy", *map(str, words)]
        with subprocess.Popen(typed, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
            try:
                printed, _ = running.communicate(timeout=after)
            except subprocess.TimeoutExpired:
                running.send_signal(signal.SIGINT)
                printed, said = running.communicate()
                assert "Traceback" not in said
        if running.returncode:
            return self.davy(*words)
        return json.loads(printed) if "--json" in words else printed

    @contextmanager
    def server(self, model: str = "majority") -> Iterator[Callable[[], TestClient]]:
        """Run the workbench; gives new browsers, which are not signed in. Ended and begun again, nothing is lost."""
        files = self.folder / "files"
        app = create_app(ServerSettings(self.database, model=model, secret_key="k" * 40, base_url=BASE, files=files))
        with TestClient(app, base_url=BASE) as running:

            def browser() -> TestClient:
                client = TestClient(app, base_url=BASE, follow_redirects=False, headers={"accept": "text/html"})
                client.portal = running.portal
                return client

            yield browser


def token(page: str) -> str:
    """Return the token of a page's forms."""
    found = re.search(r'name="csrf" value="([0-9a-f]{64})"', page)
    assert found, page[:3000]
    return found.group(1)


def send(client: TestClient, path: str, fields: Mapping[str, Any], *, page: str = "", **more: Any) -> Any:
    """Open a page and send a form of it, as a browser does without JavaScript."""
    answer = client.post(path, data={"csrf": token(client.get(page or path).text), **fields}, **more)
    assert answer.status_code in (200, 303), answer.text
    return answer


def accept(client: TestClient, link: str, login: str, project: str = "", *, consents: bool = True) -> TestClient:
    """Follow an invitation: make an account, and agree to what the work is."""
    send(
        client,
        "/invitation/" + link.rpartition("/")[2],
        {"name": login.title(), "login": login, "password": PASSWORD, "again": PASSWORD},
    )
    if project and consents:
        send(client, f"/projects/{project}/consent", {"agree": "yes", "text": "masked", "pictures": "grey"})
    return client


def sign_in(client: TestClient, login: str) -> TestClient:
    """Sign in again, as after a server was started again."""
    send(client, "/sign-in", {"login": login, "password": PASSWORD})
    return client


def answer_form(html: str, answers: Answers) -> dict[str, Any]:
    """Return the fields of the labelling form with a person's answers."""
    fields: dict[str, Any] = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', html))
    fields |= {"do": "save", "asked": re.findall(r'name="asked" value="([^"]+)"', html) or list(answers)}
    return fields | {f"answer.{name}": given for name, given in answers.items()}


def label(client: TestClient, project: str, judge: Judge, *, most: int = 1000) -> int:
    """Answer posts that the labelling page offers, all of them or `most`; return how many."""
    page, number = client.get(f"/projects/{project}/label"), 0
    while 'id="answer"' in page.text and number < most:
        action = re.search(r'<form id="answer" method="post" action="([^"]+)"', page.text)
        assert action
        saved = client.post(action.group(1), data=answer_form(page.text, judge(page.text)))
        assert saved.status_code == 303, saved.text
        page, number = client.get(saved.headers["location"]), number + 1
    return number


def discuss(client: TestClient, project: str, judge: Judge) -> int:
    """Record the team's shared answer to every post of a discussion; return how many there were."""
    number = 0
    while 'id="answer"' in (page := client.get(f"/projects/{project}/discussion")).text:
        action = re.search(r'<form id="answer" method="post" action="([^"]+)"', page.text)
        assert action
        saved = client.post(action.group(1), data=answer_form(page.text, judge(page.text)))
        assert saved.status_code == 303, saved.text
        number += 1
    return number


def decide(client: TestClient, project: str, judge: Judge) -> int:
    """Decide every case that waits for an expert; return how many there were."""
    number = 0
    while "/expert/" in (case := send(client, f"/projects/{project}/expert", {}).headers.get("location", "")):
        page = client.get(case).text
        fields = answer_form(page, judge(page)) | {"reason": "It says so.", "do": "save"}
        saved = client.post(case, data=fields)
        assert saved.status_code == 303, saved.text
        number += 1
    return number


def unpacked(archive: Path, folder: Path) -> Path:
    """Unpack a zip, as a file manager does, and return the folder."""
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(folder)
    return folder


def hub_rows(folder: Path, config: str = "default", split: str = "train") -> list[dict[str, Any]]:
    """Return the rows of an exported data set, as `datasets` reads them from the folder alone."""
    import datasets

    datasets.disable_progress_bars()
    loaded = datasets.load_dataset(str(folder), config, split=split, cache_dir=str(folder.parent / "hub-cache"))
    return list(loaded)
