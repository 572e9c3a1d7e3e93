"""Items and assignments under load: exact counts, nobody twice, nothing lost, on both databases."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import select

from davy.annotation.labelling import labelling
from davy.annotation.labelling.store import annotations, assignments, items, tallies
from davy.annotation.labelling.store.tables import annotations as annotation_rows
from davy.annotation.labelling.store.tables import assignments as rows
from davy.annotation.project.store import members, phases, posts
from davy.core import UserError
from davy.store import Store
from davy.store.columns import new_id, now
from work_project import NO, YES, Bench, make_bench


def together(workers: Sequence[Callable[[], None]]) -> None:
    """Run functions at once, each in a thread; the first error of any is raised."""
    errors: list[BaseException] = []

    def guarded(one: Callable[[], None]) -> None:
        try:
            one()
        except BaseException as error:  # noqa: BLE001 — raised again below
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(one,)) for one in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def check_whole(bench: Bench) -> None:
    """Check that an item's counts say what its assignments and answers say, and that tallies add up."""
    with bench.store.read() as db:
        everything = list(db.execute(select(rows.c.item, rows.c.annotator, rows.c.state, rows.c.annotation)))
        given = Counter(it.item for it in everything if it.state in ("done", "again"))
        held = Counter(it.item for it in everything if it.state == "held")
        for item in items.iter_items(db, bench.phase.id):
            assert item.given == given[item.id]
            assert item.room == bench.phase.answers - given[item.id] - held[item.id]
            assert item.room >= 0
        assert len({(it.item, it.annotator) for it in everything}) == len(everything)
        counted = {it.annotator: it for it in tallies.of_phase(db, bench.phase.id)}
        for name, n in Counter(it.annotator for it in everything if it.state in ("done", "again")).items():
            assert counted[name].given == n
        assert sum(it.filled for it in counted.values()) == sum(
            1 for item in items.iter_items(db, bench.phase.id) if item.given == bench.phase.answers
        )
        written = set(db.scalars(select(annotation_rows.c.id)))
        assert {it.annotation for it in everything if it.annotation} <= written


def label_all(bench: Bench, name: str, seen: list[str]) -> Callable[[], None]:
    """Return a worker that saves and goes on, in one transaction each, until nothing is left.

    An item that another holds in the same moment is passed over, so a person who got none asks again, as people do.
    """

    def run() -> None:
        member = bench.people[name]
        empty = 0
        while empty < 20:
            with bench.store.write() as db:
                sheet = labelling.next_sheet(db, bench.project, member)
            while sheet is not None:
                empty = 0
                with bench.store.write() as db:
                    found = labelling.open_sheet(db, bench.project, member, sheet.assignment.id)
                    labelling.save(db, found, NO, annotation_id=new_id())
                    seen.append(sheet.item.id)
                    sheet = labelling.next_sheet(db, bench.project, member)
            empty += 1
            time.sleep(0.02)

    return run


@pytest.mark.slow
def test_sixteen_people_at_once_fill_every_item_exactly(store: Store):
    names = [f"m{number}" for number in range(16)]
    bench = make_bench(store, n=200, people=names, answers=3)
    seen: dict[str, list[str]] = {name: [] for name in names}
    together([label_all(bench, name, seen[name]) for name in names])
    check_whole(bench)
    assert all(item.given == 3 for item in bench.everything())
    assert sum(map(len, seen.values())) == 600
    assert all(len(set(mine)) == len(mine) for mine in seen.values())
    assert min(map(len, seen.values())) > 0


