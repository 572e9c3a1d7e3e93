"""Retention by rule, on both databases: what would go is counted, only that goes, labels never, and all is audited."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import func, insert, select, update

import challenge_case
from davy.annotation.care.store import check_ins
from davy.annotation.care.store.check_ins import check_ins as check_in_rows
from davy.annotation.labelling.store import annotations
from davy.annotation.labelling.store import tables as annotation_tables
from davy.annotation.project.store import members, projects
from davy.annotation.project.store import tables as project_tables
from davy.annotation.project.store.tables import posts as post_rows
from davy.annotation.project.store.tables import projects as project_rows
from davy.challenges.run_challenge import take_submission
from davy.challenges.store import submissions
from davy.core import UserError
from davy.jobs import job_files
from davy.jobs import store as jobs
from davy.jobs.kinds import job_functions
from davy.jobs.store import job_log
from davy.jobs.store import jobs as job_rows
from davy.jobs.worker import JobWorker
from davy.moderation.store import appeals, communities
from davy.moderation.store.decisions import decisions
from davy.moderation.store.shadows import shadow_differences
from davy.moderation.store.suggestions import suggestions
from davy.people.retention import RETENTION, apply_rule, enqueue_today, preview
from davy.people.store import retention, users
from davy.people.store import sessions as session_queries
from davy.people.store.retention import RetentionRule
from davy.people.store.tables import sessions
from davy.store import Store, events
from davy.store.columns import new_id, now
from davy.store.events import events as event_rows
from work_project import make_bench

LONG_AGO = timedelta(days=100)


def rule(what: str, days: int = 90, project: str = "", *, set_ago: timedelta = timedelta(days=2)) -> RetentionRule:
    return RetentionRule(project, what, days, now() - set_ago, "shell")


def decide(db, *, ago: timedelta) -> None:
    made = {"id": new_id(), "at": now() - ago, "community": "forum", "model": "m@1", "decision": "flag", "reasons": []}
    db.execute(insert(decisions).values(made))


def correct(db, *, state: str, ago: timedelta) -> None:
    at = now() - ago
    made = {"id": new_id(), "at": at, "by": "x", "text": "t", "scores": {}, "answers": {}, "state": state}
    db.execute(insert(suggestions).values(**made, reviewed_at=None if state == "open" else at))


@pytest.fixture
def old(store: Store) -> Store:
    """A store with one old and one new record of every kind that belongs to the server."""
    with store.write() as db:
        communities.create(db, communities.Community("forum", "hate"), by="x")
        for ago in (LONG_AGO, timedelta(0)):
            decide(db, ago=ago)
            for state in ("upheld", "open"):
                reviewed = {"state": state, "reviewed_at": None if state == "open" else now() - ago}
                appeals.add(db, appeals.Appeal("forum", new_id(), "x", "flag", at=now() - ago, **reviewed))
            for state in ("taken", "open"):
                correct(db, state=state, ago=ago)
            shadow = {"model": "a", "shadow": "b", "question": "hate", "label": "yes", "shadow_label": "no"}
            db.execute(insert(shadow_differences).values(id=new_id(), at=now() - ago, **shadow))
            events.record(db, by="system", what="sign-in refused", about="user x")
            events.record(db, by="system", what="sign-in", about="user x")
            db.execute(update(event_rows).where(event_rows.c.at > now() - ago).values(at=now() - ago))
            job = jobs.enqueue(db, "none", {}, owner="x")
            db.execute(insert(job_log).values(job=job.id, at=now(), line="done"))
            done = {"state": "done", "finished_at": now() - ago}
            db.execute(update(job_rows).where(job_rows.c.id == job.id).values(done))
    return store


@pytest.mark.parametrize("what", ["decisions", "appeals", "corrections", "shadow posts", "refusals", "jobs"])
def test_a_rule_removes_what_it_counted_and_nothing_newer(old: Store, what: str):
    table = retention.retention_kinds()[what].table
    with old.read() as db:
        before = db.scalar(select(func.count()).select_from(table))
    assert preview(old, rule(what), None) == 1
    assert preview(old, rule(what, days=200), None) == 0
    assert apply_rule(old, rule(what), None, by="shell") == 1
    with old.read() as db:
        left = db.scalar(select(func.count()).select_from(table))
        told = next(it for it in events.latest(db) if it.what == "retention rule applied")
    assert left == before - 1 + (what == "refusals")  # the audit has one more line: that of the rule
    assert (told.about, told.details) == ("server", {"kind": what, "days": 90, "removed": 1})
    assert apply_rule(old, rule(what), None, by="shell") == 0


def test_corrections_that_nobody_reviewed_stay_however_old(old: Store):
    apply_rule(old, rule("corrections", days=1), None, by="shell")
    with old.read() as db:
        assert list(db.scalars(select(suggestions.c.state)))
        assert set(db.scalars(select(suggestions.c.state).where(suggestions.c.at < now() - timedelta(days=50)))) == {
            "open"
        }


def test_the_job_of_a_submission_that_has_no_figure_stays(store: Store, tmp_path: Path):
    challenge_case.make(store, tmp_path / "files")
    team, captain = challenge_case.add_team(store, "Lamplighters")
    file = challenge_case.write_csv(tmp_path / "p.csv", challenge_case.answers("test", "A"))
    sent = [take_submission(store, file, challenge_case.request(team, captain)) for _ in range(2)]
    with store.write() as db:
        submissions.save_figure(db, sent[0].id, {"value": 1.0})
        ended = {"state": "failed", "finished_at": now() - LONG_AGO}
        db.execute(update(job_rows).where(job_rows.c.id.in_([it.job for it in sent])).values(ended))
    assert preview(store, rule("jobs"), None) == 1
    assert apply_rule(store, rule("jobs"), None, by="shell") == 1
    with store.read() as db:
        assert [submissions.get(db, it.id).state for it in sent] == ["scored", "failed"]
        assert submissions.count(db, sent[0].phase, "A", team.id) == 1
        assert (jobs.find(db, sent[0].job), jobs.get(db, sent[1].job).state) == (None, "failed")


def test_without_a_rule_nothing_goes(old: Store):
    with old.write() as db:
        jobs.enqueue(db, RETENTION, {}, owner="system")
    with JobWorker(old, {RETENTION: job_functions(long=False)[RETENTION]}, once=True) as worker:
        worker.join()
    with old.read() as db:
        assert db.scalar(select(func.count()).select_from(decisions)) == 2
        assert not [it for it in events.latest(db) if it.what.startswith("retention")]


def test_the_worker_applies_rules_once_a_day_and_not_on_the_day_they_were_set(old: Store):
    with old.write() as db:
        retention.set_rule(db, rule("decisions"))
        retention.set_rule(db, rule("shadow posts", set_ago=timedelta(hours=1)))
    for _ in range(2):
        enqueue_today(old)
    with JobWorker(old, {RETENTION: job_functions(long=False)[RETENTION]}, once=True) as worker:
        worker.join()
    with old.read() as db:
        done = [job for job in jobs.latest(db) if job.kind == RETENTION]
        assert [(job.state, job.result) for job in done] == [("done", {"decisions": 1})]
        assert db.scalar(select(func.count()).select_from(shadow_differences)) == 2


def test_sessions_and_files_are_swept_on_time_without_a_rule(store: Store, tmp_path: Path):
    with store.write() as db:
        account = make_account(db)
        session, _ = session_queries.start(db, account)
        gone = update(sessions).where(sessions.c.id == session.id).values(expires_at=now() - timedelta(days=31))
        db.execute(gone)
        session_queries.start(db, account)
    old_files, new_files = (job_files.make_folder(tmp_path, name) for name in ("old", "new"))
    long_ago = (now() - timedelta(days=8)).timestamp()
    os.utime(old_files, (long_ago, long_ago))
    enqueue_today(store)
    table = {RETENTION: job_functions(long=False)[RETENTION]}
    with JobWorker(store, table, files=tmp_path, once=True) as worker:
        worker.join()
    assert (old_files.exists(), new_files.exists()) == (False, True)
    with store.read() as db:
        assert db.scalar(select(func.count()).select_from(sessions)) == 1


def make_account(db) -> str:
    return users.add(db, login="admin", name="Admin", role="admin", by="shell").id


def test_a_rule_for_files_shortens_how_long_they_wait(store: Store, tmp_path: Path):
    made = job_files.make_folder(tmp_path, "export")
    (made / "p.csv").write_text("text")
    at = (now() - timedelta(days=3)).timestamp()
    os.utime(made, (at, at))
    assert preview(store, rule("exports", days=2), tmp_path) == 1
    assert apply_rule(store, rule("exports", days=4), tmp_path, by="shell") == 0
    assert apply_rule(store, rule("exports", days=2), tmp_path, by="shell") == 1
    assert not made.exists()


def test_texts_go_after_a_project_was_closed_and_labels_stay(store: Store):
    bench = make_bench(store)
    name = bench.project.id
    text = bench.answer("ada", annotation_id="kept1").post.text
    mine = rule("texts", days=30, project=name)
    assert preview(store, mine, None) == 0  # it is open
    with store.write() as db:
        projects.close(db, name, by="shell")
    assert preview(store, mine, None) == 0  # it was closed just now
    with store.write() as db:
        longer = update(project_rows).where(project_rows.c.id == name)
        db.execute(longer.values(closed_at=now() - timedelta(days=31)))
        n = db.scalar(select(func.count()).select_from(post_rows).where(post_rows.c.project == name))
        answered = annotations.get(db, "kept1")
    assert preview(store, mine, None) == n == 6
    assert apply_rule(store, mine, None, by="shell") == n
    with store.read() as db:
        texts = list(db.scalars(select(post_rows.c.text).where(post_rows.c.project == name)))
        assert texts == [None] * n
        assert annotations.get(db, "kept1") == answered
    assert preview(store, mine, None) == 0
    if store.sqlite:  # and is not left in a freed page or the log
        file = Path(str(store.url.database))
        assert not [it for it in file.parent.glob(f"{file.name}*") if text.encode() in it.read_bytes()]


def test_check_ins_of_one_project_go_and_those_of_another_stay(store: Store):
    bench = make_bench(store)
    name, user = bench.project.id, bench.people["ada"].user
    with store.write() as db:
        members.add(db, name, make_account(db), ["wellbeing"], by="shell")
        first = check_ins.add(db, name, user, words="tired")
        check_ins.add(db, name, user, words="better")
        earlier = update(check_in_rows).where(check_in_rows.c.id == first.id)
        db.execute(earlier.values(at=now() - LONG_AGO))
    assert apply_rule(store, rule("check-ins", project="another"), None, by="shell") == 0
    assert apply_rule(store, rule("check-ins", project=name), None, by="shell") == 1
    with store.read() as db:
        assert [it.words for it in check_ins.of_person(db, user)] == ["better"]


@pytest.mark.parametrize(
    ("what", "days", "project", "words"),
    [
        ("decision", 9, None, "no rule for 'decision'; choose from decisions"),
        ("texts", 9, None, "The server has no rule for 'texts'"),
        ("decisions", 9, "p", "A project has no rule for 'decisions'"),
        ("decisions", 0, None, "1 to 36,500 days, not 0"),
    ],
)
def test_a_rule_that_can_not_be_is_refused(what, days, project, words):
    with pytest.raises(UserError, match=words):
        retention.make_rule(what, days, by="shell", project=project)


def test_rules_are_set_changed_and_ended_with_an_event_each(store: Store):
    with store.write() as db:
        for days in (90, 30):
            retention.set_rule(db, retention.make_rule("decisions", days, by="shell"))
        assert [(it.what, it.days) for it in retention.list_rules(db)] == [("decisions", 30)]
        retention.end_rule(db, "decisions", by="shell")
        assert retention.list_rules(db, everywhere=True) == []
        with pytest.raises(UserError, match="no rule"):
            retention.end_rule(db, "decisions", by="shell")
        told = [it.what for it in events.latest(db) if it.what.startswith("retention")]
    assert told == ["retention rule ended", "retention rule set", "retention rule set"]


def test_no_rule_can_name_answers_or_verdicts():
    """Rules name tables; none of them holds what people or experts decided."""
    labels = {
        annotation_tables.annotations,
        annotation_tables.answers,
        annotation_tables.verdicts,
        project_tables.items,
        annotation_tables.assignments,
        annotation_tables.cases,
    }
    assert not {kind.table for kind in retention.retention_kinds().values() if not kind.blanks} & labels
