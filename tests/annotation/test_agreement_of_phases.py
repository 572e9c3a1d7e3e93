"""How far people agree in a phase: from the store to the same figures as other libraries give, and the gate."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import krippendorff
import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

from davy import schemes as shipped
from davy.annotation.labelling.store import annotations
from davy.annotation.project.store import members, phases, projects
from davy.annotation.settling import agreement
from davy.core import Annotation, Label, Post, Question, Scheme, UserError
from davy.people.store import users
from davy.schemes.reader import text_of
from davy.schemes.store import schemes
from davy.store import columns
from post_rows import add_post

GMHP = shipped.load("gmhp7k")
SAID = {0: {"hate": ("not hateful",)}, 1: {"hate": ("hateful",), "misogynistic": ("not misogynistic",)}}
SAID[2] = {"hate": ("hateful",), "misogynistic": ("misogynistic",)}


@pytest.fixture
def six(store):
    """A project with a phase that six people answered, all but one post of one person, who refused it."""
    rng = np.random.default_rng(5)
    with store.write() as db:
        schemes.save(db, GMHP, text_of("gmhp7k").decode(), by="shell")
        project = projects.create(
            db, id="pilot", title="Pilot", scheme="gmhp7k", scheme_version=1, settings={}, by="shell"
        )
        phase = phases.add(
            db, "pilot", name="2a", kind="calibration", answers=None, in_corpus=False, settings={}, by="shell"
        )
        people = [users.add(db, login=f"p{i}", name=f"P{i}", role="annotator", by="shell") for i in range(6)]
        for person in people:
            members.add(db, "pilot", person.id, ["annotator"], by="shell")
        codes = np.array(
            [[truth if rng.random() < 0.85 else rng.integers(3) for _ in people] for truth in [0, 1, 2] * 15]
        )
        for number in range(len(codes)):
            add_post(db, Post(f"post{number}", "a grumblefop"), project="pilot")
        for number, row in enumerate(codes):
            for person, code in zip(people, row, strict=True):
                refused = (number, person) == (44, people[0])
                give(db, phase, f"post{number}", person.id, {} if refused else SAID[code], refused=refused)
        names = [members.get(db, "pilot", person.id).pseudonym for person in people]
    return project, phase, people, names, codes


def give(db, phase, post, person, answers, *, refused=False, replaces=None):
    """Add an annotation as the labelling page does."""
    id = columns.new_id()
    flags = ("refused",) if refused else ()
    at = datetime(2026, 11, 1, tzinfo=UTC) + timedelta(seconds=1)
    given = Annotation(
        id, post, person, "gmhp7k", 1, 1, answers, at, 20.0, flags, None, replaces, phase.project, phase.id
    )
    annotations.add(db, given, GMHP)
    return id


def test_a_phase_is_measured_as_other_libraries_measure_it(store, six):
    project, phase, _, names, codes = six
    with store.read() as db:
        hate, misogynistic = agreement.studies_of(db, project, phase)
    assert (hate.question, misogynistic.question) == ("hate", "misogynistic")
    assert hate.group == "2a"
    assert set(hate.ratings.annotators) == set(names)
    for study, said in ((hate, codes >= 1), (misogynistic, codes == 2)):
        # Others say how κ is where nothing is missing, and Krippendorff's α where something is.
        matrix = np.where(said, 1.0, 0.0)
        matrix[44, 0] = np.nan
        order = [names.index(name) for name in study.ratings.annotators]
        assert study["alpha"].value == pytest.approx(
            krippendorff.alpha(matrix.T, level_of_measurement="nominal"), abs=1e-9
        )
        complete = study.ratings.matrix()[[study.ratings.items.index(f"post{n}") for n in range(44)]]
        assert (complete == said[:44][:, order]).all()
        pair = study.pairs.pairs[study.ratings.annotators[1], study.ratings.annotators[2]]
        both = (said[:, order[1]], said[:, order[2]])
        if 0 not in order[1:3]:
            assert pair.value == pytest.approx(cohen_kappa_score(*both), abs=1e-9)


def test_leaving_one_out_is_what_the_others_give(store, six):
    project, phase, _, names, codes = six
    with store.read() as db:
        study = agreement.studies_of(db, project, phase)[0]
    refuser = names[0]
    without = next(panel for panel in study.one_out if panel.without == (refuser,))
    rest = (codes[:, 1:] >= 1).astype(int)
    assert without["fleiss"].value == pytest.approx(fleiss_kappa(aggregate_raters(rest)[0]), abs=1e-9)
    assert without["fleiss"].low < without["fleiss"].value < without["fleiss"].high
    assert len(study.one_out) == 6


def test_a_second_thought_counts_and_the_first_does_not(store, six):
    project, phase, people, *_ = six
    with store.write() as db:
        before = agreement.studies_of(db, project, phase)[0]
        mine = next(a for a in annotations.of_annotator(db, people[3].id, limit=100) if a.post == "post3")
        other = SAID[0] if mine.answers["hate"] == ("hateful",) else SAID[1]
        give(db, phase, "post3", people[3].id, other, replaces=mine.id)
        after = agreement.studies_of(db, project, phase)[0]
    assert len(after.ratings) == len(before.ratings)
    assert after["percent"].value != before["percent"].value


def test_a_sample_of_a_long_phase_has_whole_items(store, six):
    from sqlalchemy import update

    from davy.annotation.project.store.tables import items

    project, phase, *_ = six
    with store.write() as db:
        add_items(db, phase, 45)
        db.execute(update(items).where(items.c.post != "post8").values(given=6))
        study = agreement.studies_of(db, project, phase, every=4)[0]
        assert agreement.stride(db, phase) == 1
    assert set(study.ratings.items) == {f"post{n}" for n in range(0, 45, 4)} - {"post8"}


def add_items(db, phase, count):
    from sqlalchemy import insert

    from davy.annotation.project.store.tables import items

    rows = [
        {"id": f"i{n}", "phase": phase.id, "post": f"post{n}", "position": n, "given": 0, "room": 1, "state": "open"}
        for n in range(count)
    ]
    db.execute(insert(items), rows)


def test_an_unasked_yes_or_no_question_says_no_and_others_say_nothing():
    assert agreement.answer_labels(GMHP, SAID[0]) == {"hate": "not hateful", "misogynistic": "not misogynistic"}
    assert agreement.answer_labels(GMHP, SAID[2]) == {"hate": "hateful", "misogynistic": "misogynistic"}
    assert agreement.answer_labels(GMHP, {"hate": ("hateful",)}) == {"hate": "hateful"}
    assert agreement.answer_labels(GMHP, {}) == {}
    edos = shipped.load("edos")
    assert set(agreement.answer_labels(edos, {"sexist": ("not sexist",)})) == {"sexist"}
    yes_no = (Label("yes"), Label("no"))
    many = Scheme("m", 1, (Question("which", (Label("b"), Label("a")), "many"), Question("sure", yes_no)))
    assert agreement.answer_labels(many, {"which": (), "sure": ("no",)}) == {"which": "none", "sure": "no"}
    assert agreement.answer_labels(many, {"which": ("b", "a")}) == {"which": "a|b"}


def test_a_gate_opens_at_its_mark_and_says_what_it_saw(store, six):
    project, phase, *_ = six
    with store.read() as db:
        found = agreement.studies_of(db, project, phase)
    value = found[0]["fleiss"].value
    exact = agreement.gate(found, {"gate": {"coefficient": "Fleiss' κ", "at_least": value, "questions": ["hate"]}})
    assert exact.passed
    assert exact.sentence.startswith("The gate is open: Fleiss' κ must be at least")
    shut = agreement.gate(found, {"gate": {"coefficient": "fleiss kappa", "at_least": value + 0.001}})
    assert not shut.passed
    assert [line.passed for line in shut.lines] == [False, found[1]["fleiss"].value >= value + 0.001]
    assert f"hate {value:.3f}" in shut.sentence
    assert agreement.gate(found, {}).passed
    assert not agreement.gate([], {"gate": {"at_least": 0.1}}).passed
    unknown = agreement.gate(found, {"gate": {"at_least": -1, "questions": ["hate", "humour"]}})
    assert not unknown.passed
    assert "humour has no answers" in unknown.sentence


@pytest.mark.parametrize(
    ("gate", "words"),
    [
        ({"coefficient": "fleis kappa", "at_least": 0.6}, "no coefficient 'fleis kappa'"),
        ({"at_least": "high"}, "at_least is a number from -1 to 1"),
        ({}, None),
        ({"at_least": 60}, "got '60'"),
        ({"coefficient": "alpha"}, "got 'None'"),
    ],
)
def test_a_gate_that_makes_no_sense_is_refused(gate, words):
    if words is None:
        assert agreement.gate([], {"gate": gate}).passed
        return
    with pytest.raises(UserError, match="gate") as error:
        agreement.gate([], {"gate": gate})
    assert words in str(error.value)
