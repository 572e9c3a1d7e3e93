"""The commands in the guides to serving, run in the order of their pages: each does what its page says."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from test_serve_detectors import save_model

from davy.detectors import embedded
from davy.detectors.store import list_detectors
from davy.jobs import store as jobs
from davy.people.store import users
from davy.shell.app import run
from davy.store import open_store

ROOT = Path(__file__).parents[2]
URL = "sqlite:///davy.sqlite"


def commands(page: str) -> list[list[str]]:
    """Return the arguments of each `$ davy` line of a page, without its remarks."""
    lines = re.findall(r"^\$ davy (.*)$", (ROOT / "docs/serve" / page).read_text(encoding="utf-8"), re.M)
    return [shlex.split(line, comments=True) for line in lines]


@pytest.fixture
def place(tmp_path, monkeypatch, empty_database):
    """A folder with an empty database, as the pages have it, and an account."""
    for name in ("DAVY_DATABASE", "DAVY_SECRET_KEY", "DAVY_CONFIG", "DAVY_MODEL", "DAVY_BASE_URL", "DAVY_FILES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    shutil.copyfile(empty_database, tmp_path / "davy.sqlite")
    with open_store(URL) as store, store.write() as db:
        users.add(db, login="lin@example.org", name="Lin", role="admin", by="shell")
    return tmp_path


def done(capsys, arguments: list[str]) -> tuple[int, str]:
    code = run(arguments)
    said = capsys.readouterr()
    return code, said.out + said.err


def test_the_databases_page(place, capsys):
    (place / "davy.sqlite").rename(place / "with-lin.sqlite")
    create, status, backup, refused, restore, invite, key = commands("store.md")
    assert done(capsys, create) == (0, f"{URL} is ready.\n")
    code, said = done(capsys, status)
    assert code == 0
    assert re.search(r"annotations +0 ", said)
    (place / "davy.sqlite").unlink()
    (place / "with-lin.sqlite").rename(place / "davy.sqlite")
    code, said = done(capsys, backup)
    assert (code, "davy-monday.davy holds" in said) == (0, True)
    code, said = done(capsys, refused)
    assert (code, "add --replace" in said) == (2, True)
    code, said = done(capsys, restore)
    assert (code, "are back. The old database is davy.sqlite.before-restore-" in said) == (0, True)
    code, said = done(capsys, invite)
    assert (code, "https://davy.example.org/invitation/" in said) == (0, True)
    code, said = done(capsys, key)
    assert (code, "For lin@example.org, may score" in said) == (0, True)


def test_the_page_on_running_a_server(place, capsys):
    key, doctor = commands("running.md")
    code, said = done(capsys, key)
    assert (code, said.startswith("davy_")) == (0, True)
    assert doctor == ["doctor", "--config", "/etc/davy/serve.yaml"]
    options = (ROOT / "deploy/serve.yaml").read_text().replace("sqlite:////var/lib/davy/davy.sqlite", URL)
    (place / "serve.yaml").write_text(options + "model: uniform\n")
    code, said = done(capsys, ["doctor", "--config", "serve.yaml"])
    assert f"{URL} answers" in said
    assert "https://davy.example.org" in said


@pytest.mark.slow
@pytest.mark.skipif("embedded-en-large" not in embedded.shipped_names(), reason="no large detector")
def test_the_detectors_of_the_page_on_serving(place, capsys):
    (place / "davy.sqlite").rename(place / "work.sqlite")
    add, shadow, show, activate, retire = [it for it in commands("serving.md") if it[0] == "model"]
    folder = place / add[2]
    folder.parent.mkdir(parents=True)
    save_model(folder, name="m")
    database = ["--database", "sqlite:///work.sqlite"]
    assert done(capsys, [*add, *database])[0] == 0
    assert done(capsys, [*shadow, *database])[0] == 0
    code, said = done(capsys, show)
    assert (code, "comments" in said, "embedded-en-large" in said) == (0, True, True)
    with open_store("sqlite:///work.sqlite") as store, store.read() as db:
        version = next(it.full_name for it in list_detectors(db) if it.name == "comments")
    assert re.fullmatch(r"comments@[0-9a-f]{12}", activate[2])
    assert done(capsys, ["model", "activate", version, *database])[0] == 0
    assert done(capsys, [*retire, *database])[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize(("number", "then"), [(0, "Demo accounts"), (1, "There is no account yet"), (2, "")])
def test_the_servers_of_the_page_on_serving_start(place, words_file, number, then):
    assert words_file == place / "words.txt"
    asked = [it for it in commands("serving.md") if it[0] == "serve"][number]
    server = subprocess.Popen(
        [sys.executable, "-m", "davy", *asked, "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        first, second = server.stdout.readline(), server.stdout.readline() if then else ""
    finally:
        server.terminate()
        _, errors = server.communicate(timeout=120)
    assert first.startswith("Davy is at http"), errors
    assert second.startswith(then)
    assert server.returncode == 0, errors


def test_the_page_on_jobs(place, capsys):
    code, said = done(capsys, ["project", "create", "moderation", "--name", "pilot"])
    assert code == 0, said
    (place / "posts.csv").write_text("id,text\n1,a fine day\n")
    listing, train, score, work, show, cancel, retry = commands("jobs.md")
    assert done(capsys, listing)[0] == 0
    for start in (train, score):
        code, said = done(capsys, start)
        assert code == 0, said
    with open_store(URL) as store, store.read() as db:
        waiting = jobs.latest(db, state="waiting")
    assert sorted(it.kind for it in waiting) == ["score", "train"]
    job = waiting[0].id
    assert work == ["work", "--database", URL]
    for command, words, state in (
        (show, waiting[0].kind, "waiting"),
        (cancel, "It is cancelled", "cancelled"),
        (retry, "", "waiting"),
    ):
        code, said = done(capsys, [*command[:2], job])
        assert (code, words in said) == (0, True), said
        with open_store(URL) as store, store.read() as db:
            assert jobs.get(db, job).state == state
