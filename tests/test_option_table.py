"""One name, one meaning: the options of all commands, as the parser has them, keep to the table."""

import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))
import option_table

from davy.shell.option_table import TABLE

USES = option_table.uses()
UNSETTLED = {
    "--annotator",
    "--answers",
    "--by",
    "--column",
    "--emoji",
    "--force",
    "--format",
    "--gold",
    "--human",
    "--label",
    "--limit",
    "--pairs",
    "--phases",
    "--platform",
    "--pool",
    "--posts",
    "--predictions",
    "--seed",
    "--set",
    "--shadow",
    "--size",
    "--source",
    "--text",
    "--threshold",
    "--unseen",
}
"""Options that still mean several things. The list only shrinks."""


def test_every_command_keeps_to_the_table_of_options():
    wrong = option_table.differences(USES)
    assert {name: lines for name, lines in wrong.items() if name not in UNSETTLED} == {}
    assert set(wrong) == UNSETTLED, "settled: take it off the list"


def test_a_difference_is_found():
    a_switch = option_table.Use("score", "--seed", "", 1, "-s", "")
    assert option_table.differences({"--seed": [a_switch], "--odd": [a_switch, a_switch]}) == {
        "--seed": ["score: a switch", "score: short form -s, not none"],
        "--odd": ["not in the table: score, score"],
    }


def test_a_short_form_stands_for_one_name_and_every_row_for_an_option():
    shorts = defaultdict(set)
    for name, uses in USES.items():
        for use in uses:
            shorts[use.short].add(name)
    assert {short: names for short, names in shorts.items() if short and len(names) > 1} == {
        "-p": {"--platform", "--predictions"}
    }
    assert len({row.meaning for row in TABLE.values()}) == len(TABLE), "two names for one meaning"
