"""Settling posts in a real store: by rules, by experts, and never by somebody who labelled the post."""

import threading
from dataclasses import replace
from datetime import timedelta

import pytest

from adjudication_case import GRUMBLE, make
from davy.annotation.exchange.row_export import gather_rows
from davy.annotation.labelling.store import items
from davy.annotation.settling import expert_cases
from davy.annotation.settling.adjudication import answers_of
from davy.annotation.settling.rules import applicable_verdicts
from davy.annotation.settling.store import cases, verdicts
from davy.core import UserError, Verdict
from davy.store.columns import now

NO, TEA, RAIN, WIND = {"grumpy": "no"}, *({"grumpy": "yes", "about": it} for it in ("tea", "rain", "wind"))
STRICT = {"grumpy": {"rule": "unanimous"}, "about": {"rule": "share", "share": "2/3"}}


def settled(case, db, post, **more):
    key = {"scheme": case.scheme.name, "version": case.scheme.version, "project": case.project.id}
    return verdicts.of_post(db, post, **key, **more)


def waiting(case, db, who="xena"):
    return {it.post: it for it in cases.list_waiting(db, case.project.id, case.people[who].user)}


def test_answers_that_agree_are_settled_and_running_it_again_changes_nothing(store):
    case = make(store)
    with store.write() as db:
        item = case.put(db, "p", [TEA, TEA, NO])
        found = settled(case, db, "p")
        assert {name: (it.labels, it.basis, len(it.annotations)) for name, it in found.items()} == {
            "grumpy": (("yes",), "majority", 3),
            "about": (("tea",), "unanimous", 2),
        }
        assert item.state == "settled"
        case.settle(db, item)
        history = verdicts.history(db, "p", "grumpy", scheme="grumble", version=1, project="pilot")
        assert len(history) == 1
        assert cases.of_item(db, item.id) == []


def test_a_training_phase_gives_no_verdicts(store):
    case = make(store, kind="calibration")
    with store.write() as db:
        case.put(db, "p", [NO, NO, NO])
        assert settled(case, db, "p") == {}


def test_in_an_experts_phase_one_answer_settles_a_post(store):
    case = make(store, kind="expert", answers=1, adjudication=STRICT)
    with store.write() as db:
        assert case.put(db, "p", [TEA]).state == "settled"
        assert {it.basis for it in settled(case, db, "p").values()} == {"expert"}


def test_two_projects_settle_one_post_each_for_itself(store):
    case = make(store)
    with store.write() as db:
        case.put(db, "p", [NO, NO, NO])
        key = {"scheme": "grumble", "version": 1}
        other = verdicts.of_post(db, "p", **key)["grumpy"]
        verdicts.add(db, replace(other, labels=("yes",)), GRUMBLE, by="shell", project="elsewhere")
        assert settled(case, db, "p")["grumpy"].labels == ("no",)
        assert verdicts.of_post(db, "p", **key, project="elsewhere")["grumpy"].labels == ("yes",)
        assert verdicts.of_post(db, "p", **key)["grumpy"].labels == ("yes",)
        mine = verdicts.of_post(db, "p", **key, project="pilot")["grumpy"]
        assert (mine.labels, mine.basis) == (("no",), "unanimous")
        with pytest.raises(UserError, match="already"):
            verdicts.add(db, other, GRUMBLE, by="shell", project="elsewhere")


def test_an_expert_answers_only_what_the_rules_leave_open_and_gives_a_reason(store):
    case = make(store, adjudication=STRICT)
    xena = case.people["xena"]
    with store.write() as db:
        item = case.put(db, "p", [TEA, TEA, NO], comments={2: "hm"}, flags={2: ("unsure",)})
        assert (item.state, settled(case, db, "p")) == ("full", {})
        found = expert_cases.take_case(db, case.project, xena)
        assert (found.questions, found.why, found.held_by) == (("grumpy",), ("split",), xena.user)
        here = expert_cases.open_case(db, case.project, xena, found.id, GRUMBLE)
        assert [it.name for it in here.questions] == ["grumpy"]
        assert sorted(it.letter for it in here.voices) == ["A", "B", "C"]
        assert {it.comment for it in here.voices} == {None, "hm"}
        people = [member.user for member in case.people.values()] + [
            member.pseudonym for member in case.people.values()
        ]
        assert not any(name in repr(here.voices) for name in people)
        # Given "yes", two of three agree on the tea, so the expert is asked nothing more.
        here = expert_cases.open_case(db, case.project, xena, found.id, GRUMBLE, {"grumpy": ("yes",)})
        assert (here.missing, here.settled["about"].labels) == ([], ("tea",))
        for answers, reason, said in [
            ({"grumpy": ("yes",)}, "  ", "Give a reason"),
            ({"grumpy": ("yes",)}, "x" * 2001, "at most 2,000"),
            ({}, "so", "not answered yet"),
            ({"grumpy": ("maybe",)}, "so", "not a label"),
            ({"grumpy": ("yes",), "about": ("rain",)}, "so", "not for you to answer"),
        ]:
            with pytest.raises(UserError, match=said):
                expert_cases.decide(db, case.project, found.id, xena, GRUMBLE, answers, reason)
        assert settled(case, db, "p") == {}
        assert (
            expert_cases.decide(db, case.project, found.id, xena, GRUMBLE, {"grumpy": ("yes",)}, "irony") == "settled"
        )
        done = settled(case, db, "p")
        assert (done["grumpy"].labels, done["grumpy"].basis, done["grumpy"].reason) == (("yes",), "expert", "irony")
        assert len(done["grumpy"].annotations) == 3
        assert (done["about"].labels, done["about"].basis, done["about"].reason) == (("tea",), "unanimous", None)
        assert items.get(db, item.id).state == "settled"
        with pytest.raises(UserError, match="settled a moment ago"):
            expert_cases.decide(db, case.project, found.id, xena, GRUMBLE, {"grumpy": ("no",)}, "again")


