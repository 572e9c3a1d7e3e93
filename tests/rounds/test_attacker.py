"""The attacker: what each strategy does to a text, what counts as got through, what it costs, what its file says."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from davy.annotation.exchange.data_statement import RELEASE_TERMS
from davy.core import UserError
from davy.detectors.load import load
from davy.rounds.attack import STRATEGIES, AttackSeed, attack, attack_target, check_cost, read_words
from davy.shell.app import run
from davy.text.emoji import count, find

HATEFUL = "Grumblefops should kill all women, they are rats"
HARMLESS = "My new manager is a woman"


@pytest.fixture
def words(tmp_path: Path) -> str:
    """A detector that knows three words."""
    path = tmp_path / "words.txt"
    path.write_text("grumblefops\t0.9\nkill\t0.9\nrats\t0.9\n")
    return f"keywords:{path}"


def through(result, strategy):
    return [it.text for it in result.proposals if it.strategy == strategy]


def test_every_strategy_makes_a_text_that_a_reader_still_takes_for_the_seed():
    import random

    words = read_words("en")
    made = {name: change(HATEFUL, words, random.Random(1)) for name, change in STRATEGIES.items()}
    assert all(text != HATEFUL for text in made.values())
    assert "kill" not in made["verb swap"]
    assert "women" in made["verb swap"]
    assert "👩" in made["identity swap"]
    assert "🐀" in made["descriptor swap"]
    assert count(made["double swap"]) == 3
    assert made["append"].startswith(HATEFUL)
    assert find(made["positive confounder"])[-1].end == len(made["positive confounder"])
    assert count(made["emoji letters"]) >= 1
    assert made["spacing"].replace(" ", "") == HATEFUL.replace(" ", "")
    assert not made["homoglyphs"].isascii()


@pytest.mark.parametrize(("text", "swapped"), [("Wir müssen Frauen schlagen", "Wir müssen 👩 👊")])
def test_german_seeds_get_german_swaps(text, swapped):
    import random

    assert STRATEGIES["double swap"](text, read_words("de"), random.Random(0)) == swapped


def test_what_got_through_is_what_the_target_lets_pass_and_only_from_seeds_it_had_right(words):
    target = load(words)
    seeds = [
        AttackSeed("a", "Somebody should kill the women", "en", True),
        AttackSeed("b", "A sentence that the word list does not know", "en", True),
        AttackSeed("c", HARMLESS, "en", False),
    ]
    result = attack(seeds, target, tries=4)
    assert (result.seeds, result.already_wrong) == (3, 1)
    swaps = [it for it in result.proposals if it.strategy == "verb swap"]
    assert [it.seed.id for it in swaps] == ["a"]
    assert swaps[0].before >= 0.5 > swaps[0].after
    assert swaps[0].text in (
        "Somebody should 🔪 the women",
        "Somebody should 💀 the women",
        "Somebody should 🔫 the women",
    )
    assert not through(result, "identity swap"), "the word that the target knows stays"
    assert not through(result, "positive confounder")
    turned = [it for it in result.proposals if it.strategy == "append"]
    assert [(it.seed.id, it.label) for it in turned] == [("c", target.questions[0].positive)]
    counts = {it.strategy: (it.seeds, it.through) for it in result.counts}
    assert counts["verb swap"] == (1, 1)
    assert counts["positive confounder"] == (1, 0)


def test_the_same_seed_of_chance_gives_the_same_attack(words):
    target = load(words)
    seeds = [AttackSeed("a", HATEFUL, "en", True)]
    assert attack(seeds, target, seed=3).proposals == attack(seeds, target, seed=3).proposals


def test_an_attack_has_a_limit():
    assert check_cost(200, 10, 5) == 10_000
    with pytest.raises(UserError, match="at most 100,000"):
        check_cost(5_000, 10, 5)


def test_the_file_carries_release_terms_and_no_gold(words, tmp_path):
    frame = pl.DataFrame({"text": [HATEFUL, HARMLESS], "truth": ["hateful", "not hateful"]})
    out = tmp_path / "through.jsonl"
    result = attack_target(frame, words, out=out, label="truth")
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(rows) == len(result.proposals) > 0
    assert all(row["release_terms"] == RELEASE_TERMS for row in rows)
    assert not [name for name in rows[0] if name.endswith(".gold")]
    assert {"strategy", "parent", "target", "probability.before", "probability.after"} <= set(rows[0])


def test_bad_input_is_one_line(words, tmp_path):
    frame = pl.DataFrame({"text": ["a lamp"], "truth": ["bright"]})
    with pytest.raises(UserError, match="bright"):
        attack_target(frame, words, label="truth")
    with pytest.raises(UserError, match="no column 'gold'"):
        attack_target(frame, words, label="gold")
    with pytest.raises(UserError, match=r"verb swaps.*verb swap"):
        attack_target(frame, words, strategies=["verb swaps"])
    with pytest.raises(UserError, match="no seeds"):
        attack_target(pl.DataFrame({"text": ["", None]}), words)


def test_the_command_prints_what_got_through_masked_and_says_the_terms(words, tmp_path, capsys):
    seeds = tmp_path / "seeds.csv"
    pl.DataFrame({"text": [HATEFUL]}).write_csv(seeds)
    out = tmp_path / "through.csv"
    assert run(["round", "attack", str(seeds), "--target", words, "--out", str(out), "--tries", "2"]) == 0
    shown = capsys.readouterr()
    assert "verb swap" in shown.out
    assert "Nobody has confirmed them" in shown.err
    assert RELEASE_TERMS in shown.err
    assert run(["round", "attack", str(seeds), "--target", words, "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["seeds"] == 1
    assert HATEFUL not in json.dumps(figures)
