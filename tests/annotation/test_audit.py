"""The audit: which settled posts go back to experts, in which order, and what they make of it."""

import numpy as np
import pytest

from adjudication_case import GRUMBLE, make
from davy.annotation.labelling.store import items
from davy.annotation.settling import expert_cases
from davy.annotation.settling.audit import audit, doubts_of_annotators, doubts_of_detector
from davy.annotation.settling.store import cases, verdicts
from davy.core import Abilities, Label, Question, Scores, UserError

NO, TEA = {"grumpy": "no"}, {"grumpy": "yes", "about": "tea"}


class Sure:
    """A detector that calls posts of even number grumpy, more surely the higher the number."""

    name, version, abilities = "sure", "1", Abilities()

    def __init__(self, question: str = "grumpy") -> None:
        self.questions = (Question(question, (Label("yes"), Label("no")), positive="yes"),)

    def score(self, posts):
        numbers = np.array([int(it[1:]) for it in posts["id"]])
        yes = np.where(numbers % 2 == 0, 0.6 + numbers / 100, 0.1)
        return Scores(self.questions, {self.questions[0].name: np.stack([yes, 1 - yes], axis=1)})


@pytest.fixture
def careless(store):
    """Sixty posts: two careful people and three who answer by chance, so that some majorities are wrong."""
    case = make(store, answers=5)
    chance = np.random.default_rng(1)
    wrong = set()
    with store.write() as db:
        for number in range(60):
            truth = number % 3 == 0
            votes = [truth, truth, *(bool(it) for it in chance.integers(0, 2, 3))]
            if (sum(votes) > 2) != truth:
                wrong.add(f"p{number}")
            case.put(db, f"p{number}", [TEA if vote else NO for vote in votes])
    assert 4 < len(wrong) < 15
    return case, wrong


def test_majorities_of_careless_people_go_back_to_an_expert_the_most_doubtful_first(careless):
    case, wrong = careless
    with case.store.write() as db:
        doubts = list(doubts_of_annotators(db, case.project, case.phase, GRUMBLE))
        found = audit(db, case.project, case.phase, doubts, by="shell", budget=100)
        assert found.looked_at == 60
        assert set(found.opened) == wrong
        assert {it.source for it in found.doubts} == {"annotators"}
        waiting = cases.list_waiting(db, "pilot", case.people["xena"].user)
        assert [it.doubt for it in waiting] == sorted((it.doubt for it in waiting), reverse=True)
        assert {it.kind for it in waiting} == {"audit"}
        again = audit(db, case.project, case.phase, doubts, by="shell")
        assert again.opened == []


def test_an_audit_keeps_to_its_budget_and_with_none_only_looks(careless):
    case, _wrong = careless
    with case.store.write() as db:
        doubts = list(doubts_of_annotators(db, case.project, case.phase, GRUMBLE))
        assert audit(db, case.project, case.phase, doubts, by="shell", budget=0).opened == []
        assert cases.counts(db, "pilot") == {}
        few = audit(db, case.project, case.phase, doubts, by="shell", budget=2)
        assert list(few.opened) == list(dict.fromkeys(it.post for it in few.doubts))[:2]
        for budget, at_least in ((-1, 0.5), (5, 0.0), (5, 1.0)):
            with pytest.raises(UserError, match="An audit takes"):
                audit(db, case.project, case.phase, doubts, by="shell", budget=budget, at_least=at_least)


def test_an_expert_looks_at_a_doubted_verdict_and_overturns_or_confirms_it(store):
    case = make(store)
    xena = case.people["xena"]
    with store.write() as db:
        for number in range(4):
            case.put(db, f"p{number}", [NO, NO, NO])
        doubts = doubts_of_detector(db, case.project, case.phase, GRUMBLE, Sure())
        found = audit(db, case.project, case.phase, doubts, by="shell")
        assert list(found.opened) == ["p2", "p0"]
        assert (found.doubts[0].settled, found.doubts[0].instead, found.doubts[0].doubt) == (
            "no",
            "yes",
            pytest.approx(0.62),
        )
        first = expert_cases.take_case(db, case.project, xena)
        here = expert_cases.open_case(db, case.project, xena, first.id, GRUMBLE)
        assert ([it.name for it in here.questions], first.post) == (["grumpy"], "p2")
        # Nobody was asked what it is about, so the expert is, once they say yes.
        here = expert_cases.open_case(db, case.project, xena, first.id, GRUMBLE, {"grumpy": ("yes",)})
        assert here.missing == ["about"]
        answers = {"grumpy": ("yes",), "about": ("tea",)}
        assert expert_cases.decide(db, case.project, first.id, xena, GRUMBLE, answers, "it is") == "settled"
        key = {"scheme": "grumble", "version": 1, "project": "pilot"}
        history = verdicts.history(db, "p2", "grumpy", **key)
        assert [(it.labels, it.basis) for it in history] == [(("no",), "unanimous"), (("yes",), "expert")]
        assert items.get(db, first.item).state == "settled"
        second = expert_cases.take_case(db, case.project, xena)
        expert_cases.decide(db, case.project, second.id, xena, GRUMBLE, {"grumpy": ("no",)}, "it is not")
        assert verdicts.of_post(db, "p0", **key)["grumpy"].basis == "expert"
        # What an expert has settled is not doubted again.
        again = list(doubts_of_detector(db, case.project, case.phase, GRUMBLE, Sure()))
        assert {it.post for it in again} == {"p1", "p3"}


def test_a_detector_that_answers_other_questions_is_refused(store):
    case = make(store)
    with store.write() as db, pytest.raises(UserError, match="answers hate; this project asks grumpy, about"):
        list(doubts_of_detector(db, case.project, case.phase, GRUMBLE, Sure("hate")))
