"""Memes from source to kind: filtered, built, rated by others, confounded on both sides."""

from __future__ import annotations

import json

import pytest

from davy.annotation.exchange.row_export import choose_phases, gather_rows
from davy.annotation.labelling import labelling
from davy.annotation.project import phase_gates
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.store import posts, withdrawals
from davy.annotation.settling import audit
from davy.core import UserError
from davy.core.meme import (
    BENIGN_IMAGE,
    BENIGN_TEXT,
    MULTIMODAL_HATE,
    NOT_FOUND,
    NOTHING_FLIPS,
    RANDOM_NOT_HATEFUL,
    UNDETERMINED,
    UNIMODAL_HATE,
    FilterAnswers,
)
from davy.memes import meme_families, meme_tasks
from davy.memes.meme_layout import MemeLayout
from davy.memes.store import meme_steps
from meme_project import HARMLESS, HATEFUL, PLAN, add_annotator, make_memes


@pytest.fixture(autouse=True)
def _place(tmp_path, monkeypatch):
    monkeypatch.setenv("DAVY_IMAGES", str(tmp_path / "kept"))


@pytest.fixture
def bench(store):
    return make_memes(store)


def kinds(bench):
    with bench.store.read() as db:
        found = meme_families.kinds_of(db, bench.project)
        ids = posts.public_ids(db, list(found))
    return {ids[key]: kind for key, kind in found.items()}


def hateful_meme(bench, builder="ada", raters=("bo", "cy")):
    bench.filter(builder)
    meme = bench.build(builder)
    bench.rate(meme, raters, HATEFUL)
    return meme


def test_a_hateful_meme_whose_both_sides_flip_is_multimodal_and_its_confounders_are_benign(bench):
    meme = hateful_meme(bench)
    assert kinds(bench) == {meme.id: UNDETERMINED}
    image = bench.confound("bo", "image")
    text = bench.confound("bo", "text")
    assert (image.parent, text.parent) == (meme.id, meme.id)
    assert (image.text, text.text) == (meme.text, "lamps are fine")
    assert kinds(bench) == {meme.id: UNDETERMINED}, "nobody has rated the confounders yet"
    for confounder in (image, text):
        bench.rate(confounder, ("ada", "cy"), HARMLESS)
    assert kinds(bench) == {meme.id: MULTIMODAL_HATE, image.id: BENIGN_IMAGE, text.id: BENIGN_TEXT}
    with bench.store.write() as db:
        assert meme_tasks.next_task(db, bench.project, bench.people["cy"], "confounders") is None


@pytest.mark.parametrize(
    ("answer", "kind"), [(NOTHING_FLIPS, UNIMODAL_HATE), (NOT_FOUND, UNDETERMINED)], ids=["nothing", "not found"]
)
def test_nothing_can_flip_it_and_no_replacement_found_are_different_answers(bench, answer, kind):
    meme = hateful_meme(bench)
    with bench.store.write() as db:
        task = meme_tasks.next_task(db, bench.project, bench.people["di"], "confounders")
        meme_tasks.answer_side(db, task, "image", answer, seconds=10)
    text = bench.confound("di", "text")
    bench.rate(text, ("ada", "bo"), HARMLESS)
    assert kinds(bench) == {meme.id: kind, text.id: BENIGN_TEXT}


def test_a_confounder_that_people_still_call_hateful_flips_nothing_and_the_meme_waits_for_another(bench):
    meme = hateful_meme(bench)
    bad = bench.confound("bo", "image")
    with bench.store.write() as db:
        task = meme_tasks.next_task(db, bench.project, bench.people["bo"], "confounders")
        meme_tasks.answer_side(db, task, "text", NOT_FOUND, seconds=1)
    bench.rate(bad, ("ada", "cy"), HATEFUL)
    assert kinds(bench) == {meme.id: UNDETERMINED, bad.id: UNDETERMINED}
    better = bench.confound("cy", "image")
    bench.rate(better, ("ada", "bo"), HARMLESS)
    assert kinds(bench)[better.id] == BENIGN_IMAGE
    with bench.store.write() as db:
        assert meme_tasks.next_task(db, bench.project, bench.people["di"], "confounders") is None


