"""Training from a page: a manager asks for it, a worker process does it, and a killed one's training goes on."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import exchange_case
from davy.annotation.project.store import members
from davy.detectors import store as detectors
from davy.detectors.load import load
from davy.jobs import store as jobs
from davy.runs.jobs.training import TRAIN
from davy.scoring.queue.detectors import Detectors
from tiny_encoder import make_tiny_encoder
from web_site import Site, post, token_in

TRAINING = "/projects/tea-1/train"
POSTS = "text,hate.gold\n" + "".join(
    f"{'bad grumblefop' if i % 2 else 'a lovely garden'} {i},{'hateful' if i % 2 else 'not hateful'}\n"
    for i in range(200)
)


@pytest.fixture
def tea(site: Site) -> Site:
    """A site with a filled project that the expert manages and the annotator labels in."""
    exchange_case.fill(site.store)
    with site.store.write() as db:
        members.add(db, "tea-1", site.people["expert"].id, ["manager"], by="shell")
        members.add(db, "tea-1", site.people["annotator"].id, ["annotator"], by="shell")
    return site


def newest(site: Site) -> jobs.Job:
    with site.store.read() as db:
        return jobs.latest(db, kind=TRAIN)[0]


def send(client, **fields):
    """Send the form as a browser would, with a file where one is given."""
    token = token_in(client.get(TRAINING).text)
    file = fields.pop("file", b"")
    files = {"file": ("posts.csv", file)} if file else {"file": ("", b"")}
    return client.post(f"{TRAINING}/upload", data={"csrf": token, "name": "mine", "seed": "1", **fields}, files=files)


def worker(site: Site, *options: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "davy", "work", "--database", site.settings.database, "--kinds", "train"]
    return subprocess.Popen([*command, *options])


def wait_until(done, seconds: float = 300) -> None:
    until = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.05)


def test_a_manager_trains_a_baseline_from_an_uploaded_file(tea):
    client = tea.as_("expert")
    assert "No detector has been trained yet" in client.get(TRAINING).text
    assert send(client, kind="tfidf", name="warm lamp", file=POSTS.encode(), once="abc").status_code == 303
    assert send(client, kind="tfidf", name="warm lamp", file=POSTS.encode(), once="abc").status_code == 303
    assert "waiting" in client.get(TRAINING).text
    assert worker(tea, "--once").wait(300) == 0
    job = newest(tea)
    assert (job.state, job.project, job.owner) == ("done", "tea-1", tea.people["expert"].id), job.error
    assert load(job.result["model"]).name == "warm lamp"
    page = client.get(TRAINING).text
    assert "warm lamp, seed 1" in page  # the log
    own = client.get(f"{TRAINING}/{job.id}").text
    assert "70/10/20" in own
    assert "1.000" in own  # macro-F1 on the test part
    assert "Is one better?" in own  # beside the server's own detector
    assert client.get(f"{TRAINING}/{job.id}/description.html").status_code == 200
    assert client.get(f"{TRAINING}/{job.id}/evaluation.html").status_code == 200
    with tea.store.read() as db:
        assert len(jobs.latest(db, kind=TRAIN)) == 1  # the form was sent twice
    assert list(tea.settings.files_folder.glob("*/posts.csv")) == []  # the upload is gone
    assert job.done == job.total
    assert "Its files were removed." not in own
    # Who runs the project can ask it at once, and nobody else.
    asked = {"text": "bad grumblefop", "model": f"trained:{job.id}", "explain": "yes"}
    assert "warm lamp" in client.get("/score").text
    assert "warm lamp" in post(client, "/score", asked, page="/score").text
    assert post(tea.as_("annotator"), "/score", asked, page="/score").status_code == 404
    assert "warm lamp" not in tea.as_("annotator").get("/score").text
    # An admin lets it answer, and everybody can ask for it by name.
    assert "Use as detector" not in own
    admin = tea.as_("admin")
    assert "warm lamp" in admin.get("/detectors").text
    source = re.search(r'name="source" value="([^"]+)"', admin.get(f"{TRAINING}/{job.id}").text)
    assert source
    served = {"source": source.group(1), "name": "warm lamp", "state": "active"}
    assert post(admin, "/detectors", served, page="/detectors").status_code == 303
    assert "warm lamp" in tea.as_("annotator").get("/score").text
    assert post(client, f"{TRAINING}/{job.id}/remove", page=TRAINING).status_code == 409  # it is in use
    # From now on lists have it once, as the registered one, and its own page leads to that.
    with tea.store.read() as db:
        in_use = detectors.find(db, "warm lamp").full_name
    for verb in ("evaluate", "check"):
        for place in ("/runs", f"{TRAINING}/runs"):
            asked_in = client.get(f"{place}/new/{verb}").text
            assert asked_in.count(">warm lamp ") == 1
            assert f'value="{in_use}"' in asked_in
    assert client.get("/score?kind=picture").text.count(">warm lamp") == 1
    link = re.search(r'href="([^"]+/new/check[^"]+)"', client.get(f"{TRAINING}/{job.id}").text)
    assert link
    assert f'value="{in_use}" checked' in client.get(link.group(1)).text


def test_a_training_is_measured_beside_the_default_with_the_thresholds_that_an_admin_gave_it(tea):
    started, source = tea.app.state.context.part(Detectors).started, tea.settings.model
    entry = {"name": "strict", "version": started.model["version"], "source": source, "questions": ["hate"]}
    with tea.store.write() as db:
        strict = detectors.add(db, **entry, thresholds={"hate": 0.95}, by="shell")
        detectors.set_default(db, strict.id, by="shell")
    tea.running.portal.call(tea.app.state.context.part(Detectors).refresh)
    assert send(tea.as_("expert"), kind="tfidf", name="warm lamp", file=POSTS.encode()).status_code == 303
    assert worker(tea, "--once").wait(300) == 0
    job = newest(tea)
    assert job.state == "done", job.error
    (results,) = tea.settings.files_folder.glob(f"**/{job.id}/**/evaluation/results.json")
    found = json.loads(results.read_text())["questions"]["hate"]["models"]
    accuracy = {name: model["figures"]["accuracy"]["value"] for name, model in found.items()}
    assert accuracy["warm lamp"] == 1.0
    assert accuracy[source] == pytest.approx(0.5, abs=0.1)  # its word has 0.9, so that it says yes to nothing


def test_a_baseline_learns_from_the_projects_settled_answers(tea):
    client = tea.as_("expert")
    assert send(client, kind="tfidf", name="tea").status_code == 303
    assert worker(tea, "--once").wait(300) == 0
    job = newest(tea)
    assert job.state == "done", job.error
    parts = (job.result.get(part, 0) for part in ("posts", "measured_on", "tested_on"))
    assert sum(parts) == len([row for row in exchange_case.rows() if row.settled.get("hate")])
    page = client.get(TRAINING).text
    assert "macro-F1" in page
    assert "one post only" in page  # which can't say how good it is
    shown = client.get(f"{TRAINING}/{job.id}").text
    assert shown.count('class="warning few"') >= 3  # at the figures on dev, those on test, and the card


def test_a_training_that_ended_early_says_so_once_and_can_be_started_again(tea):
    client = tea.as_("expert")
    assert send(client, kind="tfidf", name="warm lamp", file=POSTS.encode()).status_code == 303
    job = newest(tea)
    waiting = client.get(f"{TRAINING}/{job.id}").text
    assert waiting.count("Comes when the step before is done.") == 3
    assert post(client, f"{TRAINING}/{job.id}/cancel", page=TRAINING).status_code == 303
    assert newest(tea).state == "cancelled"
    ended = client.get(f"{TRAINING}/{job.id}").text
    assert ended.count("It ended before there was anything to show.") == 1
    assert "<h2>" not in ended
    assert f'action="{TRAINING}/{job.id}/again"' in ended


@pytest.mark.slow
def test_a_transformers_training_that_was_started_on_a_page_survives_the_death_of_its_worker(tea):
    folder = tea.settings.files_folder / "encoders"
    folder.mkdir(parents=True)
    make_tiny_encoder(folder / "tiny")
    client = tea.as_("expert")
    assert send(client, kind="transformer", encoder="tiny", file=(POSTS * 1).encode()).status_code == 303
    job = newest(tea)
    run = tea.settings.files_folder / "models" / job.id
    checkpoint = run / "seed-1" / "checkpoint" / "checkpoint.json"
    first = worker(tea, "--lease", "6")
    try:
        wait_until(lambda: checkpoint.is_file())  # an epoch is done
    finally:
        os.kill(first.pid, signal.SIGKILL)
        first.wait()
    reached = json.loads(checkpoint.read_text())["history"]["records"]
    second = worker(tea, "--lease", "6")
    try:
        wait_until(lambda: newest(tea).state in ("done", "failed"))
    finally:
        second.terminate()
        second.wait(60)
    job = newest(tea)
    assert (job.state, job.attempts) == ("done", 2), job.error
    records = json.loads((run / "run.json").read_text())["seeds"]["1"]["records"]
    assert records[: len(reached)] == reached
    assert Path(job.result["model"]).is_dir()
    assert "done" in client.get(TRAINING).text
    assert f"epoch {records[-1]['epoch']}" in client.get(f"{TRAINING}/{job.id}").text  # the curves


def test_a_server_without_torch_offers_and_takes_the_small_kind_only(tea, monkeypatch):
    monkeypatch.setattr("davy.runs.pages.train.find_spec", lambda _: None)
    client = tea.as_("expert")
    page = client.get(TRAINING).text
    assert 'value="tfidf"' in page
    assert 'value="transformer"' not in page
    assert send(client, kind="transformer", encoder="tiny", file=POSTS.encode()).status_code == 422
    assert send(client, kind="tfidf").status_code == 303


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"kind": "bake"}, 422),
        ({"kind": "tfidf", "name": ""}, 422),
        ({"kind": "tfidf", "seed": "²"}, 422),
        ({"kind": "transformer", "encoder": ""}, 422),
        ({"kind": "transformer", "encoder": "../../etc"}, 422),
        ({"kind": "transformer", "encoder": "/etc/passwd"}, 422),
        ({"kind": "tfidf", "file": b"MZ\x00\x01"}, 415),
    ],
)
def test_what_no_training_can_be_made_of_is_refused_and_leaves_no_file(tea, fields, status):
    client = tea.as_("expert")
    assert send(client, **fields).status_code == status
    folder = tea.settings.files_folder
    assert not folder.exists() or not list(folder.iterdir())


def test_only_managers_train_and_a_waiting_training_can_be_cancelled(tea):
    assert tea.as_("annotator").get(TRAINING).status_code == 403
    client = tea.as_("expert")
    assert send(client, kind="tfidf").status_code == 303
    job = newest(tea)
    assert post(client, f"{TRAINING}/{job.id}/cancel", page=TRAINING).status_code == 303
    assert newest(tea).state == "cancelled"
    assert post(client, f"{TRAINING}/{job.id}/again", page=TRAINING).status_code == 303
    assert newest(tea).state == "waiting"
    assert post(client, f"{TRAINING}/nothing/cancel", page=TRAINING).status_code == 404
