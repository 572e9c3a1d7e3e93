"""The demo's projects: posts wait for its annotator, disagreements for its expert, and gates are passed."""

from __future__ import annotations

from davy.annotate import labelling, meme_families, meme_tasks, phase_gates
from davy.core.meme import MEME_KINDS
from davy.core.phase_kind import TASKS
from davy.serve import demo, demo_memes, demo_projects, demo_rounds
from davy.store import entries, image_library, members, open_store, phase_answers, projects, rounds, users
from davy.store.columns import new_id


def test_the_demo_has_work_for_everyone_in_two_languages(tmp_path):
    with open_store(demo.build(tmp_path)) as store:
        with store.read() as db:
            michael, jane = users.find(db, "michael"), users.find(db, "jane")
            found = {it.id: it for it in projects.list_projects(db) if it.id in demo_projects.PLANS}
            for project in found.values():
                steps = {it.phase.name: it for it in phase_gates.phase_statuses(db, project)}
                assert members.get(db, project.id, michael.id).roles == ("annotator",)
                assert "expert" in members.get(db, project.id, jane.id).roles
                assert any(it.gate and it.gate.passed for it in steps.values())
                assert all(it.phase.state != "waiting" for it in steps.values())
            assert phase_answers.count_open_cases(db, "mill-valley") >= 1
            assert users.find(db, "ada").password_hash is None
        assert set(found) == {"mill-valley", "am-fluss"}
        for project in found.values():
            with store.write() as db:
                member = members.get(db, project.id, michael.id)
                seen = set()
                while len(seen) < 10:
                    sheet = labelling.next_sheet(db, project, member)
                    first = sheet.scheme.questions[0]
                    said = next(name for name in first.label_names if name != first.positive)
                    labelling.save(db, sheet, {first.name: (said,)}, annotation_id=new_id())
                    seen.add(sheet.post.id)
            assert len(seen) == 10


def test_the_demo_has_a_round_whose_entries_people_confirmed_and_contrasted(tmp_path):
    with open_store(demo.build(tmp_path)) as store, store.read() as db:
        first = rounds.of_project(db, demo_rounds.PROJECT)[0]
        rows = entries.of_round(db, first.id)
        originals = [row.entry for row in rows if row.entry.set == "original"]
        contrasts = [row.entry for row in rows if row.entry.set == "contrast"]
        assert len(originals) == len(contrasts) == 20
        assert all(it.confirmed for it in (*originals, *contrasts))
        assert all(it.predictions for it in originals), "the target was asked, not made up"
        flipped = {it.id: it.settled for it in originals}
        assert all(it.settled != flipped[it.parent] for it in contrasts)
        jane = users.find(db, "jane")
        assert "expert" in members.get(db, demo_rounds.PROJECT, jane.id).roles
        second = rounds.of_project(db, demo_rounds.PROJECT)[1]
        assert (first.state, second.state) == ("closed", "open")
        assert second.targets == (first.outcome["target"],), "the next round is against the first one's winner"
        assert {row.state for row in entries.of_round(db, second.id)} == {"settled", "full", "open"}
        assert phase_answers.count_open_cases(db, demo_rounds.PROJECT) == 1
        manager = members.get(db, demo_rounds.PROJECT, users.find(db, "humphry").id)
        assert manager.roles == ("manager", "adversarial")


def test_the_demo_has_memes_of_every_kind_and_work_in_every_phase(tmp_path):
    with open_store(demo.build(tmp_path)) as store:
        with store.read() as db:
            project = projects.get(db, demo_memes.PROJECT)
            counts = meme_families.count_kinds(meme_families.kinds_of(db, project))
            michael = members.get(db, project.id, users.find(db, "michael").id)
            assert {kind: counts[kind] for kind in MEME_KINDS if not counts[kind]} == {}
            assert phase_answers.count_open_cases(db, project.id) == 2, "what raters disagree on waits for an expert"
            assert all(row.image.licence for row in image_library.all_images(db))
        for task in TASKS:
            with store.write() as db:
                assert meme_tasks.next_task(db, project, michael, task) is not None, task
        with store.write() as db:
            assert labelling.next_sheet(db, project, michael) is not None
