"""Two Ray nodes on loopback score and clean as one machine does, and lose nothing when a worker is killed."""

import os
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import psutil
import pytest
from ray_nodes import two_nodes

from davy.corpus.clean.clean_shards import clean_shards
from davy.corpus.post_source import PostSource
from davy.scoring.score_shards import score_shards

pytestmark = pytest.mark.slow

SHARDS, ROWS = 10, 400


def together(folder: Path) -> pl.DataFrame:
    return pl.concat([pl.read_parquet(path) for path in sorted(folder.glob("*.parquet"))])


@pytest.fixture(scope="module")
def cluster():
    if os.environ.get("CI") != "true":
        pytest.importorskip("ray")
    with two_nodes() as (address, nodes):
        yield address, nodes


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("shards")
    (folder / "in").mkdir()
    kinds = ("awful", "fine", "late", "full", "loud", "empty", "cold")
    texts = [f"Post {i % 3885}: trains were {kinds[i % 7]} on day {i % 37}" for i in range(SHARDS * ROWS)]
    frame = pl.DataFrame({"id": [f"p{i}" for i in range(len(texts))], "text": texts})
    for number in range(SHARDS):
        frame[number * ROWS : (number + 1) * ROWS].write_parquet(folder / "in" / f"part-{number:03}.parquet")
    return folder


def davy(address: str, *arguments: str) -> subprocess.Popen[str]:
    """Start the shell's own command: the door that people use."""
    return subprocess.Popen(
        [sys.executable, "-m", "davy", *arguments, "--engine", "ray", "--address", address],
        env={**os.environ, "RAY_AUTH_MODE": "disabled", "PYTHONWARNINGS": "ignore"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def workers() -> list[psutil.Process]:
    """Return the processes that score now: Ray renames them after the class."""
    alive = []
    for process in psutil.process_iter(["cmdline"]):
        command = " ".join(process.info["cmdline"] or [])
        if command.startswith("ray::") and "MapWorker" in command:
            alive.append(process)
    return alive


def test_a_killed_worker_is_replaced_and_the_output_is_the_same(cluster, folder):
    address, _ = cluster
    out = folder / "scored"
    running = davy(address, "score", str(folder / "in"), "--model", "embedded-en", "--no-cascade", "--out", str(out))
    end = time.monotonic() + 240
    while not list(out.glob("_part*.json")):
        assert running.poll() is None, running.communicate()[1][-3000:]
        assert time.monotonic() < end
        time.sleep(0.05)
    victims = workers()
    assert victims, "nobody works"
    assert len(list(out.glob("_part*.json"))) < SHARDS, "the run was over before anybody could be killed"
    victims[0].kill()
    said, errors = running.communicate(timeout=240)
    assert running.returncode == 0, errors[-3000:]
    assert f"{SHARDS * ROWS:,} posts scored" in errors + said
    score_shards(PostSource(str(folder / "in")), str(folder / "local"), "embedded-en", cascade=False)
    assert together(out).equals(together(folder / "local"))


def test_duplicates_across_shards_are_dropped_on_the_cluster_as_here(cluster, folder):
    address, _ = cluster
    out = folder / "clean"
    running = davy(address, "clean", str(folder / "in"), "--near-duplicates", "0.8", "--out", str(out))
    _, errors = running.communicate(timeout=240)
    assert running.returncode == 0, errors[-3000:]
    local = clean_shards(PostSource(str(folder / "in")), str(folder / "clean-local"), near=0.8)
    assert together(out).equals(together(folder / "clean-local"))
    assert len(together(out)) == local.left < SHARDS * ROWS


def test_a_wrong_address_is_one_clear_line(folder):
    running = davy("127.0.0.1:1", "score", str(folder / "in"), "--model", "embedded-en", "--out", str(folder / "no"))
    _, errors = running.communicate(timeout=120)
    assert running.returncode == 2
    assert "No Ray cluster answers at 127.0.0.1:1" in errors
    assert "Traceback" not in errors
