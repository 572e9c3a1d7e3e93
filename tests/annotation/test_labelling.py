"""One person at a time: getting a post, answering, refusing, skipping, taking back, leaving."""

from dataclasses import replace
from datetime import timedelta

import polars as pl
import pytest

from davy.annotation.labelling import labelling
from davy.annotation.labelling.store import annotations, assignments, items, tallies
from davy.annotation.project.store import members, phases, projects
from davy.core import Guideline, UserError, Wording
from davy.schemes.store import schemes
from davy.store import Store, events
from davy.store.columns import new_id, now
from work_project import NO, SCHEME, YES, add_member, add_phase, make_bench


def test_an_answer_is_kept_with_its_project_phase_and_guideline_and_the_next_post_follows(store: Store):
    bench = make_bench(store)
    sheet = bench.next("ada")
    assert (sheet.number, sheet.total, sheet.item.room, sheet.before) == (1, 6, 2, None)
    assert sheet.guideline.version == 1
    saved = bench.save("ada", sheet, YES, flags=("unsure",), comment=" odd ", seconds=4.5)
    with store.read() as db:
        kept = annotations.get(db, saved.annotation.id)
        tally = tallies.get(db, bench.phase.id, bench.people["ada"].user)
    assert (kept.answers, kept.flags, kept.comment, kept.seconds) == (YES, ("unsure",), "odd", 4.5)
    assert (kept.project, kept.phase, kept.guideline_version) == ("pilot", bench.phase.id, 1)
    assert (tally.given, tally.seconds, tally.place) == (1, 4.5, 0)
    after = bench.next("ada")
    assert (after.item.position, after.number) == (1, 2)
    assert bench.item(sheet).given == 1
    assert bench.item(sheet).room == 2


def test_the_held_post_is_given_again_until_it_is_dealt_with(store: Store):
    bench = make_bench(store)
    first = bench.next("ada")
    assert bench.next("ada").assignment.id == first.assignment.id
    assert bench.item(first).room == 2


def test_an_item_is_full_after_its_answers_and_nobody_else_gets_it(store: Store):
    bench = make_bench(store, n=1, answers=2)
    assert not bench.save("ada", bench.next("ada")).filled
    assert bench.save("bo", bench.next("bo")).filled
    assert bench.next("cy") is None
    item = bench.everything()[0]
    assert (item.given, item.room) == (2, 0)
    assert item.state in ("full", "settled")


def test_held_posts_count_against_the_room(store: Store):
    bench = make_bench(store, n=1, answers=2)
    sheets = [bench.next(name) for name in ("ada", "bo")]
    assert bench.next("cy") is None
    bench.save("bo", sheets[1])
    assert bench.next("cy") is None


def test_a_form_sent_twice_is_harmless_and_another_answer_from_a_second_window_is_refused(store: Store):
    bench = make_bench(store)
    sheet = bench.next("ada")
    form = new_id()
    first = bench.save("ada", sheet, YES, annotation_id=form)
    second = bench.save("ada", sheet, NO, annotation_id=form)
    assert second.annotation.id == first.annotation.id
    assert second.annotation.answers == YES
    same = bench.save("ada", sheet, YES)
    assert same.annotation.id == form
    with pytest.raises(UserError, match="another window") as caught:
        bench.save("ada", sheet, NO)
    assert caught.value.status == 409
    item = bench.item(sheet)
    assert (item.given, item.room) == (1, 2)
    with store.read() as db:
        assert tallies.get(db, bench.phase.id, bench.people["ada"].user).given == 1


