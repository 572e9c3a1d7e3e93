"""Kill -9 while people save answers: whatever was acknowledged is there afterwards."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

from davy.annotation.labelling.store import annotations
from davy.core import Label, Post, Question, Scheme
from davy.schemes.store import schemes
from davy.store import Store
from post_rows import add_post

CHILD = """
import sys
from datetime import UTC, datetime
from davy.core import Annotation, Label, Question, Scheme
from davy.annotation.labelling.store import annotations
from davy.store import open_store
from davy.store.columns import new_id

scheme = Scheme("grumble", 1, (Question("grumpy", (Label("yes"), Label("no")), positive="yes"),))
with open_store(sys.argv[1]) as store:
    while True:
        given = Annotation(new_id(), "p0", "ada", "grumble", 1, 0, {"grumpy": ("yes",)}, datetime.now(UTC))
        with store.write() as db:
            annotations.add(db, given, scheme)
        sys.stdout.write(given.id + "\\n")
        sys.stdout.flush()
"""


@pytest.mark.slow
def test_every_acknowledged_answer_survives_kill_9(store: Store):
    scheme = Scheme("grumble", 1, (Question("grumpy", (Label("yes"), Label("no")), positive="yes"),))
    with store.write() as db:
        schemes.save(db, scheme, "name: grumble\n", by="shell")
        add_post(db, Post("p0", "…"))
    url = store.url.set(drivername=store.url.drivername.partition("+")[0]).render_as_string(hide_password=False)
    chance = random.Random(7)
    acknowledged: list[str] = []
    for _ in range(4):
        child = subprocess.Popen([sys.executable, "-c", CHILD, url], stdout=subprocess.PIPE, text=True)
        try:
            first = "".join(child.stdout.readline() for _ in range(6))  # so that it is writing when it dies
            time.sleep(chance.uniform(0.05, 0.4))
        finally:
            os.kill(child.pid, signal.SIGKILL)
        rest = child.communicate()[0]
        # A line without its end was cut by the kill, so it was not acknowledged.
        acknowledged += [line.strip() for line in (first + rest).splitlines(keepends=True) if line.endswith("\n")]
    assert len(acknowledged) > 20
    with store.read() as db:
        kept = annotations.of_annotator(db, "ada", limit=1_000_000)
    assert all(it.answers == {"grumpy": ("yes",)} for it in kept), "an annotation without its answers was half-written"
    assert set(acknowledged) <= {it.id for it in kept}
    if store.sqlite:
        store.close()
        with sqlite3.connect(store.url.database) as raw:
            assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert raw.execute("PRAGMA foreign_key_check").fetchall() == []
        raw.close()
