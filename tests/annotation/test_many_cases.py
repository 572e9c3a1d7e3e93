"""One decision for many cases in a real store: each keeps the rules of a single one, and what breaks them is left."""

import threading

import pytest

from adjudication_case import make
from davy.annotation.labelling.store import items
from davy.annotation.settling import expert_cases
from davy.annotation.settling.many_cases import MOST_CASES, SharedDecision, plan_decisions, settle_many
from davy.annotation.settling.store import cases, verdicts
from davy.core import Label, Question, Scheme, UserError
from davy.store import events

NO, TEA, RAIN = {"grumpy": "no"}, {"grumpy": "yes", "about": "tea"}, {"grumpy": "yes", "about": "rain"}
STRICT = {"grumpy": {"rule": "unanimous"}, "about": {"rule": "share", "share": "2/3"}}
MAJORITY, DROP = SharedDecision("majority"), SharedDecision("drop")
ANSWER_NO, ANSWER_YES = (SharedDecision("answer", {"grumpy": (it,)}) for it in ("no", "yes"))
SCALE = Scheme("scale", 1, (Question("how", tuple(map(Label, ("low", "middle", "high"))), kind="scale"),))


def case_of(case, db, post):
    """Return the open case about a post."""
    items_of = items.of_post(db, case.phase, post)
    return next(it for it in cases.of_item(db, items_of.id) if it.state == "open")


def put(case, db, **given):
    """Add posts with these answers and return the ids of their cases."""
    for post, answers in given.items():
        case.put(db, post, answers)
    return [case_of(case, db, post).id for post in given]


def settled(case, db, post):
    key = {"scheme": case.scheme.name, "version": case.scheme.version, "project": case.project.id}
    return {name: (it.labels, it.basis, it.reason) for name, it in verdicts.of_post(db, post, **key).items()}


def send(case, db, ids, shared, who="xena", reason="they mean tea"):
    done = settle_many(db, case.project, case.people[who], case.scheme, ids, shared, reason)
    return {one.case.post: f"left: {one.left}" if one.left else one.outcome for one in done}


def test_one_answer_settles_every_case_that_it_settles_alone(store):
    case = make(store, adjudication=STRICT)
    with store.write() as db:
        ids = put(case, db, p=[TEA, NO, NO], q=[TEA, TEA, NO], r=[TEA, RAIN, NO])
        assert send(case, db, ids, ANSWER_YES) == {"p": "left: missing", "q": "settled", "r": "left: missing"}
        assert settled(case, db, "q") == {
            "grumpy": (("yes",), "expert", "they mean tea"),
            "about": (("tea",), "unanimous", None),
        }
        assert settled(case, db, "p") == {}
        left = cases.get(db, ids[0])
        assert (left.state, left.held_by, dict(left.outcome)) == ("open", None, {})
        assert send(case, db, ids, ANSWER_NO) == {"p": "settled", "q": "left: settled", "r": "settled"}
        assert settled(case, db, "r")["grumpy"] == (("no",), "expert", "they mean tea")
        assert settled(case, db, "q")["grumpy"][0] == ("yes",)


def test_the_majority_is_taken_case_by_case_and_never_where_there_is_none(store):
    case = make(store, adjudication=STRICT)
    with store.write() as db:
        ids = put(case, db, p=[TEA, NO, NO], q=[TEA, TEA, NO], r=[TEA, RAIN, NO])
        planned = plan_decisions(db, case.project, case.people["xena"], case.scheme, ids, MAJORITY)
        answers = {one.case.post: dict(one.answers) for one in planned}
        assert answers == {"p": {"grumpy": ("no",)}, "q": {"grumpy": ("yes",)}, "r": {}}
        assert send(case, db, ids, MAJORITY) == {"p": "settled", "q": "settled", "r": "left: no majority"}
        assert settled(case, db, "p")["grumpy"][:2] == (("no",), "expert")


def test_a_severe_split_takes_an_experts_answer_but_no_majority(store):
    case = make(store, SCALE, answers=5, adjudication={"how": {"rule": "severe"}})
    low, high = {"how": "low"}, {"how": "high"}
    with store.write() as db:
        ids = put(case, db, p=[low, low, low, high, high])
        assert send(case, db, ids, MAJORITY) == {"p": "left: severe"}
        assert send(case, db, ids, SharedDecision("answer", {"how": ("high",)})) == {"p": "settled"}
        assert settled(case, db, "p")["how"][0] == ("high",)


