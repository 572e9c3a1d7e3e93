"""Cases and the verdicts of a project are found by an index, however many posts there are."""

import shutil

from sqlalchemy import event

from davy.annotation.labelling.store import annotations, items
from davy.annotation.project.store import phases, projects
from davy.annotation.settling.store import cases, verdict_history, verdicts
from davy.core import Annotation, Label, Post, Question, Scheme, Verdict
from davy.people.store import users
from davy.schemes.store import schemes
from davy.store import open_store
from davy.store.columns import new_id, now
from post_rows import add_post

SCHEME = Scheme("grumble", 1, (Question("grumpy", (Label("yes"), Label("no")), positive="yes"),))


def everyday(store) -> None:
    """What experts and those who look at verdicts do all day."""
    with store.write() as db:
        ada = users.add(db, login="ada", name="Ada", role="expert", by="shell")
        schemes.save(db, SCHEME, "name: grumble\n", by=ada.id)
        project = projects.create(
            db, id="pilot", title="Pilot", scheme="grumble", scheme_version=1, settings={}, by="shell"
        )
        phase = phases.add(
            db, "pilot", name="main", kind="production", answers=1, in_corpus=True, settings={}, by="shell"
        )
        add_post(db, Post("p", "x"), project="pilot")
        items.add(db, phase, [("p", None, None)], by="shell")
        item = items.of_post(db, phase, "p")
        given = Annotation(new_id(), "p", "bob", "grumble", 1, 0, {"grumpy": ("yes",)}, now(), project="pilot")
        annotations.add(db, given, SCHEME)
        about = {"project": "pilot", "item": item.id, "post": "p"}
        opened = cases.add(db, **about, kind="disagreement", questions=["grumpy"], why=["split"], by="shell")
        assert cases.list_waiting(db, "pilot", ada.id)[0].id == opened
        assert cases.count_offered(db, "pilot", ada.id) == {("disagreement", "split", "grumpy"): 1}
        assert cases.take(db, "pilot", ada.id).held_by == ada.id
        assert not cases.has_labelled(db, "p", ada.id)
        assert cases.release(db, "pilot", ada.id) == 1
        cases.of_item(db, item.id)
        verdict = Verdict("p", "grumpy", ("yes",), "single", (given.id,))
        verdicts.add_settled(db, [(verdict, "system")], SCHEME, project="pilot", post="p")
        key = {"scheme": "grumble", "version": 1, "project": "pilot"}
        assert verdicts.of_post(db, "p", **key) == {"grumpy": verdict}
        assert verdicts.history(db, "p", "grumpy", **key) == [verdict]
        page = verdict_history.page(db, project, "grumpy", label="yes", basis="single")
        assert [(it.post, it.turns["grumpy"][0].answers) for it in page] == [("p", 1)]
        assert verdict_history.page(db, project, "grumpy", before=page[0].key) == []
        assert verdict_history.count_bases(db, project, "grumpy") == {"single": 1}


def test_no_query_of_experts_reads_a_whole_table(tmp_path, sqlite_template):
    path = tmp_path / "davy.sqlite"
    shutil.copy(sqlite_template, path)
    ran: dict[str, object] = {}

    def note(_db, _cursor, statement, parameters, _context, many):
        ran.setdefault(statement, parameters[0] if many else parameters)

    with open_store(f"sqlite:///{path}") as store:
        event.listen(store.engine, "before_cursor_execute", note)
        everyday(store)
        event.remove(store.engine, "before_cursor_execute", note)
        scans = []
        with store.read() as db:
            for statement, parameters in ran.items():
                if statement.startswith(("SELECT", "UPDATE", "DELETE")):
                    plan = [row[3] for row in db.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)]
                    scans += [(step, statement) for step in plan if "SCAN" in step and "USING" not in step]
                    if "cases.project = " in statement:
                        assert any("ix_cases_open" in step for step in plan), (plan, statement)
    assert len(ran) > 25
    assert [it for it in scans if "anon" not in it[0]] == []


def test_experts_find_their_cases_on_both_databases(store):
    everyday(store)
