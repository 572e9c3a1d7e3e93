"""Exports and imports in the background, on both databases; and what happens when the disk is full."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from davy.annotation.exchange.formats import find_format
from davy.annotation.exchange.jobs import EXPORT, IMPORT
from davy.annotation.project.store import phases
from davy.jobs import job_files
from davy.jobs import store as jobs
from davy.jobs.kinds import job_functions
from davy.jobs.worker import JobWorker
from davy.store import open_store
from exchange_case import about, fill, rows

LINE = {"id": "n1", "text": "words", "label": ["not hateful"], "annotator": "w1"}


def settled(store, job_id: str) -> jobs.Job:
    """Wait until a job has ended."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with store.read() as db:
            job = jobs.get(db, job_id)
        if job.state in ("done", "failed", "cancelled"):
            return job
        time.sleep(0.02)
    raise AssertionError(f"job is {job.state} after 30 s")


def test_a_job_makes_the_file_and_another_brings_one_in(store, tmp_path):
    fill(store)
    folder = tmp_path / "kept"
    upload = job_files.make_folder(folder, "upload1")
    (upload / "new.jsonl").write_text(json.dumps(LINE) + "\n")
    told = {"project": "tea-1", "format": "doccano", "phase": "3", "file": "new.jsonl", "upload": "upload1"}
    wish = {"project": "tea-1", "format": "label-studio", "phases": ["3"], "file": "tea.json"}
    with store.write() as db:
        going_in = jobs.enqueue(db, IMPORT, told, owner="x")
        going_out = jobs.enqueue(db, EXPORT, wish, owner="x")
    with JobWorker(store, job_functions(long=False), files=folder, poll_seconds=0.05):
        came, went = settled(store, going_in.id), settled(store, going_out.id)
    assert (came.state, came.result["answers"]) == ("done", 1), came.error
    assert (went.state, went.result["posts"]) == ("done", len(rows()) + 1), went.error
    read = list(find_format("label-studio").read(folder / going_out.id / "tea.json", about()))
    assert [row.id for row in read] == ["n1", *(row.id for row in rows())]
    with store.read() as db:
        assert phases.by_name(db, "tea-1", "3").size == len(rows()) + 1
        measured = jobs.latest(db, kind="measure agreement", project="tea-1")
    assert [job.key.split()[:1] for job in measured] == [["agreement"]] * len(measured)
    assert measured


def test_an_upload_that_is_gone_and_a_project_that_is_not_there_fail_at_once(store, tmp_path):
    told = {"project": "tea-1", "format": "doccano", "phase": "3", "file": "new.jsonl", "upload": "nothing"}
    wish = {"project": "nowhere", "format": "long", "file": "x.csv"}
    with store.write() as db:
        first = jobs.enqueue(db, IMPORT, told, owner="x")
        second = jobs.enqueue(db, EXPORT, wish, owner="x")
    with JobWorker(store, job_functions(long=False), files=tmp_path / "kept", poll_seconds=0.05):
        gone, missing = settled(store, first.id), settled(store, second.id)
    assert (gone.state, gone.attempts) == ("failed", 1)
    assert "no longer here" in gone.error
    assert (missing.state, missing.attempts) == ("failed", 1)
    assert missing.error == "There is no project 'nowhere'."
    assert list((tmp_path / "kept").iterdir()) == []


@pytest.mark.parametrize("out", ["full.csv", "full.parquet", "full.json", "full.zip"])
def test_a_full_disk_is_one_line_and_leaves_no_file(tmp_path, sqlite_template, out):
    """Files are capped at 8 kB in a process of its own, which is what a full disk looks like to a writer."""
    import shutil

    from davy.store import open_store

    shutil.copy(sqlite_template, tmp_path / "davy.sqlite")
    with open_store(f"sqlite:///{tmp_path / 'davy.sqlite'}") as store:
        fill(store)
    formats = {"full.json": "label-studio", "full.zip": "codabench"}
    (tmp_path / "out").mkdir()
    wish = f"ExportRequest('tea-1', {formats.get(out, 'long')!r})"
    program = f"""
import resource, signal
from pathlib import Path
from davy.core import UserError
from davy.annotation.exchange.exchange import ExportRequest, export_project
from davy.store import open_store
import davy.files.output_file, davy.annotation.exchange.row_export, davy.annotation.exchange.data_statement, polars
store = open_store("sqlite:///{tmp_path / "davy.sqlite"}")
with store.read() as db:
    db.exec_driver_sql("SELECT 1 FROM posts").all()
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4_000, 4_000))
    try:
        export_project(store, {wish}, Path({str(tmp_path / "out" / out)!r}))
    except UserError as error:
        print(error.message)
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=Path.cwd())
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("No room left to write"), ran.stdout + ran.stderr
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.postgres
def test_a_worker_without_a_folder_leaves_exports_to_one_that_has_it(postgres_url, tmp_path):
    with open_store(postgres_url, create=True) as store:
        fill(store)
        wish = {"project": "tea-1", "format": "label-studio", "phases": ["3"], "file": "tea.json"}
        with store.write() as db:
            job = jobs.enqueue(db, EXPORT, wish, owner="x").id
        command = [sys.executable, "-m", "davy", "work", "--once", "--database", postgres_url]
        left = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        with store.read() as db:
            waiting = jobs.get(db, job)
        assert (waiting.state, waiting.attempts, waiting.error) == ("waiting", 0, None)
        assert "leaves to others: export project" in left.stderr
        refused = subprocess.run(
            [*command, "--kinds", EXPORT], capture_output=True, text=True, check=False, timeout=120
        )
        assert (refused.returncode, "Start it with --files FOLDER" in refused.stderr) == (2, True)
        subprocess.run([*command, "--files", str(tmp_path / "kept")], check=True, capture_output=True, timeout=120)
        assert settled(store, job).state == "done"
