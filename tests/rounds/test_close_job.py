"""Closing a round as a job: a worker that is killed leaves a round that another worker closes."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from davy.detectors import store as detectors
from davy.jobs import store as jobs
from davy.rounds.close_round import close_folder
from davy.rounds.jobs import CLOSE_ROUND
from davy.rounds.store import entries, rounds
from davy.shell.app import run
from davy.store import Store, open_store
from round_project import HARMLESS, HATEFUL, RoundBench, make_round


@pytest.fixture
def url(tmp_path: Path) -> str:
    address = f"sqlite:///{tmp_path / 'davy.sqlite'}"
    open_store(address, create=True).close()
    return address


def play(bench: RoundBench, n: int = 60) -> None:
    for i in range(n):
        yes = i % 2 == 0
        letters = "".join(chr(97 + (i * 31 + k * k * (i + 3)) % 26) for k in range(12)) + str(i)  # no two are near
        text = f"{letters} {'wuzzle grumblefop' if yes else 'lovely garden'} {letters[::-1]} {'🐍' if yes else '🌻'}"
        answers = HATEFUL if yes else HARMLESS
        bench.enter("ada", text, answers)
        bench.label("bo", answers)
        bench.label("cy", answers)


def work(url: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "davy", "work", "--database", url, "--lease", "6"], stderr=subprocess.DEVNULL
    )


def wait_until(done, seconds: float = 240) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.05)


def state_of(store: Store) -> str:
    with store.read() as db:
        return rounds.of_project(db, "duel")[0].state


def test_a_close_whose_worker_is_killed_goes_on_in_another(url, tmp_path):
    with open_store(url) as store:
        bench = make_round(store)
        play(bench)
        with store.write() as db:
            arguments = {"project": "duel", "times": [1, 5, 10, 100]}
            jobs.enqueue(db, CLOSE_ROUND, arguments, owner="shell", key="close", project="duel")
        folder = close_folder(tmp_path / "davy.sqlite.files", bench.round)
        first = work(url)
        try:
            wait_until(lambda: (folder / "candidates").is_dir())
        finally:
            first.send_signal(signal.SIGKILL)
            first.wait()
        frozen = list((folder / "run.parts").glob("*.arrow"))
        before = pl.read_ipc(frozen[0]) if frozen else pl.read_parquet(folder / "posts.parquet")
        assert state_of(store) == "closing"
        second = work(url)
        try:
            wait_until(lambda: state_of(store) == "closed")
        finally:
            second.terminate()
            second.wait()
        after = pl.read_parquet(folder / "posts.parquet")
        assert after.equals(before), "no entry twice, no split changed"
        with store.read() as db:
            outcome = rounds.of_project(db, "duel")[0].outcome
            names = [it.full_name for it in detectors.list_detectors(db)]
            assert len(entries.of_round(db, bench.round.id)) == len(after)
        assert names.count(outcome["target"]) == 1
        assert len(outcome["results"]) == 4
    assert run(["round", "status", "duel", "--database", url]) == 0
