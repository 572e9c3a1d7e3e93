"""What holds for every command: exit codes, one line for what a user can fix, and a quiet end on Ctrl-C."""

import os
import signal
import subprocess
import sys
import time

from davy.shell.app import run


def test_a_usage_error_is_one_line_and_exit_2(capsys):
    assert run(["scheme", "show", "--no-such-option"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("davy: ")
    assert said.err.count("\n") == 1


def test_what_a_user_can_fix_is_one_line_and_exit_2(capsys):
    assert run(["convert", "no-such-file.csv", "--out", "out.parquet"]) == 2
    said = capsys.readouterr().err
    assert "no-such-file.csv" in said
    assert said.count("\n") == 1


def test_a_closed_pipe_is_no_error():
    command = f"{sys.executable} -m davy scheme show edos | head -n 1"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert done.stdout.startswith("edos")


def test_ctrl_c_says_so_and_leaves_nothing(tmp_path):
    pipe = tmp_path / "slow.csv"
    os.mkfifo(pipe)
    child = subprocess.Popen(
        [sys.executable, "-m", "davy", "convert", str(pipe), "--out", str(tmp_path / "out.parquet")],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a test in the background ignores Ctrl-C
    )
    with pipe.open("w"):  # opens once the child reads, and gives it nothing
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=120)
    assert child.returncode == 130, said
    assert said == "davy: Interrupted. No half-written file is left; run the same command again.\n"
    assert [p.name for p in tmp_path.iterdir()] == ["slow.csv"]
