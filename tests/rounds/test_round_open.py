"""`davy round open`: a round against a detector that the server knows, or one that it gets to know."""

import json

import pytest

from davy.annotation.project import project_creation, project_file
from davy.annotation.project.store import members
from davy.detectors import store as detectors
from davy.people.store import users
from davy.rounds.store import rounds
from davy.shell.app import run
from davy.store import open_store


@pytest.fixture
def database(tmp_path):
    url = f"sqlite:///{tmp_path / 'davy.sqlite'}"
    with open_store(url, create=True) as store, store.write() as db:
        plan = project_file.parse_plan(b"name: duel\npreset: rounds\n", "rounds.yaml")
        project_creation.create_project(db, plan, by="shell")
        for name in ("ada", "bo", "cy"):
            user = users.add(db, login=name, name=name, role="annotator", by="shell")
            members.add(db, "duel", user.id, ["annotator"], by="shell")
    return url


def test_a_round_opens_against_an_embedded_detector_pinned_to_its_version(database, capsys):
    words = ["--target", "embedded-en", "--lang", "en", "--goal", "50", "--json", "--database", database]
    assert run(["round", "open", "duel", *words]) == 0
    told = json.loads(capsys.readouterr().out)
    with open_store(database) as store, store.read() as db:
        made, (known,) = rounds.by_number(db, "duel", 1), detectors.list_detectors(db)
    assert (made.targets, told["targets"]) == ((known.full_name,), [known.full_name])
    assert (known.state, made.goal_all, made.rules.languages) == ("shadow", 50, ("en",))
    assert run(["round", "open", "duel", "--target", known.full_name, "--database", database]) == 2
    assert "Close it first" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--target", "nosuchthing"], "nosuchthing"),
        (["--target", "embedded-en", "--longest", "2"], "characters"),
        (["--target", "embedded-en", "--goal", "0"], "goal of 0"),
    ],
)
def test_what_can_not_be_opened_is_one_line(database, capsys, words, sentence):
    assert run(["round", "open", "duel", *words, "--database", database]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert "Traceback" not in said
    with open_store(database) as store, store.read() as db:
        assert rounds.of_project(db, "duel") == []