def test_children_that_the_answers_do_not_settle_are_asked_in_the_same_sitting(store):
    case = make(store, adjudication=STRICT)
    xena = case.people["xena"]
    with store.write() as db:
        case.put(db, "p", [TEA, RAIN, NO])
        found = expert_cases.take_case(db, case.project, xena)
        here = expert_cases.open_case(db, case.project, xena, found.id, GRUMBLE, {"grumpy": ("yes",)})
        assert here.missing == ["about"]
        with pytest.raises(UserError, match="'about' is not answered"):
            expert_cases.decide(db, case.project, found.id, xena, GRUMBLE, {"grumpy": ("yes",)}, "so")
        answers = {"grumpy": ("yes",), "about": ("wind",)}
        assert expert_cases.decide(db, case.project, found.id, xena, GRUMBLE, answers, "so") == "settled"
        assert {name: (it.labels, it.basis) for name, it in settled(case, db, "p").items()} == {
            "grumpy": (("yes",), "expert"),
            "about": (("wind",), "expert"),
        }
        # What was chosen for a question that then falls does not count.
        case.put(db, "q", [TEA, RAIN, NO])
        again = expert_cases.take_case(db, case.project, xena)
        here = expert_cases.open_case(db, case.project, xena, again.id, GRUMBLE, {"grumpy": ("no",), "about": ("tea",)})
        assert (here.answers, here.missing) == ({"grumpy": ("no",)}, [])


def test_an_expert_can_decide_again_what_people_agree_on(store):
    case = make(store, adjudication=STRICT)
    xena = case.people["xena"]
    with store.write() as db:
        case.put(db, "p", [TEA, RAIN, WIND])
        found = expert_cases.take_case(db, case.project, xena)
        assert (found.questions, settled(case, db, "p")["grumpy"].basis) == (("about",), "unanimous")
        here = expert_cases.open_case(db, case.project, xena, found.id, GRUMBLE, also=["grumpy"])
        assert here.missing == ["grumpy", "about"]
        no = {"grumpy": ("no",)}
        assert (
            expert_cases.open_case(db, case.project, xena, found.id, GRUMBLE, no, also=["grumpy", "mood"]).missing == []
        )
        with pytest.raises(UserError, match="not for you"):
            expert_cases.decide(db, case.project, found.id, xena, GRUMBLE, no, "so")
        assert (
            expert_cases.decide(db, case.project, found.id, xena, GRUMBLE, no, "a joke", also=["grumpy"]) == "settled"
        )
        done = applicable_verdicts(GRUMBLE, settled(case, db, "p"))
        assert {name: (it.labels, it.basis) for name, it in done.items()} == {"grumpy": (("no",), "expert")}
        # A verdict on a child that fell with its parent's leaves the corpus too.
        key = {"scheme": GRUMBLE, "project": "pilot", "post": "p"}
        verdicts.add_settled(db, [(Verdict("p", "about", ("tea",), "expert"), "system")], **key)
        exported = next(gather_rows(db, case.project, GRUMBLE, [case.phase]))
        assert list(exported.settled) == ["grumpy"]


