"""Children that end with their parent, also when that is killed."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import psutil

CHILD = "from davy.engines.child_process import end_with_parent; import time; end_with_parent(); time.sleep(60)"
PARENT = f"""
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", {CHILD!r}])
print(child.pid, flush=True)
time.sleep(60)
"""


def test_a_child_ends_when_its_parent_is_killed():
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = psutil.Process(int(parent.stdout.readline()))
    deadline = time.monotonic() + 60
    while child.num_threads() < 2 and time.monotonic() < deadline:  # until it watches
        time.sleep(0.05)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    _, alive = psutil.wait_procs([child], timeout=60)
    assert not alive
