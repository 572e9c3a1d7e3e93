"""Codes become the draft of a scheme that the scheme's own checker accepts; counts about people give nobody away."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime

import pytest
from typer.testing import CliRunner

from davy import schemes
from davy.annotation.care import demographics
from davy.annotation.care.store import responses
from davy.annotation.project.project import Member, Project
from davy.annotation.project.store import members, projects
from davy.annotation.settling import open_coding
from davy.annotation.settling.store import codes
from davy.annotation.settling.store.codes import Code
from davy.core import UserError
from davy.people.store import users
from davy.schemes.store import schemes as schemes_store
from davy.shell.app import app

AT = datetime(2026, 3, 2, tzinfo=UTC)
PROJECT = Project("9-pilot", "Pilot", "grumble", 1, {}, "open", AT, "u")


def code(name: str, parent: str | None = None, posts: int = 0, description: str = "") -> Code:
    return Code(name, "9-pilot", name, description, parent, AT, "u", posts)


FOUND = [
    code("Food: soup | stew", posts=3, description="Anything about meals.\nSecond line: 'quoted' # not a comment"),
    code("Text", posts=9),
    code("Weather & > wind"),
    code("Salz", "Food: soup | stew", posts=2),
    code("Grütze", "Food: soup | stew", posts=5),
    code("theme", "Grütze"),
    code("日本", "Grütze"),
    code("123", "日本"),
]


def test_codes_become_a_scheme_that_scheme_check_accepts(tmp_path):
    scheme = open_coding.draft_scheme(PROJECT, FOUND)
    path = tmp_path / "draft.yaml"
    path.write_text(schemes.to_yaml(scheme), encoding="utf-8")
    assert schemes.check(path) == []
    assert schemes.read(path) == scheme
    result = CliRunner().invoke(app, ["scheme", "check", str(path)])
    assert result.exit_code == 0, result.output
    assert [(it.name, it.under) for it in scheme.questions] == [
        ("theme", None),
        ("food-soup-stew", ("theme", ("Food: soup, stew",))),
        ("gruetze", ("food-soup-stew", ("Grütze",))),
        ("kind", ("gruetze", ("日本",))),
    ]
    assert scheme.questions[0].label_names == ("Text", "Food: soup, stew", "Weather &, wind")
    assert "Anything about meals" in str(scheme.questions[0].labels[1].definition)


def test_without_codes_there_is_nothing_to_draft():
    with pytest.raises(UserError, match="no codes yet"):
        open_coding.draft_scheme(PROJECT, [])


def test_a_code_whose_parent_is_gone_stands_at_the_top():
    assert [(it.code.name, it.depth) for it in open_coding.tree([code("Leaf", "gone")])] == [("Leaf", 0)]


def test_a_team_may_begin_from_the_labels_of_a_scheme(store):
    edos = schemes.load("edos")
    with store.write() as db:
        schemes_store.save(db, edos, schemes.to_yaml(edos), by="shell")
        project = projects.create(
            db, id="pilot", title="Pilot", scheme="edos", scheme_version=1, settings={}, by="shell"
        )
        assert open_coding.begin_from(db, project, edos, by="shell") == 2 + 4 + 11
        assert open_coding.begin_from(db, project, edos, by="shell") == 0
        found = codes.list_codes(db, "pilot")
    depth = {it.code.name: it.depth for it in open_coding.tree(found)}
    assert (depth["sexist"], depth["derogation"], depth["descriptive attacks"]) == (0, 1, 2)
    assert len(open_coding.draft_scheme(project, found).questions) == 1 + 1 + 4


def test_no_small_count_is_shown_and_none_follows_from_the_total():
    chance = random.Random(7)
    for _ in range(500):
        check_counts(chance)


def check_counts(chance: random.Random) -> None:
    people = chance.randrange(0, 25)
    answers = [chance.choice("aabbbbccde") for _ in range(chance.randrange(0, people + 1))]
    shown = demographics.suppress_small_counts(answers, people)
    true = Counter(answers)
    numbers = [it.n for it in shown if it.n != demographics.FEWER]
    assert all(isinstance(n, int) and n >= demographics.SMALLEST for n in numbers)
    for it in shown:
        assert it.answer is None or true[it.answer] == it.n
    if demographics.FEWER in [it.n for it in shown]:
        assert people < demographics.SMALLEST
        assert len(shown) == 1
    else:
        assert sum(numbers) == people  # whoever subtracts from the total finds only what is printed


def test_one_rare_answer_takes_the_next_rarest_with_it():
    shown = demographics.suppress_small_counts(["woman"] * 5 + ["man"] * 3 + ["agender"], 9)
    assert [(it.answer, it.n) for it in shown] == [("woman", 5), (None, 4)]


def test_spellings_are_counted_together_and_ages_by_ten_years():
    shown = demographics.suppress_small_counts(["Woman", "woman ", "WOMAN", "34", "38", "31", "19", "18", "20"], 9)
    assert [(it.answer, it.n) for it in shown] == [("30–39", 3), ("WOMAN", 3), (None, 3)]


def test_the_statement_counts_those_who_labelled_and_nobody_else(store):
    grumble = schemes.load("edos")
    with store.write() as db:
        schemes_store.save(db, grumble, schemes.to_yaml(grumble), by="shell")
        project = projects.create(
            db, id="pilot", title="Pilot", scheme="edos", scheme_version=1, settings={}, by="shell"
        )
        for number in range(6):
            user = users.add(db, login=f"u{number}", name="U", role="annotator", by="shell").id
            member: Member = members.add(db, "pilot", user, ["manager" if number == 5 else "annotator"], by="shell")
            said = {"gender": "woman" if number < 4 else "man", "age": "", "secret": "x"}
            responses.put(db, "pilot", member.user, "about me", demographics.clean(said))
        found = demographics.statement_counts(db, project)
        assert [(it.question, [(count.answer, count.n) for count in it.counts]) for it in found] == [
            ("gender", [(None, 5)])
        ]
        members.leave(db, "pilot", member.user, by="shell")
        extra = users.add(db, login="u9", name="U", role="annotator", by="shell").id
        members.add(db, "pilot", extra, ["annotator"], by="shell")
        found = demographics.statement_counts(db, project)
        # Four women are left out, too: two others would follow from six people less four.
        assert [(it.question, [(count.answer, count.n) for count in it.counts]) for it in found] == [
            ("gender", [(None, 6)])
        ]