def test_a_meme_is_settled_by_all_who_did_not_build_it_where_every_annotator_is_needed(store):
    plan = PLAN.replace(b"answers: 2", b"answers: 3")
    bench = make_memes(store, people=["ada", "bo", "cy"], plan=plan)
    bench.filter("ada")
    meme = bench.build("ada")
    bench.rate(meme, ["bo"], HARMLESS)
    assert kinds(bench) == {}, "one more person can rate it"
    bench.rate(meme, ["cy"], HARMLESS)
    assert kinds(bench) == {meme.id: RANDOM_NOT_HATEFUL}
    add_annotator(bench, "di")
    with store.write() as db:
        assert labelling.next_sheet(db, bench.project, bench.people["di"]) is None, "a settled meme is not rated again"


def test_with_one_more_annotator_a_meme_gets_all_its_answers(store):
    bench = make_memes(store, plan=PLAN.replace(b"answers: 2", b"answers: 3"))
    bench.filter("ada")
    meme = bench.build("ada")
    bench.rate(meme, ["bo", "cy"], HARMLESS)
    assert kinds(bench) == {}
    bench.rate(meme, ["di"], HARMLESS)
    assert kinds(bench) == {meme.id: RANDOM_NOT_HATEFUL}


def test_a_harmless_meme_is_a_random_one_and_gets_no_confounders(bench):
    bench.filter("ada")
    meme = bench.build("ada")
    bench.rate(meme, ("bo", "cy"), HARMLESS)
    assert kinds(bench) == {meme.id: RANDOM_NOT_HATEFUL}
    with bench.store.write() as db:
        assert meme_tasks.next_task(db, bench.project, bench.people["bo"], "confounders") is None


def test_what_was_filtered_or_built_last_is_taken_back_until_somebody_goes_on(bench):
    source, _ = bench.filter("ada")
    with bench.store.write() as db:
        assert meme_tasks.undo(db, bench.project, bench.people["ada"], "filter").post.id == source.id
        assert meme_steps.count_results(db, "memes") == {("filter", "undone"): 1}
    bench.filter("ada")
    first = bench.build("ada", "one")
    with bench.store.write() as db:
        again = meme_tasks.undo(db, bench.project, bench.people["ada"], "build")
        opened, saved = (MemeLayout.from_dict(it) for it in (again.layout, first.meta["layout"]))
        assert opened == saved, "it opens as it was saved"
        assert labelling.next_sheet(db, bench.project, bench.people["bo"]) is None, "nobody rates what was taken back"
    second = bench.build("ada", "two")
    bench.rate(second, ("bo",), HARMLESS)
    with bench.store.write() as db, pytest.raises(UserError, match="gone on"):
        meme_tasks.undo(db, bench.project, bench.people["ada"], "build")


def test_confounders_are_not_taken_back_once_somebody_else_is_at_the_meme(bench):
    meme = hateful_meme(bench)
    first = bench.confound("bo", "image")
    with bench.store.write() as db:
        task = meme_tasks.next_task(db, bench.project, bench.people["bo"], "confounders")
        meme_tasks.answer_side(db, task, "text", NOT_FOUND, seconds=1)
        assert meme_tasks.undo(db, bench.project, bench.people["bo"], "confounders").id == task.id
        meme_tasks.keep_answers(db, task)
    bench.rate(first, ("cy", "di"), HATEFUL)
    with bench.store.write() as db:
        assert meme_tasks.next_task(db, bench.project, bench.people["di"], "confounders").post.id == meme.id
        with pytest.raises(UserError, match="gone on"):
            meme_tasks.undo(db, bench.project, bench.people["bo"], "confounders")
    second = bench.confound("di", "image")
    with bench.store.write() as db:
        with pytest.raises(UserError, match="gone on"):
            meme_tasks.undo(db, bench.project, bench.people["bo"], "confounders")
        mine = meme_tasks.undo(db, bench.project, bench.people["di"], "confounders")
        meme_tasks.keep_answers(db, mine)
        assert labelling.next_sheet(db, bench.project, bench.people["cy"]).post.id == second.id, "it waits to be rated"