@pytest.mark.slow
def test_people_who_refuse_skip_take_back_and_lapse_at_once_lose_nothing(store: Store):
    names = [f"m{number}" for number in range(8)]
    bench = make_bench(store, n=30, people=names, answers=2)

    def erratic(name: str) -> Callable[[], None]:
        chance = random.Random(name)
        member = bench.people[name]

        def act() -> None:
            with store.write() as db:
                sheet = labelling.next_sheet(db, bench.project, member)
                deed = chance.choices(["save", "refuse", "skip", "undo", "lapse"], [6, 1, 1, 1, 1])[0]
                if deed == "undo":
                    sheet = labelling.undo(db, bench.project, member)
                if deed == "lapse":
                    assignments.expire_leases(db, at=now() + timedelta(hours=1))
                elif sheet is None:
                    return
                elif deed == "refuse":
                    labelling.refuse(db, sheet, annotation_id=new_id())
                elif deed == "skip":
                    labelling.skip(db, sheet)
                else:
                    labelling.save(db, sheet, chance.choice([YES, NO]), annotation_id=new_id())

        def run() -> None:
            for _ in range(40):
                try:
                    act()
                except UserError as error:
                    # Nothing to take back, or it went to others: said, and nothing changed.
                    assert error.status == 409, error  # noqa: PT017

        return run

    together([erratic(name) for name in names])
    check_whole(bench)
    together([label_all(bench, name, []) for name in names])
    check_whole(bench)
    assert all(it.given == 2 for it in bench.everything() if it.room == 0)
    refused = Counter(_states(store, "refused"))
    # What is not full was refused by so many that too few were left.
    for item in bench.everything():
        assert item.given == 2 or refused[item.id] + item.given == len(names)


def _states(store: Store, state: str) -> list[str]:
    with store.read() as db:
        return list(db.scalars(select(rows.c.item).where(rows.c.state == state)))


def test_one_person_in_many_windows_never_has_an_item_twice(store: Store):
    bench = make_bench(store, n=12, people=["ada"], answers=1)
    seen: list[str] = []

    def window() -> None:
        while True:
            with store.write() as db:
                sheet = labelling.next_sheet(db, bench.project, bench.people["ada"])
            if sheet is None:
                return
            try:
                bench.save("ada", sheet)
                seen.append(sheet.item.id)
            except UserError as error:
                assert error.status == 409, error  # noqa: PT017 — another window was quicker

    together([window] * 6)
    check_whole(bench)
    assert all(it.given == 1 for it in bench.everything())


@pytest.mark.parametrize("same_form", [True, False])
def test_two_windows_that_save_one_item_at_once_leave_one_answer(store: Store, same_form):
    bench = make_bench(store, n=1, people=["ada"], answers=1)
    sheet = bench.next("ada")
    forms = [new_id()] * 4 if same_form else [new_id() for _ in range(4)]
    outcomes: list[object] = []

    def press(form: str, answers) -> Callable[[], None]:
        def run() -> None:
            try:
                outcomes.append(bench.save("ada", sheet, answers, annotation_id=form).annotation.id)
            except UserError as error:
                outcomes.append(error.status)

        return run

    together([press(form, answers) for form, answers in zip(forms, [YES, NO, YES, NO], strict=True)])
    with store.read() as db:
        kept = annotations.of_post(db, sheet.item.post, scheme="grumble", version=1, replaced=True)
    assert len(kept) == 1
    assert bench.item(sheet).given == 1
    if same_form:
        assert outcomes == [forms[0]] * 4
    else:
        assert set(outcomes) <= {kept[0].id, 409}
        assert outcomes.count(409) == 2  # the two whose answer was another
    check_whole(bench)


def test_who_leaves_while_they_save_loses_no_item(store: Store):
    bench = make_bench(store, n=40, people=["ada", "bo"], answers=1)

    def depart() -> None:
        with store.write() as db:
            labelling.leave(db, bench.project, bench.people["ada"].user, by="shell")

    def work_on() -> None:
        for _ in range(15):
            bench.answer("ada")

    together([work_on, depart])
    with store.write() as db:
        bench.people["ada"] = members.get(db, "pilot", bench.people["ada"].user)
        assignments.expire_leases(db, at=now() + timedelta(hours=1))
    label_all(bench, "bo", [])()
    check_whole(bench)
    assert all(it.given == 1 for it in bench.everything())