def test_an_expert_never_settles_a_post_that_they_labelled_wrote_or_decided(store):
    case = make(store, adjudication={"grumpy": {"rule": "unanimous", "experts": 2}, "about": {"otherwise": "open"}})
    xena, yves, zoe = (case.people[name] for name in ("xena", "yves", "zoe"))
    with store.write() as db:
        case.put(db, "mine", [TEA, NO, NO])
        case.say(db, "mine", "xena", NO)
        case.put(db, "written", [TEA, NO, NO], meta={"author": xena.user})
        assert waiting(case, db) == {}
        assert set(waiting(case, db, "yves")) == {"mine", "written"}
        assert expert_cases.take_case(db, case.project, xena) is None
        for post in ("mine", "written"):
            found = waiting(case, db, "yves")[post]
            with pytest.raises(UserError, match="another expert has to settle it") as caught:
                expert_cases.decide(db, case.project, found.id, xena, GRUMBLE, {"grumpy": ("no",)}, "so")
            assert caught.value.status == 403
        first = waiting(case, db, "yves")["mine"].id
        assert expert_cases.decide(db, case.project, first, yves, GRUMBLE, {"grumpy": ("no",)}, "so") == "waiting"
        assert set(waiting(case, db, "yves")) == {"written"}
        with pytest.raises(UserError, match="now another expert"):
            expert_cases.decide(db, case.project, first, yves, GRUMBLE, {"grumpy": ("no",)}, "so")
        assert expert_cases.decide(db, case.project, first, zoe, GRUMBLE, {"grumpy": ("no",)}, "and so") == "settled"
        assert settled(case, db, "mine")["grumpy"].reason == "so / and so"
        second = waiting(case, db, "zoe")["written"]
        assert expert_cases.decide(db, case.project, second.id, zoe, GRUMBLE, {"grumpy": ("no",)}, "so") == "waiting"
        yes = {"grumpy": ("yes",)}
        assert expert_cases.decide(db, case.project, second.id, yves, GRUMBLE, yes, "no, so") == "dropped"
        assert (items.get(db, second.item).state, settled(case, db, "written")) == ("dropped", {})


def test_a_case_is_in_one_experts_hands_until_it_is_given_back_or_the_lease_runs_out(store):
    case = make(store, adjudication=STRICT)
    xena, yves = case.people["xena"], case.people["yves"]
    with store.write() as db:
        for post in ("p", "q"):
            case.put(db, post, [TEA, NO, NO])
        first = expert_cases.take_case(db, case.project, xena)
        assert expert_cases.take_case(db, case.project, xena).id == first.id
        second = expert_cases.take_case(db, case.project, yves)
        assert {first.post, second.post} == {"p", "q"}
        with pytest.raises(UserError, match="Another expert holds") as caught:
            expert_cases.open_case(db, case.project, yves, first.id, GRUMBLE)
        assert caught.value.status == 409
        assert expert_cases.give_back(db, case.project, xena) == 1
        expert_cases.open_case(db, case.project, yves, first.id, GRUMBLE)
        later = now() + timedelta(hours=1)
        assert cases.take(db, "pilot", xena.user, at=later).held_by == xena.user


def test_two_experts_who_ask_at_once_get_different_cases(store):
    case = make(store, adjudication=STRICT)
    with store.write() as db:
        for number in range(3):
            case.put(db, f"p{number}", [TEA, NO, NO])
    got, barrier = [], threading.Barrier(3)

    def ask(name: str) -> None:
        barrier.wait()
        with store.write() as db:
            got.append(expert_cases.take_case(db, case.project, case.people[name]).id)

    threads = [threading.Thread(target=ask, args=(name,)) for name in ("xena", "yves", "zoe")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(got)) == 3


def test_a_changed_answer_settles_the_post_anew_but_never_against_an_expert(store):
    case = make(store, adjudication={"grumpy": {"rule": "unanimous"}})
    xena = case.people["xena"]
    with store.write() as db:
        item = case.put(db, "p", [NO, NO, TEA])
        found = waiting(case, db)["p"]
        old = max(answers_of(db, item, GRUMBLE), key=lambda it: it.id)
        case.say(db, "p", "cat", NO, replaces=old.id)
        assert case.settle(db, item).state == "settled"
        assert settled(case, db, "p")["grumpy"].basis == "unanimous"
        assert (waiting(case, db), cases.get(db, found.id).state) == ({}, "settled")
        other = case.put(db, "q", [NO, NO, TEA])
        case_id = waiting(case, db)["q"].id
        expert_cases.decide(db, case.project, case_id, xena, GRUMBLE, {"grumpy": ("yes",), "about": ("tea",)}, "so")
        old = max(answers_of(db, other, GRUMBLE), key=lambda it: it.id)
        case.say(db, "q", "cat", NO, replaces=old.id)
        case.settle(db, other)
        kept = settled(case, db, "q")
        assert (kept["grumpy"].labels, kept["grumpy"].basis) == (("yes",), "expert")
        assert list(applicable_verdicts(GRUMBLE, kept)) == ["grumpy", "about"]


