"""The code blocks in the guides to serving, run in the order of their pages: each does what its page says."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text
from test_serve_detectors import save_model

from davy.detectors import embedded
from davy.detectors.store import list_detectors
from davy.jobs import store as jobs
from davy.people.store import users
from davy.shell.app import run
from davy.store import open_store, schema_versions
from davy.web.settings import DEMO_WORD_LIST
from page_blocks import block, blocks, commands
from web_site import make_key

ROOT = Path(__file__).parents[2]
URL = "sqlite:///davy.sqlite"


@pytest.fixture
def settings(settings):
    """The running server's detector is the demo's word list, as on the page on serving."""
    return replace(settings, model=DEMO_WORD_LIST)


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
    create, status, backup, refused, restore, *_, invite, key = commands("store.md")
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


def test_a_database_moves_to_postgresql(place, capsys, postgres_url):
    moving = block("store.md", "davy database backup move.davy")
    for command in moving.commands(placeholders={"postgresql://davy:password@localhost/davy": postgres_url}):
        code, said = done(capsys, command)
        assert code == 0, said
    with open_store(postgres_url) as store, store.read() as db:
        assert users.find(db, "lin@example.org").name == "Lin"


def test_an_older_database_is_refused_in_the_words_of_the_page(place, capsys, monkeypatch):
    with open_store(URL) as store, store.write() as db:
        db.execute(text(f"UPDATE {schema_versions.VERSION_TABLE} SET version_num = '1.0001'"))
    monkeypatch.setattr(schema_versions, "list_versions", lambda: ["1.0001", "1.0002"])
    assert done(capsys, ["user", "list"]) == (2, block("store.md", "davy: sqlite").text)


def make_pilot(capsys, *more: str) -> None:
    """Make the project `pilot` of two posts, of which one is settled."""
    Path("two-posts.csv").write_text("id,text\np-1,what a grumblefop\np-2,a fine day\n")
    Path("answers.csv").write_text(
        "item,annotator,text,hate,hate.gold,hate.basis\np-1,a1,what a grumblefop,hateful,hateful,unanimous\n"
    )
    create = ["project", "create", "moderation", "--name", "pilot", "--posts", "two-posts.csv", *more]
    for command in (create, ["project", "import", "pilot", "answers.csv"]):
        code, said = done(capsys, command)
        assert code == 0, said


def test_a_project_goes_to_another_database(place, capsys, empty_database):
    shutil.copyfile(empty_database, place / "new.sqlite")
    export, read = block("store.md", "davy project export").commands()
    create = ["project", "create", "moderation", "--name", "pilot", "--database", "sqlite:///new.sqlite"]
    make_pilot(capsys)
    for command in (create, export, read):
        code, said = done(capsys, command)
        assert code == 0, said
    again = [
        "project",
        "export",
        "pilot",
        "--phase",
        "all",
        "--out",
        "again.csv",
        "--database",
        "sqlite:///new.sqlite",
    ]
    assert done(capsys, again)[0] == 0
    exported = (place / "pilot.csv").read_text()
    assert "what a grumblefop" in exported
    assert (place / "again.csv").read_text() == exported


def test_the_library_lines_of_the_databases_page(place):
    ran = subprocess.run([sys.executable, "-c", block("store.md", "from davy.people").text], check=False)
    assert ran.returncode == 0
    with open_store(URL) as store, store.read() as db:
        assert users.find(db, "ada").role == "expert"


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
def test_the_detectors_of_the_page_on_serving(place, capsys, monkeypatch):
    (place / "davy.sqlite").rename(place / "work.sqlite")
    add, shadow, show, activate, retire = [it for it in commands("serving.md") if it[0] == "model"]
    folder = place / add[2]
    folder.parent.mkdir(parents=True)
    save_model(folder, name="m")
    database = ["--database", "sqlite:///work.sqlite"]
    assert done(capsys, [*add, *database])[0] == 0
    assert done(capsys, [*shadow, *database])[0] == 0
    monkeypatch.setenv("COLUMNS", "400")  # the table names the folder of a model, which may be long
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


def ask(live, request: str, key: str) -> str:
    """Return what the server answers to a `$ curl` block."""
    if shutil.which("curl") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("curl is missing")
        pytest.skip("needs curl")
    assert request.count("http://127.0.0.1:8460/") == 1
    line = request.removeprefix("$ ").replace("http://127.0.0.1:8460/", f"{live.url}/")
    surroundings = {**os.environ, "DAVY_KEY": key, "no_proxy": "127.0.0.1"}
    ran = subprocess.run(["bash", "-ec", line], env=surroundings, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_the_requests_of_the_page_on_serving(live, capsys):
    score, results = [it.text for it in blocks("serving.md") if it.text.startswith("$ curl")]
    _, key = make_key(live.site)
    assert json.loads(ask(live, score, key)) == json.loads(block("serving.md", '{"model"').text)
    login = live.site.people["admin"].login
    make_pilot(capsys, "--manager", login)
    _, said = done(capsys, ["key", "create", "--project", "pilot", "--owner", login, "--scope", "read"])
    request, shown = results.splitlines()
    key = re.search(r"^davy_\S+$", said, re.M).group()
    assert json.loads(ask(live, request, key)) == json.loads(shown)


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


def test_the_job_of_the_page_on_jobs_runs(place):
    with open_store(URL) as store:
        with store.read() as db:
            user = users.find(db, "lin@example.org")
        names: dict[str, object] = {"store": store, "user": user}
        exec(block("jobs.md", "from davy.jobs").text, names)  # noqa: S102 — our own documentation
        end = time.monotonic() + 60
        state = ""
        while state not in {"done", "failed"} and time.monotonic() < end:
            with store.read() as db:
                found = jobs.get(db, names["job"].id)
            state = found.state
            time.sleep(0.05)
        names["worker"].stop()
    assert (state, found.done, found.result) == ("done", 100, {"parts": 100})