def test_who_labelled_wrote_or_decided_already_is_passed_over_for_each_case(store):
    twice = {**STRICT, "grumpy": {"rule": "unanimous", "experts": 2}}
    case = make(store, adjudication=twice)
    with store.write() as db:
        ids = put(case, db, p=[TEA, NO, NO], q=[TEA, TEA, NO])
        case.say(db, "p", "xena", NO)
        assert send(case, db, ids, ANSWER_NO) == {"p": "left: labelled", "q": "waiting"}
        assert send(case, db, ids, ANSWER_NO) == {"p": "left: labelled", "q": "left: decided"}
        expert_cases.open_case(db, case.project, case.people["zoe"], ids[0], case.scheme)
        assert send(case, db, ids, ANSWER_NO, who="yves") == {"p": "left: held", "q": "settled"}
        assert settled(case, db, "q")["grumpy"][:2] == (("no",), "expert")


def test_experts_who_differ_drop_the_post_in_a_list_as_alone(store):
    case = make(store, adjudication={"grumpy": {"rule": "unanimous", "experts": 2}})
    with store.write() as db:
        ids = put(case, db, p=[TEA, TEA, NO])
        assert send(case, db, ids, ANSWER_NO) == {"p": "waiting"}
        assert send(case, db, ids, ANSWER_YES, who="yves") == {"p": "dropped"}


def test_posts_are_dropped_together_and_flags_only_kept_or_dropped(store):
    flags = {"unrealistic": {"rule": "majority", "otherwise": "expert"}}
    case = make(store, adjudication=STRICT, flags=flags)
    raised = dict.fromkeys(range(3), ("unrealistic",))
    with store.write() as db:
        for post in ("f", "g"):
            case.put(db, post, [NO, NO, NO], flags=raised)
        kept, dropped = (case_of(case, db, post).id for post in ("f", "g"))
        (split,) = put(case, db, p=[TEA, NO, NO])
        assert send(case, db, [kept], MAJORITY) == {"f": "left: unfit"}
        assert send(case, db, [kept], ANSWER_NO) == {"f": "left: unfit"}
        assert send(case, db, [kept, split], SharedDecision("keep")) == {"f": "settled", "p": "left: unfit"}
        assert send(case, db, [dropped, split], DROP) == {"g": "dropped", "p": "dropped"}
        states = {post: items.of_post(db, case.phase, post).state for post in ("f", "g", "p")}
        assert states == {"f": "settled", "g": "dropped", "p": "dropped"}


def test_nothing_is_done_without_a_reason_and_one_event_says_what_was_done(store):
    case = make(store, adjudication=STRICT)
    with store.write() as db:
        ids = put(case, db, p=[TEA, NO, NO], q=[TEA, NO, NO], r=[TEA, RAIN, NO])
        with pytest.raises(UserError, match="Give a reason"):
            send(case, db, ids, MAJORITY, reason="  ")
        assert {cases.get(db, it).state for it in ids} == {"open"}
        send(case, db, ids, MAJORITY)
        found = [it for it in events.latest(db, by=case.people["xena"].user) if it.what == "cases decided together"]
        assert [(it.about, dict(it.details)) for it in found] == [
            ("project pilot", {"decision": "majority", "answer": "", "cases": 2, "left": 1})
        ]
        send(case, db, ids, MAJORITY)
        assert [it.what for it in events.latest(db, by=case.people["xena"].user)].count("cases decided together") == 1


def test_another_projects_case_too_many_cases_and_unknown_decisions_are_refused(store):
    case = make(store, adjudication=STRICT)
    with store.write() as db:
        (one,) = put(case, db, p=[TEA, NO, NO])
        with pytest.raises(UserError, match="There is no case") as caught:
            send(case, db, [one, "nothing"], ANSWER_NO)
        assert caught.value.status == 404
        with pytest.raises(UserError, match="too many"):
            send(case, db, [str(n) for n in range(MOST_CASES + 1)], ANSWER_NO)
        with pytest.raises(UserError, match="is no decision"):
            send(case, db, [one], SharedDecision("burn"))
        assert cases.get(db, one).state == "open"


def test_two_experts_who_settle_the_same_cases_at_once_settle_each_once(store):
    case = make(store, adjudication=STRICT)
    with store.write() as db:
        ids = put(case, db, **{f"p{n}": [TEA, NO, NO] for n in range(6)})
    found, ready = {}, threading.Barrier(2)

    def work(who, order):
        ready.wait(10)
        with store.write() as db:
            found[who] = send(case, db, order, ANSWER_NO, who=who)

    threads = [threading.Thread(target=work, args=it) for it in (("xena", ids), ("yves", ids[::-1]))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert set(found) == {"xena", "yves"}
    for post in (f"p{n}" for n in range(6)):
        outcomes = sorted(found[who][post] for who in found)
        assert outcomes in (["left: settled", "settled"], ["left: held", "settled"])
    with store.read() as db:
        assert {cases.get(db, it).state for it in ids} == {"settled"}
        history = verdicts.history(db, "p0", "grumpy", scheme="grumble", version=1, project="pilot")
        assert len(history) == 1
