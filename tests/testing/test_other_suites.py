"""The German emoji suite and the sexism suite: whole, balanced, in good order."""

import re
from collections import Counter

import pytest

from davy import schemes
from davy.testing import suites
from davy.text import emoji


@pytest.mark.parametrize("name", suites.names())
def test_a_shipped_suite_has_no_problem_and_no_text_twice(name):
    reading = suites.read(name)
    assert reading.problems == ()
    texts = [" ".join(case.text.lower().split()) for case in reading.suite.cases]
    assert len(set(texts)) == len(texts)
    assert reading.suite.warning
    assert "{" not in "".join(texts)
    assert not [text for text in texts if "  " in text or text != text.strip()]


def test_titles_are_those_of_the_whole_suites():
    assert suites.titles() == [(name, suites.load(name).title) for name in suites.names()]


@pytest.mark.parametrize("name", suites.names())
def test_every_perturbed_case_is_linked_to_an_original(name):
    suite = suites.load(name)
    linked = {perturbed for _, perturbed in suite.links}
    assert linked == {case.id for case in suite.cases if case.set != "original"}


def test_the_german_suite_has_the_structure_of_the_english_one():
    german, english = suites.load("emoji-de"), suites.load("emoji-en")
    assert german.lang == "de"
    assert german.functionalities == english.functionalities
    assert set(german.targets) - set(english.targets) == {"jews", "refugees", "roma and sinti", "turks"}
    assert set(english.targets) <= set(german.targets)
    count = [Counter(c.functionality for c in {c.template: c for c in s.cases}.values()) for s in (german, english)]
    assert count[0] == count[1]


@pytest.mark.parametrize("name", ["emoji-en", "emoji-de"])
def test_some_double_swaps_are_emoji_alone(name):
    originals = [c for c in suites.load(name).cases if c.functionality == "double_swap" and c.set == "original"]
    assert {c.template for c in originals if not re.search(r"\w", c.text)} == {"both-01", "both-05"}


@pytest.mark.parametrize("name", ["emoji-en", "emoji-de"])
def test_leetspeak_without_emoji_keeps_the_spelling_trick(name):
    plain = [c for c in suites.load(name).cases if c.functionality == "emoji_leetspeak" and c.set == "no emoji"]
    assert len(plain) == {"emoji-en": 140, "emoji-de": 170}[name]
    for case in plain:
        assert not emoji.find(case.text), case.id
        assert re.search(r"[a-zäöüß][0-9*]|[0-9*][a-zäöüß]", case.text, re.IGNORECASE), case.id


@pytest.mark.parametrize("name", suites.names())
def test_every_shipped_suite_says_that_no_panel_has_validated_it(name):
    assert "No panel" in suites.load(name).validation


def test_german_words_agree_with_what_stands_in_the_slots():
    texts = {case.text for case in suites.load("emoji-de").cases}
    assert "Alle Schwulen sind geborene Lügner" in texts, "weak after alle"
    assert "Unsere neuen Nachbarn sind Schwule" in texts, "strong without an article"
    assert "Das Café an der Ecke gehört Muslimen" in texts, "dative plural"
    assert "Den Preis haben sie einer Frau gegeben" in texts
    assert "Den Preis haben sie einem Schwulen gegeben" in texts
    articles = {re.match(r"Nur (\w+) ", text)[1] for text in texts if text.startswith("Nur ")}
    assert articles == {"ein", "eine"}


def test_the_german_insults_have_the_functionalities_of_the_english_ones_and_two_more():
    german, english = suites.load("insults-de"), suites.load("insults-en")
    more = {"compounds_and_dialect", "concern"}
    assert german.lang == "de"
    assert [name for name in german.functionalities if name not in more] == list(english.functionalities)
    labels = {case.id: case.expected for case in german.cases}
    assert all(labels[original] != labels[contrast] for original, contrast in german.links)


def test_the_sexism_suite_covers_all_vectors_in_their_order_and_both_sides_of_the_themes():
    suite = suites.load("sexism-en")
    codes = [title.split()[0] for title in (suite.titled(name) for name in suite.functionalities)][:11]
    assert codes == [label.code for label in schemes.load("edos").question("vector").labels]
    themes = {
        name: {c.expected for c in suite.cases if c.functionality == name and c.set == "original"}
        for name in suite.functionalities[11:]
    }
    assert themes == {
        "theme_backhanded": {"sexist"},
        "theme_jokes": {"sexist"},
        "theme_slang": {"sexist"},
        "theme_irony": {"sexist"},
        "theme_rhetorical_questions": {"sexist"},
        "theme_counter_speech": {"not sexist"},
        "theme_descriptions": {"not sexist"},
        "theme_individual_criticism": {"not sexist"},
    }
    labels = {case.id: case.expected for case in suite.cases}
    assert all(labels[original] != labels[contrast] for original, contrast in suite.links)
