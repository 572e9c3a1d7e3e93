"""A discussion's one shared answer."""

import threading

import pytest

from davy.annotation.care import survey
from davy.annotation.labelling import labelling
from davy.annotation.labelling.store import annotations, items
from davy.annotation.project import monitoring
from davy.annotation.project.store import phases, post_pages
from davy.annotation.settling.store import verdicts
from davy.core import UserError
from davy.store import Store, events
from davy.store.columns import new_id
from work_project import NO, YES, make_bench


def discussion(store: Store, *, in_corpus: bool):
    bench = make_bench(store, n=2, kind="discussion", answers=None)
    if in_corpus:
        from sqlalchemy import update

        from davy.annotation.project.store.tables import phases as table

        with store.write() as db:
            db.execute(update(table).values(in_corpus=1))
            bench.phase = phases.get(db, bench.phase.id)
    return bench, bench.everything()[0]


def test_a_shared_answer_is_kept_with_its_notes_and_replaced_by_a_later_one(store: Store):
    bench, item = discussion(store, in_corpus=False)
    assert bench.next("ada") is None  # nobody answers it alone
    form = new_id()
    with store.write() as db:
        for _ in range(2):  # sent twice
            first = labelling.save_shared(
                db, bench.project, bench.phase, item, YES, " We talked. ", by="ada", annotation_id=form
            )
        second = labelling.save_shared(db, bench.project, bench.phase, item, NO, "", by="bo")
    assert (first.annotator, first.comment, second.replaces) == ("together", "We talked.", first.id)
    with store.read() as db:
        assert labelling.shared_answer(db, bench.project, bench.phase, item).answers == NO
        assert len(annotations.of_post(db, item.post, scheme="grumble", version=1, replaced=True)) == 2
        assert verdicts.of_post(db, item.post, scheme="grumble", version=1) == {}
        assert [it.by for it in events.latest(db, about=f"item {item.id}")] == ["bo", "ada"]
        assert (items.get(db, item.id).given, items.get(db, item.id).state) == (1, "full")


def test_in_the_corpus_a_shared_answer_is_a_verdict_by_consensus(store: Store):
    bench, item = discussion(store, in_corpus=True)
    with store.write() as db:
        given = labelling.save_shared(db, bench.project, bench.phase, item, YES, "", by="ada")
        found = verdicts.of_post(db, item.post, scheme="grumble", version=1)
    assert {name: (it.labels, it.basis, it.annotations) for name, it in found.items()} == {
        "grumpy": (("yes",), "consensus", (given.id,)),
        "about": (("tea",), "consensus", (given.id,)),
    }


def test_a_shared_answer_that_turns_to_no_takes_back_what_it_settled_below(store: Store):
    bench, item = discussion(store, in_corpus=True)

    def settled() -> dict[str, tuple[str, ...]]:
        with store.read() as db:
            found = verdicts.of_post(db, item.post, scheme="grumble", version=1, project="pilot")
            assert verdicts.of_post(db, item.post, scheme="grumble", version=1) == found
        return {name: it.labels for name, it in found.items()}

    def agree(answers: dict[str, tuple[str, ...]]) -> None:
        with store.write() as db:
            labelling.save_shared(db, bench.project, bench.phase, item, answers, "", by="ada")

    agree(YES)
    agree(NO)
    assert settled() == {"grumpy": ("no",), "about": ()}
    with store.read() as db:
        shown = post_pages.page(db, "pilot", post_pages.PostFilter(label="tea"), with_verdicts=True)
        turns = verdicts.history(db, item.post, "about", scheme="grumble", version=1)
    assert list(shown) == []
    assert [it.labels for it in turns] == [("tea",), ()]
    agree(NO)  # nothing is left to take back
    agree(YES)
    assert settled() == {"grumpy": ("yes",), "about": ("tea",)}


def test_shared_answers_are_the_progress_of_a_discussion_and_nobodys_own(store: Store):
    bench, item = discussion(store, in_corpus=False)
    with store.write() as db:
        for answers in (YES, NO):  # a second thought counts once
            labelling.save_shared(db, bench.project, bench.phase, item, answers, "", by="ada")
    with store.read() as db:
        board = monitoring.load_dashboard(db, bench.project)
    progress = board.progress[bench.phase.id]
    assert (progress.given, progress.filled, progress.wanted, progress.people) == (1, 1, 2, 0)
    assert monitoring.by_people(board.tallies) == []
    taken = monitoring.take_snapshot(store, bench.phase.id)
    assert taken.content["states"] == {"full": 1, "open": 1}
    with store.read() as db:
        assert survey.debrief_figures(db, bench.project).people == 0


def test_two_who_write_it_down_at_once_leave_one_answer_that_counts(store: Store):
    bench, item = discussion(store, in_corpus=False)
    start = threading.Barrier(4)

    def write(name):
        start.wait()
        with store.write() as db:
            labelling.save_shared(db, bench.project, bench.phase, item, YES, name, by=name)

    threads = [threading.Thread(target=write, args=(f"m{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with store.read() as db:
        assert len(annotations.of_post(db, item.post, scheme="grumble", version=1)) == 1
        assert len(annotations.of_post(db, item.post, scheme="grumble", version=1, replaced=True)) == 4


def test_wrong_phases_and_missing_answers_are_refused(store: Store):
    bench, item = discussion(store, in_corpus=False)
    with pytest.raises(UserError, match="is not answered"), store.write() as db:
        labelling.save_shared(db, bench.project, bench.phase, item, {}, "", by="ada")
    with store.write() as db:
        closed = phases.close_phase(db, bench.phase.id, by="shell")
    with pytest.raises(UserError, match="not open"), store.write() as db:
        labelling.save_shared(db, bench.project, closed, item, YES, "", by="ada")
