"""`davy work`: jobs run in a process of their own, killed ones go on in another, a server keeps its workers alive."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import psutil
import pytest

from davy.detectors.load import load
from davy.jobs import store as jobs
from davy.jobs.processes import WorkerProcesses
from davy.shell.app import run
from davy.store import Store, open_store
from tiny_encoder import make_tiny_encoder


@pytest.fixture
def url(tmp_path: Path) -> str:
    made = f"sqlite:///{tmp_path / 'work.sqlite'}"
    open_store(made, create=True).close()
    return made


@pytest.fixture
def posts(tmp_path: Path) -> Path:
    rude, kind = ["bad grumblefop", "they are all wuzzle"], ["lovely garden", "the people are nice"]
    rows = [
        {"text": (rude if i % 2 else kind)[i // 2 % 2], "hate.gold": "hateful" if i % 2 else "not hateful"}
        for i in range(60)
    ]
    path = tmp_path / "posts.csv"
    pl.DataFrame(rows).write_csv(path)
    return path


def worker(url: str, *options: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "davy", "work", "--database", url, *options])


def wait_until(done, seconds: float = 300) -> None:
    until = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.05)


def test_long_jobs_have_a_process_of_their_own_and_all_give_way(url: str):
    started = worker(url)
    quick = psutil.Process(started.pid)
    try:
        wait_until(lambda: any("--kinds" in it.cmdline() for it in quick.children()), 60)
        (long,) = quick.children()
        kinds = long.cmdline()[long.cmdline().index("--kinds") + 1].split(",")
        assert "train" in kinds
        assert "import into project" not in kinds
        wait_until(lambda: long.nice() >= 10, 60)
        assert quick.nice() >= 5
    finally:
        started.terminate()
        assert started.wait(60) == 0
    assert not long.is_running()


def start_from_the_shell(capsys, url: str, *arguments: str) -> str:
    assert run(["job", "start", *arguments, "--database", url]) == 0
    return capsys.readouterr().out.strip()


def job_of(store: Store, job_id: str) -> jobs.Job:
    with store.read() as db:
        return jobs.get(db, job_id)


def test_a_baseline_is_trained_as_a_job_from_the_shell(url, posts, tmp_path, capsys):
    job_id = start_from_the_shell(capsys, url, "train", f"posts={posts}", "kind=tfidf", "name=plain", "seed=3")
    assert worker(url, "--once").wait(300) == 0
    with open_store(url) as store:
        job = job_of(store, job_id)
        with store.read() as db:
            log = [line.line for line in jobs.log_lines(db, job_id)]
    assert (job.state, job.result["hate"]) == ("done", 1.0), job.error
    assert job.result["posts"] + job.result["measured_on"] == 60
    assert any(line.startswith("plain, seed 3:") for line in log)
    model = Path(job.result["model"])
    assert model.is_relative_to(tmp_path / "work.sqlite.files" / "models" / job_id)
    assert load(str(model)).name == "plain"


@pytest.mark.slow
def test_a_training_whose_worker_is_killed_goes_on_in_another(url, posts, tmp_path, capsys):
    tiny = make_tiny_encoder(tmp_path / "tiny")
    out = tmp_path / "run"
    job_id = start_from_the_shell(
        capsys, url, "train", f"posts={posts}", "kind=transformer", f"encoder={tiny}", f"out={out}",
        "set=epochs=10", "set=batch=8", "set=save_every=5", "set=rate=1e-3",
    )  # fmt: skip
    checkpoint = out / "seed-1" / "checkpoint" / "checkpoint.json"
    first = worker(url, "--kinds", "train", "--lease", "6")
    try:
        wait_until(lambda: checkpoint.is_file() and json.loads(checkpoint.read_text())["epoch"] >= 2)
    finally:
        os.kill(first.pid, signal.SIGKILL)
        first.wait()
    reached = json.loads(checkpoint.read_text())
    with open_store(url) as store:
        assert job_of(store, job_id).state == "running"  # nobody told the queue
        second = worker(url, "--kinds", "train", "--lease", "6")
        try:
            wait_until(lambda: job_of(store, job_id).state in ("done", "failed"))
        finally:
            second.terminate()
            second.wait(120)
        job = job_of(store, job_id)
    assert (job.state, job.attempts) == ("done", 2), job.error
    epochs = [record["epoch"] for record in json.loads((out / "run.json").read_text())["seeds"]["1"]["records"]]
    assert epochs == list(range(1, 11))
    resumed = json.loads(checkpoint.read_text())["history"]["records"]
    assert resumed[: reached["epoch"]] == reached["history"]["records"], "the first epochs are those of the dead worker"
    assert load(job.result["model"]).score(pl.DataFrame({"text": ["bad grumblefop"]})).chosen("hate") == [("hateful",)]


def test_a_wrong_argument_names_those_that_there_are(url, capsys):
    assert run(["job", "start", "train", "post=x.csv", "--database", url]) == 2
    assert "posts" in capsys.readouterr().err
    assert run(["job", "start", "trian", "--database", url]) == 2
    assert "Did you mean 'train'" in capsys.readouterr().err
    assert run(["job", "start", "score", "file=x.csv", "--database", url]) == 2
    assert "needs out=" in capsys.readouterr().err
    assert run(["work", "--kinds", "bake", "--database", url]) == 2
    assert "no kind of job 'bake'" in capsys.readouterr().err


def test_a_job_for_a_project_that_there_is_not_is_refused(url, capsys):
    with open_store(url, create=True):
        pass
    assert run(["job", "start", "train", "project=lantern", "kind=tfidf", "--database", url]) == 2
    assert "There is no project 'lantern'" in capsys.readouterr().err
    with open_store(url) as store, store.read() as db:
        assert jobs.latest(db) == []


def test_workers_log_as_json_also_the_processes_that_they_start(url, tmp_path):
    with open_store(url, create=True) as store, store.write() as db:
        jobs.enqueue(db, "deliver webhook", {"community": "none", "decisions": []}, owner="system", max_attempts=1)
        jobs.enqueue(db, "score", {"file": "missing.csv", "model": "uniform"}, owner="system", max_attempts=1)
    worker = subprocess.Popen(
        [sys.executable, "-m", "davy", "work", "--log-json", "--database", url, "--files", str(tmp_path)],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        with open_store(url) as store:
            wait_until(lambda: not unfinished(store), 60)
    finally:
        worker.terminate()
        _, logged = worker.communicate(timeout=60)
    lines = [json.loads(line) for line in logged.splitlines()]
    assert {line["message"].split("(")[1].split(")")[0] for line in lines} == {"deliver webhook", "score"}


def unfinished(store):
    with store.read() as db:
        return [job for job in jobs.latest(db) if job.state in ("waiting", "running")]


def test_a_server_starts_a_dead_worker_again_and_stops_all_with_itself(url):
    with WorkerProcesses(1, url) as workers:
        (before,) = workers.pids
        os.kill(before, signal.SIGKILL)
        wait_until(lambda: workers.pids != [before], 30)
        (after,) = workers.pids
    with pytest.raises(ProcessLookupError):
        os.kill(after, 0)


def test_a_worker_ends_with_the_process_that_started_it(url):
    """Of a server that was killed no worker stays behind."""
    script = (
        "import sys, time; from davy.jobs.processes import WorkerProcesses\n"
        "with WorkerProcesses(1, sys.argv[1]) as it:\n    print(it.pids[0], flush=True); time.sleep(60)"
    )
    server = subprocess.Popen([sys.executable, "-c", script, url], stdout=subprocess.PIPE, text=True)
    pid = int(server.stdout.readline())
    server.kill()
    server.wait()
    server.stdout.close()

    def gone() -> bool:
        try:
            return Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z"
        except FileNotFoundError:
            return True

    wait_until(gone, 60)
