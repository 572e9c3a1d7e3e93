"""The suites of everyday language: balanced pairs of every kind, none in another suite or a training pattern."""

import re
import sys
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from davy.testing import suites
from davy.text import duplicates

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts/build_embedded"))
import english_sentences
import german_sentences
import patterns

BUILD = Path(__file__).parents[2] / "scripts/build_embedded"
ALIKE = 0.5
"""The Jaccard index of the pairs of neighbouring words from which two texts count as near duplicates."""
EVERYDAY = ["everyday-en", "everyday-de"]


@pytest.mark.parametrize("name", EVERYDAY)
def test_every_kind_has_as_many_offensive_cases_as_harmless_ones(name):
    suite = suites.load(name)
    assert len(suite.cases) >= 600
    labels = Counter((case.functionality, case.expected) for case in suite.cases)
    for kind in suite.functionalities:
        assert 15 <= labels[kind, "offensive"] == labels[kind, "not offensive"] <= 25
    expected = {case.id: case.expected for case in suite.cases}
    assert Counter((expected[first], expected[second]) for first, second in suite.links) == {
        ("offensive", "not offensive"): len(suite.cases) // 2
    }


@pytest.mark.parametrize("name", EVERYDAY)
def test_every_template_is_one_pair(name):
    assert set(Counter(case.template for case in suites.load(name).cases).values()) == {2}


def test_both_languages_have_the_same_kinds():
    english, german = (suites.load(name) for name in EVERYDAY)
    assert english.functionalities == german.functionalities
    assert english.titles == german.titles


@pytest.mark.parametrize("name", EVERYDAY)
def test_no_slur_stands_in_the_file_itself(name):
    suite = suites.load(name)
    text = suites.path_of(name).read_text("utf-8")
    assert suite.hurtful
    assert not [word for word in suite.hurtful if re.search(rf"(?i)\b{re.escape(word)}\b", text)]


@pytest.mark.parametrize("name", EVERYDAY)
def test_no_case_is_a_near_duplicate_of_a_case_elsewhere(name):
    cases = suites.load(name).cases
    others = [case for other in suites.names() if other != name for case in suites.load(other).cases]
    texts = [case.text for case in cases]
    known = {" ".join(case.text.lower().split()) for case in others}
    known |= {plain for case in others if (plain := patterns.plain_text(case.text))}  # emoji alone have none
    assert [text for text in texts if {" ".join(text.lower().split()), patterns.plain_text(text)} & known] == []
    sketches = duplicates.sketch(pl.Series([*texts, *(case.text for case in others)]), ALIKE)
    near = [(i, k) for i, k, _ in duplicates.near_pairs(sketches.bands, sketches.bits, ALIKE) if i < len(cases)]
    templates = [case.template for case in cases]
    assert [texts[i] for i, k in near if k >= len(cases) or templates[i] != templates[k]] == []


@pytest.mark.parametrize("name", EVERYDAY)
def test_no_case_has_the_words_of_a_training_pattern(name, monkeypatch):
    if name == "everyday-en":
        lines = [line for part in english_sentences.patterns().values() for line in part]
        groups = english_sentences.group_names()
    else:
        lines = [line for part in german_sentences.patterns().values() for line in part]
        lines += [line for part in patterns.sections(BUILD / "german_types.txt").values() for line in part]
        lines += [line.split("\t")[-1] for line in (BUILD / "german_statements.tsv").read_text("utf-8").splitlines()]
        groups = {group for forms in german_sentences.groups() for group in forms}
    monkeypatch.setattr(patterns, "suite_cases", lambda _: list(suites.load(name).cases))
    assert len(lines) >= 900
    assert patterns.taken_patterns(lines, name[-2:], groups) == []