def test_withdrawing_a_source_meme_takes_what_was_built_from_it_and_its_confounders(bench):
    source, _ = bench.filter("ada")
    meme = bench.build("ada", words=source.text)
    bench.rate(meme, ("bo", "cy"), HATEFUL)
    confounder = bench.confound("bo", "image")
    with bench.store.write() as db:
        gone = withdrawals.withdraw(db, [source.id], by="shell", project=bench.project.id)
        assert set(gone.derived) == {meme.id, confounder.id}
        assert posts.keys_of(db, bench.project.id, [source.id, meme.id, confounder.id]) == {}
        assert meme_steps.of_project(db, bench.project.id) == []


def test_a_part_is_checked_whole_by_experts(bench):
    memes = []
    for _ in range(2):
        bench.filter("ada")
        memes.append(bench.build("ada", f"meme {len(memes)}"))
        bench.rate(memes[-1], ("bo", "cy"), HARMLESS)
    with bench.store.write() as db:
        project, rating = bench.project, meme_families.meme_phases(db, bench.project).rating
        found = list(audit.checks_of_posts(db, project, rating, scheme_of(db, project), {memes[1].id}))
        assert [(it.post, it.question) for it in found] == [(memes[1].id, "rating")], "what follows is not asked"
        assert audit.audit(db, project, rating, found, by="shell", budget=1).opened == [memes[1].id]


def test_nobody_rates_what_they_built(bench):
    bench.filter("ada")
    bench.build("ada")
    with bench.store.write() as db:
        assert labelling.next_sheet(db, bench.project, bench.people["ada"]) is None
        assert labelling.next_sheet(db, bench.project, bench.people["bo"]) is not None


@pytest.mark.parametrize(
    ("answers", "result"),
    [
        (FilterAnswers(False), "language"),
        (FilterAnswers(True, ("calls to violence",)), "violating"),
        (FilterAnswers(True, (), slurs=True), "slur"),
        (FilterAnswers(True), "no replacement"),
        (FilterAnswers(True, replacements=("x",), preserves=False), "no replacement"),
    ],
)
def test_a_source_meme_that_does_not_fit_is_discarded_with_its_reason_and_never_built(bench, answers, result):
    post, became = bench.filter("ada", answers)
    assert became == result
    with bench.store.write() as db:
        assert meme_tasks.next_task(db, bench.project, bench.people["ada"], "build") is None
        following = meme_tasks.next_task(db, bench.project, bench.people["ada"], "filter")
    assert following.post.id != post.id
    with bench.store.read() as db:
        assert meme_steps.count_results(db, "memes") == {("filter", result): 1}


def test_two_people_never_have_the_same_meme_and_only_its_holder_may_save_it(bench):
    with bench.store.write() as db:
        mine = meme_tasks.next_task(db, bench.project, bench.people["ada"], "filter")
        again = meme_tasks.next_task(db, bench.project, bench.people["ada"], "filter")
        theirs = meme_tasks.next_task(db, bench.project, bench.people["bo"], "filter")
    assert mine.id == again.id
    assert mine.post.id != theirs.post.id
    with bench.store.write() as db, pytest.raises(UserError, match="somebody else"):
        meme_tasks.open_task(db, bench.project, bench.people["bo"], mine.id)
    bench.filter("ada")
    with bench.store.write() as db, pytest.raises(UserError, match="dealt with this meme already"):
        meme_tasks.open_task(db, bench.project, bench.people["ada"], mine.id)


def test_a_confounder_changes_one_side_alone(bench):
    hateful_meme(bench)
    with bench.store.write() as db:
        task = meme_tasks.next_task(db, bench.project, bench.people["bo"], "confounders")
    same = MemeLayout.from_dict(task.layout)
    for side, reason in (("image", "same meme again"), ("text", "same meme again")):
        with pytest.raises(UserError, match=reason):
            bench.save("bo", task.id, same, side=side)
    with pytest.raises(UserError, match="text is another one"):
        bench.save("bo", task.id, same.with_texts([same.texts[0].__class__("other", 0, 0, 99, 99)]), side="image")


