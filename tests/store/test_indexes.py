"""Queries that run often find their rows by an index, so that their cost does not grow with the tables."""

from datetime import timedelta

import polars as pl
import pytest
from sqlalchemy import event, text

from davy.annotation.labelling.store import annotations
from davy.annotation.project.store import posts, projects
from davy.annotation.settling.store import verdicts
from davy.core import Annotation, Label, Post, Question, Scheme, Verdict
from davy.jobs import store as jobs
from davy.people.store import invitations, keys, sessions, users
from davy.schemes.store import schemes
from davy.store import Store, columns, events

SCHEME = Scheme("grumble", 1, (Question("grumpy", (Label("yes"), Label("no")), positive="yes"),))


def everyday(store: Store) -> None:
    """What a busy server does all day."""
    with store.write() as db:
        ada = users.add(db, login="ada", name="Ada", role="expert", by="shell")
        users.find(db, "ada")
        _, invitation = invitations.create(db, role="annotator", by=ada.id)
        lin = invitations.accept(db, invitation, login="lin", name="Lin", password_hash="h")
        session, token = sessions.start(db, ada.id)
        sessions.find(db, token)
        sessions.touch(db, session.id)
        sessions.of_user(db, ada.id)
        sessions.end_all(db, lin.id, by=ada.id)
        sessions.sweep(db)
        key, secret = keys.create(db, name="k", owner=ada.id, scopes=["score"], by=ada.id)
        keys.check(db, secret, "score")
        keys.touch(db, key.id)
        keys.list_keys(db, owner=ada.id)
        schemes.save(db, SCHEME, "name: grumble\n", by=ada.id)
        projects.create(db, id="a", title="A", scheme="grumble", scheme_version=1, settings={}, by=ada.id)
        post = posts.add(db, Post("p", "x"), project=None, by=ada.id)
        for project in ("a", None):
            posts.ensure(db, pl.DataFrame({"id": ["q"], "text": ["x"]}), project=project, by=ada.id)
            posts.find_key(db, project, "q")
            posts.set_hidden(db, project, ["q"], hidden=True, by=ada.id)
            list(posts.frames(db, project=project))
        posts.get(db, post)
        posts.is_hidden(db, post)
        projects.guidelines_of(db, "a")
        given = Annotation(columns.new_id(), post, ada.id, "grumble", 1, 0, {"grumpy": ("yes",)}, columns.now())
        annotations.add(db, given, SCHEME)
        annotations.of_post(db, post, scheme="grumble", version=1)
        annotations.of_annotator(db, ada.id)
        verdicts.add(db, Verdict(post, "grumpy", ("yes",), "single", (given.id,)), SCHEME, by=ada.id)
        verdicts.of_post(db, post, scheme="grumble", version=1)
        schemes.has_answers(db, "grumble", 1)
        events.latest(db)
        events.latest(db, about=f"user {ada.id}")
        events.latest(db, by=ada.id)
        jobs.enqueue(db, "count", {}, owner=ada.id, key="k")
        jobs.has_due(db, ["count"])
        job = jobs.lease(db, ["count"], worker="w", seconds=60)
        jobs.renew(db, job, seconds=60)
        jobs.log(db, job, "x")
        jobs.log_lines(db, job.id)
        jobs.list_leased(db, ["count"])
        jobs.fail(db, job, "x", again_in=timedelta(0))
        jobs.latest(db)
        jobs.latest(db, visible_to=ada.id)
        jobs.latest(db, project="a")
        jobs.is_visible(db, job.id, ada.id)


def test_no_everyday_query_reads_a_whole_table(tmp_path, sqlite_template, monkeypatch):
    import shutil

    from davy.store import open_store

    path = tmp_path / "davy.sqlite"
    shutil.copy(sqlite_template, path)
    with open_store(f"sqlite:///{path}") as store:
        ran: dict[str, object] = {}

        def note(_db, _cursor, statement, parameters, _context, many):
            ran.setdefault(statement, parameters[0] if many else parameters)

        event.listen(store.engine, "before_cursor_execute", note)
        everyday(store)
        event.remove(store.engine, "before_cursor_execute", note)
        scans = []
        with store.read() as db:
            for statement, parameters in ran.items():
                if not statement.startswith(("SELECT", "UPDATE", "DELETE")):
                    continue
                plan = [row[3] for row in db.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)]
                # A scan along an index stops at the query's limit; one without reads every row.
                scans += [
                    (step, statement)
                    for step in plan
                    if "SCAN" in step and "USING" not in step and not_newest(step, statement)
                ]
                # Waiting jobs, which are few, are sorted by whose turn it is when a worker takes one.
                sorts_turns = "jobs.state = 'waiting'" in statement and "earlier" in statement
                scans += [
                    (step, statement)
                    for step in plan
                    if "TEMP B-TREE" in step and "LIMIT" in statement and not sorts_turns
                ]
    assert len(ran) > 50
    assert scans == []


def not_newest(step: str, statement: str) -> bool:
    """Events from newest to oldest go backwards through the table itself, up to the limit."""
    return not (step == "SCAN events" and "LIMIT" in statement)


@pytest.mark.postgres
def test_postgresql_uses_the_partial_index_of_waiting_jobs(postgres, postgres_url):
    from davy.store import open_store

    with open_store(postgres_url, create=True) as store, store.write() as db:
        db.execute(
            text(
                "INSERT INTO jobs"
                " (id, kind, arguments, owner, state, created_at, run_after, attempts, max_attempts, done)"
                " SELECT 'j' || n, 'count', '{}', 'o', 'done', now(), now(), 1, 1, 0 FROM generate_series(1, 20000) n"
            )
        )
        db.execute(text("ANALYZE jobs"))
        plan = "\n".join(
            row[0]
            for row in db.execute(
                text(
                    "EXPLAIN SELECT id FROM jobs WHERE jobs.state = 'waiting' AND run_after <= now() "
                    "AND kind IN ('count') ORDER BY run_after, id LIMIT 1 FOR UPDATE SKIP LOCKED"
                )
            )
        )
    assert "ix_jobs_waiting" in plan
