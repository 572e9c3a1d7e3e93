"""The demo's projects: posts wait for its annotator, disagreements for its expert, and gates are passed."""

from __future__ import annotations

import json
import shutil
from importlib import resources
from pathlib import Path

import pytest
from sqlalchemy import func, select

from davy.annotation.labelling import labelling
from davy.annotation.labelling.store import tables
from davy.annotation.project import monitoring, phase_gates
from davy.annotation.project.phase_kind import TASKS
from davy.annotation.project.store import members, messages, post_pages, projects
from davy.annotation.settling.store import phase_answers
from davy.core.meme import MEME_KINDS
from davy.demo import demo, demo_memes, demo_projects, demo_rounds
from davy.detectors import store as detectors
from davy.jobs import store as jobs
from davy.memes import meme_families, meme_tasks
from davy.memes.store import image_library
from davy.people.store import users
from davy.rounds.store import entries, rounds
from davy.runs.jobs.training import TRAIN
from davy.store import open_store
from davy.store.columns import new_id


@pytest.fixture(scope="module")
def built_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo as it starts, built once."""
    folder = tmp_path_factory.mktemp("demo")
    demo.build(folder)
    return folder


@pytest.fixture
def fresh(built_once: Path, tmp_path: Path) -> str:
    """The URL of a copy of the demo."""
    shutil.copytree(built_once, tmp_path / "copy")
    return f"sqlite:///{tmp_path / 'copy' / 'demo.sqlite'}"


def test_the_demo_has_work_for_everyone_in_two_languages(fresh):
    with open_store(fresh) as store:
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


def test_the_demo_has_a_round_whose_entries_people_confirmed_and_contrasted(fresh):
    with open_store(fresh) as store, store.read() as db:
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


def test_the_demo_has_memes_of_every_kind_and_work_in_every_phase(fresh):
    with open_store(fresh) as store:
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


def test_every_verdict_of_the_demo_is_the_one_that_a_careful_reader_gives(fresh):
    text = (resources.files("davy.demo") / "data" / "project_posts.jsonl").read_text(encoding="utf-8")
    truth = {row["id"]: row["answers"] for row in map(json.loads, text.splitlines())}
    with open_store(fresh) as store, store.read() as db:
        for name in demo_projects.PLANS:
            settled = 0
            for post in post_pages.page(db, name, post_pages.PostFilter(), with_verdicts=True, limit=500):
                for _, question, labels in post.verdicts:
                    settled += 1
                    assert list(labels) == truth[post.id][question], post.text
            assert settled >= 10


def test_nobody_reads_a_post_otherwise_than_both_others(fresh):
    with open_store(fresh) as store, store.read() as db:
        for name in demo_projects.PLANS:
            for phase in monitoring.load_dashboard(db, projects.get(db, name)).phases:
                given: dict[str, list[object]] = {}
                for row in phase_answers.iter_answers(db, phase.id):
                    given.setdefault(row.post, []).append(row.answers)
                for answers in given.values():
                    others = [it for it in answers if it != max(answers, key=answers.count)]
                    assert len(others) <= 1


def test_the_demo_has_days_of_agreement_comments_flags_a_channel_and_an_experts_verdicts(fresh):
    with open_store(fresh) as store, store.read() as db:
        for name in demo_projects.PLANS:
            board = monitoring.load_dashboard(db, projects.get(db, name))
            days = [{point["at"][:10] for point in it.content["series"]} for it in board.snapshots.values()]
            assert all(len(it) >= 2 for it in days), "a chart of one dot"
            assert any(it.first.kind == "question" and it.answers for it in messages.threads(db, name))
        by_experts = select(func.count()).where(
            tables.verdicts.c.basis == "expert", tables.verdicts.c.project == "mill-valley"
        )
        assert db.scalar(by_experts) >= 4
        assert db.scalar(select(func.count()).where(tables.annotations.c.comment.is_not(None))) >= 10
        assert db.scalar(select(func.count()).where(tables.annotations.c.flags.like("%unsure%"))) >= 3


def test_the_demo_has_a_detector_that_learnt_from_its_own_verdicts(fresh):
    with open_store(fresh) as store, store.read() as db:
        (entry,) = [it for it in detectors.list_detectors(db) if it.name == demo.DETECTOR_NAME]
        job = jobs.latest(db, kind=TRAIN, project=demo.DETECTOR_PROJECT)[0]
    assert (job.state, entry.state, entry.is_default) == ("done", "active", False)
    assert set(entry.questions) == {"sexist", "category", "vector"}
    assert job.result["posts"] + job.result["measured_on"] >= 40
