"""How many files of ours run for one act: a label's answer, a file that is scored, a submission to a challenge.

A file counts if one of its functions was called for the act, between the first click or command and the result; what a
server polls and writes down meanwhile does not. The budgets only fall: who needs more files for the same act has spread
it over the house.
"""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import challenge_case
import davy
from davy.challenges.store import submissions, teams
from davy.shell.app import run
from davy.shell.logs import REQUEST_ID
from davy.store import Store
from labelling import RUDE, make_lamps, send
from two_projects import fill, fill_challenge

SOURCE = str(Path(davy.__file__).parent)
BUDGETS = {"label answer": 55, "davy score FILE": 48, "submission to a challenge": 55}


class Walk:
    """Notes the files whose functions are called while it is on, in threads that begin after it was made too."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.is_on = False
        self.counts_jobs = False

    def note(self, frame: FrameType, event: str, _: Any) -> None:
        """Note the file of a call: what `sys.setprofile` calls."""
        code, name = frame.f_code, frame.f_code.co_filename
        is_function = event == "call" and code.co_flags & CO_OPTIMIZED  # neither a module nor a class that is made
        if self.is_on and is_function and name.startswith(SOURCE) and name.endswith(".py") and self.is_for_the_act():
            self.files.add(name)

    def is_for_the_act(self) -> bool:
        """Whether a call is the command's, a request's or a job's: a server also polls and flushes beside them."""
        thread = threading.current_thread()
        is_job = self.counts_jobs and re.fullmatch(r"davy-job-\d+", thread.name)
        return thread is threading.main_thread() or REQUEST_ID.get() is not None or bool(is_job)

    def follow(self, act: Callable[[], Any]) -> int:
        """Do something; return how many files ran."""
        self.is_on = True
        act()
        self.is_on = False
        return len(self.files)


@pytest.fixture
def walk() -> Iterator[Walk]:
    made = Walk()
    threading.setprofile(made.note)
    sys.setprofile(made.note)
    yield made
    sys.setprofile(None)
    threading.setprofile(None)


def check(name: str, walk: Walk, act: Callable[[], Any]) -> None:
    """Do something and compare the number of files with its budget."""
    count = walk.follow(act)
    print(f"walk: {name}: {count} files")
    assert count <= BUDGETS[name], "\n".join(sorted(name.removeprefix(SOURCE) for name in walk.files))


def test_a_label_answer(walk, site):
    lamps = make_lamps(site, ["one shines", "two shines"])
    client = site.as_("annotator")
    html = client.get(lamps.path).text
    check("label answer", walk, lambda: send(client, html, RUDE))


def test_a_file_is_scored(walk, tmp_path, words_file):
    posts = tmp_path / "posts.csv"
    posts.write_text("id,text\n1,a kind word\n", encoding="utf-8")
    command = ["score", str(posts), "--model", f"keywords:{words_file}", "--out", str(tmp_path / "scored.csv")]
    check("davy score FILE", walk, lambda: run(command))


def test_a_submission_to_a_challenge(walk, live, tmp_path, monkeypatch):
    from test_challenge_api import key_of, open_test

    fill(live.site)
    fill_challenge(live.site)
    open_test(live.site)
    monkeypatch.setenv("DAVY_KEY", key_of(live.site.as_("annotator")))
    file = challenge_case.write_csv(tmp_path / "p.csv", challenge_case.answers("test", "A"))

    def submit() -> None:
        assert run(["challenge", "submit", "mill-valley", str(file), "--task", "A", "--server", live.url]) == 0
        until = time.monotonic() + 60
        while not is_scored(live.site.store):
            assert time.monotonic() < until, "the worker did not score it"
            time.sleep(0.05)

    walk.counts_jobs = True
    check("submission to a challenge", walk, submit)


def is_scored(store: Store) -> bool:
    """Return whether every submission has its figure."""
    with store.read() as db:
        sent = [it for team in teams.of_challenge(db, "mill-valley") for it in submissions.of_team(db, team)]
        return all(it.state == "scored" for it in sent)
