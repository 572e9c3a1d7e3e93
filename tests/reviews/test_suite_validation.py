"""A suite validated in the workbench: any disagreement or flag goes to an expert, reworded cases are issued again."""

import polars as pl
import pytest

from davy.annotation.labelling import labelling
from davy.annotation.labelling.store import items
from davy.annotation.project import project_creation, project_file
from davy.annotation.project.store import members, phases, posts
from davy.annotation.settling import expert_cases
from davy.annotation.settling.store import cases
from davy.core import UserError
from davy.measure.intervals import Bootstrap
from davy.people.store import users
from davy.reviews import suite_validation
from davy.reviews.suite_validation import review_answers, text_hash
from davy.store.columns import new_id
from davy.testing.suites import load

SUITE = """
name: bakers
version: 1
lang: en
scheme: hate
question: hate
lexicons:
  group: [bakers, cooks]
functionalities:
  - name: plain
    label: hateful
    templates:
      - id: one
        text: "{Group} are the worst"
        polarity: "{Group} are FINE"
"""


@pytest.fixture
def suite_file(tmp_path):
    path = tmp_path / "bakers.yaml"
    path.write_text(SUITE, encoding="utf-8")
    return path


def make(store, tmp_path, suite):
    plan_path, posts_path = suite_validation.write_validation_project(suite, "hate", tmp_path / "project")
    plan = project_file.parse_plan(plan_path.read_bytes(), "project.yaml")
    with store.write() as db:
        people = {
            name: users.add(db, login=name, name=name, role="annotator", by="shell").id
            for name in ("ada", "bob", "cat", "xena")
        }
        frame = pl.read_csv(posts_path)
        project = project_creation.create_project(db, plan, by="shell", posts_in=[frame]).project
        for name, user in people.items():
            members.add(db, project.id, user, ["expert" if name == "xena" else "annotator"], by="shell")
            members.consent(db, project.id, user)
        (phase,) = phases.of_project(db, project.id)
        phases.open_phase(db, phase.id, by="shell")
    return project, people, phase


def label_all(store, project, people, says):
    for name in ("ada", "bob", "cat"):
        while True:
            with store.write() as db:
                sheet = labelling.next_sheet(db, project, members.get(db, project.id, people[name]))
                if sheet is None:
                    break
                label, flags = says(name, sheet.post.text)
                labelling.save(db, sheet, {"hate": (label,)}, annotation_id=new_id(), flags=flags)


def honest(name, text):
    del name
    return ("not hateful" if "FINE" in text else "hateful"), ()


def test_disagreements_and_flags_go_to_an_expert_and_reworded_cases_are_issued_again(store, tmp_path, suite_file):
    suite = load(suite_file)
    project, people, phase = make(store, tmp_path, suite)

    def says(name, text):
        if name == "bob" and text == "Bakers are the worst":
            return "not hateful", ()  # one against two: a majority would settle it, the paper's rule does not
        return honest(name, text)[0], (("unrealistic",) if name == "cat" and text == "Cooks are FINE" else ())

    label_all(store, project, people, says)
    with store.read() as db:
        waiting = {posts.get(db, c.post).text: c for c in cases.list_waiting(db, project.id, people["xena"], limit=9)}
    assert set(waiting) == {"Bakers are the worst", "Cooks are FINE"}
    with store.write() as db:
        expert = members.get(db, project.id, people["xena"])
        expert_cases.drop_post(db, project, waiting["Bakers are the worst"].id, expert, "nobody says so")

    answers, decided = suite_validation.read_project(store, project.id, suite)
    review = review_answers(suite, answers, decided, bootstrap=Bootstrap(50, 0))
    assert review.answered == 4
    assert {row["text"]: row["fault"] for row in review.rows} == {"Bakers are the worst": "case", "Cooks are FINE": ""}
    assert review.replace == {"one": [next(c.id for c in suite.cases if c.text == "Bakers are the worst")]}

    suite_file.write_text(SUITE.replace("are the worst", "must go"), encoding="utf-8")
    reworded = load(suite_file)
    assert suite_validation.issue_again(store, project.id, reworded, by="shell") == 2
    assert suite_validation.issue_again(store, project.id, reworded, by="shell") == 0, "once is enough"
    label_all(store, project, people, honest)
    answers, decided = suite_validation.read_project(store, project.id, reworded)
    again = review_answers(reworded, answers, decided, bootstrap=Bootstrap(50, 0))
    assert (again.stale, again.answered) == (6, 4), "answers to the old sentences don't count"
    assert [row["text"] for row in again.rows] == ["Cooks are FINE"]
    with store.read() as db:
        assert len(list(items.iter_items(db, phase.id))) == 6


def test_a_posts_id_changes_with_its_text_and_says_nothing_about_the_label(suite_file):
    suite = load(suite_file)
    frame = suite_validation.suite_posts(suite)
    assert frame["id"].to_list() == [f"{case.id}.{text_hash(case)}" for case in suite.cases]
    assert not {"label", "expected", "hate.gold"} & set(frame.columns)


def test_a_project_without_answers_says_so(store, tmp_path, suite_file):
    suite = load(suite_file)
    project, _, _ = make(store, tmp_path, suite)
    with pytest.raises(UserError, match="holds no answers"):
        suite_validation.read_project(store, project.id, suite)
