"""`davy user export` and `davy user delete`: a person's data goes out to them, or away."""

from __future__ import annotations

import io
import json

import pytest

from davy.people.store import users
from davy.shell.app import run
from davy.store import open_store


@pytest.fixture
def database(tmp_path):
    """A database with an admin and one other person."""
    url = f"sqlite:///{tmp_path / 'davy.sqlite'}"
    with open_store(url, create=True) as store, store.write() as db:
        users.add(db, login="root", name="Root", role="admin", by="shell")
        users.add(db, login="lin@example.org", name="Lin Longname", role="annotator", by="shell")
    return url


@pytest.fixture
def davy(capsys, monkeypatch, database):
    """Run a command line on that database; return its exit code, output and messages."""
    monkeypatch.setenv("DAVY_DATABASE", database)
    monkeypatch.setattr("sys.stdin", io.StringIO(""))

    def call(*words: str) -> tuple[int, str, str]:
        code = run(list(words))
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def test_everything_about_a_person_goes_into_a_file_or_on_the_screen(davy, tmp_path):
    out = tmp_path / "lin.json"
    assert davy("user", "export", "lin@example.org", "--out", str(out))[0] == 0
    made = json.loads(out.read_text())
    assert made["account"]["name"] == "Lin Longname"
    code, shown, _ = davy("user", "export", "LIN@example.org")
    assert code == 0
    assert json.loads(shown)["account"] == made["account"]
    code, _, said = davy("user", "export", "lni@example.org")
    assert code == 2
    assert "Did you mean" in said


def test_an_account_is_deleted_once_and_never_without_being_asked(davy, tmp_path):
    code, _, said = davy("user", "delete", "lin@example.org")
    assert code == 2
    assert "--yes" in said
    code, done, _ = davy("user", "delete", "lin@example.org", "--yes", "--json")
    assert json.loads(done)["answers_deleted"] == 0
    assert b"Lin Longname" not in (tmp_path / "davy.sqlite").read_bytes()
    for who, reason in ((json.loads(done)["id"], "deleted already"), ("root", "last admin")):
        code, _, said = davy("user", "delete", who, "--yes")
        assert code == 2
        assert reason in said


def test_an_account_is_made_without_a_browser_and_signs_in(davy, database, monkeypatch, capsys):
    from davy.people.passwords import check_password

    monkeypatch.setattr("sys.stdin", io.StringIO("a long enough pass phrase\n"))
    assert run(["user", "create", "mo@example.org", "--name", "Mo", "--role", "admin"]) == 0
    assert "mo@example.org has an account as admin" in capsys.readouterr().err
    with open_store(database) as store, store.read() as db:
        user = users.by_login(db, "mo@example.org")
    assert user.role == "admin"
    assert check_password("a long enough pass phrase", user.password_hash)
    assert run(["user", "create", "mo@example.org", "--name", "Mo"]) == 2, "an empty password is refused"
