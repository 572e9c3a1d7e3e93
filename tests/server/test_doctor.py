"""`davy doctor` on a sound deployment, and on one that is broken in each way that it looks for."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections import namedtuple
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

import davy
from davy.annotation.project.project_creation import create_project
from davy.annotation.project.project_file import read_plan
from davy.annotation.project.store import phases
from davy.detectors import embedded
from davy.jobs import store as jobs
from davy.moderation import webhook_deliveries, webhooks
from davy.moderation.communities import PostForReview, create_community, queue_posts
from davy.moderation.store import decisions
from davy.moderation.store.decisions import Decision
from davy.server import doctor
from davy.shell.app import run
from davy.store import open_store
from davy.store.columns import now
from davy.store.store import DatabaseUnavailable

PARTS = ["database", "disk", "files", "secret", "address", "detectors", "registered", "jobs", "communities"]


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


def spoiled(place):
    (place / "davy.sqlite").write_bytes(b"no database " * 1000)
    return []


def of_a_newer_davy(place):
    with sqlite3.connect(place / "davy.sqlite") as db:
        db.execute("UPDATE davy_version SET version_num = '9.9999'")
    return []


def from_before_the_first_release(place):
    with sqlite3.connect(place / "davy.sqlite") as db:
        db.execute("UPDATE davy_version SET version_num = '0018'")
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


def wrong_categories(place):
    (place / "mine.yaml").write_text("name: mine\nattributes:\n  hate: {formula: hate /}\n")
    return ["--categories", place / "mine.yaml"]


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
        (spoiled, "database", "is not a SQLite database"),
        (lambda place: ["--database", f"sqlite:///{place}"], "database", "is a folder"),
        (of_a_newer_davy, "database", "made by a newer Davy"),
        (from_before_the_first_release, "database", "davy project export"),
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
        (wrong_categories, "detectors", "formula"),
        (lambda place: ["--prevalence", "0.02"], "detectors", "davy calibrate"),
        (lambda place: ["--prevalence", "many"], "detectors", "many"),
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


@pytest.mark.skipif("embedded-en" not in embedded.shipped_names(), reason="no embedded detectors")
@pytest.mark.parametrize("missing", ["model.onnx", "screen.onnx", "manifest.json"])
def test_a_detector_without_its_weights_is_wrong(place, capsys, missing):
    shutil.copytree(embedded.weights_folder("embedded-en"), place / "comments")
    (place / "comments" / missing).unlink()
    wrong, _ = examined(capsys, "--model", place / "comments")
    assert missing in wrong["detectors"]
    assert "model again" in wrong["detectors"]


@contextmanager
def as_nobody(place):
    """Run the block as somebody who owns nothing: root may write everywhere."""
    for folder in (place, *place.parents[:3]):
        folder.chmod(folder.stat().st_mode | 0o055)
    if os.geteuid() != 0:
        yield
        return
    closed = [folder for folder in Path(davy.__file__).parents if not folder.stat().st_mode & 0o001]
    assert not closed, f"this test becomes another user, who has to read the source: chmod o+x {closed[-1]}"
    os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


def test_a_read_only_database_of_a_running_server_is_wrong(place, capsys):
    assert examined(capsys)[0] == {}  # and all that the checks need is imported
    with open_store("sqlite:///davy.sqlite") as store:
        with store.write() as db:
            jobs.enqueue(db, "fit threshold", {}, owner="system")
        store.check_writable()
        for path in place.glob("davy.sqlite*"):  # SQLite's log is there, so that it opens the file for reading
            path.chmod(0o444)
        with as_nobody(place):
            wrong, _ = examined(capsys)
            with pytest.raises(DatabaseUnavailable, match="can't be written to"):
                store.check_writable()
    assert "whether the disk is read-only" in wrong["database"]


def test_what_the_server_may_not_write_or_read_is_wrong(place, capsys):
    assert examined(capsys)[0] == {}  # and all that the checks need is imported
    (place / "davy.sqlite").chmod(0o444)
    (place / "files").mkdir(mode=0o555)
    secret = place / "davy.sqlite.secret"
    secret.write_text("k" * 64)
    secret.chmod(0o000)
    with as_nobody(place):
        wrong, _ = examined(capsys, "--files", place / "files")
    assert "can't be written to" in wrong["database"]
    assert "may write to" in wrong["files"]
    assert "Can't read the server's secret in davy.sqlite.secret" in wrong["secret"]
    assert set(wrong) == {"database", "files", "secret"}


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


def test_a_webhook_that_fails_is_wrong_until_a_delivery_is_taken(place, capsys, monkeypatch):
    monkeypatch.setenv(webhooks.NETWORKS, "127.0.0.0/8")
    with open_store("sqlite:///davy.sqlite") as store:
        with store.write() as db:
            create_community(db, "forum", {"webhook": "http://127.0.0.1:1/hook"}, by="shell")
            arguments = {"community": "forum", "decisions": ["d"]}
            jobs.enqueue(db, webhook_deliveries.KIND, arguments, owner="system", max_attempts=8)
            job = jobs.lease(db, [webhook_deliveries.KIND], worker="w", seconds=60)
            jobs.fail(db, job, "127.0.0.1 answered 503.", again_in=timedelta(minutes=1))
        wrong, _ = examined(capsys)
        assert "webhook of forum fails: 127.0.0.1 answered 503." in wrong["communities"]
        with store.write() as db:
            jobs.enqueue(db, webhook_deliveries.KIND, arguments, owner="system", max_attempts=8)
            job = jobs.lease(db, [webhook_deliveries.KIND], worker="w", seconds=60)
            jobs.finish(db, job, {"status": 204})
        assert examined(capsys)[0] == {}


def test_posts_that_nobody_can_review_are_wrong_until_their_phase_is_open(place, capsys):
    with open_store("sqlite:///davy.sqlite") as store:
        with store.write() as db:
            made = create_project(db, read_plan("moderation"), by="shell")
            project = made.project.id
            create_community(db, "forum", {"project": project, "low": 0.2, "high": 0.8}, by="shell")
        assert examined(capsys)[0] == {}
        with store.write() as db:
            decision = Decision("forum", "words@1", "review", [], None, None)
            decisions.add(db, [decision])
            keys = queue_posts(
                db, project, [PostForReview(decision.id, "a quiet thing", None, {})], source="forum", by="shell"
            )
            decisions.set_post(db, decision.id, keys[decision.id])
        wrong, _ = examined(capsys)
        assert f"1 posts of forum wait for a review that nobody can do: project {project}" in wrong["communities"]
        with store.write() as db:
            phases.open_phase(db, made.phases[0].id, by="shell")
        assert examined(capsys)[0] == {}


def test_it_takes_the_options_of_the_server_s_file_and_no_others(place, capsys):
    (place / "serve.yaml").write_text("colour: red\n")
    assert run(["doctor", "--config", "serve.yaml"]) == 2
    assert "colour" in capsys.readouterr().err
