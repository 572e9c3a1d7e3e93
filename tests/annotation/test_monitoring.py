"""Snapshots and progress on both databases: what is kept, when it is due, and what a pace says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from davy.annotation.exchange.exchange import ExportRequest, export_project
from davy.annotation.labelling import screening
from davy.annotation.labelling.store.tallies import Tally
from davy.annotation.project import monitoring
from davy.annotation.project.project import Phase
from davy.annotation.project.store import phases
from davy.annotation.settling import agreement
from davy.annotation.settling.store import agreements, phase_answers
from davy.annotation.settling.store.agreements import AgreementSnapshot
from davy.store import columns
from simulated_people import SAID, gmhp7k, label

AT = datetime(2026, 11, 15, 12, tzinfo=UTC)


@pytest.fixture
def begun(store):
    """The gmhp7k project with sixty answers of three people to the first calibration set, some posts refused."""
    project, every, people = gmhp7k(store, posts=80, people=3, each=22)
    people[2].refuses = 0.2
    with store.write() as db:
        phase = phases.open_phase(db, every[1].id, by="shell")
    label(store, project, phase, people, seed=1, most=60)
    return project, phase, people


def test_a_snapshot_says_what_the_phase_says_and_the_next_one_goes_on_from_it(store, begun):
    project, phase, people = begun
    first = monitoring.take_snapshot(store, phase.id)
    with store.read() as db:
        studies = agreement.studies_of(db, project, phase)
        board = monitoring.load_dashboard(db, project)
    assert first.answers == 60
    for ours, study in zip(monitoring.question_agreements(first), studies, strict=True):
        assert [metric.value for metric in ours.metrics] == [metric.value for metric in study.metrics]
        assert set(ours.one_out) == {person.pseudonym for person in people}
        assert sum(ours.labels.values()) == ours.answers == 60
    progress = board.progress[phase.id]
    assert (progress.given, progress.wanted, progress.people) == (60, 22 * 3, 3)
    assert progress.refused == sum(tally.refused for tally in board.tallies) > 0
    label(store, project, phase, people, seed=2)
    second = monitoring.take_snapshot(store, phase.id)
    assert [point["answers"] for point in second.content["series"]] == [60, second.answers]
    with store.read() as db:
        assert agreements.newest(db, phase.id).id == second.id
        assert agreements.count(db, phase.id) == 2
        assert monitoring.fresh_snapshot(store, phase).id == second.id
        assert monitoring.gate_of(db, project, phase).lines[0].metric.low is not None


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)  # PostgreSQL's plan of a small table says nothing
def test_a_sample_of_a_long_phase_is_read_post_by_post_and_not_by_reading_the_phase(store, begun):
    from sqlalchemy import event

    ran = {}
    with store.read() as db:
        event.listen(store.engine, "before_cursor_execute", lambda *it: ran.setdefault(it[2], it[3]))
        assert list(phase_answers.sample_answers(db, begun[1].id, 3))
        plans = [
            [row[3] for row in db.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)]
            for statement, parameters in list(ran.items())
        ]
    assert plans[0] == ["SEARCH items USING INDEX ix_items_place (phase=?)"]
    assert plans[1][0] == "SEARCH annotations USING INDEX ix_annotations_post (post=?)"


def test_a_gate_without_a_snapshot_is_measured_without_intervals(store, begun):
    project, phase, _ = begun
    with store.read() as db:
        quick = monitoring.gate_of(db, project, phase)
        full = agreement.gate(agreement.studies_of(db, project, phase), phase.settings)
    assert (quick.passed, quick.sentence) == (full.passed, full.sentence)
    assert quick.lines[0].metric.low is None


def test_a_second_thought_makes_a_snapshot_stale_although_the_count_is_the_same(store, begun):
    project, phase, people = begun
    from davy.annotation.labelling import labelling
    from davy.annotation.project.store import members

    made = monitoring.take_snapshot(store, phase.id)
    with store.write() as db:
        assert not monitoring.is_snapshot_stale(made, phase_answers.tallies_of(db, [phase.id]))
        sheet = labelling.undo(db, project, members.get(db, project.id, people[0].user))
        other = SAID[0] if sheet.before.answers != SAID[0] else SAID[2]
        labelling.save(db, sheet, other, annotation_id=columns.new_id())
        tallies = phase_answers.tallies_of(db, [phase.id])
    assert sum(tally.given for tally in tallies) == made.answers
    assert monitoring.is_snapshot_stale(made, tallies)
    assert monitoring.fresh_snapshot(store, phase).id != made.id


def test_the_line_over_time_keeps_its_ends_when_it_is_thinned(store, begun):
    project, phase, _ = begun
    points = [{"at": (AT + timedelta(minutes=n)).isoformat(), "answers": n, "questions": {}} for n in range(121)]
    with store.write() as db:
        agreements.add(db, phase.id, answers=120, content={"series": points, "questions": [], "states": {}, "every": 1})
    kept = [point["answers"] for point in monitoring.take_snapshot(store, phase.id).content["series"]]
    assert len(kept) <= monitoring.MOST_POINTS
    assert (kept[0], kept[-2], kept[-1]) == (0, 120, 60)
    assert kept[:-1] == sorted(kept[:-1])
    assert project.id == phase.project


def make_phase(**changes):
    """A phase of 100 posts with three answers each, opened three days ago."""
    values = {"id": "p", "project": "x", "name": "3", "kind": "production", "position": 1, "answers": 3}
    values |= {"in_corpus": True, "settings": {}, "state": "open", "size": 100, "opened_at": AT - timedelta(days=3)}
    return Phase(**{**values, **changes})


def at_work(*series):
    """A snapshot whose series has these (hours ago, answers)."""
    points = [{"at": (AT - timedelta(hours=h)).isoformat(), "answers": n, "questions": {}} for h, n in series]
    return AgreementSnapshot("s", "p", AT, 0, {"series": points, "states": {"settled": 7}})


@pytest.mark.parametrize(
    ("given", "series", "changes", "days"),
    [
        (90, (), {}, 7.0),  # 30 a day since it was opened, 210 left
        (90, ((30, 30), (20, 60)), {}, 210 / (60 / 1.25)),  # by the last day that is known
        (300, (), {}, None),  # nothing is left
        (90, (), {"state": "closed"}, None),
        (0, (), {}, None),
        (90, (), {"opened_at": AT - timedelta(minutes=20)}, None),  # too soon to say
        (90, ((30, 90),), {}, None),  # nobody worked in the last day
        (
            60,
            (),
            {"answers": None},
            420 / 20 + 1 - 1,
        ),  # everyone of a roster of five: 500 answers, less 60 and the refused
    ],
)
def test_an_expected_end_follows_the_present_pace(given, series, changes, days):
    refused = 20 if changes.get("answers", 3) is None else 0
    tallies = [Tally("p", "ann", given=given, refused=refused, last_at=AT), Tally("other", "ann", given=5)]
    found = monitoring.progress_of(make_phase(**changes), tallies, 5, at_work(*series) if series else None, at=AT)
    assert found.given == given
    if days is None:
        assert found.ends is None
    else:
        assert (found.ends - AT) / timedelta(days=1) == pytest.approx(days)


def test_a_phase_is_due_after_enough_answers_or_enough_minutes():
    made = AgreementSnapshot("s", "p", AT, 100, {})

    def due(answers, minutes):
        given = [Tally("p", "ann", given=answers, last_at=AT + timedelta(minutes=minutes))]
        return monitoring.is_snapshot_due(made, given, at=AT + timedelta(minutes=minutes))

    assert not due(100, 0)
    assert not due(349, 5)
    assert due(350, 5)
    assert due(101, 10)
    assert not monitoring.is_snapshot_due(None, [])
    assert monitoring.is_snapshot_due(None, [Tally("p", "ann", given=1)])


def test_how_divided_a_post_is_counts_pairs_over_questions():
    said = {"hate": {"a": "yes", "b": "yes", "c": "no"}, "kind": {"a": "x", "b": "y"}, "alone": {"a": "z"}}
    assert agreement._disagreement(said) == pytest.approx((2 / 3 + 1) / 2)
    assert agreement._disagreement({"hate": {"a": "yes"}}) == 0
    assert agreement._disagreement({}) == 0


def test_marks_of_many_people_add_up():
    from davy.core import Metric
    from davy.measure.intervals import proportion

    def marks(right, wrong):
        each = screening.ClassScore("yes", proportion("recall", right, right + wrong), {"yes": right, "no": wrong})
        return (screening.ScreeningScores("hate", Metric("accuracy", 0.5, 4, note="-"), 0.8, (each,)),)

    both = screening.combine_scores([marks(3, 1), marks(1, 3)])[0]
    assert (both.accuracy.value, both.accuracy.n, both.classes[0].counts) == (0.5, 8, {"yes": 4, "no": 4})
    assert both.reached
    assert not marks(1, 3)[0].reached


def test_the_data_statement_has_the_agreement_that_was_measured(store, tmp_path):
    project, (_, first, *_), team = gmhp7k(store, posts=206, people=3, each=10)
    with store.write() as db:
        phases.open_phase(db, first.id, by="shell")
    label(store, project, first, team, seed=1)
    wish = ExportRequest(project=project.id, phases=[first.name])
    export_project(store, wish, tmp_path / "before.csv", statement=tmp_path / "before.md")
    monitoring.take_snapshot(store, first.id)
    export_project(store, wish, tmp_path / "after.csv", statement=tmp_path / "after.md")
    assert "Fleiss' κ" not in (tmp_path / "before.md").read_text()
    assert "Fleiss' κ: hate in phase 2a 0." in (tmp_path / "after.md").read_text()
