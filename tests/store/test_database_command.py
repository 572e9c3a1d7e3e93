"""`davy database|user|key|job`, as people type them."""

from __future__ import annotations

import io
import json
import os

import pytest

from davy.jobs import store as jobs
from davy.people.store import invitations, keys, users
from davy.shell.app import run
from davy.store import events, open_store, schema_versions


@pytest.fixture
def davy(capsys, monkeypatch, database_url):
    """Run a command line on a fresh database; return its exit code, output and messages."""
    monkeypatch.setenv("DAVY_DATABASE", database_url)

    def call(*arguments: str, stdin: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        code = run(list(arguments))
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


@pytest.fixture
def made(davy, database_url):
    assert davy("database", "create")[0] == 0
    with open_store(database_url) as store, store.write() as db:
        users.add(db, login="ada", name="Ada", role="admin", by="shell")
    return davy


def test_a_database_is_created_looked_at_and_created_again(davy, database_url):
    code, _, err = davy("database", "upgrade")
    assert code == 2
    assert "davy database create" in err
    code, out, _ = davy("database", "create")
    assert code == 0
    assert "is ready" in out
    assert davy("database", "create")[0] == 0
    code, out, _ = davy("database", "status", "--json")
    assert code == 0
    about = json.loads(out)
    assert about["ready"] is True
    assert about["rows"]["posts"] == 0
    code, out, _ = davy("database", "status")
    assert f"version {schema_versions.newest_version()}" in out
    assert davy("database", "upgrade")[0] == 0


def test_commands_say_how_to_export_a_database_from_before_the_first_release(made, database_url, tmp_path):
    with open_store(database_url) as store, store.write() as db:
        db.exec_driver_sql(f"UPDATE {schema_versions.VERSION_TABLE} SET version_num = '0018'")
    for command in (["database", "status"], ["database", "upgrade"], ["database", "backup", str(tmp_path / "b.davy")]):
        code, _, err = made(*command)
        assert (code, err.count("\n")) == (2, 1)
        assert "davy project export PROJECT" in err
    assert not (tmp_path / "b.davy").exists()


def test_a_backup_goes_out_and_comes_back(made, tmp_path):
    file = str(tmp_path / "b.davy")
    code, out, _ = made("database", "backup", file)
    assert code == 0
    assert "holds 2 rows" in out
    code, _, err = made("database", "backup", file)
    assert code == 2
    assert "there already" in err
    code, _, err = made("database", "restore", file)
    assert code == 2
    assert "--replace" in err
    code, out, _ = made("database", "restore", file, "--replace", "--json")
    assert code == 0
    assert json.loads(out)["old"]
    code, out, _ = made("user", "list", "--json")
    assert [user["login"] for user in json.loads(out)["users"]] == ["ada"]


def test_an_invitation_is_printed_once_as_a_link(made, database_url):
    code, out, err = made("user", "invite", "--role", "expert", "--login", "Lin", "--base-url", "https://davy.test/")
    assert code == 0
    assert out.startswith("https://davy.test/invitation/")
    assert "not shown again" in err
    assert "before /invitation" not in err
    assert "before /invitation" in " ".join(made("user", "invite")[2].split())
    with open_store(database_url) as store, store.read() as db:
        found = invitations.get_usable(db, out.strip().rpartition("/")[2])
        assert (found.role, found.login, found.invited_by) == ("expert", "lin", "shell")
    code, out, _ = made("user", "list")
    assert "invitation, open" in out
    assert made("user", "invite", "--login", "ada")[0] == 2
    assert made("user", "invite", "--days", "0")[0] == 2
    assert made("user", "invite", "--days", "nan")[0] == 2


def test_an_account_is_disabled_enabled_and_given_a_role(made, database_url):
    with open_store(database_url) as store, store.write() as db:
        users.add(db, login="lin", name="Lin", role="annotator", by="shell")
    assert made("user", "disable", "lin")[0] == 0
    assert "disabled" in made("user", "list")[1]
    assert made("user", "enable", "lin")[0] == 0
    assert made("user", "role", "lin", "expert")[0] == 0
    code, _, err = made("user", "disable", "ada")
    assert code == 2
    assert "last admin" in err
    code, _, err = made("user", "role", "linn", "expert")
    assert code == 2
    assert "Did you mean 'lin'?" in err
    with open_store(database_url) as store, store.read() as db:
        assert users.find(db, "lin").role == "expert"
        what = [event.what for event in events.latest(db, by="shell")]
    assert what[:3] == ["user role set", "user enabled", "user disabled"]


def test_a_password_comes_from_standard_input_and_is_never_shown(made, database_url):
    from davy.people.passwords import check_password

    code, out, err = made("user", "password", "ada", stdin="correct horse 7\n")
    assert code == 0
    assert "horse" not in out + err
    with open_store(database_url) as store, store.read() as db:
        assert check_password("correct horse 7", users.find(db, "ada").password_hash)
        assert not check_password("correct horse 8", users.find(db, "ada").password_hash)
    code, _, err = made("user", "password", "ada", stdin="short\n")
    assert code == 2
    assert "at least 10" in err
    assert made("user", "password", "ada", stdin="")[0] == 2


def test_a_key_is_made_listed_and_revoked(made, database_url):
    code, out, err = made("key", "create", "--owner", "ada", "--scope", "score", "--name", "filter", "--days", "90")
    assert code == 0
    secret = out.strip()
    assert "not shown again" in err
    with open_store(database_url) as store, store.read() as db:
        assert keys.check(db, secret, "score")[1].login == "ada"
    code, out, _ = made("key", "list", "--json")
    (listed,) = json.loads(out)
    assert (listed["name"], listed["scopes"], listed["state"]) == ("filter", ["score"], "active")
    assert secret not in out
    assert made("key", "revoke", listed["prefix"])[0] == 0
    assert "revoked" in made("key", "list", "--owner", "ada")[1]
    with open_store(database_url) as store, store.read() as db, pytest.raises(Exception, match="revoked"):
        keys.check(db, secret, "score")
    assert made("key", "create", "--owner", "ada", "--scope", "all")[0] == 2
    assert made("key", "create", "--owner", "ada", "--scope", "score", "--days", "-1")[0] == 2
    assert made("key", "create", "--owner", "ada")[0] == 2
    assert made("key", "revoke", "nothing")[0] == 2


def test_jobs_are_listed_shown_cancelled_and_run_again(made, database_url):
    assert "no jobs" in made("job", "list")[2]
    with open_store(database_url) as store, store.write() as db:
        job = jobs.enqueue(db, "count", {"to": 3}, owner="shell")
        held = jobs.lease(db, ["count"], worker="w", seconds=60)
        jobs.log(db, held, "a line of the log")
        jobs.save_progress(db, held, done=2, total=3, note="counting")
    code, out, _ = made("job", "show", job.id)
    assert code == 0
    for word in ("running", "2 of 3", "counting", "a line of the log"):
        assert word in out
    assert "next step" in made("job", "cancel", job.id)[2]
    with open_store(database_url) as store, store.write() as db:
        jobs.fail(db, held, "RuntimeError: out of patience")
    code, out, _ = made("job", "list", "--state", "failed", "--json")
    assert json.loads(out)[0]["error"] == "RuntimeError: out of patience"
    assert made("job", "retry", job.id)[0] == 0
    assert made("job", "cancel", job.id)[0] == 0
    code, out, _ = made("job", "show", job.id, "--json")
    assert json.loads(out)["state"] == "cancelled"
    assert made("job", "list", "--state", "lost")[0] == 2
    assert made("job", "show", "nothing")[0] == 2


@pytest.mark.parametrize(
    "command",
    [
        ["database", "status"],
        ["database", "upgrade"],
        ["database", "backup", "b.davy"],
        ["user", "list"],
        ["user", "invite"],
        ["key", "list"],
        ["job", "list"],
    ],
)
@pytest.mark.parametrize("url", ["sqlite:///missing.sqlite", "missing.sqlite", "mysql://x/y"])
def test_a_wrong_database_is_one_line_and_leaves_no_file(capsys, monkeypatch, tmp_path, command, url):
    monkeypatch.chdir(tmp_path)
    assert run([*command, "--database", url]) == 2
    err = capsys.readouterr().err
    assert err.startswith("davy: ")
    assert err.count("\n") == 1
    assert os.listdir(tmp_path) == []


def test_a_key_is_added_to_a_community_and_removed_when_asked(made):
    lines = [made("key", "create", "--scope", "score")[1].split()[-1] for _ in range(3)]
    first, second, third = (line.removeprefix("davy_")[:8] for line in lines)

    def keys(*arguments):
        code, _, err = made("community", "set", "forum", *arguments)
        assert code == 0, err
        return err.rpartition("Keys: ")[2].strip(" .\n").split(", ")

    assert made("community", "create", "forum", "--key", first)[0] == 0
    assert keys("--key", second) == [first, second]
    assert keys("--key", second, "--uncertain", "0.4:0.6") == [first, second]
    assert keys("--uncertain", "-") == [first, second]
    assert keys("--remove-key", first) == [second]
    assert keys("--remove-key", "-", "--key", third) == [third]
    code, _, err = made("community", "set", "forum", "--remove-key", first)
    assert (code, f"does not have the key {first}" in err) == (2, True)
    assert "No key may use it" in made("community", "set", "forum", "--remove-key", "-")[2]
