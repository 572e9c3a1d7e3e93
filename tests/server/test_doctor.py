"""`davy doctor` on a sound deployment, and on one that is broken in each way that it looks for."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections import namedtuple
from datetime import timedelta

import pytest

from davy.jobs import store as jobs
from davy.server import doctor
from davy.shell.app import run
from davy.store import open_store
from davy.store.columns import now

PARTS = ["database", "disk", "files", "secret", "address", "detectors", "registered", "jobs"]


@pytest.fixture
def place(tmp_path, monkeypatch, empty_database, words_file):
    """A folder with a database; the detector is a word list."""
    for name in ("DAVY_DATABASE", "DAVY_SECRET_KEY", "DAVY_FILES", "DAVY_CONFIG", "DAVY_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DAVY_MODEL", f"keywords:{words_file}")
    monkeypatch.chdir(tmp_path)
    shutil.copyfile(empty_database, tmp_path / "davy.sqlite")
    return tmp_path


def examined(capsys, *arguments):
    code = run(["doctor", *map(str, arguments), "--json"])
    found = json.loads(capsys.readouterr().out)
    assert code == (0 if found["ok"] else 1)
    assert found["ok"] == all(check["ok"] for check in found["checks"])
    return {check["part"]: check["text"] for check in found["checks"] if not check["ok"]}, found["checks"]


def test_a_sound_deployment_has_a_line_for_each_part_and_changes_nothing(place, capsys):
    before = sorted(path.name for path in place.iterdir())
    wrong, checks = examined(capsys)
    assert wrong == {}
    assert [check["part"] for check in checks] == PARTS
    assert sorted(path.name for path in place.iterdir() if not path.name.endswith(("-wal", "-shm"))) == before
    assert run(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines] == [["ok", part] for part in PARTS]


def test_several_faults_are_each_a_line_that_says_what_to_do(place, capsys):
    (place / "davy.sqlite").unlink()
    assert run(["doctor", "--base-url", "http://davy.example.org", "--files", "files"]) == 1
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("WRONG")]
    assert [line.split()[1] for line in lines] == ["database", "files", "address"]
    assert "davy database create" in lines[0]
    assert str(place / "files") in lines[1]
    assert "TLS" in lines[2]


def not_a_database(place):
    with sqlite3.connect(place / "davy.sqlite") as db:
        db.execute("UPDATE davy_version SET version_num = '9.9999'")
    return []


def no_tables(place):
    (place / "davy.sqlite").write_bytes(b"")
    return []


def no_server(place):
    return ["--database", "postgresql://davy:hidden@127.0.0.1:1/davy", "--files", place]


def files_are_a_file(place):
    (place / "files").write_text("no folder")
    return ["--files", place / "files"]


def open_secret(place):
    secret = place / "davy.sqlite.secret"
    secret.write_text("k" * 64)
    secret.chmod(0o644)
    return []


def wrong_map(place):
    (place / "mine.yaml").write_text("name: mine\nattributes:\n  A: {formula: hate /}\n")
    return ["--attributes", place / "mine.yaml"]


def map_without_its_model(place):
    (place / "mine.yaml").write_text(
        f"include: perspective\nlanguages:\n  fr:\n    model: {place}/none\n    attributes:\n"
        "      TOXICITY: {question: hate}\n"
    )
    return ["--attributes", place / "mine.yaml"]


def options_file(place):
    (place / "serve.yaml").write_text("port: 9000\nworkers: 2\nbase-url: http://davy.example.org\n")
    return ["--config", place / "serve.yaml"]


@pytest.mark.parametrize(
    ("broken", "part", "said"),
    [
        (not_a_database, "database", "made by a newer Davy"),
        (no_tables, "database", "davy database create"),
        (no_server, "database", "127.0.0.1"),
        (files_are_a_file, "files", "is no folder"),
        (lambda place: ["--files", "relative"], "files", "Name it whole"),
        (open_secret, "secret", "chmod 600"),
        (lambda place: ["--host", "192.0.2.5"], "address", "--base-url"),
        (lambda place: ["--base-url", "davy"], "address", "should look like"),
        (options_file, "address", "not encrypted"),
        (lambda place: ["--model", place / "none"], "detectors", "none"),
        (lambda place: ["--shadow", "keywords:/no/such"], "detectors", "/no/such"),
        (wrong_map, "detectors", "formula"),
        (map_without_its_model, "detectors", "none"),
    ],
)
def test_each_fault_is_found_and_named(place, capsys, broken, part, said):
    wrong, checks = examined(capsys, *broken(place))
    assert said in wrong[part], wrong
    assert "hidden" not in json.dumps(checks)
    assert set(wrong) <= {part, "secret"}  # PostgreSQL's lacks its secret, too


def test_a_short_secret_and_a_missing_one_are_wrong(place, capsys, monkeypatch):
    monkeypatch.setenv("DAVY_SECRET_KEY", "short")
    assert "needs 32" in examined(capsys)[0]["secret"]
    monkeypatch.delenv("DAVY_SECRET_KEY")
    wrong, _ = examined(capsys, "--database", "postgresql://davy@127.0.0.1:1/davy")
    assert "DAVY_SECRET_KEY" in wrong["secret"]
    assert "--files" in wrong["files"]


def test_a_full_disk_is_wrong(place, capsys, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _: usage(10**12, 10**12 - 5 * 10**8, 5 * 10**8))
    assert "500 MB left" in examined(capsys)[0]["disk"]


def test_a_detector_that_was_added_and_is_gone_is_wrong(place, capsys):
    from davy.detectors import store as registry

    with open_store("sqlite:///davy.sqlite") as store, store.write() as db:
        registry.add(db, name="comments", version="1", source=str(place / "gone"), questions=("hate",), by="shell")
    wrong, _ = examined(capsys)
    assert "comments" in wrong["registered"]
    assert "davy model retire comments" in wrong["registered"]


def test_jobs_that_nobody_works_on_are_wrong_and_those_behind_a_busy_worker_are_not(place, capsys):
    with open_store("sqlite:///davy.sqlite") as store:
        with store.write() as db:
            jobs.enqueue(db, "deliver webhook", {}, owner="system", after=now() - timedelta(hours=1))
        assert "davy work" in examined(capsys)[0]["jobs"]
        with store.write() as db:
            jobs.enqueue(db, "fit threshold", {}, owner="system", after=now() - timedelta(hours=1))
            jobs.lease(db, ["fit threshold"], worker="w", seconds=60)
        assert examined(capsys)[0] == {}
        with store.write() as db:
            jobs.lease(db, ["deliver webhook"], worker="w", seconds=-3600)
        assert "1 job waits" in examined(capsys)[0]["jobs"]


def test_it_takes_the_options_of_the_server_s_file_and_no_others(place, capsys):
    (place / "serve.yaml").write_text("colour: red\n")
    assert run(["doctor", "--config", "serve.yaml"]) == 2
    assert "colour" in capsys.readouterr().err
