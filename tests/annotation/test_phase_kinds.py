"""Kinds of phase are rows of one table: rows are complete, nothing asks for a kind by name, a row adds a kind."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import davy
from davy.annotation.project import phase_gates, project_file
from davy.annotation.project.phase_kind import PHASE_KINDS, PhaseKind
from davy.annotation.project.store import phases
from davy.web import i18n
from davy.web.render import environment
from work_project import make_bench

SOURCE = Path(davy.__file__).parent


@pytest.mark.parametrize("name", PHASE_KINDS)
def test_every_kind_has_a_closing_rule_a_page_and_words(name):
    kind = PHASE_KINDS[name]
    assert callable(phase_gates.closing_rule(kind.closes_by))
    assert f"{kind.page}.html" in environment().list_templates()
    for lang in i18n.LANGUAGES:
        assert i18n.Translator(lang).has(f"project.kind.{name}")


def test_nothing_asks_for_a_kind_by_its_name():
    names = "|".join(PHASE_KINDS)
    by_name = re.compile(rf"""kind\s*(?:==|!=|in|not in)[\s(\[{{]*["'](?:{names})["']""")
    files = [it for ending in ("*.py", "*.html") for it in SOURCE.rglob(ending)]
    assert [str(it) for it in files if by_name.search(it.read_text(encoding="utf-8"))] == []


def test_a_rule_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="full moon"):
        PhaseKind(closes_by="full moon")


def test_a_new_kind_is_a_row_of_the_table(store, monkeypatch):
    kind = PhaseKind(closes_by="everyone answered", answers=2, fewest_people=2, roles=("annotator",))
    monkeypatch.setitem(PHASE_KINDS, "filter", kind)
    plan = project_file.PhasePlan("sift", "filter")
    assert (plan.people, plan.corpus) == (2, False)
    bench = make_bench(store, n=2, people=("ada", "bo"), kind="filter", answers=2)
    for name in ("ada", "bo"):
        assert bench.answer(name) is not None
    with store.read() as db:
        status = phase_gates.phase_status(db, bench.project, bench.phase)
    assert str(status.closes) == "2 of 2 people have posts left to answer."
    for name in ("ada", "bo"):
        bench.answer(name)
    with store.write() as db:
        phase_gates.close_phase(db, bench.project, bench.phase, by="shell")
        assert phases.get(db, bench.phase.id).state == "closed"


def test_a_database_takes_a_new_kind_of_phase(store, monkeypatch):
    bench = make_bench(store)
    monkeypatch.setitem(PHASE_KINDS, "sift", PhaseKind(closes_by="posts settled"))
    with store.write() as db:
        settings = {"name": "sift", "kind": "sift", "answers": 1, "in_corpus": False, "settings": {}}
        phases.add(db, bench.project.id, **settings, by="shell")
        assert [it.kind for it in phases.of_project(db, bench.project.id)][-1] == "sift"
