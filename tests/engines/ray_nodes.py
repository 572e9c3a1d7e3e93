"""A real Ray cluster of two nodes on loopback, started and stopped by a test."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

BIN = Path(sys.executable).parent


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


STARTS = (("start", "--head", "--port", "6379"), ("start", "--address", "10.0.0.1:6379"))


@contextmanager
def two_nodes(starts: Sequence[Sequence[str]] = STARTS) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """Yield the address of a cluster of two nodes with a core each, and the nodes' processes.

    `starts` are the arguments of `ray` for the two, as the docs have them; address and port become this machine's.
    """
    settings = {
        **os.environ,
        "RAY_AUTH_MODE": "disabled",
        "RAY_memory_monitor_refresh_ms": "0",
        "RAY_health_check_period_ms": "1000",
        "PYTHONWARNINGS": "ignore",
    }
    folder = tempfile.mkdtemp(prefix="r", dir="/tmp")  # Ray's sockets want a short path
    port = free_port()
    address = f"127.0.0.1:{port}"
    common = ["--block", "--num-cpus=1", "--object-store-memory=100000000", "--disable-usage-stats"]
    head, other = ([it.replace("10.0.0.1:6379", address).replace("6379", str(port)) for it in one] for one in starts)
    commands = (
        [*head, "--include-dashboard=false", "--node-ip-address=127.0.0.1", f"--temp-dir={folder}", *common],
        [*other, "--node-ip-address=127.0.0.1", *common],
    )
    nodes: list[subprocess.Popen[bytes]] = []
    try:
        for command in commands:
            path = Path(folder) / f"node-{len(nodes)}.log"
            with path.open("wb") as log:
                ray = [str(BIN / "ray"), *command]
                nodes.append(subprocess.Popen(ray, env=settings, stdout=log, stderr=log, start_new_session=True))
            _wait(port, nodes[-1], path)
        yield address, nodes
    finally:
        for node in reversed(nodes):
            _stop(node)
        shutil.rmtree(folder, ignore_errors=True)


def _wait(port: int, node: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 120
    while "Ray runtime started" not in log.read_text(errors="replace"):
        if node.poll() is not None or time.monotonic() > end:
            raise AssertionError(f"a Ray node did not start: {log.read_text(errors='replace')[-2000:]}")
        time.sleep(0.2)
    with socket.create_connection(("127.0.0.1", port), timeout=30):
        pass


def _stop(node: subprocess.Popen[bytes]) -> None:
    """End a node and everything that it started."""
    import psutil

    try:
        family = [psutil.Process(node.pid), *psutil.Process(node.pid).children(recursive=True)]
    except psutil.NoSuchProcess:
        family = []
    node.send_signal(signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        node.wait(10)
    for process in family:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
    node.wait(10)