def test_somebody_elses_post_is_403_and_an_unknown_one_404(store: Store):
    bench = make_bench(store)
    sheet = bench.next("ada")
    with pytest.raises(UserError) as caught:
        bench.open("bo", sheet.assignment.id)
    assert caught.value.status == 403
    with pytest.raises(UserError) as caught:
        bench.open("bo", "nothing")
    assert caught.value.status == 404
    with store.write() as db:
        other = projects.create(
            db, id="other", title="Other", scheme="grumble", scheme_version=1, settings={}, by="shell"
        )
    with pytest.raises(UserError) as caught, store.read() as db:
        labelling.open_sheet(db, other, bench.people["ada"], sheet.assignment.id)
    assert caught.value.status == 404


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({}, "'grumpy' is not answered"),
        ({"grumpy": ("maybe",)}, "not a label"),
        ({"grumpy": ("no",), "about": ("tea",)}, "applies only where"),
    ],
)
def test_answers_that_do_not_fit_change_nothing(store: Store, answers, said):
    bench = make_bench(store)
    sheet = bench.next("ada")
    with pytest.raises(UserError, match=said), store.write() as db:
        labelling.save(db, sheet, answers, annotation_id=new_id())
    assert bench.item(sheet).given == 0
    assert bench.next("ada").assignment == sheet.assignment


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"seconds": float("nan")}, "is no number"),
        ({"seconds": -1.0}, "below zero"),
        ({"annotation_id": ""}, "no id of its own"),
        ({"comment": "x" * 6000}, "the most is 5,000"),
        ({"comment": "a\0b"}, "NUL character"),
        ({"flags": ("odd",)}, "unknown flag"),
        ({"flags": ("refused",)}, "has no answers"),
    ],
)
def test_what_no_page_sends_is_one_line_and_changes_nothing(store: Store, options, said):
    bench = make_bench(store)
    sheet = bench.next("ada")
    with pytest.raises(UserError, match=said):
        bench.save("ada", sheet, **options)
    assert bench.item(sheet).given == 0


def test_a_refused_post_goes_to_somebody_else_and_never_back(store: Store):
    bench = make_bench(store, n=1, answers=1)
    sheet = bench.next("ada")
    assert bench.next("bo") is None
    form = new_id()
    for _ in range(2):
        with store.write() as db:
            found = labelling.open_sheet(db, bench.project, bench.people["ada"], sheet.assignment.id)
            labelling.refuse(db, found, annotation_id=form)
    assert bench.item(sheet).room == 1
    assert bench.next("ada") is None
    assert bench.answer("bo").item.id == sheet.item.id
    with store.read() as db:
        assert annotations.get(db, form).refused
        tally = tallies.get(db, bench.phase.id, bench.people["ada"].user)
    assert (tally.refused, tally.given) == (1, 0)


def test_a_skipped_post_comes_back_when_nothing_else_is_left(store: Store):
    bench = make_bench(store, n=3, answers=3)
    sheet = bench.next("ada")
    with store.write() as db:
        labelling.skip(db, sheet)
    assert bench.item(sheet).room == 3
    assert [bench.answer("ada").item.position for _ in range(3)] == [1, 2, 0]
    assert bench.next("ada") is None
    assert [it.given for it in bench.everything()] == [1, 1, 1]


def test_taking_back_replaces_the_last_answer_and_counts_it_once(store: Store):
    bench = make_bench(store)
    first = bench.answer("ada", YES)
    held = bench.next("ada")
    with store.write() as db:
        back = labelling.undo(db, bench.project, bench.people["ada"])
    assert back.item.id == first.item.id
    assert (back.before.answers, back.number) == (YES, 1)
    saved = bench.save("ada", back, NO)
    assert saved.annotation.replaces == back.before.id
    with store.read() as db:
        current = annotations.of_post(db, back.item.post, scheme="grumble", version=1)
        assert tallies.get(db, bench.phase.id, bench.people["ada"].user).given == 1
    assert [it.answers for it in current] == [NO]
    assert bench.item(first).given == 1
    assert bench.next("ada").assignment.id == held.assignment.id


def test_taking_back_goes_by_the_order_of_deeds_though_the_clock_was_put_back(store: Store, monkeypatch):
    bench = make_bench(store)
    bench.answer("ada")
    real = now()
    monkeypatch.setattr(labelling, "now", lambda: real - timedelta(hours=3))
    second = bench.answer("ada")
    with store.write() as db:
        assert labelling.undo(db, bench.project, bench.people["ada"]).item.id == second.item.id


