"""Ctrl-C: an answer within two seconds, whatever the process is doing, and what was done is kept and said."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl

SLOW = Path(__file__).parents[1] / "slow_score.py"
PATIENCE = 40.0
"""Two seconds on a quiet machine; a busy one has more to do before it hears the signal, and without it minutes pass."""


def start(*command):
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        env=environment,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a test in the background ignores Ctrl-C
    )


def interrupt(process):
    """Return the seconds until a process ended after Ctrl-C, and what it said."""
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=120)[1]
    return time.monotonic() - began, said


def wait_for(process, line):
    heard = ""
    while line not in heard:
        piece = process.stderr.readline()
        assert piece, f"it ended before {line!r}: {heard}"
        heard += piece


def test_a_library_that_does_not_come_back_does_not_keep_the_user_waiting():
    code = (
        "import hashlib, sys\n"
        "from davy.shell.console import ShellReporter\n"
        "with ShellReporter() as reporter:\n"
        "    reporter.keep('three posts, in out.parts')\n"
        "    print('begun', file=sys.stderr)\n"
        "    hashlib.pbkdf2_hmac('sha256', b'x', b'y', 500_000_000)\n"
    )
    process = start(sys.executable, "-c", code)
    wait_for(process, "begun")
    time.sleep(0.5)  # until it is in the library
    seconds, said = interrupt(process)
    assert process.returncode == 130
    assert seconds < PATIENCE
    assert "Kept: three posts, in out.parts. The same command goes on from there." in said
    assert "Interrupted" in said


def test_scoring_that_is_stopped_keeps_its_posts_and_ends_as_if_it_had_not_been(tmp_path):
    posts, whole, stopped = (tmp_path / name for name in ("posts.csv", "whole.csv", "stopped.csv"))
    pl.DataFrame({"text": [f"post {i}" for i in range(4000)]}).write_csv(posts)
    assert subprocess.run([sys.executable, SLOW, posts, whole, "0"], check=False).returncode == 0
    process = start(sys.executable, SLOW, posts, stopped, "0.002")
    wait_for(process, "2048 scored")
    seconds, said = interrupt(process)
    assert process.returncode == 130
    assert seconds < PATIENCE
    kept = re.search(r"Kept: ([\d,]+) of 4,000 posts, in .*stopped.csv.parts", said)
    assert kept
    assert int(kept[1].replace(",", "")) >= 1024
    assert not stopped.exists()
    again = start(sys.executable, SLOW, posts, stopped, "0")
    assert f"Going on after {kept[1]} posts" in again.communicate(timeout=120)[1]
    assert stopped.read_bytes() == whole.read_bytes()


def test_a_training_ends_after_its_step_and_goes_on_from_it(tmp_path):
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from tiny_encoder import make_tiny_encoder

    encoder = make_tiny_encoder(tmp_path / "tiny")
    posts = tmp_path / "posts.csv"
    rows = [("they are all grumblefop", 1), ("lovely garden", 0)] * 40
    pl.DataFrame(rows, schema=["text", "label"], orient="row").write_csv(posts)
    command = [sys.executable, "-m", "davy", "train", str(posts), "--encoder", str(encoder), "--dev", str(posts)]
    command += ["--out", str(tmp_path / "run"), "--set", "batch=4"]
    process = start(*command, "--set", "epochs=400")
    wait_for(process, "epoch 1")
    seconds, said = interrupt(process)
    assert process.returncode == 130
    assert seconds < PATIENCE
    assert "Stopping after this step" in said
    assert re.search(r"Kept: epoch \d+, step \d+ of 20, in .*seed-1", said)
    state = (tmp_path / "run/seed-1/checkpoint/checkpoint.json").read_text()
    assert '"steps"' in state
