"""A server with two workers is stopped right after it answered, and started again: no decision and no post is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import httpx
import pytest
from webhook_receiver import receiving

from davy.annotation.labelling import labelling
from davy.annotation.labelling.store import items
from davy.annotation.project.project_creation import create_project
from davy.annotation.project.project_file import read_plan
from davy.annotation.project.store import members, phases, posts, projects
from davy.moderation import webhooks
from davy.moderation.communities import create_community
from davy.moderation.store import decisions
from davy.people.store import keys, users
from davy.store import open_store

STOPS, REQUESTS, POSTS = 3, 4, 10


@pytest.fixture
def hook():
    """A slow receiver of webhooks, and the ids of the decisions that it was told of."""
    told: list[str] = []

    def take(body):
        time.sleep(0.3)  # so that a stop finds deliveries on their way
        told.extend(one["reference"] for one in body["decisions"])

    with receiving(take) as address:
        yield address, told


@contextmanager
def serving(folder, database):
    """Run `davy serve` while the block runs; its end is a SIGTERM, as a service manager sends it."""
    own = (webhooks.NETWORKS,)
    surroundings = {name: it for name, it in os.environ.items() if name in own or not name.startswith("DAVY_")}
    command = ["serve", "--port", "0", "--database", database, "--model", f"keywords:{folder}/words.txt"]
    with (folder / "server.log").open("a") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "davy", *command, "--workers", "2"],
            env=surroundings,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        try:
            yield server.stdout.readline().split()[3]
        finally:
            server.send_signal(signal.SIGTERM)
            server.communicate(timeout=120)
    assert server.returncode == 0, (folder / "server.log").read_text()


@pytest.mark.slow
def test_posts_that_wait_for_review_outlive_a_server_that_is_stopped_and_started(tmp_path, hook, monkeypatch):
    monkeypatch.setenv(webhooks.NETWORKS, "127.0.0.0/8")
    (tmp_path / "words.txt").write_text("meh\t0.5\n", encoding="utf-8")
    url, told = hook
    database = f"sqlite:///{tmp_path}/davy.sqlite"
    with open_store(database, create=True) as store, store.write() as db:
        lin = users.add(db, login="lin", name="Lin", role="admin", by="shell")
        key, secret = keys.create(db, name="forum", owner=lin.id, scopes=["score"], by="shell")
        made = create_project(db, read_plan("moderation"), by="shell")
        members.add(db, made.project.id, lin.id, ["annotator"], by="shell")
        members.consent(db, made.project.id, lin.id)
        phases.open_phase(db, made.phases[0].id, by="shell")
        fields = {"low": 0.2, "high": 0.8, "keys": (key.id,), "project": made.project.id, "webhook": url}
        create_community(db, "forum", fields, by="shell")
    sent = []
    for stop in range(STOPS):
        with serving(tmp_path, database) as address:
            for number in range(REQUESTS):
                asked = [{"id": f"c{stop}-{number}-{i}", "text": f"meh {stop} {number} {i}"} for i in range(POSTS)]
                answer = httpx.post(
                    f"{address}/v1/score",
                    json={"community": "forum", "posts": asked},
                    headers={"authorization": f"Bearer {secret}"},
                    timeout=60,
                )
                assert [it["decision"] for it in answer.json()["results"]] == ["review"] * POSTS
                sent += asked
        with open_store(database) as store, store.read() as db:
            kept = [one.reference for part in decisions.iter_parts(db, "forum") for one in part]
            in_review = [posts.get(db, item.post).text for item in items.iter_items(db, made.phases[0].id)]
        assert sorted(kept) == sorted(it["id"] for it in sent)
        assert sorted(in_review) == sorted(it["text"] for it in sent)
    with serving(tmp_path, database):
        end = time.monotonic() + 120
        while set(told) != {it["id"] for it in sent}:
            assert time.monotonic() < end, f"{len(set(told))} of {len(sent)} decisions were told"
            time.sleep(0.1)
    with open_store(database) as store, store.write() as db:
        reviewer = members.get(db, made.project.id, lin.id)
        sheet = labelling.next_sheet(db, projects.get(db, made.project.id), reviewer)
        assert sheet.post.text in {it["text"] for it in sent}