def test_a_refusal_and_a_skip_can_be_taken_back_while_there_is_room(store: Store):
    bench = make_bench(store, n=1, answers=1)
    for act in ("refuse", "skip"):
        sheet = bench.next("ada")
        with store.write() as db:
            if act == "refuse":
                labelling.refuse(db, sheet, annotation_id=new_id())
            else:
                labelling.skip(db, sheet)
        with store.write() as db:
            assert labelling.undo(db, bench.project, bench.people["ada"]).assignment.state == "held"
    with store.read() as db:
        tally = tallies.get(db, bench.phase.id, bench.people["ada"].user)
    assert (tally.refused, tally.skipped) == (0, 0)
    with store.write() as db:
        labelling.refuse(db, _open(db, bench, "ada"), annotation_id=new_id())
    bench.answer("bo")
    with pytest.raises(UserError, match="went to others") as caught, store.write() as db:
        labelling.undo(db, bench.project, bench.people["ada"])
    assert caught.value.status == 409


def _open(db, bench, name):
    return labelling.next_sheet(db, bench.project, bench.people[name])


def test_nothing_to_take_back_is_said(store: Store):
    bench = make_bench(store)
    with pytest.raises(UserError, match="nothing to take back"), store.write() as db:
        labelling.undo(db, bench.project, bench.people["ada"])


def test_a_lease_that_ran_out_gives_the_post_to_another_and_the_late_answer_is_told(store: Store):
    bench = make_bench(store, n=1, answers=1)
    sheet = bench.next("ada")
    later = now() + timedelta(minutes=31)
    assert bench.next("bo", at=later).item.id == sheet.item.id
    bench.save("bo", bench.next("bo"))
    with pytest.raises(UserError, match="went to others") as caught:
        bench.save("ada", sheet)
    assert caught.value.status == 409
    assert bench.item(sheet).given == 1


def test_an_answer_after_the_lease_counts_while_there_is_room(store: Store):
    bench = make_bench(store, n=2, answers=2)
    sheet = bench.next("ada")
    with store.write() as db:
        assert assignments.expire_leases(db, at=now() + timedelta(hours=1)) == 1
    assert bench.item(sheet).room == 2
    assert not bench.save("ada", sheet).filled
    item = bench.item(sheet)
    assert (item.given, item.room) == (1, 1)


def test_a_clock_put_back_neither_loses_nor_blocks_posts(store: Store):
    bench = make_bench(store, n=1, answers=1)
    ahead = now() + timedelta(days=400)
    sheet = bench.next("ada", at=ahead)
    assert sheet.assignment.leased_until > ahead
    assert bench.next("bo").item.id == sheet.item.id  # a lease that ends next year is no lease
    bench.save("bo", bench.next("bo"))
    with pytest.raises(UserError, match="went to others"):
        bench.save("ada", sheet)
    assert bench.item(sheet).given == 1


def test_who_leaves_gives_their_post_back_at_once_and_gets_no_more(store: Store):
    bench = make_bench(store, n=1, answers=1)
    sheet = bench.next("ada")
    with store.write() as db:
        left = labelling.leave(db, bench.project, bench.people["ada"].user, by="shell")
    assert left.left_at is not None
    assert bench.item(sheet).room == 1
    bench.people["ada"] = left
    assert bench.next("ada") is None
    with pytest.raises(UserError, match="left this project"):
        bench.save("ada", sheet)
    assert bench.answer("bo").item.id == sheet.item.id
    with store.read() as db:
        assert any(it.what == "items given back" for it in events.latest(db, about="project pilot"))


