"""The gmhp7k preset from first phase to last, by six simulated people: Table 4, and the same from the export."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

from davy.annotation.exchange.exchange import ExportRequest, export_project
from davy.annotation.labelling.store import items
from davy.annotation.project import monitoring, phase_gates
from davy.annotation.project.store import phases, posts
from davy.annotation.settling import adjudication, agreement
from davy.shell.app import run
from davy.store import open_store
from simulated_people import SAID, gmhp7k, label, truth_of

QUESTIONS = ("hate", "misogynistic")


@pytest.fixture(scope="module")
def finished(tmp_path_factory, sqlite_template):
    """The project after phase 3: the store, the project, who they are, and what each said in each phase."""
    path = tmp_path_factory.mktemp("gmhp7k") / "davy.sqlite"
    shutil.copy(sqlite_template, path)
    with open_store(f"sqlite:///{path}") as store:
        project, every, team = gmhp7k(store, posts=176, right=0.93)
        said, gates = {}, {}
        for number, phase in enumerate(every):
            with store.write() as db:
                phase_gates.open_phase(db, project, phase, by="shell", anyway="the show runs every set")
                phase = phases.get(db, phase.id)
                if phase.kind == "discussion":
                    for item in items.of_phase(db, phase.id, limit=100):
                        shared = SAID[truth_of(posts.get(db, item.post).id)]
                        adjudication.save_shared(db, project, phase, item, shared, "We agreed at once.", by="shell")
            if phase.kind != "discussion":
                said[phase.name] = label(store, project, phase, team, seed=number)
                monitoring.take_snapshot(store, phase.id)
            with store.write() as db:
                if phase.kind == "calibration":
                    gates[phase.name] = monitoring.gate_of(db, project, phase)
                phase_gates.close_phase(db, project, phase, by="shell")
        yield store, project, team, said, gates


def matrix(said, people, question):
    """What people said as a matrix of 0 and 1, posts by people."""
    posts = sorted({post for post, _ in said})
    least = 1 if question == "hate" else 2
    return np.array([[int(said[post, person] >= least) for person in people] for post in posts])


def test_the_phases_have_the_sizes_of_the_paper_and_everyone_answered_each_calibration_set(finished):
    _, _, team, said, _ = finished
    assert [len(answers) for answers in said.values()] == [46 * 6, 43 * 6, 46 * 6, 30]
    assert len({person for _, person in said["2a"]}) == len(team) == 6


def test_the_watching_page_is_table_4_with_the_figures_that_statsmodels_gives(finished):
    store, project, team, said, _ = finished
    with store.read() as db:
        table = monitoring.leave_one_out_table(monitoring.load_dashboard(db, project), "fleiss")
    people = sorted(person.pseudonym for person in team)
    assert table.columns == (("2a", QUESTIONS), ("2b", QUESTIONS), ("2c", QUESTIONS))
    assert [name for name, _ in table.rows] == [None, *people]
    for name, cells in table.rows:
        rest = [person for person in people if person != name]
        wanted = [
            fleiss_kappa(aggregate_raters(matrix(said[phase], rest, question))[0])
            for phase, questions in table.columns
            for question in questions
        ]
        assert [metric.value for metric in cells] == pytest.approx(wanted, abs=1e-9)
        assert all(metric.low <= metric.value <= metric.high for metric in cells)


def test_leaving_out_the_one_who_reads_things_oddly_raises_agreement_most(finished):
    store, project, team, _, _ = finished
    with store.read() as db:
        table = monitoring.leave_one_out_table(monitoring.load_dashboard(db, project), "fleiss")
    odd = team[1].pseudonym
    means = {name: np.mean([metric.value for metric in cells]) for name, cells in table.rows}
    assert max(means, key=means.get) == odd
    assert means[odd] > means[None]


def test_each_pair_has_the_kappa_that_sklearn_gives(finished):
    store, project, team, said, _ = finished
    with store.read() as db:
        board = monitoring.load_dashboard(db, project)
    phase = next(it for it in board.phases if it.name == "2b")
    for measured in board.measured[phase.id]:
        assert len(measured.pairs) == 15
        for pair, metric in measured.pairs.items():
            codes = matrix(said["2b"], pair, measured.question)
            assert metric.value == pytest.approx(cohen_kappa_score(codes[:, 0], codes[:, 1]), abs=1e-9)
        one = team[0].pseudonym
        mean = np.mean([metric.value for pair, metric in measured.pairs.items() if one in pair])
        assert measured.people[one] == (pytest.approx(mean), 43)


def test_the_gate_of_each_set_follows_its_kappa(finished):
    said, gates = finished[3:]
    assert list(gates) == ["2a", "2b", "2c"]
    for name, gate in gates.items():
        people = sorted({person for _, person in said[name]})
        values = [fleiss_kappa(aggregate_raters(matrix(said[name], people, question))[0]) for question in QUESTIONS]
        assert gate.passed == all(value >= 0.6 for value in values)
        assert [line.metric.value for line in gate.lines] == pytest.approx(values, abs=1e-9)


def test_davy_agree_reads_the_export_to_the_same_figures(finished, tmp_path, capsys):
    store, project, _, _, _ = finished
    path = tmp_path / "gmhp7k.csv"
    export_project(store, ExportRequest(project.id, phases="2a,2b,2c"), path)
    assert run(["agree", str(path), "--scheme", "gmhp7k", "--by", "phase", "--json"]) == 0
    read = {(it["question"], it["group"]): it for it in json.loads(capsys.readouterr().out)["studies"]}
    with store.read() as db:
        board = monitoring.load_dashboard(db, project)
    compared = 0
    for phase in board.phases:
        for ours in board.measured.get(phase.id, ()) if phase.kind == "calibration" else ():
            theirs = read[ours.question, phase.name]
            assert (theirs["items"], theirs["answers"]) == (ours.items, ours.answers)
            assert figures(theirs["coefficients"]) == pytest.approx(plain(ours.metrics), abs=1e-9)
            for panel in theirs["leave_one_out"]:
                mine = plain(ours.one_out[panel["without"][0]])
                assert figures(panel["coefficients"]) == pytest.approx(mine, abs=1e-9)
            pairs = {tuple(pair["annotators"]): pair["value"] for pair in theirs["pairs"]}
            assert pairs == pytest.approx({pair: metric.value for pair, metric in ours.pairs.items()}, abs=1e-9)
            compared += 1
    assert compared == 6


def test_the_production_phase_has_one_answer_a_post_and_no_kappa(finished):
    store, project, _, _, _ = finished
    with store.read() as db:
        board = monitoring.load_dashboard(db, project)
        phase = board.phases[-1]
        found = agreement.studies_of(db, project, phase)
    assert board.progress[phase.id].filled == phase.size == 30
    assert all(study["fleiss"].value is None for study in found)
    assert {it.question for it in board.measured[phase.id]} == set(QUESTIONS)


def figures(coefficients):
    """Every value and both ends of its interval, by name."""
    return {f"{it['name']} {part}": it[part] for it in coefficients for part in ("value", "low", "high")}


def plain(metrics):
    """The same of our metrics."""
    return {f"{it.name} {part}": getattr(it, part) for it in metrics for part in ("value", "low", "high")}
