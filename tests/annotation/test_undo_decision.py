"""An expert takes a decision back: the case is theirs again, what was decided counts until they decide anew."""

from __future__ import annotations

import pytest

from adjudication_case import make
from davy.annotation.labelling.store import items
from davy.annotation.project.store import phases
from davy.annotation.settling import expert_cases
from davy.annotation.settling.expert_cases import CaseRefused
from davy.annotation.settling.store import cases, verdicts
from davy.core import Post
from davy.store import events
from post_rows import add_post

SPLIT = ({"grumpy": "yes", "about": "tea"}, {"grumpy": "no"})
YES = {"grumpy": ("yes",), "about": ("tea",)}
NO = {"grumpy": ("no",)}


def bench_of(store, **settings):
    bench = make(store, answers=2, **settings)
    with store.write() as db:
        item = bench.put(db, "p1", SPLIT)
        (case,) = cases.of_item(db, item.id)
    return bench, item, case.id


def decide(bench, case_id, answers, who="xena", reason="because"):
    with bench.store.write() as db:
        return expert_cases.decide(db, bench.project, case_id, bench.people[who], bench.scheme, answers, reason)


def undo(bench, case_id, who="xena"):
    with bench.store.write() as db:
        expert_cases.undo(db, bench.project, bench.people[who], case_id, bench.scheme)


def stands(bench, item):
    with bench.store.read() as db:
        found = verdicts.of_post(db, item.post, scheme="grumble", version=1, project="pilot")
        return {name: it.labels for name, it in found.items() if it.labels}, items.get(db, item.id).state


def test_the_old_decision_counts_until_the_new_one_replaces_it(store):
    bench, item, case = bench_of(store)
    decide(bench, case, YES)
    undo(bench, case)
    assert stands(bench, item) == (YES, "full")
    with store.write() as db:
        mine = expert_cases.take_case(db, bench.project, bench.people["xena"])
        assert mine is not None
        assert mine.id == case
        assert expert_cases.last_undone(mine, bench.people["xena"]) == (YES, "because")
        assert expert_cases.last_undone(mine, bench.people["yves"]) == ({}, "")
        assert expert_cases.take_case(db, bench.project, bench.people["yves"]) is None
    assert decide(bench, case, NO, reason="looked again") == "settled"
    assert stands(bench, item) == (NO, "settled")
    with store.read() as db:
        assert [it["reason"] for it in cases.get(db, case).outcome["undone"]] == ["because"]


def test_a_dropped_post_comes_back_with_its_other_cases(store):
    bench = make(store, answers=2, flags={"unrealistic": {"rule": "single", "otherwise": "expert"}})
    with store.write() as db:
        item = bench.put(db, "p1", SPLIT, flags={0: ("unrealistic",)})
        other, case = (
            next(it.id for it in cases.of_item(db, item.id) if it.kind == kind) for kind in ("flag", "disagreement")
        )
        expert_cases.drop_post(db, bench.project, case, bench.people["xena"], "no post of ours")
        assert cases.get(db, other).state == "dropped"
    undo(bench, case)
    with store.read() as db:
        assert [cases.get(db, each).state for each in (case, other)] == ["open", "open"]
    assert stands(bench, item) == ({}, "full")
    assert decide(bench, case, NO) == "settled"
    assert stands(bench, item) == (NO, "full")  # the flag still waits


def test_one_of_two_experts_takes_theirs_back_before_the_other_decides(store):
    bench, item, case = bench_of(store, adjudication={"grumpy": {"rule": "unanimous", "experts": 2}})
    assert decide(bench, case, NO) == "waiting"
    with pytest.raises(CaseRefused, match="not yours"):
        undo(bench, case, "yves")
    undo(bench, case)
    assert decide(bench, case, YES) == "waiting"
    assert decide(bench, case, YES, "yves") == "settled"
    with pytest.raises(CaseRefused, match="not yours"):
        undo(bench, case)
    assert stands(bench, item)[0] == YES


def test_an_audit_that_is_taken_back_leaves_what_stood_before(store):
    bench = make(store, answers=2)
    with store.write() as db:
        item = bench.put(db, "p1", (NO, NO))
        case = cases.add(
            db, project="pilot", item=item.id, post=item.post, kind="audit", questions=["grumpy"], why=["check"],
            by="shell", outcome={"doubts": {"grumpy": {"settled": "no", "doubt": 0.9}}},
        )  # fmt: skip
    decide(bench, case, YES)
    with store.write() as db:
        phases.close_phase(db, bench.phase.id, by=events.SHELL)
    undo(bench, case)
    assert stands(bench, item) == (NO, "settled")


def test_what_others_built_on_stays(store):
    bench, _, case = bench_of(store)
    decide(bench, case, YES)
    with store.write() as db:
        add_post(db, Post("p2", "a text made from it", parent="p1"), project="pilot")
    with pytest.raises(CaseRefused, match="another post from this one"):
        undo(bench, case)


def test_a_closed_phase_keeps_its_decisions(store):
    bench, _, case = bench_of(store)
    decide(bench, case, YES)
    with store.write() as db:
        phases.close_phase(db, bench.phase.id, by=events.SHELL)
    with pytest.raises(CaseRefused, match="closed"):
        undo(bench, case)
