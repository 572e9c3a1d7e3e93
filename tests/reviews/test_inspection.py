"""The inspection queue: from predictions to a project, its summary, a review, and the next data version."""

from __future__ import annotations

import json

import polars as pl
import pytest

import challenge_case
from davy.annotation.labelling import labelling
from davy.annotation.project.store import members, phases, projects
from davy.challenges import run_challenge
from davy.challenges.challenge_analysis import write_challenge_queue
from davy.challenges.store import challenges
from davy.core import UserError
from davy.people.store import users
from davy.reviews.inspection import InspectedItem, MissedItem, correct_gold, summarise_inspection
from davy.reviews.inspection import summarise_items as summarise
from davy.schemes import load
from davy.shell.app import run
from davy.store import open_store
from davy.store.columns import new_id

SEXIST, NOT = "sexist", "not sexist"
GOLD = {
    "p0": (SEXIST, "animosity"),
    "p1": (SEXIST, "derogation"),
    "p2": (SEXIST, "derogation"),
    "p3": (NOT, None),
    "p4": (NOT, None),
    "p5": (SEXIST, "animosity"),
}
SAID = {"one": [NOT, NOT, SEXIST, SEXIST, NOT, NOT], "two": [NOT, NOT, SEXIST, SEXIST, SEXIST, NOT]}