def test_what_is_filtered_is_not_handed_out_for_labelling(bench):
    with bench.store.write() as db:
        meme_tasks.next_task(db, bench.project, bench.people["ada"], "filter")
        assert labelling.next_sheet(db, bench.project, bench.people["ada"]) is None


def test_an_export_has_kind_parent_builder_and_minutes_by_phase(bench):
    meme = hateful_meme(bench)
    image = bench.confound("bo", "image")
    with bench.store.write() as db:
        task = meme_tasks.next_task(db, bench.project, bench.people["bo"], "confounders")
        meme_tasks.answer_side(db, task, "text", NOTHING_FLIPS, seconds=30)
    bench.rate(image, ("ada", "cy"), HARMLESS)
    with bench.store.read() as db:
        scheme = scheme_of(db, bench.project)
        rows = {it.id: it for it in gather_rows(db, bench.project, scheme, choose_phases(db, bench.project, None))}
    assert {id: row.meta["kind"] for id, row in rows.items()} == {meme.id: UNIMODAL_HATE, image.id: BENIGN_IMAGE}
    assert rows[image.id].parent == meme.id
    assert rows[meme.id].meta["author"] == bench.people["ada"].pseudonym
    assert rows[meme.id].meta["minutes"] == {"filter": 1.0, "build": 2.0, "confounders": 1.0, "rating": 0.67}
    assert json.dumps(rows[meme.id].meta["layout"])


def test_a_phase_that_gets_more_memes_is_not_to_be_closed_next(bench):
    def next_acts():
        with bench.store.read() as db:
            return {status.phase.kind: status.next for status in phase_gates.phase_statuses(db, bench.project)}

    assert set(next_acts().values()) == {None}  # nothing was done yet
    bench.filter("ada")
    meme = bench.build("ada")
    bench.rate(meme, ("bo", "cy"), HARMLESS)
    acts = next_acts()
    assert (acts["build"], acts["rating"], acts["confounders"]) == (None, None, None)


BOUNDED = b"""
name: memes
title: Memes
preset: meme-construction
confounders: {most-words: 4, most-picture: 200}
phases: {rating: {answers: 2}}
"""


def test_how_much_a_confounder_changes_is_kept_and_held_to_the_project_s_bound(store):
    bench = make_memes(store, plan=BOUNDED)
    meme = hateful_meme(bench)
    with pytest.raises(UserError, match="9 words changed; at most 4 here"):
        bench.confound("bo", "text", words="one two three four five six seven eight nine")
    text = bench.confound("bo", "text", words="look at this garden")
    assert text.meta["change"] == {"words": 1, "of_words": 4}
    with bench.store.write() as db:
        task = meme_tasks.next_task(db, bench.project, bench.people["bo"], "confounders")
    layout = MemeLayout.from_dict(task.layout)
    assert meme_tasks.measure_change(task, layout, "image", 180) == {"picture_bits": 180}
    with pytest.raises(UserError, match="differs in 201 of 256 bits; at most 200 here"):
        meme_tasks.measure_change(task, layout, "image", 201)
    assert meme.text == "look at this lamp"


def test_which_side_is_hateful_alone_is_in_the_corpus(bench):
    meme = hateful_meme(bench)
    with bench.store.write() as db:
        task = meme_tasks.next_task(db, bench.project, bench.people["bo"], "confounders")
        meme_tasks.answer_side(db, task, "image", NOTHING_FLIPS)
        task = meme_tasks.open_task(db, bench.project, bench.people["bo"], task.id)
        meme_tasks.answer_side(db, task, "text", NOT_FOUND)
    with bench.store.read() as db:
        rows = gather_rows(db, bench.project, scheme_of(db, bench.project), choose_phases(db, bench.project, None))
        (own,) = [row for row in rows if row.id == meme.id]
    assert (own.meta["kind"], own.meta["hateful_alone"]) == (UNIMODAL_HATE, ["text"]), "no picture can flip it"
