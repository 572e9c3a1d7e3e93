"""Pools of annotators against gold, on the figures that EDOS reports in its appendix E."""

import pytest

from adjudication_case import make
from davy.annotation.exchange.exchange import ImportRequest, import_file
from davy.annotation.project.store import members
from davy.annotation.settling.annotator_pools import compare, pools_of
from davy.schemes import load

SCHEME = load("edos")
NOT = {"sexist": ("not sexist",)}
VECTORS = {
    label.code: {"sexist": ("sexist",), "category": label.under, "vector": (label.name,)}
    for label in SCHEME.question("vector").labels
}
GOLD = {f"g{number}": VECTORS["2.1"] if number < 57 else NOT for number in range(200)}


def said_by_pool(number: int, *, a: range, not_a: range, b: range, c: range):
    """What a pool's majority says to a gold post, so that these numbers of posts come out right."""
    if number >= 57:
        return NOT if number - 57 in not_a else VECTORS["4.1"]
    if number not in a:
        return NOT
    return VECTORS["2.1"] if number in c else VECTORS["2.2"] if number in b else VECTORS["3.1"]


def answers():
    for number in range(200):
        crowd = said_by_pool(number, a=range(55), not_a=range(6), b=range(16), c=range(8))
        trained = said_by_pool(number, a=range(57), not_a=range(135), b=range(48), c=range(41))
        for person in range(7):  # four of seven make the majority
            yield "crowd", f"c{person}", f"g{number}", crowd if person < 4 else NOT
        for person in range(3):
            yield "trained", f"t{person}", f"g{number}", trained


def test_the_crowd_and_the_trained_come_out_as_the_paper_reports_them():
    found = {(it.pool, it.question, it.among): it for it in compare(SCHEME, GOLD, answers())}
    share = {key: round(100 * it.right.value) for key, it in found.items()}
    assert share["crowd", "sexist", "sexist"] == 96
    assert share["crowd", "sexist", "not sexist"] == 4
    assert (share["crowd", "category", None], share["crowd", "vector", None]) == (28, 14)
    assert share["trained", "sexist", None] == 96
    assert (share["trained", "category", None], share["trained", "vector", None]) == (84, 72)
    b = found["crowd", "category", None]
    assert (b.right.n, b.people, b.answers) == (57, 7, 57 * 7)
    assert b.right.low < b.right.value < b.right.high
    assert found["crowd", "sexist", None].right.n == 200


def test_a_tie_is_not_right_and_who_was_not_asked_votes_for_that():
    gold = {"p": VECTORS["2.1"]}
    tie = [("x", "a", "p", VECTORS["2.1"]), ("x", "b", "p", VECTORS["2.2"])]
    found = {it.question: it.right.value for it in compare(SCHEME, gold, tie)}
    assert found == {"sexist": 1.0, "category": 1.0, "vector": 0.0}
    unasked = [("x", "a", "p", VECTORS["2.1"]), ("x", "b", "p", NOT), ("x", "c", "p", NOT)]
    assert all(it.right.value == 0 for it in compare(SCHEME, gold, unasked))


def test_a_crowd_that_came_with_a_file_is_a_pool(store, tmp_path):
    case = make(store, SCHEME, kind="screening")
    with store.write() as db:
        case.put(db, "p0", [VECTORS["2.1"], VECTORS["2.1"], NOT], gold=VECTORS["2.1"])
    table = tmp_path / "crowd.csv"
    table.write_text(
        "unit_id,who,label_sexist,channel\np0,w1,not sexist,crowd\np0,w2,not sexist,crowd\np0,w3,sexist,\n"
    )
    columns = {"item": "unit_id", "annotator": "who", "pool": "channel"}
    import_file(store, ImportRequest("pilot", "long", phase=case.phase.name, columns=columns), table, by="shell")
    with store.read() as db:
        found = {(it.pool, it.question, it.among): it for it in pools_of(db, case.project, SCHEME)}
    assert (found["crowd", "sexist", None].right.value, found["crowd", "sexist", None].people) == (0.0, 2)
    assert (found["imported", "sexist", None].right.value, found["imported", "sexist", None].people) == (1.0, 1)


def test_a_projects_pools_are_read_from_its_roster_and_gold(store):
    case = make(store, SCHEME, kind="screening")
    with store.write() as db:
        members.leave(db, "pilot", case.people["bob"].user, by="shell")
        for number, gold in enumerate((VECTORS["2.1"], NOT, None)):
            case.put(db, f"p{number}", [VECTORS["2.1"], VECTORS["2.1"], NOT], gold=gold)
        found = {(it.pool, it.question, it.among): it.right for it in pools_of(db, case.project, SCHEME)}
    assert {it[0] for it in found} == {"trained"}
    assert (found["trained", "sexist", None].value, found["trained", "sexist", None].n) == (0.5, 2)
    assert found["trained", "vector", None].value == pytest.approx(1.0)
