"""Run an adapter beside the other program's own code, against a running server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from web_site import make_key

PACKAGES = Path(__file__).parent.parent / "packages"
ADAPTERS = PACKAGES / "davy-adapters" / "src"


def fetched(command: list[str], folder: Path, what: str) -> Path:
    """Run a command that fetches from a registry; without one a test is skipped, but in CI that is a failure."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    if done.returncode:
        if os.environ.get("CI") == "true":
            pytest.fail(f"{what} can't be fetched: {done.stderr[-500:]}")
        pytest.skip(f"{what} can't be fetched here")
    return folder


def installed(packages: tuple[str, ...], folder: Path) -> Path:
    """Put packages into a folder of their own, without what they depend on: their pins fight ours."""
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder), *packages]
    return fetched(command, folder, packages[0])


def asked(live, counterparts: Path, code: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run code beside a program, with the server and a key in its environment."""
    _, secret = make_key(live.site)
    paths = os.pathsep.join((str(counterparts), str(ADAPTERS)))
    env = {**os.environ, "PYTHONPATH": paths, "DAVY_URL": live.url, "DAVY_KEY": secret, **env}
    return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=120)


def answered(done: subprocess.CompletedProcess[str]):
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)
