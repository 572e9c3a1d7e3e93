"""Challenges for programs: a key that sends and does nothing else, and what stays hidden over HTTP."""

from __future__ import annotations

import re
import time
from dataclasses import replace

import challenge_case
from davy.challenges.challenge import TimeWindow
from davy.challenges.store import challenges, submissions
from davy.jobs import store as jobs
from davy.people.store import users
from davy.shell.app import run
from davy.store.columns import now
from two_projects import fill, fill_challenge
from web_site import Site, make_site, post


def open_test(site: Site) -> None:
    """Let the test of task A be open now."""
    with site.store.write() as db:
        phase = challenges.get(db, "mill-valley").phases[1]
        window = TimeWindow(now().replace(year=2026, month=1, day=1), now().replace(year=2030, day=1))
        changed = replace(phase, windows={"A": window})
        challenges.change_phase(db, changed, by="shell", what="challenge dates changed")


def key_of(client) -> str:
    """Make a key on the team's page."""
    page = post(client, "/challenges/mill-valley/team/key", page="/challenges/mill-valley/team")
    return re.search(r"davy_\w{8}_[\w-]+", page.text)[0]


def test_a_team_sends_with_a_key_from_the_shell_that_can_do_nothing_else(live, tmp_path, monkeypatch, capsys):
    site = live.site
    fill(site)
    fill_challenge(site)
    open_test(site)
    secret = key_of(site.as_("annotator"))
    monkeypatch.setenv("DAVY_KEY", secret)
    file = challenge_case.write_csv(tmp_path / "p.csv", challenge_case.answers("test", "A"))
    command = ["challenge", "submit", "mill-valley", str(file), "--task", "A", "--server", live.url]
    assert run(command) == 0
    assert "Taken: 40 predictions for task A in test" in capsys.readouterr().err
    assert run(command) == 2  # one was there before
    assert "has used its 2 submissions" in capsys.readouterr().err
    broken = challenge_case.write_csv(tmp_path / "b.csv", [("ghost", "yes")])
    assert run(["challenge", "submit", "mill-valley", str(broken), "--task", "B", "--server", live.url]) == 2
    assert run(["challenge", "submit", "mill-valley", str(file), "--server", "http://davy.example.org"]) == 2
    assert "should begin with https://" in capsys.readouterr().err
    visitor = site.visitor(authorization=f"Bearer {secret}")
    for path in ("/api/jobs", "/api/events"):
        assert visitor.get(path).status_code == 403
    monkeypatch.setenv("DAVY_KEY", "davy_wrong")
    assert run(command) == 2
    assert "not known" in capsys.readouterr().err


def test_a_private_board_hides_a_team_s_own_figure_everywhere(site: Site, tmp_path):
    fill(site)
    sent = fill_challenge(site)["submission_id"]
    for _ in range(1200):
        with site.store.read() as db:
            figure = submissions.get(db, sent).figure
            job = submissions.get(db, sent).job
        if figure is not None:
            break
        time.sleep(0.05)
    value = f"{figure['value']:.4f}"
    captain, runs = site.as_("annotator"), site.as_("manager")
    seen = [
        captain.get(path).text
        for path in (
            "/challenges/mill-valley/team",
            f"/challenges/mill-valley/submissions/{sent}",
            "/challenges/mill-valley/board",
            "/api/challenges/mill-valley/submissions",
            "/account/my-data.json",
            "/api/jobs",
            f"/jobs/{job}",
        )
    ]
    assert all(len(text) > 50 for text in seen[:2])
    assert not any(value in text or str(figure["low"])[:8] in text for text in seen)
    assert captain.get("/challenges/mill-valley/board?phase=test&task=A&format=json").status_code == 403
    assert captain.get("/challenges/mill-valley/analysis").status_code == 403
    with site.store.read() as db:
        assert users.by_login(db, "outsider@example.org") is not None
    assert value in runs.get("/challenges/mill-valley/organise").text