def test_ones_own_entry_is_never_offered(store: Store):
    bench = make_bench(store, n=4, answers=4, people=["ada"])
    ada = bench.people["ada"].user
    with store.write() as db:
        from davy.annotation.project.store import posts
        from davy.core import Post

        posts.add(db, Post("own", "…", meta={"author": ada}), project="pilot", by="shell")
        odd = pl.DataFrame({"id": ["odd"], "text": ["…"], "meta": [f'{{"x": 1, "author"  :  "{ada}"}}']})
        posts.ensure(db, odd, project="pilot", by="shell")
        posts.add(db, Post("others", "…", meta={"author": "bo", "about": ada}), project="pilot", by="shell")
        items.add(db, bench.phase, [("own", None, None), ("odd", None, None), ("others", None, None)], by="shell")
    bench.phase = _phase(store, bench)
    seen = []
    while sheet := bench.answer("ada"):
        seen.append(sheet.post.id)
    assert sorted(seen) == ["others", "p00000", "p00001", "p00002", "p00003"]


def _phase(store, bench):
    with store.read() as db:
        return phases.get(db, bench.phase.id)


def test_everyone_answers_every_item_of_a_calibration(store: Store):
    bench = make_bench(store, n=3, kind="calibration", answers=None)
    for name in bench.people:
        assert [bench.answer(name).item.position for _ in range(3)] == [0, 1, 2]
        assert bench.next(name) is None
    assert [(it.given, it.room, it.state) for it in bench.everything()] == [(4, 1, "open")] * 3


def test_training_says_what_is_right_and_then_the_answer_stays(store: Store):
    gold = {"grumpy": ("yes",), "about": ("rain", "tea")}
    bench = make_bench(store, kind="training", answers=None, gold=gold)
    saved = bench.save("ada", bench.next("ada"), YES)
    assert saved.feedback["grumpy"] == (("yes",), ("yes",), True)
    assert saved.feedback["about"] == (("tea",), ("rain", "tea"), False)
    wrong = bench.save("ada", bench.next("ada"), NO)
    assert wrong.feedback["about"] == ((), ("rain", "tea"), False)
    with pytest.raises(UserError, match="has been shown"), store.write() as db:
        labelling.undo(db, bench.project, bench.people["ada"])


def test_other_phases_never_show_gold(store: Store):
    bench = make_bench(store, kind="screening", answers=None, gold=NO)
    assert bench.save("ada", bench.next("ada"), YES).feedback is None


def test_a_new_guideline_is_in_force_for_the_next_answer_and_asks_for_a_second_look(store: Store):
    bench = make_bench(store, n=2)
    first = bench.answer("ada", YES)
    held = bench.next("ada")
    with store.write() as db:
        projects.add_guideline(db, bench.project, Guideline(2, Wording("Be kinder."), changes="kinder"), by="shell")
        flagged = assignments.request_second_look(
            db, "pilot", question="grumpy", labels=["yes"], before_guideline=2, by="shell"
        )
    assert flagged == 1
    assert bench.save("ada", held, NO).annotation.guideline_version == 2
    again = bench.next("ada")
    assert again.item.id == first.item.id
    assert (again.before.answers, again.before.guideline_version, again.guideline.version) == (YES, 1, 2)
    with store.write() as db:
        labelling.skip(db, again)  # put off: the answer stays, and it is asked again at the end
    assert bench.next("ada").item.id == first.item.id
    saved = bench.save("ada", again, NO)
    assert saved.annotation.replaces == again.before.id
    assert bench.item(first).given == 1
    assert bench.next("ada") is None


def test_refusing_at_the_second_look_takes_the_answer_out_and_frees_its_place(store: Store):
    bench = make_bench(store, n=1, answers=2)
    bench.answer("ada")
    bench.answer("bo")
    with store.write() as db:
        assert assignments.request_second_look(db, "pilot", by="shell") == 2
    again = bench.next("ada")
    with store.write() as db:
        labelling.refuse(db, again, annotation_id=new_id())
    item = bench.item(again)
    assert (item.given, item.room, item.state) == (1, 1, "open")
    bench.answer("cy")
    assert bench.item(again).given == 2


