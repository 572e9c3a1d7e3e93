"""Exit codes, in processes: 0 done, 1 a gate, 2 the user can fix it, 70 our fault, 143 SIGTERM. Ctrl-C is beside."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from test_interrupts import start, wait_for

from tiny_encoder import make_tiny_encoder

SOURCE = str(Path(__file__).parents[2] / "src")


def davy(folder, *command, **environment):
    return subprocess.run(
        [sys.executable, "-m", "davy", *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": SOURCE, "TMPDIR": str(folder), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_done_a_gate_and_what_can_be_fixed(tmp_path):
    (tmp_path / "words.txt").write_text("grumblefop\t0.9\n")
    (tmp_path / "gates.yaml").write_text("accuracy: 0.99\n")
    assert davy(tmp_path, "--version").returncode == 0
    assert davy(tmp_path, "check", "emoji-en", "-m", "keywords:words.txt", "--gate", "gates.yaml").returncode == 1
    wrong = davy(tmp_path, "scheme", "show", "hat")
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)


@pytest.fixture
def broken(tmp_path):
    """A folder whose Python makes one command fail as only a fault of ours does."""
    (tmp_path / "sitecustomize.py").write_text(
        "import davy.schemes as schemes\n"
        "def names(*_, **__): raise KeyError('what a post says')\n"
        "schemes.names = names\n"
    )
    return tmp_path


def test_our_fault_is_one_line_with_what_to_report(broken):
    path = f"{broken}{os.pathsep}{SOURCE}"
    done = davy(broken, "scheme", "list", PYTHONPATH=path)
    assert done.returncode == 70
    assert done.stderr.count("\n") == 1
    assert "This is a fault of Davy, not yours (KeyError)" in done.stderr
    assert "what a post says" not in done.stderr
    kept = Path(re.search(r"report (\S+\.txt)", done.stderr)[1])
    assert "Traceback" in kept.read_text()
    assert "what a post says" in kept.read_text()
    assert kept.stat().st_mode & 0o077 == 0
    shown = davy(broken, "scheme", "list", PYTHONPATH=path, DAVY_DEBUG="1")
    assert shown.returncode == 70
    assert "Traceback" in shown.stderr


def test_sigterm_ends_a_training_as_ctrl_c_does_and_keeps_its_checkpoint(tmp_path):
    encoder = make_tiny_encoder(tmp_path / "tiny")
    posts = tmp_path / "posts.csv"
    rows = [("they are all grumblefop", 1), ("lovely garden", 0)] * 40
    pl.DataFrame(rows, schema=["text", "label"], orient="row").write_csv(posts)
    command = ["train", str(posts), "--encoder", str(encoder), "--dev", str(posts), "--out", str(tmp_path / "run")]
    process = start(sys.executable, "-m", "davy", *command, "--set", "batch=4", "--set", "epochs=400")
    wait_for(process, "epoch 1")
    process.send_signal(signal.SIGTERM)
    said = process.communicate(timeout=120)[1]
    assert process.returncode == 143
    assert re.search(r"Kept: epoch \d+, step \d+ of 20, in .*seed-1", said)
    assert (tmp_path / "run/seed-1/checkpoint/checkpoint.json").is_file()


def test_sigterm_ends_a_command_in_the_background_which_ignores_ctrl_c(tmp_path):
    posts = tmp_path / "posts.csv"
    pl.DataFrame({"text": [f"post {i}" for i in range(200_000)]}).write_csv(posts)
    command = [sys.executable, "-m", "davy", "score", str(posts), "-m", "embedded-en", "--out", str(tmp_path / "o.csv")]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)
    )
    while not (tmp_path / "o.csv.parts" / "lock").exists():
        assert process.poll() is None, process.stderr.read()
    process.send_signal(signal.SIGTERM)
    said = process.communicate(timeout=120)[1]
    assert process.returncode == 143
    assert "Interrupted" in said
    assert not (tmp_path / "o.csv").exists()
