"""One name, one meaning: the options of all commands, as the parser has them, keep to the table."""

import json
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from davy.shell.app import run
from davy.shell.option_table import OLD_NAMES, TABLE

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))
import option_table

USES = option_table.uses()


def test_a_difference_is_found():
    a_switch = option_table.Use("score", "--seed", "", 1, "-s", "")
    assert option_table.differences({"--seed": [a_switch], "--odd": [a_switch, a_switch]}) == {
        "--seed": ["score: a switch", "score: short form -s, not none", "score: default 1, not 0"],
        "--odd": ["not in the table: score, score"],
    }


def test_a_short_form_stands_for_one_name():
    names = defaultdict(set)
    for name, uses in USES.items():
        for use in uses:
            names[use.short].add(name)
    assert {short for short, several in names.items() if short and len(several) > 1} == set()


def test_a_meaning_has_one_name():
    assert len({row.meaning for row in TABLE.values()}) == len(TABLE)
    assert set(TABLE) <= set(USES), "a row for an option that no command has"
    names = defaultdict(set)
    for name, uses in USES.items():
        for use in uses:
            names[use.help].add(name)
    assert {words: several for words, several in names.items() if len(several) > 1} == {}


@pytest.mark.parametrize(
    ("command", "old", "new"), [(command, *pair) for command, pairs in OLD_NAMES.items() for pair in pairs.items()]
)
def test_an_old_name_is_refused_and_names_the_new_one(command, old, new, capsys):
    taken = {name for names, uses in USES.items() for use in uses if use.command == command for name in use.names}
    assert old not in taken
    assert new in taken
    assert run([*command.split(), old]) == 2
    assert f"{old} of davy {command} is called {new} now." in capsys.readouterr().err


def test_a_name_that_never_was_gets_the_nearest_one_and_never_help(capsys):
    for given, told in {
        "--label": "davy train has no option --label. Did you mean --label-none?",
        "--sede": "davy train has no option --sede. Did you mean '--seed'?",
        "--qqqq": "davy train has no option --qqqq. davy train --help lists them.",
    }.items():
        assert run(["train", "posts.csv", given, "x"]) == 2
        assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    "command", [("clean", "--recipe", "edos"), ("sample", "--plan", "edos"), ("split", "--plan", "memes")], ids=" ".join
)
def test_show_prints_json_where_it_is_asked(command, capsys):
    assert run([*command, "--show"]) == 0
    assert capsys.readouterr().out.startswith("name: ")
    assert run([*command, "--show", "--json"]) == 0
    assert isinstance(json.loads(capsys.readouterr().out), dict)