def test_a_verdict_that_turns_to_no_takes_back_what_was_settled_below_it_and_a_second_turn_brings_it_back(store):
    case = make(store)
    with store.write() as db:
        item = case.put(db, "p", [TEA, TEA, NO])
        assert settled(case, db, "p")["about"].labels == ("tea",)
        first = min(answers_of(db, item, GRUMBLE), key=lambda it: it.id)
        changed = case.say(db, "p", "ada", NO, replaces=first.id)
        case.settle(db, item)
        found = settled(case, db, "p")
        assert (found["grumpy"].labels, found["about"].labels) == (("no",), ())
        case.settle(db, item)  # again changes nothing
        key = {"scheme": GRUMBLE.name, "version": GRUMBLE.version}
        assert [len(verdicts.history(db, "p", name, **key)) for name in ("grumpy", "about")] == [2, 2]
        case.say(db, "p", "ada", TEA, replaces=changed.id)
        case.settle(db, item)
        assert settled(case, db, "p")["about"].labels == ("tea",)


def test_flags_are_settled_by_majority_and_lead_where_the_project_says(store):
    flags = {"unrealistic": {"otherwise": "drop"}, "other target": {"otherwise": "expert"}}
    case = make(store, flags=flags)
    yves = case.people["yves"]
    raised = {0: ("unrealistic", "unsure"), 1: ("unrealistic",)}
    with store.write() as db:
        once = case.put(db, "once", [NO, NO, NO], flags={0: ("unrealistic",)})
        assert once.state == "settled"
        noted = cases.of_item(db, once.id)[0]
        assert (noted.kind, noted.state, noted.why) == ("flag", "settled", ())
        assert noted.outcome["flags"] == {"unrealistic": {"for": 1, "of": 3, "holds": False}}
        twice = case.put(db, "twice", [NO, NO, NO], flags=raised)
        assert (twice.state, settled(case, db, "twice")) == ("dropped", {})
        assert cases.of_item(db, twice.id)[0].why == ("unrealistic",)
        seen = case.put(db, "seen", [NO, NO, NO], flags={0: ("other target",), 1: ("other target",)})
        assert seen.state == "full"
        found = waiting(case, db)["seen"]
        here = expert_cases.open_case(db, case.project, yves, found.id, GRUMBLE)
        assert (here.questions, here.case.kind) == ((), "flag")
        assert expert_cases.decide(db, case.project, found.id, yves, GRUMBLE, {}, "it is about them too") == "settled"
        assert items.get(db, seen.id).state == "settled"
        other = case.put(db, "other", [NO, NO, NO], flags={0: ("other target",), 1: ("other target",)})
        expert_cases.drop_post(db, case.project, waiting(case, db)["other"].id, yves, "another group")
        assert items.get(db, other.id).state == "dropped"


def test_a_dropped_post_leaves_no_case_for_an_expert(store):
    rules = {"grumpy": {"rule": "unanimous", "otherwise": "drop"}, "about": {"rule": "unanimous"}}
    case = make(store, adjudication=rules, flags={"other target": {"otherwise": "expert"}})
    raised = {0: ("other target",), 1: ("other target",)}
    with store.write() as db:
        item = case.put(db, "p", [TEA, RAIN, WIND], flags=raised)
        both = cases.of_item(db, item.id)
        assert sorted((it.kind, it.state) for it in both) == [("disagreement", "open"), ("flag", "open")]
        flag = next(it for it in both if it.kind == "flag")
        expert_cases.drop_post(db, case.project, flag.id, case.people["yves"], "another group")
        assert waiting(case, db) == {}
        ruled = case.put(db, "q", [NO, NO, TEA], flags=raised)
        assert (ruled.state, waiting(case, db)) == ("dropped", {})
        last = max(answers_of(db, ruled, GRUMBLE), key=lambda it: it.id)
        case.say(db, "q", "cat", NO, replaces=last.id)
        assert case.settle(db, ruled).state == "full", "it is back, and the flag wants its expert again"
        assert [it.kind for it in waiting(case, db).values()] == ["flag"]


def test_a_case_of_another_project_is_not_found(store):
    case = make(store, adjudication=STRICT)
    with store.write() as db:
        case.put(db, "p", [TEA, NO, NO])
        found = waiting(case, db)["p"]
        elsewhere = replace(case.project, id="elsewhere")
        with pytest.raises(UserError) as caught:
            expert_cases.open_case(db, elsewhere, case.people["xena"], found.id, GRUMBLE)
        assert caught.value.status == 404