@pytest.fixture
def shell(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DAVY_DATABASE", f"sqlite:///{tmp_path / 'd.sqlite'}")
    columns = {"sexist.gold": [a for a, _ in GOLD.values()], "category.gold": [b for _, b in GOLD.values()]}
    pl.DataFrame({"id": list(GOLD), "text": [f"words {i}" for i in range(6)], **columns}).write_csv("gold.csv")
    for name, labels in SAID.items():
        pl.DataFrame({"id": list(GOLD), "sexist.label": labels}).write_csv(f"{name}.csv")
    run(["database", "create"])

    def command(*words: str) -> str:
        capsys.readouterr()
        assert run(list(words)) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    return command


def readings(store, project_id: str, answers: dict[str, list[str]]) -> None:
    """Let two people read every post of a project; `answers` is post → what each of them calls it."""
    with store.write() as db:
        project = projects.get(db, project_id)
        team = []
        for number in range(2):
            user = users.add(db, login=f"r{number}", name=f"R{number}", role="annotator", by="shell")
            team.append(members.add(db, project.id, user.id, ["annotator"], by="shell"))
        for phase in phases.of_project(db, project.id):
            phases.open_phase(db, phase.id, by="shell")
        for number, member in enumerate(team):
            while (sheet := labelling.next_sheet(db, project, member)) is not None:
                error = answers[sheet.post.id][number]
                given = {"error": (error,), "grey_area": ("grey area" if sheet.post.id == "p3" else "clear",)}
                given["themes"] = ("irony",) if sheet.post.id == "p0" else ()
                labelling.save(db, sheet, given, annotation_id=new_id(), seconds=5)


def test_what_every_system_misses_becomes_a_project_whose_answers_are_summed_up(shell, capsys):
    create = ["gold.csv", "-p", "one.csv", "-p", "two.csv", "--question", "sexist", "--scheme", "edos"]
    assert run(["inspect", "create", *create, "--out", "queue"]) == 0
    assert "which makes inspection-gold-csv-sexist" in " ".join(capsys.readouterr().err.split())
    made = json.loads(shell("project", "create", "queue/project.yaml", "--json"))
    assert {it["name"]: it["posts"] for it in made["phases"]} == {
        "labelled sexist, systems say not sexist": 3,
        "labelled not sexist, systems say sexist": 1,
    }
    project = "inspection-gold-csv-sexist"
    system, annotation = "system error", "annotation error"
    answers = {"p0": [system] * 2, "p1": [annotation] * 2, "p3": [annotation] * 2, "p5": [system, annotation]}
    with open_store() as store:
        readings(store, project, answers)
        found = summarise_inspection(store, project)
    assert (found.inspected, found.undecided) == (4, 1)
    assert found.sides == {system: {"false negative": 1}, annotation: {"false negative": 1, "false positive": 1}}
    assert found.errors[annotation].value == pytest.approx(2 / 3)
    assert found.grey == {system: 0, annotation: 1}
    assert found.themes == {"system error, false negative": {"irony": 1}}
    shown = json.loads(shell("inspect", "summary", project, "--json"))
    assert shown["inspected"] == 4
    assert "Whose error is it?" in shell("inspect", "summary", project)
    shell("inspect", "review", project, "--scheme", "edos", "--out", "review")
    assert set(pl.read_csv("review/posts.csv")["id"]) == {"p1", "p3"}
    assert pl.read_csv("review/posts.csv").columns == ["id", "text"]
    assert json.loads(shell("project", "create", "review/project.yaml", "--json"))["phases"][0]["posts"] == 2


def test_the_queue_of_a_challenge_holds_what_its_best_systems_all_miss(store, tmp_path):
    challenge_case.make(store, tmp_path / "files")
    for name, wrong in (("Lamplighters", 4), ("Bakers", 7)):
        team, captain = challenge_case.add_team(store, name)
        path = challenge_case.write_csv(tmp_path / "p.csv", challenge_case.answers("test", "A", wrong))
        asked = challenge_case.request(team, captain, survey=challenge_case.SURVEY)
        run_challenge.score_submission(store, run_challenge.take_submission(store, path, asked).id)
    with store.read() as db:
        phase = challenges.get(db, "mill-valley").phases[1]
    run_challenge.rank_board(store, phase.id, "A")
    options = {"top": 10, "most": 100, "seed": 0}
    items = write_challenge_queue(store, "mill-valley", "test", "A", tmp_path / "queue", **options)
    assert {item.id for item in items} == {"test-0", "test-1", "test-2", "test-3"}
    assert "labelled yes, systems say no" in (tmp_path / "queue" / "project.yaml").read_text()
    with pytest.raises(UserError, match="ranks no system"):
        write_challenge_queue(store, "mill-valley", "test", "B", tmp_path / "b", **options)


def test_a_review_makes_the_next_version_of_gold_and_nothing_is_overwritten(shell, tmp_path, capsys):
    review = pl.DataFrame({"id": ["p1", "p3"], "sexist.gold": [NOT, SEXIST], "category.gold": [None, "animosity"]})
    review.write_csv("review.csv")
    options = ["--scheme", "edos", "--out", "gold-2.csv"]
    found = json.loads(shell("inspect", "correct", "gold.csv", "review.csv", *options, "--json"))
    assert found["before"] != found["after"]
    assert {(it["id"], it["question"], it["before"], it["after"]) for it in found["corrections"]} == {
        ("p1", "sexist", SEXIST, NOT),
        ("p1", "category", "derogation", None),
        ("p3", "sexist", NOT, SEXIST),
        ("p3", "category", None, "animosity"),
    }
    rows = {row["id"]: row for row in pl.read_csv("gold-2.csv").iter_rows(named=True)}
    assert rows["p1"]["sexist.gold"] == NOT
    assert rows["p0"]["category.gold"] == "animosity"
    assert run(["inspect", "correct", "gold.csv", "review.csv", *options]) == 2
    assert "there already" in capsys.readouterr().err


def test_a_review_that_settles_nothing_about_a_question_leaves_it():
    gold = pl.DataFrame({"id": ["a"], "sexist.gold": [SEXIST], "category.gold": ["derogation"]})
    review = pl.DataFrame({"id": ["a"], "sexist.gold": [SEXIST], "category.gold": [None]})
    assert correct_gold(gold, review, load("edos")).corrections == ()
    with pytest.raises(UserError, match="such as 'b'"):
        correct_gold(gold, review.with_columns(id=pl.lit("b")), load("edos"))


def test_the_summary_has_the_counts_that_the_paper_gives():
    """EDOS §6.2: 100 read, 76 system errors (52 false negatives, 24 false positives), 24 annotation errors (17, 7)."""
    groups = [("system error", "false negative", 52, 0), ("system error", "false positive", 24, 0),
              ("annotation error", "false negative", 17, 6), ("annotation error", "false positive", 7, 3)]  # fmt: skip
    items = [
        InspectedItem(MissedItem(f"{error}{side}{i}", "sexist", "", "", side), error, i < grey, (), {"a": error})
        for error, side, count, grey in groups
        for i in range(count)
    ]
    found = summarise(items)
    assert found.errors["system error"].value == 0.76
    assert found.sides["system error"] == {"false negative": 52, "false positive": 24}
    assert found.sides["annotation error"] == {"false negative": 17, "false positive": 7}
    assert found.grey["annotation error"] == 9
    assert found.kappa.value is None