def test_batches_are_for_their_people_until_their_deadline_and_quota(store: Store):
    rows = [(f"p{n:05}", None, batch) for n, batch in enumerate(["red", "red", "red", "blue", "late", None])]
    bench = make_bench(store, rows=rows, answers=2)
    ada, bo = bench.people["ada"], bench.people["bo"]
    settings = {
        "batches": {
            "red": {"people": [ada.user], "quota": 2},
            "blue": {"people": [bo.pseudonym]},
            "late": {"deadline": "2020-01-01"},
        }
    }
    with store.write() as db:
        phases.change_settings(db, bench.phase.id, settings, by="shell")
    seen = {}
    for name in ("ada", "bo", "cy"):
        seen[name] = []
        while sheet := bench.answer(name):
            seen[name].append(sheet.item.batch)
    assert seen == {"ada": ["red", "red", None], "bo": ["blue", None], "cy": []}


@pytest.mark.parametrize(
    ("settings", "n"), [({"quota": 2}, 2), ({"deadline": "2020-01-01"}, 0), ({"people": ["nobody"]}, 0)]
)
def test_a_phase_can_have_a_quota_a_deadline_and_named_people(store: Store, settings, n):
    bench = make_bench(store, settings=settings)
    done = 0
    while bench.answer("ada"):
        done += 1
    assert done == n


def test_who_works_where(store: Store):
    bench = make_bench(store, n=1, kind="screening", answers=None)
    with store.write() as db:
        ex = bench.people["ex"] = add_member(db, bench.project, "ex", ["expert"])
        manager = bench.people["boss"] = add_member(db, bench.project, "boss", ["manager"])
        for kind in ("production", "expert", "discussion"):
            phase = add_phase(db, bench.project, kind, kind=kind, answers=1)
            items.add(db, phase, [("p00000", None, None)], by="shell")
    assert bench.answer("ada").phase.kind == "screening"
    assert bench.next("ada") is None  # until it is known whether she passed
    for state, kinds in (("failed", []), ("passed", ["production"])):
        with store.write() as db:
            bench.people["ada"] = members.choose(db, "pilot", bench.people["ada"].user, screening=state)
        sheet = bench.answer("ada")
        assert [sheet.phase.kind] * bool(sheet) == kinds if sheet else kinds == []
    assert ex.roles == ("expert",)
    assert [bench.answer("ex").phase.kind for _ in range(2)] == ["screening", "expert"]
    assert bench.next("boss") is None
    assert manager.left_at is None


@pytest.mark.parametrize(("answers", "goes_on"), [(YES, True), (NO, False)])
def test_who_reaches_the_mark_of_a_screening_goes_on_to_production(store: Store, answers, goes_on):
    settings = {"pass": {"accuracy": 0.8, "questions": ["grumpy"]}}
    bench = make_bench(store, n=2, kind="screening", answers=None, gold=YES, settings=settings)
    with store.write() as db:
        after = add_phase(db, bench.project, "after", kind="production", answers=1)
        items.add(db, after, [("p00000", None, None)], by="shell")
    bench.answer("ada", answers)
    bench.answer("ada", answers)
    sheet = bench.next("ada")
    assert (sheet is not None and sheet.phase.name == "after") is goes_on


def test_a_closed_phase_or_project_takes_no_answers(store: Store):
    bench = make_bench(store)
    sheet = bench.next("ada")
    with store.write() as db:
        phases.close_phase(db, bench.phase.id, by="shell")
    with pytest.raises(UserError, match="is closed") as caught:
        bench.save("ada", sheet)
    assert caught.value.status == 409
    assert bench.next("ada") is None
    with store.write() as db:
        phases.open_phase(db, bench.phase.id, by="shell")
        bench.project = projects.close(db, "pilot", by="shell")
    with pytest.raises(UserError, match="project is closed"):
        bench.save("ada", sheet)
    assert bench.item(sheet).given == 0


def test_a_scheme_that_a_project_asks_never_changes_under_it(store: Store):
    from davy.schemes import to_yaml

    bench = make_bench(store)
    shorter = replace(SCHEME, questions=SCHEME.questions[:1])
    with pytest.raises(UserError, match="is in use, so it can't change"), store.write() as db:
        schemes.save(db, shorter, to_yaml(shorter), by="shell")
    assert [it.name for it in bench.next("ada").scheme.questions] == ["grumpy", "about"]
