"""The main commands on a system without `sched_getaffinity`, `fcntl` and `resource`, as macOS and Windows are.

What those systems lack is taken from Python before Davy is imported, in child processes too. Nothing else of them is
imitated: how their paths, locks and signals behave is not tested here.
"""

import os
import re
import signal
import subprocess
import sys
import urllib.request

import pytest

pytestmark = pytest.mark.slow

TAKEN_AWAY = """
import builtins, os
del os.sched_getaffinity
real = builtins.__import__
def without(name, globals=None, *rest, **more):
    spec = (globals or {}).get("__spec__")
    if getattr(spec, "name", "").startswith("davy"):
        if name in ("fcntl", "resource"):
            raise ImportError(f"no module {name} on this system")
        if name == "msvcrt":
            return real("windows_lock", globals, *rest, **more)
    return real(name, globals, *rest, **more)
builtins.__import__ = without
"""
WINDOWS_LOCK = """
import fcntl
LK_NBLCK = 2
def locking(handle, mode, count):
    assert mode == LK_NBLCK and count == 1
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
"""
POSTS = "id,text,label,who\n" + "".join(
    f"p{i},{'grumblefop ' * (i % 2)}post number {i} about the weather,{('no', 'yes')[i % 2]},{'ab'[i // 2 % 2]}\n"
    for i in range(40)
)


@pytest.fixture
def bare(tmp_path):
    """A folder with posts and a word list, and the environment that takes modules away."""
    system = tmp_path / "system"
    system.mkdir()
    (system / "sitecustomize.py").write_text(TAKEN_AWAY)
    (system / "windows_lock.py").write_text(WINDOWS_LOCK)
    (tmp_path / "posts.csv").write_text(POSTS)
    (tmp_path / "words.txt").write_text("grumblefop\t0.9\n")
    return tmp_path, {**os.environ, "PYTHONPATH": str(system)}


def run(bare, *arguments):
    folder, environment = bare
    command = [sys.executable, "-m", "davy", *arguments]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_modules_are_really_gone(bare):
    folder, environment = bare
    code = (
        "import os\nfrom davy.files import cores, file_lock\n"
        "print(file_lock.fcntl, cores.usable_cores(), hasattr(os, 'sched_getaffinity'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=folder, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["None", str(os.cpu_count()), "False"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("score", "--text", "what a grumblefop", "--model", "keywords:words.txt"),
        ("score", "posts.csv", "--model", "keywords:words.txt", "--out", "out.csv"),
        ("convert", "posts.csv", "--out", "out.jsonl"),
        ("convert", "posts.csv", "--out", "out.parquet"),
        ("clean", "posts.csv", "--recipe", "edos", "--out", "out.csv"),
        ("split", "posts.csv", "--plan", "80/20", "--gold", "hate=label", "--out", "out.csv"),
        ("describe", "posts.csv", "--out", "about"),
        ("agree", "posts.csv", "--id-column", "text", "--annotator-column", "who", "--gold", "label"),
        ("train", "posts.csv", "--kind", "tfidf", "--gold", "hate=label", "--out", "model"),
        ("evaluate", "posts.csv", "--model", "keywords:words.txt", "--gold", "hate=label", "--out", "figures"),
        ("meme", "benchmark", "--memes", "160", "--out", "memes"),
    ],
    ids=lambda arguments: " ".join(arguments[:2]),
)  # fmt: skip
def test_a_command_works(bare, arguments):
    run(bare, *arguments)


def test_jsonl_is_read_by_several_processes(bare):
    run(bare, "convert", "posts.csv", "--out", "posts.jsonl")
    run(bare, "score", "posts.jsonl", "--model", "keywords:words.txt", "--out", "scored.jsonl")
    assert len((bare[0] / "scored.jsonl").read_text().splitlines()) == 40


def test_two_runs_do_not_write_one_output(bare):
    folder, environment = bare
    code = (
        "from pathlib import Path\nfrom davy.files.file_lock import take_lock\n"
        "held = open('lock', 'w'); take_lock(held, Path('out.csv'))\n"
        "try: take_lock(open('lock', 'w'), Path('out.csv'))\nexcept Exception as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=folder, capture_output=True, text=True, check=True
    )
    assert done.stdout == "Another davy is writing out.csv. Wait for it, or name another output.\n"


def test_the_demo_comes_up(bare):
    folder, environment = bare
    command = [sys.executable, "-m", "davy", "serve", "--demo", "--port", "0"]
    server = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        url = re.search(r"http://\S+", server.stdout.readline())
        assert url, server.communicate(timeout=60)
        with urllib.request.urlopen(f"{url.group()}/healthz", timeout=60) as answer:  # noqa: S310
            assert answer.status == 200
    finally:
        server.send_signal(signal.SIGINT)
        _, errors = server.communicate(timeout=120)
    assert "Traceback" not in errors
