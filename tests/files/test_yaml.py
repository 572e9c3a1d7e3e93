"""One reader of YAML: words stay words, problems have lines, and nothing else in the source reads YAML."""

import re
from pathlib import Path

import polars as pl
import pytest

import davy
from davy.core import UserError
from davy.corpus.collect import strategies
from davy.corpus.collect.earlier_corpora import choose_posts
from davy.corpus.describe.documents import read_about
from davy.files.yaml_nodes import Problems, load_values, parse_node, plain_values, top_value
from davy.training.config import load_config, with_changes


def test_only_true_and_false_and_numbers_are_no_words():
    text = "a: no\nb: On\nc: yes\nd: 'true'\ne: true\nf: 7\ng: 2e-5\nh: 0.50\ni: '7'\nj: ~\nk: 12:30\nl: 2022-03-16\n"
    assert load_values(text, "x") == {
        "a": "no", "b": "On", "c": "yes", "d": "true", "e": True, "f": 7, "g": 2e-5, "h": 0.5, "i": "7", "j": None,
        "k": "12:30", "l": "2022-03-16",
    }  # fmt: skip
    assert load_values("no: 1\n1: [off, {on: no}]", "x") == {"no": 1, "1": ["off", {"on": "no"}]}


def test_words_can_be_kept_as_they_were_typed():
    node = parse_node("code: 1.10\nflag: true\n", Problems("x"))
    assert plain_values(node, numbers=False) == {"code": "1.10", "flag": "true"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: 1\nb: ]\n", r"x:2: This is not YAML"),
        ("a: &b 1\nc: *b", r"x:1: Anchors and aliases"),
        ("a: 1\nb: 2\na: 3", r"x:3: The key 'a' is here twice"),
        ("a: !!python/object:os.system x", r"x:1: The tag"),
    ],
)
def test_problems_name_their_line(text, problem):
    with pytest.raises(UserError, match=problem):
        load_values(text, "x")


def test_a_strategy_that_keeps_the_label_no_keeps_its_posts(tmp_path):
    pl.DataFrame(
        {"id": ["1", "2", "3"], "text": ["a", "b", "c"], "hate": ["no", "yes", "no"], "on": ["off", "off", "1.10"]}
    ).write_csv(tmp_path / "corpus.csv")
    (tmp_path / "s.yaml").write_text(
        """
strategies:
  - name: calm
    kind: corpus
    path: corpus.csv
    licence: CC-BY-4.0
    cap: 5
    keep: {hate: no, on: [off]}
    labels:
      hate: {column: hate, values: {no: not hateful, yes: hateful}}
"""
    )
    (strategy,) = strategies.read(tmp_path / "s.yaml")
    posts = choose_posts(strategy, collected_at="2026-01-01T00:00:00Z")
    assert posts.select("id", "hate.gold").rows() == [("corpus:1", "not hateful")]
    assert strategy.cap == 5


def test_faults_of_a_file_of_strategies_have_their_line(tmp_path):
    (tmp_path / "s.yaml").write_text("strategies:\n  - kind: search\n    rule: a\n\n  - kind: search\n    cap: no\n")
    with pytest.raises(UserError, match=r"s\.yaml:5, strategy 2: cap is 'no'"):
        strategies.read(tmp_path / "s.yaml")


def test_a_training_config_keeps_its_words_and_takes_yes_for_true(tmp_path):
    (tmp_path / "c.yaml").write_text("encoder: no\nconsistent: no\nrate: 2e-5\nquestions: [on]\n")
    config = load_config(str(tmp_path / "c.yaml"))
    assert (config.encoder, config.consistent, config.rate, config.questions) == ("no", False, 2e-5, ("on",))
    assert with_changes(config, {"note": "off", "seeds": "[1, 2]"}).note == "off"
    with pytest.raises(UserError, match="consistent is 'maybe'"):
        with_changes(config, {"consistent": "maybe"})


def test_answers_about_a_corpus_are_the_words_that_were_typed(tmp_path):
    (tmp_path / "about.yaml").write_text("purpose: no\n")
    assert read_about(tmp_path / "about.yaml") == {"purpose": "no"}
    (tmp_path / "about.yaml").write_text("purpose: x\npurpos: y\n")
    with pytest.raises(UserError, match=r"about\.yaml:2: There is no question 'purpos'\. Did you mean 'purpose'"):
        read_about(tmp_path / "about.yaml")


def test_one_module_reads_yaml():
    """PyYAML's loaders read `no` as false; `template_editor` asks it for the places of nodes, not for values."""
    source = Path(davy.__file__).parent
    reads = re.compile(r"yaml\.(safe_load|load|full_load|unsafe_load|compose|parse|scan)\b|from yaml import")
    found = {
        path.relative_to(source).as_posix() for path in source.rglob("*.py") if reads.search(path.read_text("utf-8"))
    }
    assert found == {"files/yaml_nodes.py", "testing/suites/suite_editor.py"}


def test_a_value_at_the_top_is_found_without_reading_what_stands_below(tmp_path):
    path = tmp_path / "long.yaml"
    path.write_text("about: {title: not this one}\nlist: [title, title]\ntitle: This one\n" + "more: [" * 10_000)
    assert top_value(path, "title") == "This one"
    path.write_text("name: title\nother: {title: below}\n")
    assert top_value(path, "title") is None