def test_a_cancelled_submission_is_not_scored_again_out_of_its_time(settings, empty_database):
    site = make_site(settings, empty_database)  # without a worker: it could score before the job is cancelled
    fill(site)
    sent = fill_challenge(site)["submission_id"]
    captain, page = site.as_("annotator"), f"/challenges/mill-valley/submissions/{sent}"
    with site.store.write() as db:
        jobs.ask_cancel(db, submissions.get(db, sent).job, by="shell")
    refused = post(captain, f"{page}/again", page=page)
    assert refused.status_code == 409
    assert "This task opens on 2027-02-01" in refused.text
    open_test(site)
    assert post(captain, f"{page}/again", page=page).status_code == 303
    with site.store.read() as db:
        assert submissions.get(db, sent).state == "waiting"


def test_a_submission_has_its_page_when_its_job_is_gone(site: Site):
    fill(site)
    sent = fill_challenge(site)["submission_id"]
    with site.store.write() as db:
        job = submissions.get(db, sent).job
        submissions.save_figure(db, sent, {"value": 0.5, "low": 0.4, "high": 0.6, "n": 40})
        db.execute(jobs.jobs.delete().where(jobs.jobs.c.id == job))
    page = site.as_("annotator").get(f"/challenges/mill-valley/submissions/{sent}")
    assert page.status_code == 200
    assert "It is scored." in page.text


def test_what_is_not_released_is_not_even_counted(site: Site):
    fill(site)
    fill_challenge(site)
    page = site.as_("annotator").get("/challenges/mill-valley").text
    assert "26" not in re.sub(r"20\d\d|\d\d:\d\d", "", page.split("<main")[1].split("</main")[0])
    for path in ("data/test", "data/test?task=A", "data/test?task=B", "data/none", "data/train?task=../test"):
        answer = site.as_("annotator").get(f"/challenges/mill-valley/{path}")
        assert answer.status_code in (200, 403, 404)
        assert answer.status_code != 200 or "test-" not in answer.text
    for odd in ("../test", '"; x=', "%0d%0aSet-Cookie:%20a=b", "%F0%9F%A6%89"):  # what would stand in a header
        assert site.as_("annotator").get(f"/challenges/mill-valley/data/train?task={odd}").status_code == 404
    for hidden in ("/api/challenges/mill-valley", "/challenges/mill-valley/kit.zip"):
        assert b"test-1" not in site.as_("annotator").get(hidden).content


def test_a_challenge_for_people_is_as_if_it_were_not_there(site: Site):
    fill(site)
    fill_challenge(site)
    with site.store.write() as db:
        challenges.change_settings(db, "mill-valley", by="shell", title="Mill", visibility="people")
    for path in ("/challenges/mill-valley", "/challenges/mill-valley/board", "/api/challenges/mill-valley"):
        assert site.as_("outsider").get(path).status_code == 404
        assert site.as_("annotator").get(path).status_code == 200
    assert "Mill" not in site.as_("outsider").get("/challenges").text.split("<main")[1]
    with site.store.write() as db:
        challenges.change_settings(db, "mill-valley", by="shell", title="Mill", visibility="world")
    assert site.visitor().get("/challenges/mill-valley").status_code == 200
    assert "Mill" in site.visitor().get("/challenges").text


def test_the_page_leaves_the_dates_of_a_frozen_phase(site: Site):
    fill(site)
    fill_challenge(site)
    with site.store.write() as db:
        phase = challenges.get(db, "mill-valley").phases[1]
        challenges.change_phase(db, replace(phase, frozen_at=now()), by="shell", what="challenge board frozen")
    page = "/challenges/mill-valley/organise"
    form = {"phase": "test", "task": "A", "opens": "2027-01-01", "closes": "2027-05-01"}
    answer = post(site.as_("manager"), f"{page}/dates", form, page=page)
    assert answer.status_code == 409
    assert "The board is frozen" in answer.text
    with site.store.read() as db:
        assert challenges.get(db, "mill-valley").phases[1].windows == phase.windows
