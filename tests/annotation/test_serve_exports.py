"""Exports and imports on the web: asked for, made in the background, fetched by who may, stopped, and begun anew."""

from __future__ import annotations

import json
import threading
import time

import pytest

import exchange_case
from davy.annotation.exchange import exchange as action
from davy.annotation.exchange import jobs as exchange
from davy.annotation.exchange import row_import
from davy.annotation.exchange.jobs import EXPORT, IMPORT
from davy.annotation.project.store import members, phases
from davy.jobs import job_files
from davy.jobs import store as jobs
from davy.jobs.worker import JobContext, JobWorker
from web_site import Site, post, token_in

EXPORTS = "/projects/tea-1/exports"


@pytest.fixture
def tea(site: Site) -> Site:
    """A site with a filled project that the expert manages and the annotator labels in."""
    exchange_case.fill(site.store)
    with site.store.write() as db:
        members.add(db, "tea-1", site.people["expert"].id, ["manager"], by="shell")
        members.add(db, "tea-1", site.people["annotator"].id, ["annotator"], by="shell")
    return site


def newest(site: Site, kind: str = EXPORT) -> jobs.Job:
    with site.store.read() as db:
        return jobs.latest(db, kind=kind)[0]


def settled(site: Site, job_id: str, *states: str) -> jobs.Job:
    """Wait until a job is in one of the states."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with site.store.read() as db:
            job = jobs.get(db, job_id)
        if job.state in (states or ("done", "failed", "cancelled")):
            return job
        time.sleep(0.02)
    raise AssertionError(f"job is {job.state} after 60 s: {job.error}")


def send(client, content: bytes, name: str, **fields: str):
    """Upload a file as a browser would."""
    token = token_in(client.get(EXPORTS).text)
    return client.post(
        "/projects/tea-1/imports/upload", data={"csrf": token, **fields}, files={"file": (name, content)}
    )


def test_a_manager_asks_for_an_export_and_fetches_it(tea):
    client = tea.as_("expert")
    page = client.get(EXPORTS).text
    assert "No file has been made yet" in page
    answer = post(client, EXPORTS, {"format": "long", "table": "csv", "phases": ["3"], "once": "abc"}, page=EXPORTS)
    assert answer.status_code == 303
    post(client, EXPORTS, {"format": "long", "table": "csv", "phases": ["3"], "once": "abc"}, page=EXPORTS)
    with tea.store.read() as db:
        assert len(jobs.latest(db, kind=EXPORT)) == 1  # the form was sent twice
    job = settled(tea, newest(tea).id)
    assert (job.state, job.result["answers"]) == ("done", 3 * len(exchange_case.rows()))
    page = client.get(EXPORTS).text
    address = f"{EXPORTS}/{job.id}/tea-1-long.csv"
    assert f'href="{address}"' in page
    got = client.get(address)
    assert got.headers["content-disposition"] == 'attachment; filename="tea-1-long.csv"'
    assert got.headers["content-type"] == "application/octet-stream"
    assert got.headers["x-content-type-options"] == "nosniff"
    assert got.headers["cache-control"] == "no-store"
    assert got.text.startswith("item,annotator,phase,hate,")
    statement = client.get(f"{EXPORTS}/{job.id}/{exchange.STATEMENT}")
    assert "# Data statement: Tea talk" in statement.text
    assert "Secret" not in statement.text
    assert tea.as_("admin").get(address).status_code == 200
    part = client.get(EXPORTS, headers={"hx-request": "true"}).text
    assert part.startswith('<div id="exports"')


def test_only_managers_export_and_addresses_of_others_lead_nowhere(tea):
    client = tea.as_("expert")
    post(client, EXPORTS, {"format": "doccano", "phases": ["3"]}, page=EXPORTS)
    job = settled(tea, newest(tea).id)
    address = f"{EXPORTS}/{job.id}/{job.result['file']}"
    annotator = tea.as_("annotator")
    assert annotator.get(EXPORTS).status_code == 403
    assert annotator.get(address).status_code == 403
    assert post(annotator, EXPORTS, {"format": "long"}, page="/account").status_code == 403
    assert tea.visitor().get(address).status_code in (302, 303)
    assert client.get(f"{EXPORTS}/{job.id}/..%2F..%2Fdavy.sqlite").status_code == 404
    assert client.get(f"{EXPORTS}/{job.id}/other.txt").status_code == 404
    assert client.get(f"{EXPORTS}/nothing/{job.result['file']}").status_code == 404
    with tea.store.write() as db:
        from davy.annotation.project.store import projects

        projects.create(db, id="other", title="Other", scheme="tea", scheme_version=1, settings={}, by="shell")
        members.add(db, "other", tea.people["expert"].id, ["manager"], by="shell")
    assert client.get(f"/projects/other/exports/{job.id}/{job.result['file']}").status_code == 404
    for data, status in (
        ({"format": "exe", "phases": ["3"]}, 400),
        ({"format": "long", "phases": ["9"]}, 422),
        ({"format": "long"}, 422),
        ({"format": "long", "phases": ["3"], "question": "mood"}, 422),
    ):
        assert post(client, EXPORTS, data, page=EXPORTS).status_code == status, data
    assert client.post(EXPORTS, data={"format": "long", "phases": ["3"]}).status_code == 403  # no token


def test_files_go_when_removed_and_after_a_week(tea):
    client = tea.as_("expert")
    post(client, EXPORTS, {"format": "huggingface", "phases": ["3", "training"]}, page=EXPORTS)
    job = settled(tea, newest(tea).id)
    folder = tea.settings.files_folder
    assert folder.stat().st_mode & 0o077 == 0
    address = f"{EXPORTS}/{job.id}/{job.result['file']}"
    assert client.get(address).content.startswith(b"PK")
    assert job_files.sweep(folder) == 0
    assert job_files.sweep(folder, now=time.time() + job_files.KEPT.total_seconds() + 60) == 1
    gone = client.get(address)
    assert gone.status_code == 410
    assert "7 days" in gone.text
    assert "removed" in client.get(EXPORTS).text
    post(client, EXPORTS, {"format": "argilla", "phases": ["3"]}, page=EXPORTS)
    job = settled(tea, newest(tea).id)
    assert post(client, f"{EXPORTS}/{job.id}/remove", page=EXPORTS).status_code == 303
    assert not (folder / job.id).exists()
    assert post(client, f"{EXPORTS}/{job.id}/burn", page=EXPORTS).status_code == 404


def test_an_upload_comes_in_under_its_own_names(tea):
    client = tea.as_("expert")
    lines = [
        {"id": f"n{number}", "text": f"words {number}", "label": ["not hateful"], "annotator": f"w{who}"}
        for number in range(3)
        for who in range(2)
    ]
    content = "".join(json.dumps(line) + "\n" for line in lines).encode()
    answer = send(client, content, "../../evil<b>.jsonl", format="doccano", phase="3")
    assert answer.status_code == 303, answer.text
    job = settled(tea, newest(tea, IMPORT).id)
    assert (job.state, job.result["posts"], job.result["answers"], job.result["people"]) == ("done", 3, 6, 2)
    assert job.arguments["file"] == "evilb.jsonl"
    assert not list((tea.settings.files_folder).glob("*/evil*"))
    with tea.store.read() as db:
        phase = phases.by_name(db, "tea-1", "3")
    assert phase.size == len(exchange_case.rows()) + 3
    page = client.get(EXPORTS).text
    assert "3 posts, 6 answers" in page


@pytest.mark.parametrize(
    ("content", "name", "format", "status"),
    [
        (b"", "empty.csv", "long", 422),
        (b"MZ\x00\x01", "a.exe", "long", 415),
        (b"id,text\n1,a\n", "a.csv", "label-studio", 415),
        (b"PK\x05\x06" + b"\0" * 18, "a.zip", "long", 415),
        (b"item," + b",".join(b"c%d" % n for n in range(2000)), "wide.csv", "long", 413),
        (b"id,text\n1,a\n", "", "long", 422),
    ],
)
def test_an_upload_of_the_wrong_kind_is_refused_and_leaves_no_file(tea, content, name, format, status):
    client = tea.as_("expert")
    assert send(client, content, name, format=format).status_code == status
    folder = tea.settings.files_folder
    assert not folder.exists() or not list(folder.iterdir())
    assert (
        tea.as_("annotator").post("/projects/tea-1/imports/upload", files={"file": ("a.csv", b"x")}).status_code == 403
    )
    wrong = client.post("/projects/tea-1/imports/upload", data={"csrf": "0" * 64}, files={"file": ("a.csv", b"x")})
    assert wrong.status_code == 403


def test_a_file_with_a_mistake_says_where_and_changes_nothing(tea):
    client = tea.as_("expert")
    tasks = [{"data": {"text": "x", "item": "n1"}, "annotations": [{"completed_by": 1, "result": [_choice("lovely")]}]}]
    assert send(client, json.dumps(tasks).encode(), "tasks.json", format="label-studio", phase="3").status_code == 303
    job = settled(tea, newest(tea, IMPORT).id)
    assert job.state == "failed"
    assert job.error.startswith("tasks.json: task 1: 'lovely' is not a label of 'hate'")
    assert "tasks.json: task 1" in client.get(EXPORTS).text
    assert post(client, f"{EXPORTS}/{job.id}/again", page=EXPORTS).status_code == 303
    assert settled(tea, job.id).state == "failed"
    with tea.store.read() as db:
        assert phases.by_name(db, "tea-1", "3").size == len(exchange_case.rows())


def _choice(label: str) -> dict:
    return {"from_name": "hate", "to_name": "text", "type": "choices", "value": {"choices": [label]}}


def test_a_cancelled_export_leaves_nothing(tea, tmp_path, monkeypatch):
    folder = tmp_path / "kept"
    reached, go_on = threading.Event(), threading.Event()

    def held(store, wish, out, *, statement, progress):
        out.write_text("half")
        reached.set()
        go_on.wait(60)
        until = time.monotonic() + 60
        while time.monotonic() < until:
            progress(1, 2)
            time.sleep(0.02)

    monkeypatch.setattr(action, "export_project", held)
    with tea.store.write() as db:
        arguments = {"project": "tea-1", "format": "long", "file": "tea.csv", "phases": ["3"]}
        job = jobs.enqueue(db, "slow export", arguments, owner="x")
    with JobWorker(tea.store, {"slow export": exchange.export_project}, files=folder, poll_seconds=0.05):
        assert reached.wait(60)
        with tea.store.write() as db:
            jobs.ask_cancel(db, job.id, by="x")
        go_on.set()
        assert settled(tea, job.id).state == "cancelled"
    assert list(folder.iterdir()) == []


def test_an_export_whose_worker_died_begins_anew_and_an_import_is_not_done_twice(tea, tmp_path):
    folder = tmp_path / "kept"
    with tea.store.write() as db:
        arguments = {"project": "tea-1", "format": "long", "file": "tea.csv", "phases": ["3"]}
        job = jobs.enqueue(db, "test export", arguments, owner="x")
        dead = jobs.lease(db, ["test export"], worker="dead", seconds=0)
    stale = job_files.make_folder(folder, job.id)
    (stale / ".tea.csv.half.part").write_text("half")
    assert dead is not None
    with JobWorker(tea.store, {"test export": exchange.export_project}, files=folder, poll_seconds=0.05):
        assert settled(tea, job.id).state == "done"
    assert sorted(it.name for it in stale.iterdir()) == [exchange.STATEMENT, "tea.csv"]

    source = job_files.make_folder(folder, "upload1")
    (source / "new.jsonl").write_text(json.dumps({"id": "n1", "text": "x", "label": ["hateful"], "annotator": "w"}))
    arguments = {"project": "tea-1", "format": "doccano", "phase": "3", "file": "new.jsonl", "upload": "upload1"}
    with tea.store.write() as db:
        job = jobs.enqueue(db, "test import", arguments, owner="x")
    with JobWorker(tea.store, {"test import": exchange.import_file}, files=folder, poll_seconds=0.05):
        first = settled(tea, job.id)
        assert first.state == "done", first.error
    with tea.store.write() as db:  # as if the worker had died between the import and the word that it is done
        from sqlalchemy import update

        from davy.jobs.store import jobs as table

        db.execute(update(table).where(table.c.id == job.id).values(state="waiting", result=None))
    with JobWorker(tea.store, {"test import": exchange.import_file}, files=folder, poll_seconds=0.05):
        again = settled(tea, job.id)
    assert (again.state, again.result) == ("done", first.result)


def test_an_import_that_a_worker_left_goes_on_with_the_next_row(tea, tmp_path, monkeypatch):
    monkeypatch.setattr(row_import, "CHUNK", 2)
    folder = tmp_path / "files"
    source = job_files.make_folder(folder, "upload1")
    lines = [{"id": f"n{n}", "text": f"x {n}", "label": ["hateful"], "annotator": "w"} for n in range(7)]
    (source / "new.jsonl").write_text("\n".join(map(json.dumps, lines)))
    arguments = {"project": "tea-1", "format": "doccano", "phase": "3", "file": "new.jsonl", "upload": "upload1"}
    with tea.store.write() as db:
        job = jobs.enqueue(db, "test import", arguments, owner="x")
        jobs.lease(db, ["test import"], worker="dies", seconds=0.2)
    with tea.store.read() as db:
        leased = jobs.get(db, job.id)
    context = JobContext(tea.store, leased, threading.Event(), files=folder)
    told: list[int] = []

    def die(done: int, total: int | None = None, note: str | None = None) -> None:
        told.append(done)
        if done == 4:
            raise SystemExit

    monkeypatch.setattr(context, "progress", die)
    with pytest.raises(SystemExit):
        exchange.import_file(context)
    with JobWorker(tea.store, {"test import": exchange.import_file}, files=folder, poll_seconds=0.05):
        done = settled(tea, job.id)
    assert done.state == "done", done.error
    assert done.result == {"posts": 7, "known": 0, "answers": 7, "settled": 0, "people": 1}


def test_without_a_folder_for_files_the_page_says_what_to_do(tea, monkeypatch):
    from davy.annotation.exchange.pages import exports

    monkeypatch.setattr(exports.job_files, "files_folder", lambda *_: None)
    client = tea.as_("expert")
    assert "davy serve --files" in client.get(EXPORTS).text
    assert post(client, EXPORTS, {"format": "long", "phases": ["3"]}, page="/account").status_code == 409