def ids_of(db, found) -> list[str]:
    """The ids that people see of items' posts."""
    keys = [it.post for it in found]
    shown = posts.public_ids(db, keys)
    return [shown[key] for key in keys]


def test_items_come_in_an_order_by_chance_that_a_seed_fixes_or_in_the_files(store: Store):
    bench = make_bench(store, n=50)
    ids = [f"p{number:05}" for number in range(50)]
    with store.write() as db:
        orders = []
        for name, seed, stream in (("a", 1, False), ("b", 1, True), ("c", 2, False)):
            phase = phases.add(
                db, "pilot", name=name, kind="production", answers=2, in_corpus=True, settings={}, by="shell"
            )
            rows_ = ((it, None, None) for it in ids)
            n = items.add(db, phase, rows_, by="shell", seed=seed, n=50 if stream else None)
            assert n == 50 == phases.get(db, phase.id).size
            orders.append(ids_of(db, items.iter_items(db, phase.id)))
        assert ids_of(db, items.iter_items(db, bench.phase.id)) == ids
        spread = items.of_phase(db, bench.phase.id, after=9, limit=3)
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[2]) == ids != orders[2]
    assert [it.position for it in spread] == [10, 11, 12]


def test_more_items_come_after_those_that_are_there(store: Store):
    bench = make_bench(store, n=4, rows=[("p00000", None, None), ("p00001", NO, "red")])
    with store.write() as db:
        items.add(db, bench.phase, [("p00002", None, None), ("p00003", None, None)], by="shell", places=[1, 0])
    with store.read() as db:
        assert ids_of(db, bench.everything()) == ["p00000", "p00001", "p00003", "p00002"]
    assert [it.position for it in bench.everything()] == [0, 1, 2, 3]
    assert (bench.everything()[1].gold, bench.everything()[1].batch) == (NO, "red")


@pytest.mark.parametrize(
    ("posts", "n", "said"),
    [
        (["p00000"], None, "is in phase 'main' twice"),
        (["p00002", "p00002"], None, "is in phase 'main' twice"),
        (["elsewhere"], None, "no post 'elsewhere'"),
        (["p00002", "p00003"], 1, "more came"),
    ],
)
def test_items_that_cannot_be_added_change_nothing(store: Store, posts, n, said):
    bench = make_bench(store, n=4, rows=[("p00000", None, None)])
    with pytest.raises(UserError, match=said), store.write() as db:
        items.add(db, bench.phase, ((it, None, None) for it in posts), by="shell", n=n)
    assert len(bench.everything()) == 1
    with store.read() as db:
        assert phases.get(db, bench.phase.id).size == 1


def test_a_dropped_item_is_offered_to_nobody_and_takes_no_room_back(store: Store):
    bench = make_bench(store, n=1)
    sheet = bench.next("ada")
    with store.write() as db:
        items.set_state(db, sheet.item.id, "dropped")
    assert bench.next("bo") is None
    with store.write() as db:
        labelling.skip(db, sheet)
    assert bench.item(sheet).room == 0


def test_a_lease_is_renewed_by_looking_at_the_post_again(store: Store):
    bench = make_bench(store, settings={"lease_minutes": 10})
    first = bench.next("ada")
    assert timedelta(minutes=9) < first.assignment.leased_until - now() <= timedelta(minutes=10)
    soon = bench.next("ada", at=first.assignment.taken_at + timedelta(minutes=2))
    assert soon.assignment == first.assignment
    later = bench.next("ada", at=first.assignment.taken_at + timedelta(minutes=8))
    assert later.assignment == replace(first.assignment, leased_until=first.assignment.taken_at + timedelta(minutes=18))


@pytest.mark.parametrize("minutes", [0, -5, "soon", 1e300])
def test_a_lease_that_makes_no_sense_is_one_line(store: Store, minutes):
    bench = make_bench(store, settings={"lease_minutes": minutes})
    with pytest.raises(UserError, match="Set it from 1 to 1440"):
        bench.next("ada")
